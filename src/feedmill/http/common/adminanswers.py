"""The types of the JSON answers of the admin port that ``feedmill_client`` does not read.

Example::

    answer = SessionsEnded.model_validate({"ended": 2})
    print(answer.ended)
"""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from feedmill_client.adminanswers import PullSourceShown


class Answer(BaseModel):
    """An object of an answer."""

    model_config = ConfigDict(frozen=True)


# --- the server and its settings ------------------------------------------------------------------------------------------------


class RoleShown(Answer):
    """The processes of a role."""

    pids: list[int] = Field(description="0 for one that waits for its restart")
    restarts: int = Field(description="how often they were started again")


class OpenCircuitShown(Answer):
    """A server that decides about access and gets no requests, because it failed."""

    rule: str = Field(description="the rule of the settings that names it")
    server: str
    failures: int
    reason: str
    since: datetime


class AuthorizationShown(Answer):
    """The servers that decide about access."""

    open_circuits: list[OpenCircuitShown]


class IndexProgress(Answer):
    """How far a rebuild is."""

    written: int
    total: int
    remaining_seconds: int


class IndexShown(Answer):
    """The index."""

    folder: str | None = Field(description="null before there is one")
    generation: int = Field(description="counts its commits")
    rebuilding: str | None = Field(description="the folder of the new index, null if none is built")
    progress: IndexProgress | None
    partial: bool = Field(description="whether some documents are not found until the rebuild is complete")
    learning_patterns: bool = Field(description="whether documents that match new URL patterns are being written")


class CrawlCounts(Answer):
    """The crawl queue in numbers."""

    paused: bool
    sites: int
    urls: int
    groups: dict[str, int] = Field(description="URLs by their group of states")
    fetches: list[int] = Field(description="how many URLs were fetched in each minute of the last hour, oldest first")


class ModelCircuitShown(Answer):
    """Why a model gets no queries."""

    since: datetime
    reason: str


class SemanticShown(Answer):
    """The model of semantic search."""

    model: str
    embedded: int = Field(description="how many documents have an embedding of it")
    documents: int
    open_circuit: ModelCircuitShown | None


class QueueShown(Answer):
    """A queue of work."""

    name: str
    name_code: str = Field(description="the same for programs, such as feeds_quick")
    waiting: int
    oldest_seconds: float | None = Field(description="how long the oldest item has waited, null if none waits")
    stuck: bool
    since: datetime | None = Field(description="since when it is stuck")
    document: str | None = Field(description="the URL, or the feed, at its head")
    reason: str | None = Field(description="the last failure, null while it moves")


class SettingOrigin(Answer):
    """The value of a setting, and where it was set."""

    value: Any = Field(description="`(set)` for one that may hold a password")
    origin: str = Field(description="default, the file with its line, an environment variable, or api")


class StatusShown(Answer):
    """What `feedmill status --json` prints."""

    running: bool
    pid: int | None
    started_at: datetime | None
    addresses: dict[str, str] = Field(description="host and port of each listener")
    roles: dict[str, RoleShown]
    sandbox: dict[str, bool | int] = Field(
        description="which parts of the sandbox for hostile input this kernel has; of landlock, the version"
    )
    feeds_waiting: int
    documents: int
    authorization: AuthorizationShown
    index_tasks: dict[str, int] = Field(description="how many documents wait for each stage")
    index: IndexShown
    crawl: CrawlCounts
    semantic: SemanticShown | None = Field(description="null without a model")
    queues: list[QueueShown]
    pull_sources: list[PullSourceShown]
    warnings: list[str]
    settings: dict[str, SettingOrigin]


class Rebuild(Answer):
    """A rebuild of the index that has begun."""

    folder: str = Field(description="where the new index is built")


class SettingShown(Answer):
    """An entry of a section of the settings."""

    section: str
    name: str
    origin: str = Field(description="where it was set: default, the file with its line, or api")
    tag: str = Field(description="its version, for `If-Match`")
    value: dict[str, Any]


class StylesheetStored(Answer):
    """The front end whose stylesheet was set."""

    name: str
    stylesheet: str


class Imported(Answer):
    """The result of an import."""

    section: str
    name: str
    added: int
    total: int


class ImportedPolicies(Answer):
    """The result of an import of policy ACLs."""

    added: int
    changed: int
    removed: int
    total: int


class CrawlRemoved(Answer):
    """URLs that were removed from the queue."""

    removed: int
    compared: int | None = Field(default=None, description="how many URLs were compared with the pattern; with `after` only")
    after: str | None = Field(default=None, description="where the next part begins, null after the last; with `after` only")


class CrawlRequested(Answer):
    """URLs that are due at once."""

    requested: int
    compared: int | None = Field(default=None, description="how many URLs were compared with the pattern; with `after` only")
    after: str | None = Field(default=None, description="where the next part begins, null after the last; with `after` only")


# --- access -----------------------------------------------------------------------------------------------------------------------


class NamedPrincipal(Answer):
    """A user or a group that an ACL names."""

    scope: str
    namespace: str
    name: str
    case_sensitive: bool


class PolicyPrincipal(NamedPrincipal):
    """An entry of a policy ACL."""

    access: str


class PrincipalVerdict(NamedPrincipal):
    """A principal, and the decision of the ACLs on it."""

    decision: str


class PrincipalsShown(Answer):
    """The principals that the ACLs of a URL name."""

    url: str
    principals: list[PrincipalVerdict]


class ChangeOriginShown(Answer):
    """What changed the access to a document."""

    kind: str
    kind_code: str | None = Field(default=None, description="the same for programs, such as made_public")
    at: datetime
    url: str | None
    feed: int | None
    source: str | None


class AccessChangeShown(Answer):
    """A document that a user gained or lost."""

    change: str = Field(description="gained or lost")
    url: str
    datasource: str | None
    before: str
    after: str
    cause: ChangeOriginShown | None


class AccessChangesShown(Answer):
    """What changed for a user between two times."""

    since: datetime
    until: datetime
    changes: list[AccessChangeShown]
    next_after: int | None = Field(description="`after` of the next page, null on the last")
    next_cursor: str | None = Field(default=None, description="`cursor` of the next page, null on the last")


class FindingsShown(Answer):
    """Documents, or groups, that an administrator should check."""

    found: list[dict[str, Any]]
    next_after: int | None = Field(description="`after` of the next page, null on the last")
    next_cursor: str | None = Field(default=None, description="`cursor` of the next page, null on the last")


class PolicyShown(Answer):
    """A policy ACL."""

    name: str
    pattern: str
    kind: str
    principals: list[PolicyPrincipal]


class PoliciesShown(Answer):
    """Policy ACLs."""

    policies: list[PolicyShown]
    obeyed: bool = Field(description="whether searches apply all of them")


# --- accounts ---------------------------------------------------------------------------------------------------------------------


class AccountShown(Answer):
    """A local user."""

    name: str
    namespace: str
    role: str
    created_at: datetime
    changed_at: datetime


class SessionsEnded(Answer):
    """How many sessions ended."""

    ended: int


class TokenShown(Answer):
    """A token, without its secret text."""

    id: int
    label: str
    scopes: list[str]
    user: str | None
    namespace: str | None
    datasources: list[str]
    created_at: datetime
    expires_at: datetime | None
    used_at: datetime | None


class TokenMade(TokenShown):
    """A new token."""

    local_user: bool | None = Field(description="whether its user is a local one; null without a user")
    token: str = Field(description="its secret text, which is shown only this once")


class AuditVerified(Answer):
    """An audit log whose chain is whole."""

    entries: int
    first: int
    last: int
    hash: str
