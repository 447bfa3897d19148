"""Writes the entries of a feed's log about its records."""

from feedmill.model.change import SourcePosition
from feedmill.model.feed import LogEntry, LogLevel


def entry_at(place: SourcePosition, level: LogLevel, reason: str, *, url: str | None = None) -> LogEntry:
    """Returns the log entry about the record at a position. The reason names the byte if the format has no lines."""
    if place.offset is not None and not place.line:
        reason = f"{reason}, byte {place.offset}"
    return LogEntry(level=level, reason=reason, record=place.record, line=place.line, url=url)
