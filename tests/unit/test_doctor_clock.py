"""``feedmill doctor`` compares the clock with moments that have passed for certain."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from feedmill.runtime.doctor import State
from feedmill.runtime.doctor.folder import check_clock


def test_newest_feed_in_the_past_is_no_fault(tmp_path: Path) -> None:
    found = list(check_clock(tmp_path, None, datetime.now(UTC) - timedelta(seconds=1)))
    assert [finding.state for finding in found] == [State.OK]


def test_newest_feed_in_the_future_is_a_fault(tmp_path: Path) -> None:
    found = list(check_clock(tmp_path, None, datetime.now(UTC) + timedelta(hours=1)))
    assert [finding.state for finding in found] == [State.FAULT]
    assert "before the newest feed was received" in found[0].text


def test_folder_that_does_not_exist_has_no_clock_to_compare(tmp_path: Path) -> None:
    assert [finding.state for finding in check_clock(tmp_path / "none", None, None)] == [State.OK]
    assert not (tmp_path / "none").exists()
