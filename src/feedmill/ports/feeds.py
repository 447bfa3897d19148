"""The store's repositories of feeds and data sources."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Protocol

from feedmill.model.feed import DataSource, Feed, LogEntry, NewFeed


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A feeder's right to work on feeds until a time, for feeds of ``min_bytes`` or more, and below ``max_bytes`` if it is set."""

    owner: str
    until: datetime
    min_bytes: int = 0
    max_bytes: int | None = None


class FileUse(Enum):
    """What a file in the feed folder is to its feed: bytes still to be applied, bytes as received, or a repaired copy no longer read."""

    NEEDED = "needed"
    RECEIVED = "received"
    SPENT = "spent"


class StoredFeedReader(Protocol):
    """Reads the received feeds."""

    def get(self, feed_id: int) -> Feed:
        """Returns a feed. Errors: NotFound."""

    def list_newest(self, datasource: str | None, limit: int, before: int | None = None) -> list[Feed]:
        """Lists feeds, newest first, of one data source or of all; with ``before`` those that are older than the feed of that id."""

    def count_waiting(self) -> int:
        """Counts the feeds that are not completely applied."""

    def list_unsettled(self) -> list[Feed]:
        """Lists feeds whose applied changes are not all in force or searchable: phase SETTLE, or DONE without ``searchable_at``."""


class FeedQueue(Protocol):
    """The feeds in the order of their acknowledgement, with the progress of the feeders that apply them.

    Example::

        with store.writing() as unit:
            feeds = unit.feeds.queue.claim(Lease(owner="feeder-1", until=now + timedelta(minutes=5)), now=now, limit=10)
    """

    def add(self, feed: NewFeed) -> int:
        """Stores a received feed and returns its id. Ids grow in the order of acknowledgement."""

    def list_claimable(self, lease: Lease, *, now: datetime, limit: int) -> list[Feed]:
        """Lists the feeds that ``claim`` would return."""

    def claim(self, lease: Lease, *, now: datetime, limit: int) -> list[Feed]:
        """Claims up to ``limit`` feeds under a lease.

        Each is the first unapplied feed of its queue, not claimed by another owner, and of a size that the lease allows. The feeds of a
        data source are one queue, and all groups feeds are one queue. A feed that the owner already holds is returned again, and its lease
        is renewed.
        """

    def release(self, owner: str) -> None:
        """Releases all feeds that ``owner`` holds."""

    def save(self, feed: Feed, log: Sequence[LogEntry] = ()) -> None:
        """Stores a feed's progress and appends to its log. This counts as progress and clears the failure of its last step."""

    def note_progress(self, feed_id: int, reached: int) -> None:
        """Notes progress within a step that stores nothing. A position that was reached before is no progress."""

    def note_failure(self, feed_id: int, reason: str) -> None:
        """Stores why a feed's last step failed, until the feed makes progress."""


class FeedLog(Protocol):
    """The logs of feeds."""

    def list_log(self, feed_id: int, limit: int) -> list[LogEntry]:
        """Lists a feed's log in the order written. The limit applies to the feeder's entries and separately to the late ones."""

    def log_late(self, feed_id: int, entries: Sequence[LogEntry]) -> None:
        """Appends entries that were found after the feeder's step. If the feed was removed or its log is full, nothing is appended.

        The feeder may save the feed at the same time.
        """


class FeedUpkeep(Protocol):
    """Removes old feeds, and says which files feeds still use."""

    def list_prunable(self, keep: int) -> list[Feed]:
        """Lists final feeds beyond the newest ``keep`` of their data source."""

    def remove(self, feed_ids: Sequence[int]) -> None:
        """Removes feeds and their logs."""

    def find_files(self, names: Sequence[str]) -> dict[str, "FileUse"]:
        """Returns how feeds use files, by name. A file that no feed uses is left out."""


class Sources(Protocol):
    """The data sources."""

    def list(self) -> list[DataSource]:
        """Lists all data sources by name, with their counts."""

    def note_crawled(self, name: str) -> None:
        """Makes the source of crawled documents known, also if it was deleted."""

    def note_deleted(self, name: str) -> None:
        """Shows a source as deleted until a feed writes to it again."""

    def forget(self, name: str) -> None:
        """Removes a source's name and its feeds, except a feed that is still being applied."""
