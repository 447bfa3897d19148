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
class CrawlShown:
    """The crawl queue as a whole. ``groups`` counts URLs by their group of states."""

    paused: bool
    due: int
    oldest_due_at: datetime | None = None
    groups: dict[str, int]


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
    due_at: datetime | None = None
    crawled_at: datetime | None = None
    changed_at: datetime | None = None
    failures: int = 0
    referrer: str | None = None
    referrers: list[str] = field(default_factory=list)
    history: list[FetchShown] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Why searches find a URL or do not. ``visible`` is None without a user."""

    url: str
    searchable: bool
    state: str
    state_code: str | None = field(default=None, metadata=explain("the same for programs, such as known_not_crawled"))
    causes: list[str]
    visible: bool | None = None
    datasource: str | None = None
    feed: str | None = None
    history: list[EventShown] = field(default_factory=list)
    crawl: CrawlEntryShown | None = None
