"""What is asked of an extractor and what it answers."""

from dataclasses import dataclass
from typing import NamedTuple

from feedmill.model.document import Metadata


class Link(NamedTuple):
    """A link found in a document and its anchor text; kept for the crawler.

    A reader of a format gives its URL as written there; what is kept is absolute and has no fragment.

    A tuple, because a page has dozens and every one of them crosses two processes.
    """

    url: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionLimits:
    """What one document may cost. Units: seconds of wall time, bytes of address space, characters of text."""

    max_document_bytes: int = 31_457_280
    seconds: float = 30.0
    memory_bytes: int = 1_500_000_000
    text_characters: int = 10_000_000
    links: int = 10_000
    metadata: int = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One document to extract: its bytes, or the path of a file that holds them when they are large.

    ``mimetype`` is what the sender said, a hint only; ``charset`` what a protocol header said, None when nothing did.
    """

    key: int
    url: str
    mimetype: str | None
    data: bytes | None = None
    path: str | None = None
    charset: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What became of a document's bytes.

    ``text`` is plain, paragraphs separated by newlines; ``headings`` are those of its lines that head others, the most important first;
    ``robots`` holds noindex, nofollow, noarchive, nosnippet as the document's
    own meta tags say; ``reason`` says why the text is cut or missing, None when all of it is there.
    """

    key: int
    mimetype: str
    title: str | None = None
    text: str = ""
    language: str | None = None
    metadata: Metadata = ()
    links: tuple[Link, ...] = ()
    headings: str = ""
    robots: frozenset[str] = frozenset()
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An extraction as it comes from another process: text, links and headings are one blob already, in the form in which they are kept.

    ``body`` is empty where there is none of them. ``too_slow`` marks a document that used up the time of a short attempt and deserves a
    longer one.
    """

    key: int
    mimetype: str
    title: str | None = None
    body: bytes = b""
    language: str | None = None
    metadata: Metadata = ()
    robots: frozenset[str] = frozenset()
    reason: str | None = None
    too_slow: bool = False
