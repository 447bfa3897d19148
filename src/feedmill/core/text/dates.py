"""Parses the dates that feeds, headers and documents contain.

Rules, of which the first that applies decides: RFC 822, 1123 and 850 with one or two digits for the day and two or four for the year;
asctime; ISO 8601 in its extended and basic forms; any other form that dateutil can parse if it contains year, month and day. If either of
two numbers could be the month, it is the first (``day_first`` reverses this); between full stops the day always comes first. A date without
a time means midnight, and a time without a zone is UTC. Zone names are those of RFC 822 and the usual European and Pacific ones; BST is
British summer time.
Source: RFC 822, 5; RFC 5322, 4.3; ISO 8601.
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

from dateutil import parser as dateutil_parser

MAX_DATE_CHARACTERS = 100
_REMEMBERED = 4_096

_MONTHS = {name: number for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
_ZONE_HOURS = {
    **dict.fromkeys(("", "z", "ut", "utc", "gmt", "wet"), 0.0),
    **dict.fromkeys(("bst", "west", "cet", "met", "mez"), 1.0),
    **dict.fromkeys(("cest", "mest", "mesz", "eet"), 2.0),
    **dict.fromkeys(("eest", "msk"), 3.0),
    **dict.fromkeys(("jst", "kst"), 9.0),
    "ist": 5.5,
    "sgt": 8.0,
    "hkt": 8.0,
    "aest": 10.0,
    "aedt": 11.0,
    "nzst": 12.0,
    "nzdt": 13.0,
    "edt": -4.0,
    "est": -5.0,
    "cdt": -5.0,
    "cst": -6.0,
    "mdt": -6.0,
    "mst": -7.0,
    "pdt": -7.0,
    "pst": -8.0,
    "akdt": -8.0,
    "akst": -9.0,
    "hst": -10.0,
}
_TIME = r"(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d{1,9})?)?"
_ZONE = r"(?P<zone>[A-Za-z]{0,5})(?P<offset>[+-]\d{1,2}:?(?:\d{2})?)?"
# RFC 822: [day ","] dd mon yy[yy] hh:mm[:ss] zone; RFC 850 joins the date with hyphens
_RFC822 = re.compile(
    rf"(?:[A-Za-z]{{2,9}}\.?,?\s+)?(?P<day>\d{{1,2}})[\s-]+(?P<month>[A-Za-z]{{3,9}})\.?[\s-]+(?P<year>\d{{4}}|\d{{2}})"
    rf"(?:,?\s+{_TIME}\s*{_ZONE})?(?:\s*\([^()]*\))?"
)
# asctime and java.util.Date: Www Mmm dd hh:mm:ss [zone] yyyy
_ASCTIME = re.compile(rf"[A-Za-z]{{3}}\s+(?P<month>[A-Za-z]{{3}})\s+(?P<day>\d{{1,2}})\s+{_TIME}\s+(?:{_ZONE}\s+)?(?P<year>\d{{4}})")
_DOTTED = re.compile(r"\d{1,2}\.\d{1,2}\.\d{2}")
# Year, month and day need at least two groups of digits or one group of six, since only the month may be a word.
_MAY_BE_DATE = re.compile(r"\d{6}|\d\D+\d")
_DAYS_APART = (datetime(2000, 1, 1), datetime(2001, 2, 2))


def parse_date(text: str, *, day_first: bool = False) -> datetime | None:
    """Parses a date in any of the forms above, returns None if it is none. Units: an aware UTC time. Errors: none."""
    text = text.strip()
    # A longer text is no date, and would only cost the parsers time.
    return _parse_date(text, day_first=day_first) if 0 < len(text) <= MAX_DATE_CHARACTERS else None


@lru_cache(maxsize=_REMEMBERED)
def _parse_date(text: str, *, day_first: bool) -> datetime | None:
    """Caches results, since documents share most of their values and dateutil is slow."""
    try:
        found = _parse_named_month(text) or parse_iso(text) or _parse_other(text, day_first=day_first)
        return None if found is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _parse_named_month(text: str) -> datetime | None:
    found = _RFC822.fullmatch(text) or _ASCTIME.fullmatch(text)
    if found is None:
        return None
    month = _MONTHS.get(found["month"][:3].lower())
    zone = _read_zone(found["zone"] or "", found["offset"] or "")
    if month is None or zone is None:
        return None
    year = int(found["year"])
    if len(found["year"]) == 2:
        year += 2000 if year < 50 else 1900
    second = min(int(found["second"] or 0), 59)  # a leap second counts as the second before
    return datetime(year, month, int(found["day"]), int(found["hour"] or 0), int(found["minute"] or 0), second, tzinfo=zone)


def _read_zone(name: str, offset: str) -> timezone | None:
    hours = _ZONE_HOURS.get(name.lower())
    if hours is None or (offset and hours):
        return None
    if not offset:
        return timezone(timedelta(hours=hours))
    digits = offset[1:].replace(":", "")
    minutes = int(digits[:-2] or 0) * 60 + int(digits[-2:]) if len(digits) > 2 else int(digits) * 60
    return timezone(timedelta(minutes=-minutes if offset[0] == "-" else minutes))


def parse_iso(text: str) -> datetime | None:
    """Returns the time of a text in ISO 8601, in UTC if it names no zone; None for any other text."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _parse_other(text: str, *, day_first: bool) -> datetime | None:
    # A quick look first: dateutil takes long for texts that are no dates, and most values of metadata are none.
    if not _MAY_BE_DATE.search(text) or (re.fullmatch(r"[\d.\s+-]*", text) and not re.search(r"\d\s*[.-]\s*\d", text)):
        return None
    day_first = day_first or _DOTTED.match(text) is not None
    # Parsed twice with different defaults: dateutil fills in what a text lacks, and does not say so.
    one, other = (_ask_dateutil(text, default, day_first) for default in _DAYS_APART)
    if one is None or other is None or one != other:  # a part that differs came from the default, not from the text
        return None
    return one if one.tzinfo else one.replace(tzinfo=UTC)


def _ask_dateutil(text: str, default: datetime, day_first: bool) -> datetime | None:
    try:
        found, unknown = _parse_strictly(text, default, day_first)
    except (ValueError, OverflowError, TypeError, IndexError, AttributeError, ArithmeticError):
        return None
    return None if unknown else found


def _parse_strictly(text: str, default: datetime, day_first: bool) -> tuple[datetime, bool]:
    unknown: list[str] = []

    def find_zone(name: str | None, offset: int | None) -> timezone | None:
        hours = 0.0 if offset is not None else _ZONE_HOURS.get((name or "").lower())
        if hours is None:
            unknown.append(name or "")
            return UTC
        return timezone(timedelta(hours=hours, seconds=offset or 0))

    found = dateutil_parser.parse(text, default=default, dayfirst=day_first, tzinfos=find_zone)
    return found, bool(unknown)
