from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.text.dates import parse_date


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("Tue, 6 Nov 2007 12:45:26 GMT", "2007-11-06T12:45:26"),
        ("Tue, 06 Nov 2007 12:45:26 +0000", "2007-11-06T12:45:26"),
        ("Tue, 15 Nov 1994 12:45:26 -0800", "1994-11-15T20:45:26"),
        ("Tue, 6 Nov 2007 12:45:26 +0100", "2007-11-06T11:45:26"),
        ("Tue, 6 Nov 2007 12:45:26 +05:30", "2007-11-06T07:15:26"),
        ("Tue, 6 Nov 2007 12:45:26 BST", "2007-11-06T11:45:26"),
        ("Tue, 6 Nov 2007 12:45:26 MST", "2007-11-06T19:45:26"),
        ("Tue, 6 Nov 2007 12:45:26 CEST", "2007-11-06T10:45:26"),
        ("Tue, 6 Nov 2007 12:45:26 IST", "2007-11-06T07:15:26"),
        ("Tue, 6 Nov 2007 12:45:26 GMT+1", "2007-11-06T11:45:26"),
        ("Tue, 6 Nov 2007 12:45:26 +0000 (UTC)", "2007-11-06T12:45:26"),
        ("6 November 2007 12:45", "2007-11-06T12:45:00"),
        ("6 Nov 07 12:45:26 Z", "2007-11-06T12:45:26"),
        ("6 Nov 94", "1994-11-06T00:00:00"),
        ("Tuesday, 06-Nov-07 12:45:26 GMT", "2007-11-06T12:45:26"),
        ("Tue Nov  6 12:45:26 2007", "2007-11-06T12:45:26"),
        ("Tue Nov 06 12:45:26 PST 2007", "2007-11-06T20:45:26"),
        ("31 Dec 2016 23:59:60 GMT", "2016-12-31T23:59:59"),
        ("2012-03-12T21:04:17Z", "2012-03-12T21:04:17"),
        ("2012-03-12T21:04:17+00:00", "2012-03-12T21:04:17"),
        ("2012-03-12T21:04:17.5-0230", "2012-03-12T23:34:17.500000"),
        ("2012-03-12T21:04Z", "2012-03-12T21:04:00"),
        ("20120312T210417Z", "2012-03-12T21:04:17"),
        ("2012-03-12 21:04:17", "2012-03-12T21:04:17"),
        ("2012-03-12 21:04:17 UTC", "2012-03-12T21:04:17"),
        ("2012-03-12", "2012-03-12T00:00:00"),
        ("20120312", "2012-03-12T00:00:00"),
        ("2012-3-1", "2012-03-01T00:00:00"),
        ("Nov 6, 2007", "2007-11-06T00:00:00"),
        ("2007/11/06 10:11 PM", "2007-11-06T22:11:00"),
        ("03/04/2020", "2020-03-04T00:00:00"),
        ("13/04/2020", "2020-04-13T00:00:00"),
        ("03.04.2020", "2020-04-03T00:00:00"),
        (" \n2012-03-12 ", "2012-03-12T00:00:00"),
    ],
)
def test_parse_date_of_every_form_seen_returns_utc(text: str, iso: str) -> None:
    found = parse_date(text)
    assert found == datetime.fromisoformat(iso).replace(tzinfo=UTC)
    assert found is not None
    assert found.tzinfo is UTC


def test_parse_date_with_the_day_first_reads_it_first() -> None:
    assert parse_date("03/04/2020", day_first=True) == datetime(2020, 4, 3, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", " ", "yesterday", "2007", "Nov 2007", "12/2007", "12:45", "7 avril 2010", "\u0661\u0662", "1" * 200])
def test_parse_date_of_what_names_no_day_returns_none(text: str) -> None:
    assert parse_date(text) is None


@pytest.mark.parametrize("text", ["1194353126", "1194353126000", "10 10 10", "6 Foo 2007", "32 Nov 2007", "2012-03-12T25:00:00"])
def test_parse_date_of_numbers_that_are_none_returns_none(text: str) -> None:
    assert parse_date(text) is None


@pytest.mark.parametrize(
    "text", ["Tue, 6 Nov 2007 12:45:26 XYZ", "Nov 6, 2007 12:45 XYZ", "6 Nov 2007 12:45 +99:00", "1 Jan 0001 00:00:00 +0100"]
)
def test_parse_date_of_unknown_zone_or_time_before_time_returns_none(text: str) -> None:
    assert parse_date(text) is None


@given(text=st.one_of(st.text(max_size=40), st.text(alphabet="0123456789-/:.,+ TZJanFebMrGMTPS", max_size=40)), day_first=st.booleans())
def test_parse_date_of_any_text_returns_utc_or_none(text: str, day_first: bool) -> None:
    found = parse_date(text, day_first=day_first)
    assert found is None or found.tzinfo is UTC


@given(at=st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2099, 1, 1), timezones=st.just(UTC)))
def test_parse_date_of_formatted_dates_returns_the_dates(at: datetime) -> None:
    assert parse_date(at.isoformat()) == at
    assert parse_date(at.strftime("%d %b %Y %H:%M:%S +0000")) == at.replace(microsecond=0)
