import pytest

from feedmill.core.documents.receipts import entry_at
from feedmill.model.change import SourcePosition
from feedmill.model.feed import LogEntry, LogLevel


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (SourcePosition(record=2, line=7), LogEntry(level=LogLevel.ERROR, reason="no url", record=2, line=7)),
        (SourcePosition(record=2), LogEntry(level=LogLevel.ERROR, reason="no url", record=2)),
        (SourcePosition(record=2, offset=0), LogEntry(level=LogLevel.ERROR, reason="no url, byte 0", record=2)),
        (SourcePosition(record=2, line=7, offset=90), LogEntry(level=LogLevel.ERROR, reason="no url", record=2, line=7)),
    ],
)
def test_entry_names_the_position_that_the_format_has(place: SourcePosition, expected: LogEntry) -> None:
    assert entry_at(place, LogLevel.ERROR, "no url") == expected
