"""The picture of the crawl rate."""

from datetime import UTC, datetime, timedelta

import pytest

from feedmill.cli.statusscreen import draw_bars
from feedmill.core.crawling.rate import add_fetches, list_fetches

NOW = datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC)


def test_rate_counts_the_minutes_of_an_hour() -> None:
    text = ""
    for minute in range(0, 120, 30):
        text = add_fetches(add_fetches(text, NOW + timedelta(minutes=minute), 2), NOW + timedelta(minutes=minute, seconds=10), 3)
    last = list_fetches(text, NOW + timedelta(minutes=90))
    assert (len(last), last[-1], last[-31], sum(last)) == (60, 5, 5, 10)
    assert list_fetches(text, NOW + timedelta(days=1)) == [0] * 60


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1}', '{"1": null}'])
def test_rate_of_a_text_that_cannot_be_read_is_zero(text: str) -> None:
    assert sum(list_fetches(text, NOW)) == 0
    assert list_fetches(add_fetches(text, NOW, 1), NOW)[-1] == 1


def test_bars_show_the_highest_minute_and_every_minute_with_a_fetch() -> None:
    assert draw_bars([0, 1, 50, 100]) == " ▁▄█"
    assert draw_bars([0, 0]) == "  "
