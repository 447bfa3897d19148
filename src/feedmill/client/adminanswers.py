"""The types of the JSON answers of the admin port. A member that this version does not know is ignored.

Example::

    source = PullSourceShown.model_validate({"name": "staff", "kind": "database", "schedule": "every 15m", "paused": False})
    print(source.last_run)
"""

from datetime import datetime

from pydantic import Field

from feedmill.client.answers import Answer, EventShown


class RunShown(Answer):
    """A run of a pull source."""

    id: int
    source: str
    mode: str | None = Field(default=None, description="full or incremental, null before it begins")
    dry_run: bool
    state: str = Field(description="requested, running, completed, completed with errors, held or failed")
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
    log: list[str] = Field(default=[])

    @property
    def is_final(self) -> bool:
        """Whether the run is over."""
        return self.finished_at is not None


class PullSourceShown(Answer):
    """A pull source of the settings."""

    name: str
    kind: str
    schedule: str
    paused: bool
    failures: int = 0
    last_full_at: datetime | None = None
    next_run_at: datetime | None = None
    last_run: RunShown | None = None


class CrawlShown(Answer):
    """The crawl queue as a whole. ``groups`` counts URLs by their group of states."""

    paused: bool
    due: int
    oldest_due_at: datetime | None = None
    groups: dict[str, int]


class FetchShown(Answer):
    """One fetch of a URL."""

    at: datetime
    state: str
    code: int
    http_status: int | None = None
    bytes: int = 0
    seconds: float = 0.0
    reason: str | None = None


class CrawlEntryShown(Answer):
    """A URL of the crawl queue."""

    url: str
    site: str
    group: str
    state: str
    code: int
    due_at: datetime | None = None
    crawled_at: datetime | None = None
    changed_at: datetime | None = None
    failures: int = 0
    referrer: str | None = None
    referrers: list[str] = Field(default=[])
    history: list[FetchShown] = Field(default=[])


class Diagnosis(Answer):
    """Why searches find a URL or do not. ``visible`` is None without a user."""

    url: str
    searchable: bool
    state: str
    causes: list[str]
    visible: bool | None = None
    datasource: str | None = None
    feed: str | None = None
    history: list[EventShown] = Field(default=[])
    crawl: CrawlEntryShown | None = None
