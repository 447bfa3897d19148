"""What a store keeps of feeds and their sources."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Protocol

from feedmill.model.feed import DataSource, Feed, LogEntry, NewFeed


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Who takes feeds, until when, and of which size: from ``min_bytes`` on, below ``max_bytes`` where one is given."""

    owner: str
    until: datetime
    min_bytes: int = 0
    max_bytes: int | None = None


class FileUse(Enum):
    """What a file in the feed folder is to its feed: bytes still to be applied, bytes as received, or a repaired copy no longer read."""

    NEEDED = "needed"
    RECEIVED = "received"
    SPENT = "spent"


class Feeds(Protocol):
    """The feeds that were received, and their logs."""

    def add(self, feed: NewFeed) -> int:
        """Keeps a feed as received and gives its id; ids grow in the order of acknowledgement."""

    def get(self, feed_id: int) -> Feed:
        """Returns a feed. Errors: NotFound."""

    def list_newest(self, datasource: str | None, limit: int) -> list[Feed]:
        """Lists feeds, newest first, of one data source or of all."""

    def count_waiting(self) -> int:
        """Counts the feeds that are not wholly applied."""

    def list_claimable(self, lease: Lease, *, now: datetime, limit: int) -> list[Feed]:
        """Lists what ``claim`` would take."""

    def claim(self, lease: Lease, *, now: datetime, limit: int) -> list[Feed]:
        """Takes up to ``limit`` feeds under a lease.

        Each is the first unapplied one of its queue, claimed by nobody else, and of a size that the lease takes. A data source's feeds
        are a queue, and all groups feeds are one. A feed that the owner holds already is given again, its lease renewed.
        """

    def release(self, owner: str) -> None:
        """Returns back all that ``owner`` holds."""

    def save(self, feed: Feed, log: Sequence[LogEntry] = ()) -> None:
        """Stores a feed's progress and appends to its log; the feed has moved, and the failure of its last step is forgotten."""

    def note_progress(self, feed_id: int, reached: int) -> None:
        """Notes that a feed moved within a step that stores nothing; a position that was reached before is no progress."""

    def note_failure(self, feed_id: int, reason: str) -> None:
        """Keeps why a feed's last step failed, until the feed moves."""

    def log_late(self, feed_id: int, entries: Sequence[LogEntry]) -> None:
        """Appends to the log what came to light behind the feeder; a feed that is forgotten and a log that is full take nothing.

        The feed may be saved by the feeder at the same time.
        """

    def list_log(self, feed_id: int, limit: int) -> list[LogEntry]:
        """Lists a feed's log in the order written; the limit holds for the feeder's entries and again for those from behind it."""

    def list_unsettled(self) -> list[Feed]:
        """Lists feeds whose changes are applied but not all obeyed or searchable: phase SETTLE, or DONE without ``searchable_at``."""

    def list_prunable(self, keep: int) -> list[Feed]:
        """Lists final feeds beyond the newest ``keep`` of their data source."""

    def remove(self, feed_ids: Sequence[int]) -> None:
        """Forgets feeds and their logs."""

    def find_files(self, names: Sequence[str]) -> dict[str, "FileUse"]:
        """Finds what feeds use files for, by name; one that no feed knows is left out."""


class Sources(Protocol):
    """The data sources."""

    def list(self) -> list[DataSource]:
        """Lists all, by name, with their counts."""

    def mark_deleted(self, name: str) -> None:
        """Shows a source as deleted until it is fed again."""

    def forget(self, name: str) -> None:
        """Removes a source's name and its feeds, but for one still being applied."""
