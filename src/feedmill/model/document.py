"""A document: one URL with its content, metadata, attributes, owner and state."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import NewType

from feedmill.model.access import AccessClass
from feedmill.model.lightdataclass import light_dataclass

BlobRef = NewType("BlobRef", str)
"""The reference to stored bytes; opaque to all code but the blob store that returned it."""

Metadata = tuple[tuple[str, str], ...]
"""Names and values in their original order; a repeated name has several values, and its spelling is retained."""


class DocumentState(Enum):
    """Whether the URL has a document now. The row of one that is gone is stored only for its history."""

    LIVE = "live"
    GONE = "gone"


class Origin(Enum):
    """The kind of feed that owns the document: its content was fed, or the crawler is to fetch it."""

    CONTENT = "content"
    WEB = "web"


class AuthMethod(Enum):
    """How the document's own server protects it; any value but NONE makes it secure."""

    NONE = "none"
    HTTPBASIC = "httpbasic"
    NTLM = "ntlm"
    HTTPSSO = "httpsso"
    NEGOTIATE = "negotiate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file behind the content of a document. Shape: ``start`` is its first byte in the stored content; ``name`` may be ""."""

    start: int
    size_bytes: int
    mimetype: str = ""
    name: str = ""


@light_dataclass(frozen=True, slots=True, kw_only=True)
class Attributes:
    """What a record says about its document besides content and metadata.

    - ``server_secures``: whether the document's own server said at the last fetch that it is secure; None = it said nothing.
    - ``title`` replaces the title that extraction finds.
    - ``links`` are absolute URLs to which the document links, besides those that extraction finds. ``link_texts`` are their anchor texts,
      one for each of them, or empty.
    - ``text_bytes``: the content begins with this many bytes of plain text, which replaces the text of the document in the bytes after it.
    - ``attachments`` are further files at the end of the content, in order; their texts are part of the text of the document.
    - ``unsearchable``, ``unsortable`` and ``undisplayed`` are names of metadata, in lower case: searches do not find it, results are not
      sorted by it, results do not show it.
    - ``robots`` are rules such as ``noarchive`` that the document need not declare itself.
    - ``only_by_field``, ``only_in_text`` and ``uncounted`` are such names too: only queries that name the field find it, only queries that
      name no field do, facets do not count it.
    - ``overrides_own``: fed metadata replaces the document's own meta tags of the same name.

    Units: pagerank 68 to 100, feedrank 1 to 100; ``last_modified`` an aware UTC time.
    Source: Feeds Protocol Developer's Guide, "Defining the XML Record for a Document".
    """

    display_url: str | None = None
    mimetype: str | None = None
    last_modified: datetime | None = None
    lock: bool = False
    authmethod: AuthMethod | None = None
    server_secures: bool | None = None
    pagerank: int | None = None
    feedrank: int | None = None
    scoring: str | None = None
    crawl_immediately: bool = False
    crawl_once: bool = False
    title: str | None = None
    links: tuple[str, ...] = ()
    link_texts: tuple[str, ...] = ()
    text_bytes: int = 0
    attachments: tuple[Attachment, ...] = ()
    overrides_own: bool = False
    unsearchable: tuple[str, ...] = ()
    unsortable: tuple[str, ...] = ()
    undisplayed: tuple[str, ...] = ()
    robots: tuple[str, ...] = ()
    only_by_field: tuple[str, ...] = ()
    only_in_text: tuple[str, ...] = ()
    uncounted: tuple[str, ...] = ()


@light_dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """The result of extraction from a document's content.

    ``source`` is the content that it was extracted from, so a text is known to be out of date after the content has changed. ``blob`` holds
    the text itself, and ``reason`` says why it is cut or missing. ``date`` is the date that the rules of the settings found.
    """

    source: BlobRef
    blob: BlobRef | None = None
    title: str | None = None
    mimetype: str | None = None
    language: str | None = None
    metadata: Metadata = ()
    robots: frozenset[str] = frozenset()
    reason: str | None = None
    date: datetime | None = None


@light_dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One URL as the store holds it.

    - ``version`` grows with every change of the URL.
    - ``feed_id`` is the feed of the last change, None if no feed made it.
    - ``seen_feed_id`` is the last feed of the owner that named the URL, None if there is none. A full feed removes what it did not name.
    - ``events`` counts all events ever; the last 20 are stored.
    - ``charset`` is the encoding of the content if its protocol determined it.
    - ``access_class`` applies if the document is secure.
    - ``damage`` names the columns of its row that are unreadable, "" for none. They have empty values here, and the document is neither
      indexed nor shown.
    """

    id: int | None
    url: str
    state: DocumentState
    origin: Origin
    datasource: str
    version: int
    feed_id: int | None
    seen_feed_id: int | None
    attributes: Attributes
    metadata: Metadata
    secure: bool
    content: BlobRef | None
    content_bytes: int
    charset: str | None
    text: Text | None
    updated_at: datetime
    events: int = 0
    access_class: int = AccessClass.CLOSED
    damage: str = ""

    @property
    def awaits_extraction(self) -> bool:
        """Whether there is content that the stored text was not extracted from."""
        return self.content is not None and (self.text is None or self.text.source != self.content)

    @property
    def rank(self) -> int:
        """The pagerank that decides which documents stay when the licence is full; 96 if none is given."""
        return 96 if self.attributes.pagerank is None else self.attributes.pagerank


class EventKind(Enum):
    """What can happen to a URL."""

    FED = "fed"
    REPLACED = "replaced"
    METADATA_FED = "metadata fed"
    NAMED = "named for crawling"
    TAKEN_OVER = "taken over from another source"
    DELETED = "deleted"
    SWEPT = "swept by a full feed"
    SOURCE_DELETED = "source deleted"
    BLOCKED = "blocked by pattern"
    REJECTED = "rejected"
    PUSHED_OUT = "pushed out by the licence limit"
    ACL_CHANGED = "acl changed"
    EXTRACTION_FAILED = "extraction failed"
    CUT = "text cut"
    REPORTED = "error reported by the sender"
    FETCHED = "fetched"


@light_dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened to a URL. Units: ``line`` counts from 1 in the feed as received, 0 = none."""

    kind: EventKind
    at: datetime
    feed_id: int | None = None
    line: int = 0
    detail: str = ""
