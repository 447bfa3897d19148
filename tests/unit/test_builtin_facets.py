"""The built-in facets: file types, the days that a facet of dates offers, and the readings of a selection."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.query.selections import MAX_SELECTION_CHARACTERS, read_selection
from feedmill.core.ranking.builtinfacets import MAX_YEARS, built_in_term, choose_days, drop_repeated
from feedmill.core.ranking.indexterms import filetype_of
from feedmill.core.text.typedvalues import read_day
from feedmill.model.facets import FacetRange, FacetValue
from tests.anytext import any_text

TODAY = date(2026, 3, 10)


@pytest.mark.parametrize(
    ("url", "mimetype", "expected"),
    [
        ("http://h/a.html", "application/pdf", "pdf"),
        ("http://h/a.PHP?x=1.doc", "text/html; charset=utf-8", "html"),
        ("http://h/a.HTM", "", "html"),
        ("http://h/a.tar.gz", "application/gzip", "gz"),
        ("http://h/v1.2/", "application/x-unknown", ""),
        ("http://h/a.b-c", "", ""),
        ("http://h/", "message/rfc822", "eml"),
        ("http://h/ls.1.gz", "text/troff", "man"),
        ("http://h/a.tgz", "application/x-tar", "tar"),
        ("http://h/a", "application/x-7z-compressed", "7z"),
    ],
)
def test_file_type_is_one_ending(url: str, mimetype: str, expected: str) -> None:
    assert filetype_of(url, mimetype) == expected


def test_terms_ignore_letter_case_and_the_dot_of_an_ending() -> None:
    assert built_in_term("@site", "A.Example") == built_in_term("@site", "a.example")
    assert built_in_term("@filetype", ".HTM") == built_in_term("@filetype", "html")
    assert built_in_term("@source", "html") != built_in_term("@site", "html")


def days(first: date, last: date) -> list[str]:
    earliest, latest = (datetime(day.year, day.month, day.day, 12, tzinfo=UTC).timestamp() for day in (first, last))
    return [f"{one.low}..{one.high}" for one in choose_days(earliest, latest, TODAY)]


def test_days_of_many_years_end_with_an_open_range() -> None:
    ranges = days(date(1, 1, 1), date(2026, 3, 10))
    assert ranges[:4] == ["2026-03-10..2026-03-10", "2026-03-04..2026-03-10", "2026-02-09..2026-03-10", "2025-03-11..2026-03-10"]
    assert ranges[4] == "2026-01-01..2026-12-31"
    assert ranges[-1] == f"..{2026 - MAX_YEARS}-12-31"
    assert len(ranges) == 4 + MAX_YEARS + 1


def test_days_of_one_year_are_months_and_of_one_month_are_days() -> None:
    assert days(date(2024, 2, 3), date(2024, 4, 1)) == ["2024-04-01..2024-04-30", "2024-03-01..2024-03-31", "2024-02-01..2024-02-29"]
    assert days(date(2024, 2, 28), date(2024, 2, 29)) == ["2024-02-29..2024-02-29", "2024-02-28..2024-02-28"]
    assert days(date(9999, 11, 1), date(9999, 12, 31)) == ["9999-12-01..9999-12-31", "9999-11-01..9999-11-30"]
    assert days(date(2026, 3, 10), date(2026, 3, 10)) == ["2026-03-10..2026-03-10"]


@given(first=st.dates(), last=st.dates())
def test_every_day_between_is_in_a_range(first: date, last: date) -> None:
    first, last = sorted((first, last))
    ranges = [text.split("..") for text in days(first, last)]
    for day in (first, last):
        assert any((read_day(low) or date.min) <= day <= (read_day(high) or date.max) for low, high in ranges)


def test_a_longer_range_that_holds_no_more_is_left_out() -> None:
    counted = [
        FacetValue(value=None, range=FacetRange(low=low, high=high), count=count)
        for low, high, count in [
            ("2026-03-10", "2026-03-10", 2),
            ("2026-03-04", "2026-03-10", 2),
            ("2026-02-09", "2026-03-10", 5),
            ("2026-01-01", "2026-12-31", 5),
            ("2025-01-01", "2025-12-31", 5),
        ]
    ]
    assert drop_repeated(counted, TODAY) == (counted[0], counted[2], counted[4])


@given(any_text())
def test_any_text_is_read_or_has_a_fault(text: str) -> None:
    readings = read_selection(text)
    assert readings.fault or readings.values or readings.ranges
    assert all(one.text in text and one.name for one in readings.values)


def test_selection_has_several_readings() -> None:
    assert [(one.name, one.text) for one in read_selection("og:type:a:b").values] == [
        ("og", "type:a:b"),
        ("og:type", "a:b"),
        ("og:type:a", "b"),
    ]
    readings = read_selection("Price: 1..5")
    assert ([one.text for one in readings.values], [one.text for one in readings.ranges]) == (["1..5"], ["1..5"])
    assert read_selection(f"a:{'x' * MAX_SELECTION_CHARACTERS}").fault.startswith("it is longer than")
