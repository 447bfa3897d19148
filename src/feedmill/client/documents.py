"""Documents as a program pushes them: the objects of ``/api/v1/documents`` on the feed port.

Example::

    acl = AclPush(principals=[PrincipalPush(scope="group", access="permit", name="staff")])
    document = DocumentPush(url="http://wiki.example.com/1", content="words", acl=acl)
"""

from typing import Literal

from pydantic import BaseModel, Field


class PrincipalPush(BaseModel):
    """A user or a group in the ACL of a document."""

    scope: Literal["user", "group"]
    access: Literal["permit", "deny"]
    name: str
    namespace: str = "Default"
    case_sensitive: bool = True


class AclPush(BaseModel):
    """The ACL of a document. Without principals and without a parent it permits no user."""

    inheritance_type: Literal["child-overrides", "parent-overrides", "and-both-permit", "leaf-node"] = "leaf-node"
    inherit_from: str | None = Field(default=None, description="the URL whose ACL is the parent")
    principals: list[PrincipalPush] = []


class DocumentPush(BaseModel):
    """A document to store, or to delete. A member that is null counts as absent."""

    url: str | None = Field(default=None, description="required in an array and in a line, absent in `PUT`")
    content: str | None = Field(default=None, description="the document as text")
    content_base64: str | None = Field(default=None, description="the document as bytes in base64; not beside `content`")
    mimetype: str | None = Field(default=None, description="detected if absent")
    title: str | None = Field(default=None, description="replaces the title that the document has itself")
    display_url: str | None = Field(default=None, description="the URL that results show")
    last_modified: str | None = Field(default=None, description="an ISO 8601 time; without a zone it is UTC")
    metadata: dict[str, str | int | float | bool | list[str | int | float | bool]] | None = None
    acl: AclPush | None = Field(default=None, description="absent: the document keeps the ACL that it has, and a new one is public")
    pagerank: int | None = Field(default=None, description="68 to 100")
    action: Literal["add", "delete"] = "add"
