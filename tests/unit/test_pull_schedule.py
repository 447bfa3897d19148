from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.pulling.schedule import MAX_BACK_OFF, find_retry, parse_schedule
from feedmill.model.errors import BadRequest

BEGIN = datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC)
"""A Sunday."""


def next_of(text: str, last: datetime | None = BEGIN) -> datetime | None:
    return parse_schedule(text).find_next(last, BEGIN)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("every 90s", timedelta(seconds=90)),
        ("every 15m", timedelta(minutes=15)),
        (" Every  2 h ", timedelta(hours=2)),
        ("every 7d", timedelta(days=7)),
    ],
)
def test_find_next_with_interval_counts_from_the_last_run(text: str, after: timedelta) -> None:
    assert next_of(text) == BEGIN + after


def test_find_next_with_interval_and_no_run_is_due_soon() -> None:
    assert next_of("every 15m", None) == BEGIN + timedelta(minutes=1)
    assert next_of("every 5s", None) == BEGIN + timedelta(seconds=5)


def test_find_next_without_schedule_is_never() -> None:
    assert next_of("") is None
    assert next_of("  ", None) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("* * * * *", datetime(2026, 3, 1, 12, 1, tzinfo=UTC)),
        ("*/15 * * * *", datetime(2026, 3, 1, 12, 15, tzinfo=UTC)),
        ("30 2 * * *", datetime(2026, 3, 2, 2, 30, tzinfo=UTC)),
        ("0 12 * * *", datetime(2026, 3, 2, 12, 0, tzinfo=UTC)),
        ("0 6-8/2 * * MON-fri", datetime(2026, 3, 2, 6, 0, tzinfo=UTC)),
        ("0 0 1,15 * *", datetime(2026, 3, 15, 0, 0, tzinfo=UTC)),
        ("0 0 31 * *", datetime(2026, 3, 31, 0, 0, tzinfo=UTC)),
        ("0 0 29 feb *", datetime(2028, 2, 29, 0, 0, tzinfo=UTC)),
        ("0 0 * * 7", datetime(2026, 3, 8, 0, 0, tzinfo=UTC)),
        ("0 0 * * 0", datetime(2026, 3, 8, 0, 0, tzinfo=UTC)),
        # both days restricted: either matches
        ("0 0 13 * fri", datetime(2026, 3, 6, 0, 0, tzinfo=UTC)),
        ("@Daily", datetime(2026, 3, 2, 0, 0, tzinfo=UTC)),
        ("@yearly | @hourly", datetime(2026, 3, 1, 13, 0, tzinfo=UTC)),
        ("10/20 13 * * *", datetime(2026, 3, 1, 13, 10, tzinfo=UTC)),
    ],
)
def test_find_next_with_cron_is_the_first_minute_that_matches(text: str, found: datetime) -> None:
    assert next_of(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "hourly",
        "@reboot",
        "every 0m",
        "every 5 weeks",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "5-1 * * * *",
        "a * * * *",
        "* * 30 2 *",
        "* * * * 8",
    ],
)
def test_parse_with_nonsense_is_refused(text: str) -> None:
    with pytest.raises(BadRequest):
        parse_schedule(text)


@given(st.datetimes(min_value=datetime(2020, 1, 1), max_value=datetime(2035, 1, 1)))
def test_find_next_with_cron_lies_ahead_and_matches(moment: datetime) -> None:
    last = moment.replace(tzinfo=UTC)
    found = next_of("5,35 */3 1-20 * mon-sat", last)
    assert found is not None
    assert last < found <= last + timedelta(days=14)
    assert (found.minute in (5, 35), found.hour % 3, found.second) == (True, 0, 0)
    assert next_of("5,35 */3 1-20 * mon-sat", found - timedelta(minutes=1)) == found


def test_find_retry_doubles_the_wait_up_to_its_limit() -> None:
    waits = [find_retry(failures, BEGIN) - BEGIN for failures in range(1, 12)]
    assert waits[:4] == [timedelta(minutes=minutes) for minutes in (1, 2, 4, 8)]
    assert waits == sorted(waits)
    assert waits[-1] == MAX_BACK_OFF
    assert find_retry(10_000, BEGIN) == BEGIN + MAX_BACK_OFF
