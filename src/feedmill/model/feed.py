"""A feed: one received file, its kind, state, counts and log."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final


class FeedType(Enum):
    """What the records of a feed do to its source, by the appliance's names."""

    FULL = "full"
    INCREMENTAL = "incremental"
    METADATA_AND_URL = "metadata-and-url"


class FeedTarget(Enum):
    """What a feed changes. Group sources are never data sources, even if they have the same name."""

    DOCUMENTS = "documents"
    GROUPS = "groups"


class SourceCommand(Enum):
    """A command for a whole source. It waits in the queue of the source like a feed, and has no bytes."""

    DELETE = "delete"
    DESTROY = "destroy"
    CLEANUP = "cleanup"


class FeedKind(Enum):
    """The kinds of rows in the queues of feeds: a feed type or a command, for a target. The values are the names in the store."""

    FULL = "full"
    INCREMENTAL = "incremental"
    METADATA_AND_URL = "metadata-and-url"
    DELETE_SOURCE = "delete"
    DESTROY_SOURCE = "destroy"
    GROUPS_FULL = "groups-full"
    GROUPS_INCREMENTAL = "groups-incremental"
    GROUPS_CLEANUP = "groups-cleanup"

    @property
    def target(self) -> FeedTarget:
        """What the feed or the command changes."""
        return _TARGETS.get(self, FeedTarget.DOCUMENTS)

    @property
    def operation(self) -> FeedType | SourceCommand:
        """What the records of the feed do, or the command."""
        return _FEEDTYPES.get(self) or _COMMANDS[self]

    @property
    def feedtype(self) -> FeedType | None:
        """What the records of the feed do; None for a command."""
        return _FEEDTYPES.get(self)

    @property
    def command(self) -> SourceCommand | None:
        """The command; None for a feed."""
        return _COMMANDS.get(self)


_FEEDTYPES: Final = {
    FeedKind.FULL: FeedType.FULL,
    FeedKind.INCREMENTAL: FeedType.INCREMENTAL,
    FeedKind.METADATA_AND_URL: FeedType.METADATA_AND_URL,
    FeedKind.GROUPS_FULL: FeedType.FULL,
    FeedKind.GROUPS_INCREMENTAL: FeedType.INCREMENTAL,
}
_COMMANDS: Final = {
    FeedKind.DELETE_SOURCE: SourceCommand.DELETE,
    FeedKind.DESTROY_SOURCE: SourceCommand.DESTROY,
    FeedKind.GROUPS_CLEANUP: SourceCommand.CLEANUP,
}
_TARGETS: Final = dict.fromkeys((FeedKind.GROUPS_FULL, FeedKind.GROUPS_INCREMENTAL, FeedKind.GROUPS_CLEANUP), FeedTarget.GROUPS)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedHeader:
    """What a feed says about itself, as it was written; None for a missing value. Values that came with the feed win."""

    datasource: str | None = None
    feedtype: str | None = None


class FeedState(Enum):
    """The progress of a feed, by the appliance's names. Source: docs/reference/feed-port.md."""

    RECEIVED = "received"
    IN_PROGRESS = "in progress"
    COMPLETED = "completed"
    COMPLETED_WITH_ERRORS = "completed with errors"
    FAILED_IN_ERROR = "failed in error"

    @property
    def is_final(self) -> bool:
        """Whether the feed is finished."""
        return self not in (FeedState.RECEIVED, FeedState.IN_PROGRESS)


class Phase(Enum):
    """The next step of a feed; an interrupted step is repeated from its checkpoint. SETTLE is the indexer's, all others the feeder's."""

    SCAN = "scan"
    APPLY = "apply"
    SWEEP = "sweep"
    SETTLE = "settle"
    DONE = "done"

    @property
    def is_reading(self) -> bool:
        """Whether the feeder reads the feed's file."""
        return self in (Phase.SCAN, Phase.APPLY)

    @property
    def is_past_feeder(self) -> bool:
        """Whether the feeder has nothing more to do for the feed."""
        return self in (Phase.SETTLE, Phase.DONE)


class LogLevel(Enum):
    """The severity of a log entry: ERROR costs a record, WARNING changed what was sent, NOTICE only informs."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """One line of a feed's log. Units: record and line count from 1, 0 = the feed as a whole."""

    level: LogLevel
    reason: str
    record: int = 0
    line: int = 0
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFeed:
    """A feed that was just received.

    ``file`` names its bytes in the feed folder, and ``format`` is the name of their format in the registry; both are empty for a command.
    """

    datasource: str
    kind: FeedKind
    format: str = ""
    file: str
    size_bytes: int
    received_at: datetime
    client: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """A feed as the store holds it.

    - ``format`` is the name of the format of its bytes in the registry, empty for a command.
    - ``applied`` counts the changes applied so far: the checkpoint.
    - ``included`` and ``errors`` are the appliance's "documents included" and "documents in error"; ``acls`` counts valid group-level ACLs.
    - ``repaired_file`` is the repaired copy that is read instead of ``file`` if the XML needed repair.
    - ``late_logged`` counts the log entries of steps after the feeder.
    - Times are aware UTC, None = not yet.
    """

    id: int
    datasource: str
    kind: FeedKind
    format: str = ""
    file: str
    size_bytes: int
    received_at: datetime
    client: str
    state: FeedState
    phase: Phase
    repaired_file: str | None = None
    records: int = 0
    applied: int = 0
    included: int = 0
    errors: int = 0
    acls: int = 0
    logged: int = 0
    late_logged: int = 0
    finished_at: datetime | None = None
    searchable_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSource:
    """A name under which documents are pushed. ``kind``: content, web or deleted; counts are of live documents and of stored feeds."""

    name: str
    kind: str
    documents: int
    feeds: int
