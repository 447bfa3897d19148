"""The commands of a stream, and the values that its readers return.

Source: googlegsa/library, ``CommandStreamParser.Operation``, ``DocIdPusher.Record``, ``Response``, ``Acl``.
"""

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import NamedTuple

from feedmill.model.access import InheritanceType
from feedmill.model.decision import Verdict


class Operation(StrEnum):
    """The commands that the library knows. Errors contain the names in upper case, as those of the library do."""

    ID = "id"
    RESULT_LINK = "result-link"
    LAST_MODIFIED = "last-modified"
    CRAWL_IMMEDIATELY = "crawl-immediately"
    CRAWL_ONCE = "crawl-once"
    LOCK = "lock"
    DELETE = "delete"
    UP_TO_DATE = "up-to-date"
    NOT_FOUND = "not-found"
    MIME_TYPE = "mime-type"
    META_NAME = "meta-name"
    META_VALUE = "meta-value"
    PARAM_NAME = "param-name"
    PARAM_VALUE = "param-value"
    CONTENT = "content"
    AUTHZ_STATUS = "authz-status"
    SECURE = "secure"
    ANCHOR_URI = "anchor-uri"
    ANCHOR_TEXT = "anchor-text"
    NO_INDEX = "no-index"
    NO_FOLLOW = "no-follow"
    NO_ARCHIVE = "no-archive"
    DISPLAY_URL = "display-url"
    ACL = "acl"
    NAMESPACE = "namespace"
    ACL_PERMIT_USER = "acl-permit-user"
    ACL_DENY_USER = "acl-deny-user"
    ACL_PERMIT_GROUP = "acl-permit-group"
    ACL_DENY_GROUP = "acl-deny-group"
    ACL_INHERIT_FROM = "acl-inherit-from"
    ACL_INHERIT_FRAGMENT = "acl-inherit-fragment"
    ACL_INHERITANCE_TYPE = "acl-inheritance-type"
    ACL_CASE_SENSITIVE = "acl-case-sensitive"
    ACL_CASE_INSENSITIVE = "acl-case-insensitive"


class StreamKind(Enum):
    """The command that printed a stream."""

    LISTER = "lister"
    RETRIEVER = "retriever"
    AUTHORIZER = "authorizer"


class Command(NamedTuple):
    """One command. ``argument`` is None without an equals sign."""

    operation: Operation
    argument: str | None


class Remark(NamedTuple):
    """Something that the library ignores. Units: ``offset`` is the byte at which the command starts, ``command`` counts from 1."""

    reason: str
    offset: int
    command: int


class ListedDocument(NamedTuple):
    """What a lister says about one document. Units: ``last_modified`` is in seconds since 1970.

    A tuple, because a listing creates millions of them.
    """

    id: str
    last_modified: int | None = None
    result_link: str | None = None
    crawl_immediately: bool = False
    crawl_once: bool = False
    lock: bool = False
    delete: bool = False


class NamedPrincipal(NamedTuple):
    """A user or a group of an ACL, as written except for white space around the name."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedAcl:
    """The ACL of a retrieved document. ``inherit_from`` is a document's id, not its URL.

    Shape: principals have the order and the uniqueness that the library's sets give them (``acls``).
    """

    permit_users: tuple[NamedPrincipal, ...] = ()
    deny_users: tuple[NamedPrincipal, ...] = ()
    permit_groups: tuple[NamedPrincipal, ...] = ()
    deny_groups: tuple[NamedPrincipal, ...] = ()
    inherit_from: str | None = None
    inherit_fragment: str | None = None
    inheritance_type: InheritanceType = InheritanceType.LEAF_NODE
    case_sensitive: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievedDocument:
    """What a retriever says about one document, except the bytes of its content. Units: ``last_modified`` is in seconds since 1970.

    ``crawl_once`` and ``lock`` are None if the stream has no such command. Metadata, params and anchors have the order of the stream.
    """

    id: str
    up_to_date: bool = False
    not_found: bool = False
    last_modified: int | None = None
    mime_type: str | None = None
    display_url: str | None = None
    secure: bool = False
    no_index: bool = False
    no_follow: bool = False
    no_archive: bool = False
    crawl_once: bool | None = None
    lock: bool | None = None
    metadata: tuple[tuple[str, str], ...] = ()
    params: tuple[tuple[str, str | None], ...] = ()
    anchors: tuple[tuple[str, str | None], ...] = ()
    acl: RetrievedAcl | None = None
    has_content: bool = False


Decisions = dict[str, Verdict | None]
"""The decisions of an authorizer by document id; None for an id without a status that the library knows."""
