"""The date of a document by the rules of the settings."""

from datetime import UTC, datetime

import pytest

from feedmill.core.crawling.dates import DateLocation, DateParts, DateRules, find_date_in_text

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("http://x.com/2024/05/31/a.html", "2024-05-31"),
        ("http://x.com/20240531-report.pdf", "2024-05-31"),
        ("report-2024-5-1", "2024-05-01"),
        ("Minutes of 31 May 2024", "2024-05-31"),
        ("Protokoll vom 3. März 2024", "2024-03-03"),
        ("le 14 juillet 2023", "2023-07-14"),
        ("12 de octubre de 2022", "2022-10-12"),
        ("May 31, 2024", "2024-05-31"),
        ("Sept. 1st, 2020", "2020-09-01"),
        ("31.05.2024", "2024-05-31"),
        ("5/31/2024", "2024-05-31"),
        ("31/5/2024", "2024-05-31"),
        ("May 2024", "2024-05-01"),
        ("in 2024", None),
        ("31.13.2024", None),
        ("2024-02-30", None),
        ("123456789012", None),
        ("", None),
        ("5/1/2020, then 2021-02-03 and 2021-02-04", "2021-02-03"),
        ("2021-02-03 and 5/1/2020", "2021-02-03"),
    ],
)
def test_first_date_of_the_most_frequent_form_is_found(text: str, date: str | None) -> None:
    assert find_date_in_text(text) == (None if date is None else day(date))


def rules(*made: tuple[str, str, str]) -> DateRules:
    return DateRules([(pattern, DateLocation(location), name) for pattern, location, name in made])


def test_first_rule_that_matches_and_yields_a_date_applies() -> None:
    parts = DateParts(
        url="http://x.com/2020-01-02/a",
        title="Minutes, 3 April 2021",
        metadata=[("Date", "yesterday"), ("DATE", "Tue, 6 Nov 2007 12:45:26 GMT")],
        last_modified=day("2025-01-01"),
        read_body=lambda: "printed on 2019-08-07",
    )
    assert rules(("x.com/", "meta", "date"), ("/", "url", "")).find_date(parts, NOW) == datetime(2007, 11, 6, 12, 45, 26, tzinfo=UTC)
    assert rules(("y.com/", "meta", "date"), ("/", "url", "")).find_date(parts, NOW) == day("2020-01-02")
    assert rules(("/", "meta", "none"), ("/", "title", "")).find_date(parts, NOW) == day("2021-04-03")
    assert rules(("/", "body", "")).find_date(parts, NOW) == day("2019-08-07")
    assert rules(("/", "last_modified", "")).find_date(parts, NOW) == day("2025-01-01")
    assert rules(("y.com/", "body", "")).find_date(parts, NOW) is None
    assert rules().is_empty


@pytest.mark.parametrize("date", ["1969-12-31", "2026-03-04"])
def test_date_outside_of_the_range_is_none(date: str) -> None:
    assert rules(("/", "title", "")).find_date(DateParts(url="http://x.com/", title=date), NOW) is None
    assert rules(("/", "title", "")).find_date(DateParts(url="http://x.com/", title="2026-03-03"), NOW) == day("2026-03-03")
