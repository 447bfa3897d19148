"""Schedules of pull sources: ``every 15m``, a line of cron, or "" for runs only on request.

A line of cron has five fields: minute, hour, day of the month, month, day of the week. A field is ``*``, a number, a range ``1-5``, a list
``1,15``, or one of these with a step ``*/10``. Months and days of the week may be named by three letters; Sunday is 0 and 7. If both
days are restricted, either may match. ``@hourly``, ``@daily``, ``@weekly``, ``@monthly`` and ``@yearly`` stand for lines.
All times are UTC. Source: crontab(5).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from feedmill.model.errors import BadRequest

FIRST_WAIT: Final = timedelta(minutes=1)
BACK_OFF: Final = timedelta(minutes=1)
MAX_BACK_OFF: Final = timedelta(hours=4)
_SEARCHED: Final = timedelta(days=366 * 8 + 1)
"""29 February comes at least once in eight years."""

_EVERY = re.compile(r"every\s+([1-9][0-9]{0,5})\s*(s|m|h|d)")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_NAMED: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_PART = re.compile(r"(\*|[a-z0-9]+(?:-[a-z0-9]+)?)(?:/([1-9][0-9]?))?")
_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_DAYS: Final = "sun mon tue wed thu fri sat".split()
_ALL_DAYS: Final = frozenset(range(1, 32))
_ALL_WEEKDAYS: Final = frozenset(range(7))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """A line of cron: the numbers that each field permits. Units: ``weekdays`` count from 0, Sunday."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]

    def find_next(self, after: datetime) -> datetime | None:
        """Returns the first minute after a time that matches, None if no date ever does."""
        moment = after.replace(second=0, microsecond=0) + timedelta(minutes=1)
        end = after + _SEARCHED
        while moment < end:
            # the largest unit that does not match is skipped as a whole
            if moment.month not in self.months:
                moment = (moment.replace(day=1, hour=0, minute=0) + timedelta(days=32)).replace(day=1)
            elif not self._matches_day(moment):
                moment = moment.replace(hour=0, minute=0) + timedelta(days=1)
            elif moment.hour not in self.hours:
                moment = moment.replace(minute=0) + timedelta(hours=1)
            elif moment.minute not in self.minutes:
                moment += timedelta(minutes=1)
            else:
                return moment
        return None

    def _matches_day(self, moment: datetime) -> bool:
        day, weekday = moment.day in self.days, moment.isoweekday() % 7 in self.weekdays
        if self.days == _ALL_DAYS or self.weekdays == _ALL_WEEKDAYS:
            return day and weekday
        return day or weekday


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When a source is run: after an interval, by lines of cron, or only on request if there is neither."""

    every: timedelta | None = None
    crons: tuple[Cron, ...] = ()

    def find_next(self, last: datetime | None, begin: datetime) -> datetime | None:
        """Returns when the next run is due, None for never. ``last``: when the last run began; ``begin``: when the source became known."""
        if self.every is not None:
            # a little later at first, so that a new source can be tried before
            return begin + min(self.every, FIRST_WAIT) if last is None else last + self.every
        found = (cron.find_next(last or begin) for cron in self.crons)
        return min((moment for moment in found if moment is not None), default=None)


UNSCHEDULED: Final = Schedule()


def parse_schedule(text: str) -> Schedule:
    """Returns a schedule; lines of cron are joined by ``|``. Errors: BadRequest."""
    words = " ".join(text.lower().split())
    if not words:
        return UNSCHEDULED
    every = _EVERY.fullmatch(words)
    if every is not None:
        return Schedule(every=timedelta(**{_UNITS[every[2]]: int(every[1])}))
    lines = [_NAMED.get(line.strip(), line).split() for line in words.split("|")]
    if any(len(fields) != 5 for fields in lines):
        raise BadRequest(
            f"'{text}' is no schedule; give 'every 15m' (s, m, h or d), or the five fields of a cron line such as '30 2 * * *'"
        )
    return Schedule(crons=tuple(_parse_cron(fields, text) for fields in lines))


def _parse_cron(fields: Sequence[str], text: str) -> Cron:
    cron = Cron(
        minutes=_parse_field(fields[0], 0, 59, text),
        hours=_parse_field(fields[1], 0, 23, text),
        days=_parse_field(fields[2], 1, 31, text),
        months=_parse_field(fields[3], 1, 12, text, {name: number for number, name in enumerate(_MONTHS, 1)}),
        weekdays=frozenset(day % 7 for day in _parse_field(fields[4], 0, 7, text, {name: number for number, name in enumerate(_DAYS)})),
    )
    if cron.find_next(datetime(2000, 1, 1)) is None:
        raise BadRequest(f"'{text}' names a date that never comes")
    return cron


def _parse_field(field: str, low: int, high: int, text: str, names: dict[str, int] | None = None) -> frozenset[int]:
    found: set[int] = set()
    for part in field.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise BadRequest(f"'{text}' is no schedule: '{part}' is no part of a cron field")
        if match[1] == "*":
            first, last = low, high
        else:
            begin, has_end, end = match[1].partition("-")
            first = _parse_number(begin, names or {}, text)
            last = _parse_number(end, names or {}, text) if has_end else high if match[2] else first
        if not low <= first <= last <= high:
            raise BadRequest(f"'{text}' is no schedule: '{part}' is not within {low} to {high}")
        found.update(range(first, last + 1, int(match[2] or 1)))
    return frozenset(found)


def _parse_number(word: str, names: dict[str, int], text: str) -> int:
    if word in names:
        return names[word]
    if not word.isdecimal():
        raise BadRequest(f"'{text}' is no schedule: '{word}' is no number")
    return int(word)


def find_retry(failures: int, failed_at: datetime) -> datetime:
    """Returns when a failed run is repeated: each time after twice the wait of the time before, up to a limit."""
    return failed_at + min(BACK_OFF * (1 << min(failures - 1, 20)), MAX_BACK_OFF)
