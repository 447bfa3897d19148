"""Requests to an extractor, and its answers."""

from dataclasses import dataclass
from typing import NamedTuple

from feedmill.model.document import Attachment, Metadata
from feedmill.model.lightdataclass import light_dataclass


class Link(NamedTuple):
    """A link in a document with its anchor text, for the crawler, the link texts of other documents, and ``link:``.

    The reader of a format returns the URL as written in the document; the stored URL is absolute and has no fragment.

    It is a tuple, because a page has dozens of links and each of them crosses two processes.
    """

    url: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionLimits:
    """The limits for one document. Units: seconds of wall time, bytes of address space, characters of text."""

    max_document_bytes: int = 31_457_280
    seconds: float = 30.0
    memory_bytes: int = 1_500_000_000
    text_characters: int = 10_000_000
    links: int = 10_000
    metadata: int = 1_000


@light_dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One document to extract: its bytes, or the path of a file that holds them if they are large.

    ``mimetype`` is the sender's value and only a hint; ``charset`` is from a protocol header, None without one. ``text_bytes``: that many
    bytes at the beginning are the text of the document in the bytes after them, and ``charset`` is theirs. ``attachments`` are further
    files at the end of the bytes.
    """

    key: int
    url: str
    mimetype: str | None
    data: bytes | None = None
    path: str | None = None
    charset: str | None = None
    text_bytes: int = 0
    attachments: tuple[Attachment, ...] = ()


@light_dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """The result of extracting a document.

    ``text`` is plain, with newlines between paragraphs, and without ``navigation``: menus, breadcrumbs and the like. ``headings`` are the
    lines that are headings, the most important first. ``structure`` is that of the text, in its storage format. ``robots`` holds noindex,
    nofollow, noarchive, nosnippet as the document's own meta tags state. ``reason`` says why the text is cut or missing, None if it is
    complete.
    """

    key: int
    mimetype: str
    title: str | None = None
    text: str = ""
    navigation: str = ""
    language: str | None = None
    metadata: Metadata = ()
    links: tuple[Link, ...] = ()
    headings: str = ""
    structure: str = ""
    robots: frozenset[str] = frozenset()
    reason: str | None = None


@light_dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An extraction from another process: text, links, headings and structure are already one blob, in the storage format.

    ``body`` is empty if there are none of them. ``too_slow`` flags a document that used up the time of a short attempt and needs a longer
    one.
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
