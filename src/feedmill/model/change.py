"""What every protocol turns into: changes, in the order in which they were sent.

A parser yields them one by one; nothing behind it asks which protocol they came from.
"""

from dataclasses import dataclass, field
from typing import BinaryIO

from feedmill.model.access import Acl, Principal
from feedmill.model.document import Attributes, Metadata
from feedmill.model.feed import LogLevel


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePosition:
    """Where in its feed a change stands. Units: record counts from 1 over all ``<record>`` elements (0: not a record), line from 1."""

    record: int
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something to tell the sender about a change that was taken all the same."""

    level: LogLevel
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The bytes of a document, decoded; ``stream`` is read once and closed by who applies the change.

    ``charset`` is what the bytes are written in where the protocol settles it, None where the document itself must tell.
    """

    stream: BinaryIO
    size_bytes: int
    charset: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AclChange:
    """What a put says of its URL's ACL.

    ``element`` came as ``<acl>``; ``legacy`` from ``google:acl*`` metadata. ``overwrite`` is ``overwrite-acls`` as written, None
    when it was not.
    Source: docs/explanation/ownership.md.
    """

    element: Acl | None = None
    legacy: Acl | None = None
    overwrite: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PutDocument:
    """Put a document, or parts of it.

    ``whole``: what is not given is gone (a full feed); else it stays as it was. ``metadata`` and ``content`` are None when not given.
    """

    place: SourcePosition
    url: str
    attributes: Attributes
    metadata: Metadata | None = None
    content: Content | None = None
    acl: AclChange = AclChange()
    whole: bool = False
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCrawl:
    """Name a URL for the crawler, with the metadata to keep beside what will be fetched."""

    place: SourcePosition
    url: str
    attributes: Attributes
    metadata: Metadata | None = None
    acl: AclChange = AclChange()
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """Delete a URL's document, or its ACL where it has no document."""

    place: SourcePosition
    url: str
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PutAcl:
    """Put the ACL of a URL that stands apart from any record; None removes it."""

    place: SourcePosition
    url: str
    acl: Acl | None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidRecord:
    """A record (or, with ``place.record`` 0, a group-level ACL) in error: it changes nothing and is counted.

    ``url``, or in a groups feed ``group``, is kept when it could be read, so that a full feed does not sweep what an unreadable record
    named.
    """

    place: SourcePosition
    url: str | None
    reason: str
    notes: tuple[Note, ...] = field(default=())
    group: Principal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PutGroup:
    """Define a group anew: these members and no others; without members it is gone."""

    place: SourcePosition
    group: Principal
    members: tuple[Principal, ...]
    notes: tuple[Note, ...] = ()


GroupChange = PutGroup | InvalidRecord
"""What a groups feed is made of; there a record is a membership."""

Change = PutDocument | RequestCrawl | Delete | PutAcl | InvalidRecord
