"""Finds the date of a document by the rules of the settings.

The rules are tried in order, and the first whose pattern matches the URL and that yields a valid date applies. In a text, the first date
of its most frequent form counts. Forms, with examples:

- year first: 2024-05-31, 2024/05/31, 20240531, with or without a time
- day first with a month's name: 31 May 2024, 31. Mai 2024
- month's name first: May 31, 2024
- numbers with the year last: 5/31/2024, 31.05.2024 (between full stops the day comes first)
- a month and a year: May 2024, which means the first of the month; a year alone is no date

Valid dates are from 1970-01-01 to two days ahead. Names of months are those of the languages in Latin-1 that the appliance knew.
Source: specifications of the appliance, "Document Dates".
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Final

from feedmill.core.text.dates import parse_date
from feedmill.core.urls.patterns import parse_pattern

EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)
LATEST: Final = timedelta(days=2)
READ_CHARACTERS: Final = 100_000
"""How much of a body is searched for dates."""

_NAMES: Final = (
    "january jan januar janvier enero janeiro gennaio gen januari ene",
    "february feb februar février fevrier febrero fevereiro febbraio februari",
    "march mar märz maerz mars marzo março maart mrt",
    "april apr avril abril aprile abr",
    "may mai mayo maio maggio mei maj",
    "june jun juni juin junio junho giugno giu",
    "july jul juli juillet julio julho luglio lug",
    "august aug août aout agosto augustus augusti ago",
    "september sep sept septembre septiembre setembro settembre set",
    "october oct oktober okt octobre octubre outubro ottobre ott out",
    "november nov novembre noviembre novembro",
    "december dec dezember dez décembre diciembre dezembro dicembre dic",
)
_MONTHS: Final = {name: number for number, names in enumerate(_NAMES, 1) for name in names.split()}
_MONTH: Final = "(?P<month>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + ")"
_FORMS: Final = tuple(
    re.compile(text, re.IGNORECASE)
    for text in (
        r"(?<!\d)(?P<year>\d{4})(?P<sign>[-/._])(?P<number>\d{1,2})(?P=sign)(?P<day>\d{1,2})(?!\d)",
        r"(?<!\d)(?P<year>(?:19|20)\d{2})(?P<number>0[1-9]|1[0-2])(?P<day>0[1-9]|[12]\d|3[01])(?!\d)",
        rf"(?<!\d)(?P<day>\d{{1,2}})(?:\.|st|nd|rd|th)?[ -](?:de )?{_MONTH}\.?,?[ -](?:de )?(?P<year>\d{{4}})(?!\d)",
        rf"\b{_MONTH}\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}})(?!\d)",
        r"(?<!\d)(?P<day>\d{1,2})\.(?P<number>\d{1,2})\.(?P<year>\d{4})(?!\d)",
        r"(?<!\d)(?P<number>\d{1,2})(?P<sign>[/-])(?P<day>\d{1,2})(?P=sign)(?P<year>\d{4})(?!\d)",
        rf"\b{_MONTH}\.?,? (?P<year>\d{{4}})(?!\d)",
    )
)


class DateLocation(Enum):
    """Where a rule looks for a date."""

    URL = "url"
    META = "meta"
    TITLE = "title"
    BODY = "body"
    LAST_MODIFIED = "last_modified"


@dataclass(frozen=True, slots=True, kw_only=True)
class DateParts:
    """The parts of a document in which rules look for its date. ``read_body`` reads its text, needed only for rules on the body."""

    url: str
    title: str = ""
    metadata: Sequence[tuple[str, str]] = ()
    last_modified: datetime | None = None
    read_body: Callable[[], str] = str


class DateRules:
    """The rules of the settings: pattern, place and name of the meta tag of each, in order. Errors: BadRequest for a pattern."""

    def __init__(self, rules: Sequence[tuple[str, DateLocation, str]]) -> None:
        self._rules = [(parse_pattern(pattern).matches, location, name.strip().casefold()) for pattern, location, name in rules]

    @property
    def is_empty(self) -> bool:
        """Whether there is no rule, so that the date is that of the last modification."""
        return not self._rules

    def find_date(self, parts: DateParts, now: datetime) -> datetime | None:
        """Returns the date of a document, None if no rule yields one."""
        for matches, location, name in self._rules:
            if matches(parts.url):
                found = _find_in(location, name, parts)
                if found is not None and EARLIEST <= found <= now + LATEST:
                    return found
        return None


def _find_in(location: DateLocation, name: str, parts: DateParts) -> datetime | None:
    match location:
        case DateLocation.LAST_MODIFIED:
            return parts.last_modified
        case DateLocation.URL:
            return find_date_in_text(parts.url)
        case DateLocation.TITLE:
            return find_date_in_text(parts.title)
        case DateLocation.BODY:
            return find_date_in_text(parts.read_body()[:READ_CHARACTERS])
        case DateLocation.META:
            values = [value for known, value in parts.metadata if known.strip().casefold() == name]
            return next((found for value in values if (found := parse_date(value) or find_date_in_text(value)) is not None), None)


def find_date_in_text(text: str) -> datetime | None:
    """Returns the first date of the most frequent form in a text, None if there is none."""
    dates: list[tuple[int, int, datetime]] = []
    taken: list[tuple[int, int]] = []
    for number, form in enumerate(_FORMS):
        for found in form.finditer(text):
            date = _read(found)
            # a form that is a part of another, such as "May 2024" in "31 May 2024", does not count again
            if date is not None and not any(begin < found.end() and found.start() < end for begin, end in taken):
                dates.append((number, found.start(), date))
                taken.append(found.span())
    if not dates:
        return None
    counts = Counter(number for number, _, _ in dates)
    first = {number: min(place for form, place, _ in dates if form == number) for number in counts}
    # the most frequent form; of equally frequent ones that which occurs first
    best = min(counts, key=lambda number: (-counts[number], first[number]))
    return next(date for number, place, date in dates if (number, place) == (best, first[best]))


def _read(found: re.Match[str]) -> datetime | None:
    parts = found.groupdict()
    month = int(parts["number"]) if parts.get("number") else _MONTHS[parts["month"].lower()]
    day = int(parts.get("day") or 1)
    if parts.get("number") and month > 12 >= day and found.re is not _FORMS[0]:
        month, day = day, month  # 31/05/2024: the day came first
    try:
        return datetime(int(parts["year"]), month, day, tzinfo=UTC)
    except ValueError:
        return None
