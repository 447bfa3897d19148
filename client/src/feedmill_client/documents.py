"""Documents as a program pushes them: the objects of ``/api/v1/documents`` on the feed port.

Example::

    acl = AclPush(principals=[PrincipalPush(scope="group", access="permit", name="staff")])
    document = DocumentPush(url="http://wiki.example.com/1", content="words", acl=acl)
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from feedmill_client.explaining import explain


@dataclass(frozen=True, slots=True, kw_only=True)
class PrincipalPush:
    """A user or a group in the ACL of a document."""

    scope: Literal["user", "group"]
    access: Literal["permit", "deny"]
    name: str
    namespace: str = "Default"
    case_sensitive: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AclPush:
    """The ACL of a document. Without principals and without a parent it permits no user."""

    inheritance_type: Literal["child-overrides", "parent-overrides", "and-both-permit", "leaf-node"] = "leaf-node"
    inherit_from: str | None = field(default=None, metadata=explain("the URL whose ACL is the parent"))
    principals: list[PrincipalPush] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentPush:
    """A document to store, or to delete. A member that is null counts as absent."""

    url: str | None = field(default=None, metadata=explain("required in an array and in a line, absent in `PUT`"))
    content: str | None = field(default=None, metadata=explain("the document as text"))
    content_base64: str | None = field(default=None, metadata=explain("the document as bytes in base64; not beside `content`"))
    mimetype: str | None = field(default=None, metadata=explain("detected if absent"))
    title: str | None = field(default=None, metadata=explain("replaces the title that the document has itself"))
    display_url: str | None = field(default=None, metadata=explain("the URL that results show"))
    last_modified: str | datetime | None = field(default=None, metadata=explain("an ISO 8601 time; without a zone it is UTC"))
    metadata: dict[str, str | int | float | bool | list[str | int | float | bool]] | None = None
    acl: AclPush | None = field(default=None, metadata=explain("absent: the document keeps the ACL that it has, and a new one is public"))
    pagerank: int | None = field(default=None, metadata=explain("68 to 100"))
    action: Literal["add", "delete"] = "add"
