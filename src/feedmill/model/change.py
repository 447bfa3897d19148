"""Changes, the common form of every protocol's records, in the order in which they were sent.

A parser yields them one by one. Later steps do not depend on the protocol.
"""

from dataclasses import dataclass, field
from typing import BinaryIO

from feedmill.model.access import Acl, Principal
from feedmill.model.document import Attributes, Metadata
from feedmill.model.feed import LogLevel
from feedmill.model.lightdataclass import light_dataclass


@light_dataclass(frozen=True, slots=True, kw_only=True)
class SourcePosition:
    """The position of a change in its feed, by what its format has: a record, a line, a byte.

    Units: record counts from 1 over all records (0: not a record), line from 1 (0: the format has no lines), offset in bytes from 0 (None:
    not known).
    """

    record: int
    line: int = 0
    offset: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A message to the sender about a change that was applied nevertheless."""

    level: LogLevel
    reason: str


@light_dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The bytes of a document, decoded. The caller that applies the change reads ``stream`` once and closes it.

    ``charset`` is the encoding of the bytes if the protocol determines it, None if the document itself must declare it.
    """

    stream: BinaryIO
    size_bytes: int
    charset: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AclChange:
    """What a put says about its URL's ACL.

    ``element`` came as ``<acl>``; ``legacy`` came from ``google:acl*`` metadata. ``overwrite`` is ``overwrite-acls`` as written, None if it
    was absent.
    Source: docs/explanation/ownership.md.
    """

    element: Acl | None = None
    legacy: Acl | None = None
    overwrite: bool | None = None


@light_dataclass(frozen=True, slots=True, kw_only=True)
class PutDocument:
    """Creates or changes a document, or parts of it.

    ``whole``: omitted parts are removed (a full feed); otherwise they stay unchanged. ``metadata`` and ``content`` are None if omitted.
    ``withdrawn`` are the names of attributes that the server of a fetched document says are not set any more.
    ``reports`` are errors that the sender met with the document; its history shows them.
    """

    place: SourcePosition
    url: str
    attributes: Attributes
    metadata: Metadata | None = None
    content: Content | None = None
    acl: AclChange = AclChange()
    whole: bool = False
    withdrawn: frozenset[str] = frozenset()
    reports: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateDocument:
    """Changes parts of a document that exists, and leaves everything else of it.

    ``stated`` are the names of the attributes that it states, and ``names`` those of the metadata, in lower case; a name without a value is
    removed. ``content`` is None if it is omitted. ``leaves_original``: the content is a text, which replaces the text of the document and
    leaves the bytes from which it was extracted.
    """

    place: SourcePosition
    url: str
    attributes: Attributes
    stated: frozenset[str] = frozenset()
    metadata: Metadata = ()
    names: frozenset[str] = frozenset()
    content: Content | None = None
    leaves_original: bool = False
    reports: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCrawl:
    """Names a URL for the crawler, with the metadata to store with the fetched document."""

    place: SourcePosition
    url: str
    attributes: Attributes
    metadata: Metadata | None = None
    acl: AclChange = AclChange()
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """Deletes a URL's document, or its ACL if it has no document."""

    place: SourcePosition
    url: str
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteMatching:
    """Deletes the documents of the source whose URLs match a pattern, in which ``*`` means any characters."""

    place: SourcePosition
    pattern: str
    url: None = None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PutAcl:
    """Sets the ACL of a URL outside of any record; None removes it."""

    place: SourcePosition
    url: str
    acl: Acl | None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshIndex:
    """Requests that searches find the earlier changes. It changes nothing, because every change is indexed as soon as it is applied."""

    place: SourcePosition
    url: None = None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidRecord:
    """A record (or, with ``place.record`` 0, a group-level ACL) in error. It changes nothing and is counted.

    ``url``, or in a groups feed ``group``, is set if it was readable, so that a full feed does not sweep what an invalid record named.
    """

    place: SourcePosition
    url: str | None
    reason: str
    notes: tuple[Note, ...] = field(default=())
    group: Principal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PutGroup:
    """Redefines a group with exactly these members; a group without members is removed."""

    place: SourcePosition
    group: Principal
    members: tuple[Principal, ...]
    notes: tuple[Note, ...] = ()


GroupChange = PutGroup | InvalidRecord
"""The changes of a groups feed, in which a record is a membership."""

Change = PutDocument | UpdateDocument | RequestCrawl | Delete | DeleteMatching | PutAcl | RefreshIndex | InvalidRecord
