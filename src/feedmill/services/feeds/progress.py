"""The progress of a feed: its state and its log after each step of its run."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from feedmill.core.documents.receipts import final_state
from feedmill.model.errors import BadFeed, NotFound
from feedmill.model.feed import Feed, FeedState, LogEntry, LogLevel, Phase
from feedmill.services.feeds.reading import ScanReport

LOG_ENTRIES = 10_000
"""How many entries a feed's log holds; further ones are only counted."""

_LOST = "the feed's bytes are no longer in the feed folder; push it again"


def scanned(feed: Feed, report: ScanReport) -> tuple[Feed, tuple[LogEntry, ...]]:
    """Returns a feed that was read completely and is ready to be applied, with the entries of its log."""
    feed = replace(feed, state=FeedState.IN_PROGRESS, phase=Phase.APPLY, records=report.records, repaired_file=report.repaired_file)
    return logged(feed, report.log)


def unread(error: BadFeed | NotFound) -> LogEntry:
    """Returns the log entry for a feed that cannot be read."""
    if isinstance(error, NotFound):
        return LogEntry(level=LogLevel.ERROR, reason=_LOST)
    return LogEntry(level=LogLevel.ERROR, reason=error.placed_reason, line=error.line)


def failed(feed: Feed, entry: LogEntry, at: datetime) -> tuple[Feed, tuple[LogEntry, ...]]:
    """Returns a feed that ends without having changed anything, with the log entry that says why."""
    over = replace(feed, state=FeedState.FAILED_IN_ERROR, phase=Phase.DONE, included=0, finished_at=at, searchable_at=at)
    return logged(over, (entry,))


def ended(feed: Feed, *, is_obeyed: bool, searchable_at: datetime | None) -> Feed:
    """Returns an applied feed: with its final state once the index obeys it, and with ``searchable_at`` once the index shows all of it."""
    if not is_obeyed:
        return replace(feed, phase=Phase.SETTLE)
    state = final_state(included=feed.included, errors=feed.errors, acls=feed.acls)
    return replace(feed, phase=Phase.DONE, state=state, searchable_at=searchable_at)


def logged(feed: Feed, entries: Sequence[LogEntry]) -> tuple[Feed, tuple[LogEntry, ...]]:
    """Returns a feed whose log grows by entries, and the entries that still fit into it; the last place says that the log is cut."""
    free = LOG_ENTRIES - feed.logged
    written = tuple(entries)
    if len(written) >= free:
        cut = LogEntry(level=LogLevel.NOTICE, reason=f"the log is cut after {LOG_ENTRIES} entries; the counts are whole")
        written = (*written[: free - 1], cut) if free > 0 else ()
    return replace(feed, logged=feed.logged + len(written)), written
