"""The fields of the search page for a range of days."""

import pytest

from feedmill.http.search.facetlinks import read_fields


@pytest.mark.parametrize(
    ("sent", "selected"),
    [
        ([("low:@date", "2026-01-01"), ("high:@date", "2026-02-01")], ("@date:2026-01-01..2026-02-01",)),
        ([("high:@date", "2026-01-01"), ("low:@date", "2026-02-01")], ("@date:2026-01-01..2026-02-01",)),
        ([("low:@date", "2026-01-01"), ("high:@date", "")], ("@date:2026-01-01..",)),
        ([("low:@date", " "), ("high:og:time", "2026-01-01")], ("og:time:..2026-01-01",)),
        ([("low:", "2026-01-01"), ("low", "2026-01-01"), ("q", "low:x"), ("lower:x", "1")], ()),
    ],
)
def test_fields_for_days_are_a_selection(sent: list[tuple[str, str]], selected: tuple[str, ...]) -> None:
    assert read_fields(sent) == selected
