"""What the receipt of a feed says: the entries of its log about records, and its final state."""

import re

from feedmill.model.change import SourcePosition
from feedmill.model.feed import FeedState, LogEntry, LogLevel


def entry_at(place: SourcePosition, level: LogLevel, reason: str, *, url: str | None = None) -> LogEntry:
    """Returns the log entry about the record at a position. The reason names the byte if the format has no lines."""
    if place.offset is not None and not place.line:
        reason = f"{reason}, byte {place.offset}"
    return LogEntry(level=level, reason=reason, record=place.record, line=place.line, url=url)


def final_state(*, included: int, errors: int, acls: int = 0) -> FeedState:
    """Returns the state of a feed once all its records are processed.

    Shape: ``included`` and ``errors`` as they are counted, ``acls`` the valid group-level ACLs, which prevent the failed state.
    Source: docs/reference/feed-port.md.
    """
    if errors == 0:
        return FeedState.COMPLETED
    return FeedState.COMPLETED_WITH_ERRORS if included or acls else FeedState.FAILED_IN_ERROR


_DELETED = re.compile(r"([0-9]+) documents deleted")


def describe_deleted(count: int) -> str:
    """Returns the reason of the log entry that says how many documents a pattern deleted."""
    return f"{count} documents deleted"


def read_deleted(reason: str) -> int | None:
    """Returns the number in a reason that ``describe_deleted`` wrote, None for another reason."""
    found = _DELETED.fullmatch(reason)
    return int(found[1]) if found else None
