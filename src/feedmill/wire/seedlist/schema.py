"""Names and values of a seedlist: Atom with the elements of IBM's namespace.

    feed   id? link* timestamp? title? action? category* fieldInfo* acl* entry*
    entry  id link* content? action? title? summary? author* category* updated? published? securityId? fieldInfo* field* acl*

``acls`` may stand around ``acl``, ``fieldInfos`` around ``fieldInfo`` and ``fields`` around ``field``.
Source: HCL Connections, "Seedlist response"; HCL Digital Experience, "The search seedlist 1.0 format"; RFC 4287.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from feedmill.model.feed import LogEntry

ATOM = "http://www.w3.org/2005/Atom"
WPLC = "http://www.ibm.com/wplc/atom/1.0"
ATOM_TYPE = "application/atom+xml"
TAXONOMY_SCHEME = "com.ibm.wplc.taxonomy://"

MAX_ENTRY_CHARACTERS = 16_777_216
MAX_ENTRY_VALUES = 100_000
MAX_FEED_VALUES = 10_000


class Action(Enum):
    """Why an entry is listed. ``INSERT`` and ``UPDATE`` mean the same to a reader."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


class FieldType(Enum):
    """The type of a field's values; the parts of a field of ``FIELDS`` are fields."""

    BOOLEAN = "boolean"
    STRING = "string"
    DATE = "date"
    DOUBLE = "double"
    INT = "int"
    LONG = "long"
    FIELDS = "fields"


class TextType(Enum):
    """How a text is written: as it is, or as HTML."""

    TEXT = "text"
    HTML = "html"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldInfo:
    """How a field, or the element of Atom of the same name, is searched and shown. The defaults are those of absent attributes."""

    id: str
    name: str = ""
    description: str = ""
    type: FieldType = FieldType.STRING
    content_searchable: bool = True
    field_searchable: bool = True
    parametric: bool = False
    returnable: bool = True
    sortable: bool = False
    supports_exact_match: bool = False
    parts: tuple["FieldInfo", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One value of a field. Shape: a complex field has parts and no text."""

    id: str
    text: str = ""
    parts: tuple["Field", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomText:
    """A title, a summary."""

    text: str = ""
    type: TextType = TextType.TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link. Shape: the URL is absolute if that of its page is; the media type is in lower case, without parameters, or ""."""

    url: str
    media_type: str = ""
    title: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The content of an entry. Shape: either the URL from which it is fetched, or the text; ``media_type`` is that of the bytes there.

    A text of another media type than ``text/*`` and those of XML is base64.
    """

    url: str = ""
    text: str = ""
    media_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """A node of a taxonomy. ``label`` is its name for people."""

    scheme: str
    term: str
    label: str = ""

    @property
    def taxonomy(self) -> str:
        """Returns the name of the taxonomy, such as ``location_taxonomy``; "" if the scheme is none of IBM's."""
        return self.scheme.removeprefix(TAXONOMY_SCHEME) if self.scheme.startswith(TAXONOMY_SCHEME) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """An author. ``uri`` may be the DN of a directory."""

    name: str = ""
    uri: str = ""
    email: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedlistPage:
    """What a page says apart from its entries.

    Shape: URLs are "" if absent. ``acls``: tokens for the entries without their own; None means that every user may see them.
    ``remarks``: what was repaired.
    """

    id: str = ""
    title: str = ""
    timestamp: str = ""
    next_url: str = ""
    previous_url: str = ""
    action: Action | None = None
    categories: tuple[Category, ...] = ()
    field_infos: Mapping[str, FieldInfo] = field(default_factory=dict)
    acls: tuple[str, ...] | None = None
    entries: int = 0
    remarks: tuple[LogEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedlistEntry:
    """A document or a container.

    Shape: ``via`` are the pages to show, ``related`` further files. ``children_url`` and ``documents_url`` are set for containers only.
    ``acls`` are the tokens that permit a user; None permits every user, an empty tuple none. ``remarks``: values that were not readable.
    """

    line: int
    id: str
    action: Action = Action.UPDATE
    title: AtomText = field(default_factory=AtomText)
    summary: AtomText = field(default_factory=AtomText)
    content: Content | None = None
    via: tuple[Link, ...] = ()
    related: tuple[Link, ...] = ()
    is_container: bool = False
    children_url: str = ""
    documents_url: str = ""
    authors: tuple[Author, ...] = ()
    categories: tuple[Category, ...] = ()
    updated_at: datetime | None = None
    published_at: datetime | None = None
    language: str = ""
    security_id: str = ""
    field_infos: Mapping[str, FieldInfo] = field(default_factory=dict)
    fields: tuple[Field, ...] = ()
    acls: tuple[str, ...] | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidEntry:
    """An entry that cannot be read. Shape: ``id`` is "" if it is not known."""

    line: int
    id: str
    reason: str
