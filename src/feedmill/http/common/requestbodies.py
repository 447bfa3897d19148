"""The types of the JSON that requests send. A member that they do not have is refused.

Example::

    from feedmill.http.common.requestbodies import NewUser

    body = NewUser(name="ann", password="secret", role="viewer").model_dump()
    print(body["namespace"])
"""

from pydantic import BaseModel, ConfigDict, Field


class Sent(BaseModel):
    """An object that a request sends."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class NewUser(Sent):
    """A local user to add."""

    name: str
    password: str
    namespace: str = "Default"
    role: str = Field(default="searcher", description="searcher, viewer, manager or administrator")


class UserChange(Sent):
    """What to change of a local user, whose sessions end."""

    password: str | None = None
    role: str | None = None


class SessionsOfUser(Sent):
    """The user whose sessions end, local or of a provider."""

    name: str
    namespace: str = "Default"


class NewToken(Sent):
    """A token to add."""

    label: str
    scopes: list[str] = Field(description="search, push, view, manage, administer")
    user: str = ""
    namespace: str = "Default"
    days: int | None = None
    datasources: list[str] = Field(default=[], description="for `push`: the only data sources that it may push to")


class SettingValue(Sent):
    """An entry of the settings; its members are the keys of the section."""

    model_config = ConfigDict(frozen=True, extra="allow")


class PassageQuery(Sent):
    """What passages shall answer."""

    query: str = Field(min_length=1, max_length=10_000, description="words, a question, or a query in the language of searches")
    num: int = Field(default=10, ge=1, le=50, description="how many passages at most")
    site: str = Field(default="", description="collections, joined by `|` or `.`; all documents by default")
