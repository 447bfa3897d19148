"""Pull sources: their runs, and what the store holds of both.

A pull source is a place that the server itself reads, such as a database. A run reads it once and applies what it found.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum


class RunMode(Enum):
    """How much a run reads."""

    FULL = "full"
    """The whole source. What the run does not find is deleted."""
    INCREMENTAL = "incremental"
    """What has changed since a point in time. Only what the source names as deleted is deleted."""


class RunState(Enum):
    """The progress of a run."""

    REQUESTED = "requested"
    RUNNING = "running"
    COMPLETED = "completed"
    COMPLETED_WITH_ERRORS = "completed with errors"
    HELD = "held"
    """It found more to delete than the guard permits, and deleted nothing."""
    FAILED = "failed"
    """It could not read the source to its end, and deleted nothing."""

    @property
    def is_final(self) -> bool:
        """Whether the run is over."""
        return self not in (RunState.REQUESTED, RunState.RUNNING)

    @property
    def is_complete(self) -> bool:
        """Whether the run read the source to its end and applied everything."""
        return self in (RunState.COMPLETED, RunState.COMPLETED_WITH_ERRORS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCounts:
    """How many documents a run added, changed, deleted and left as they were, and how many errors there were."""

    added: int = 0
    changed: int = 0
    deleted: int = 0
    unchanged: int = 0
    errors: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What a run is to do: read everything even if it could read only changes, change nothing, or delete more than the guard permits."""

    is_full: bool = False
    is_dry: bool = False
    is_forced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRun:
    """A run as the store holds it.

    - ``mode`` is None until the run begins.
    - ``held`` is the number of deletions that the guard held back.
    - ``known`` is the number of documents that the source had when the run began. The guard compares deletions with it.
    - ``listing`` numbers the reading of the source. An item with a lower number was not found. ``first_listing`` is the number of the run's
      first reading: a reading that cannot be continued begins again under a new number.
    - ``unnamed`` counts errors whose URL is not known. After such an error nothing is deleted.
    - ``checkpoint`` is where the reading continues, "" = at the beginning. ``since`` is the point in time up to which changes are read.
    - ``restarts`` counts how often the process ended since the run last read a page further.
    - ``log`` holds the first errors and notices.
    - Times are aware UTC, None = not yet.
    """

    id: int
    source: str
    request: RunRequest = RunRequest()
    mode: RunMode | None = None
    state: RunState = RunState.REQUESTED
    requested_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    counts: RunCounts = RunCounts()
    held: int = 0
    known: int = 0
    listing: int = 0
    first_listing: int = 0
    unnamed: int = 0
    checkpoint: str = ""
    since: str = ""
    restarts: int = 0
    reason: str = ""
    log: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class PullState:
    """What the store holds of a pull source.

    - ``lease_owner`` may run it until ``lease_expires_at``; "" = no process runs it.
    - ``since`` is the point in time from which the next incremental run reads.
    - ``completed_at`` and ``full_at`` are the times when the last complete run and the last complete full run began.
    - ``failures`` counts the runs that failed since the last one that did not, ``failed_at`` is when the last of them ended.
    - ``tried_at`` is when the last run began that the schedule or a request started; ``seen_at`` is when the source became known.
    """

    source: str
    seen_at: datetime
    is_paused: bool = False
    lease_owner: str = ""
    lease_expires_at: datetime | None = None
    listing: int = 0
    since: str = ""
    completed_at: datetime | None = None
    full_at: datetime | None = None
    tried_at: datetime | None = None
    failures: int = 0
    failed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredItem:
    """What the store holds of one item of a pull source.

    Shape: ``digest`` is that of the item when it was last applied, b"" if it must be applied again; ``listing`` is the last reading that
    named it, and ``is_deleted`` whether that reading named it as deleted.
    """

    url: str
    digest: bytes
    listing: int
    is_deleted: bool = False
