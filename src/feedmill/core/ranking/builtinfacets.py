"""The built-in facets: what every document has for them, and which days the facet of dates offers.

The file type is the usual ending of the content's type, else that of the URL. The site is the host without its port.
"""

from calendar import monthrange
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from feedmill.core.ranking.indexterms import MAX_TERM_CHARACTERS, bounded, filetype_of, filetype_term, split_url
from feedmill.core.text.analysis import fold_value
from feedmill.model.facets import BuiltIn, FacetRange, FacetValue

MAX_YEARS = 12
RECENT_DAYS = (1, 7, 30, 365)
"""The ranges that end today, besides those of the calendar. Units: days."""

# Folding turns this character into a blank, so no term of a metadata name begins with it.
_SIGN, _SEPARATOR = "\x1d", "\x1f"


def built_in_values(url: str, mimetype: str, datasource: str, language: str | None) -> dict[str, str]:
    """Returns the value of a document for each built-in facet of values, without those that it has no value for."""
    host = split_url(url)[0]
    found = {
        BuiltIn.FILETYPE.value: filetype_of(url, mimetype),
        BuiltIn.SOURCE.value: datasource,
        BuiltIn.LANGUAGE.value: language or "",
        BuiltIn.SITE.value: host,
    }
    return {name: value for name, value in found.items() if fold_value(value) and len(value) <= MAX_TERM_CHARACTERS}


@lru_cache(maxsize=1_024)
def built_in_term(name: str, value: str) -> str:
    """Returns the term of one value of a built-in facet, whatever its letter case."""
    ending = filetype_term(value) if name == BuiltIn.FILETYPE.value else bounded(fold_value(value))
    return f"{_SIGN}{name}{_SEPARATOR}{ending}"


# --- dates ----------------------------------------------------------------------------------------------------------------------


def choose_days(first_second: float, last_second: float, today: date) -> tuple[FacetRange, ...]:
    """Returns ranges of days for documents between two moments: some that end today, then all years, months or days.

    Shape: newest first; the oldest of many years are one range with an open end. Units: seconds since 1970.
    """
    first, last = _day_of(first_second), _day_of(last_second)
    calendar = _list_years(first, last) or _list_months(first, last) or _list_days(first, last)
    recent = [_range(today - timedelta(days=days - 1), today) for days in RECENT_DAYS]
    # One that holds everything, or nothing, does not narrow.
    telling = [one for one in recent if first.isoformat() < one.low <= last.isoformat() and one not in calendar]
    return (*telling, *calendar)


def drop_repeated(values: Sequence[FacetValue], today: date) -> tuple[FacetValue, ...]:
    """Returns the counted ranges without those that reach today and hold no more than the range before them, which ends today."""
    ends, distinct = today.isoformat(), list[FacetValue]()
    for value in values:
        before = distinct[-1] if distinct else None
        is_recent = before is not None and before.range is not None and before.range.high == ends
        if not (is_recent and before and before.count == value.count and value.range and value.range.high >= ends):
            distinct.append(value)
    return tuple(distinct)


def _day_of(seconds: float) -> date:
    return datetime.fromtimestamp(seconds, UTC).date()


def _range(first: date | None, last: date) -> FacetRange:
    return FacetRange(low=first.isoformat() if first else "", high=last.isoformat())


def _list_years(first: date, last: date) -> list[FacetRange]:
    if first.year == last.year:
        return []
    years = range(last.year, max(first.year, last.year - MAX_YEARS + 1) - 1, -1)
    found = [_range(date(year, 1, 1), date(year, 12, 31)) for year in years]
    return [*found, _range(None, date(years[-1] - 1, 12, 31))] if years[-1] > first.year else found


def _list_months(first: date, last: date) -> list[FacetRange]:
    if first.month == last.month:
        return []
    starts = [date(last.year, month, 1) for month in range(last.month, first.month - 1, -1)]
    return [_range(start, last_of_month(start)) for start in starts]


def last_of_month(day: date) -> date:
    """Returns the last day of the month of a day."""
    return day.replace(day=monthrange(day.year, day.month)[1])


def _list_days(first: date, last: date) -> list[FacetRange]:
    days = [date(last.year, last.month, day) for day in range(last.day, first.day - 1, -1)]
    return [_range(day, day) for day in days]
