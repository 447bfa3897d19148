"""The types of the JSON answers of the admin port. A member that this version does not know is ignored.

Example::

    from feedmill_client.decoding import decode

    source = decode(PullSourceShown, {"name": "staff", "kind": "database", "schedule": "every 15m", "paused": False})
    print(source.last_run)
"""

from dataclasses import dataclass, field
from datetime import datetime

from feedmill_client.answers import EventShown
from feedmill_client.explaining import explain


@dataclass(frozen=True, slots=True, kw_only=True)
class RunShown:
    """A run of a pull source."""

    id: int
    source: str
    mode: str | None = field(default=None, metadata=explain("full or incremental, null before it begins"))
    dry_run: bool
    state: str = field(metadata=explain("requested, running, completed, completed with errors, held or failed"))
    state_code: str | None = field(default=None, metadata=explain("the same for programs, such as completed_with_errors"))
    requested_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    added: int
    changed: int
    deleted: int
    unchanged: int
    errors: int
    held: int = 0
    reason: str | None = None
    log: list[str] = field(default_factory=list)

    @property
    def is_final(self) -> bool:
        """Whether the run is over."""
        return self.finished_at is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class PullSourceShown:
    """A pull source of the settings."""

    name: str
    kind: str
    schedule: str
    paused: bool
    failures: int = 0
    last_full_at: datetime | None = None
    next_run_at: datetime | None = None
    last_run: RunShown | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingSiteShown:
    """A site whose requests fail, so that its URLs wait."""

    site: str
    failures: int
    failed_at: datetime | None = None
    retry_at: datetime | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlShown:
    """The crawl queue as a whole. ``groups`` counts URLs by their group of states."""

    paused: bool
    due: int
    oldest_due_at: datetime | None = None
    groups: dict[str, int]
    sites: list[dict[str, str | int]] = field(default_factory=list, metadata=explain("of each `site`, its URLs by their group"))
    failing_sites: list[FailingSiteShown] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchShown:
    """One fetch of a URL."""

    at: datetime
    state: str
    state_code: str | None = field(default=None, metadata=explain("the same for programs, such as http_server_error"))
    code: int
    http_status: int | None = None
    bytes: int = 0
    seconds: float = 0.0
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlEntryShown:
    """A URL of the crawl queue."""

    url: str
    site: str
    group: str
    group_code: str | None = field(default=None, metadata=explain("the same for programs: waiting, crawled, error or excluded"))
    state: str
    state_code: str | None = field(default=None, metadata=explain("the same for programs, such as http_server_error"))
    code: int
    urgency: str | None = field(default=None, metadata=explain("how soon it is fetched of those that are due, such as scheduled"))
    due_at: datetime | None = None
    fetching: bool = False
    added_at: datetime | None = None
    crawled_at: datetime | None = None
    changed_at: datetime | None = None
    interval_seconds: int = field(default=0, metadata=explain("the time between two fetches"))
    failures: int = 0
    failed_at: datetime | None = None
    crawl_once: bool = False
    pagerank: int | None = None
    depth: int = field(default=0, metadata=explain("how many links lead to it from where the crawl began"))
    referrer: str | None = None
    referrers: list[str] = field(default_factory=list, metadata=explain("pages that link to it; of a single entry alone"))
    duplicate_of: str | None = field(default=None, metadata=explain("the URL whose document has the same content"))
    duplicates: list[str] = field(default_factory=list, metadata=explain("URLs with the same content; of a single entry alone"))
    history: list[FetchShown] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchShown:
    """The entry of an ACL that decided."""

    scope: str
    namespace: str
    name: str
    case_sensitive: bool
    access: str
    through: list[str] = field(metadata=explain("the groups by which it means the user"))


@dataclass(frozen=True, slots=True, kw_only=True)
class StepShown:
    """An ACL of the chain."""

    url: str
    inheritance_type: str
    local: str
    entry: MatchShown | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDecisionShown:
    """The decision of the policy for a URL."""

    name: str
    pattern: str
    decision: str
    entry: MatchShown | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionShown:
    """Whether a user may see a URL, and why."""

    url: str
    user: str | None
    decision: str = field(metadata=explain("PERMIT, DENY or INDETERMINATE, by the ACLs alone"))
    reason: str
    path: list[StepShown]
    policy: PolicyDecisionShown | None
    combined: str = field(metadata=explain("the decision of ACLs and policy together"))
    public: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryMatchShown:
    """What a query does with a URL."""

    query: str
    matches: bool
    rank: int | None = field(default=None, metadata=explain("the place among the results, from 1; null if it is not among those compared"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Why searches find a URL or do not. ``visible`` is None without a user."""

    url: str
    searchable: bool
    state: str
    state_code: str | None = field(default=None, metadata=explain("the same for programs, such as known_not_crawled"))
    causes: list[str]
    visible: bool | None = None
    access: DecisionShown | None = field(default=None, metadata=explain("the decision for the user, null without one"))
    query: QueryMatchShown | None = field(default=None, metadata=explain("null without a query"))
    datasource: str | None = None
    feed: str | None = None
    history: list[EventShown] = field(default_factory=list)
    crawl: CrawlEntryShown | None = None
