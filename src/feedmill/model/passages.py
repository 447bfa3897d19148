"""What answering machines and assistants get of documents: passages, and whole texts."""

from dataclasses import dataclass

from feedmill.model.document import Metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPassage:
    """A passage of a document. Shape: ``text`` stands from ``start`` to ``end`` in the text of the document. Units: characters.

    ``coverage`` is the share of the words of the query that the passage holds, from 0 to 1.
    """

    url: str
    display_url: str
    title: str
    text: str
    start: int
    end: int
    score: float
    coverage: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageList:
    """Passages, best first, and the warnings for people."""

    passages: tuple[FoundPassage, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeDocument:
    """A document with its whole text, which is "" if the document declares noarchive."""

    url: str
    display_url: str
    title: str
    text: str
    metadata: Metadata
