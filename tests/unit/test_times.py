"""How people read times."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
import typer

from feedmill.cli.options import read_time, show_time, show_value
from feedmill.core.text.times import write_in_utc, write_time

NOON = datetime(2026, 3, 1, 12, 30, 5, 999_999, tzinfo=UTC)


def test_time_is_written_in_utc_to_the_second() -> None:
    assert write_time(NOON.astimezone(timezone(timedelta(hours=-8)))) == "2026-03-01 12:30:05 UTC"
    assert write_in_utc(NOON) == "2026-03-01 12:30:05"
    assert write_time(datetime(1, 1, 1, tzinfo=UTC)) == "0001-01-01 00:00:00 UTC"


@pytest.mark.parametrize("text", ["2026-03-01T12:30:05Z", "2026-03-01T13:30:05+01:00", "2026-03-01T12:30:05.999999+00:00"])
def test_time_of_json_is_shown_as_the_others(text: str) -> None:
    assert show_time(text) == "2026-03-01 12:30:05 UTC"


def test_time_that_was_shown_is_read() -> None:
    assert read_time(write_time(NOON)) == NOON.replace(microsecond=0)
    with pytest.raises(typer.BadParameter, match="write 2026-03-01"):
        read_time("noon UTC")


def test_only_times_are_shown_as_times() -> None:
    assert show_value("crawled_at", "2026-03-01T12:30:05Z") == "2026-03-01 12:30:05 UTC"
    assert show_value("last_modified", None) == ""
    assert show_value("url", "2026-03-01T12:30:05Z") == "2026-03-01T12:30:05Z"
    assert show_value("failures", 3) == "3"
