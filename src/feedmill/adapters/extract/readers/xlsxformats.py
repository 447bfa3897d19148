"""Shows the numbers of a workbook as people see them: dates, times, percentages, truth values. Other numbers stay as they are stored.

A date is a number of days, and only the format of its cell tells it from other numbers. Days are written by ISO 8601, whatever order the
format has, since the order that people see depends on their system. Source: ECMA-376 part 1, sections 18.8.30 and 18.8.31, 18.17.4.
"""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from math import isfinite

from lxml import etree

Show = Callable[[float], str]
"""Returns a number as a format shows it. Errors: ValueError, OverflowError for numbers that it does not show."""

# what a format shows as it stands: quoted texts, signs behind a backslash, blanks, colours and conditions, but not [h], [m], [s]
_LITERAL = re.compile(r'"[^"]{0,100}"|\\.|_.|\*.|\[(?!(?:h{1,9}|m{1,9}|s{1,9})\])[^\]]{0,100}\]', re.IGNORECASE)
_ELAPSED = re.compile(r"\[(?:h{1,9}|m{1,9}|s{1,9})\]", re.IGNORECASE)
_HALF_DAY = re.compile(r"am/pm|a/p", re.IGNORECASE)
_DECIMALS = re.compile(r"[.,](0+)")
# with a fraction: whole numbers of so many digits are names of things
_LONG_NUMBER = re.compile(r"-?\d{0,17}\.\d{1,20}(?:[eE][+-]?\d{1,2})?")
_LONG_CHARACTERS = 16
_FORMAT_CHARACTERS = 255
_MOST_FORMATS = 70_000
_DAYS = {*range(14, 18), 22, *range(27, 37), *range(50, 59)}
_TIMES = {18: False, 19: True, 20: False, 21: True, 45: True, 46: True, 47: True}
_PERCENTAGES = {9: 0, 10: 2}
_LAST_DAY = 2_958_466
_DAY_SECONDS = 86_400
_TRUTH = {"1": "TRUE", "0": "FALSE"}


def read_formats(styles: etree._Element | None, workbook: etree._Element | None) -> list[Show | None]:
    """Returns how each style of cells shows numbers, None for numbers as they are."""
    if styles is None:
        return []
    is_late = workbook is not None and any(node.get("date1904") in ("1", "true") for node in workbook.iterfind("{*}workbookPr"))
    codes = {node.get("numFmtId"): node.get("formatCode") or "" for node in styles.iterfind("{*}numFmts/{*}numFmt")}
    known = {number: _read_code(code, is_late) for number, code in list(codes.items())[:_MOST_FORMATS]}
    shows = []
    for style in list(styles.iterfind("{*}cellXfs/{*}xf"))[:_MOST_FORMATS]:
        number = style.get("numFmtId") or "0"
        shows.append(known[number] if number in known else _find_built_in(number, is_late))
    return shows


def show_value(value: str, show: Show | None) -> str:
    """Returns a stored number as its format shows it."""
    if show is not None:
        try:
            return show(float(value))
        except (ValueError, OverflowError):
            return value
    if len(value) > _LONG_CHARACTERS and _LONG_NUMBER.fullmatch(value):
        # 17 digits are stored, and 0.1 + 0.2 is shown as 0.3
        return f"{float(value):.15G}"
    return value


def show_truth(value: str) -> str:
    """Returns a stored truth value as cells show it."""
    return _TRUTH.get(value, value)


def _find_built_in(number: str, is_late: bool) -> Show | None:
    """Source: ECMA-376 part 1, section 18.8.30, with the languages of East Asia."""
    place = int(number) if number.isdecimal() and len(number) < 5 else 0
    if place in _DAYS:
        return partial(_show_moment, is_late=is_late)
    if place in _TIMES:
        return partial(_show_time, has_seconds=_TIMES[place], is_elapsed=place == 46)
    return partial(_show_percentage, decimals=_PERCENTAGES[place]) if place in _PERCENTAGES else None


def _read_code(code: str, is_late: bool) -> Show | None:
    plain = _LITERAL.sub("", code[:_FORMAT_CHARACTERS]).partition(";")[0]
    if "%" in plain:
        decimals = _DECIMALS.search(plain)
        return partial(_show_percentage, decimals=len(decimals[1]) if decimals else 0)
    if not plain or plain.lower() == "general":
        return None
    letters = set(_HALF_DAY.sub("h", plain).lower())
    if _ELAPSED.search(plain):
        return partial(_show_time, has_seconds="s" in letters, is_elapsed=True)
    if letters & {"y", "d"} or ("m" in letters and not letters & {"h", "s"}):
        return partial(_show_moment, is_late=is_late)
    return partial(_show_time, has_seconds="s" in letters, is_elapsed=False) if letters & {"h", "s"} else None


def _show_percentage(number: float, decimals: int) -> str:
    if not isfinite(number):
        raise ValueError(number)
    return f"{number * 100:.{decimals}f}%"


def _show_time(number: float, has_seconds: bool, is_elapsed: bool) -> str:
    if not 0 <= number < _LAST_DAY:
        raise ValueError(number)
    seconds = round((number if is_elapsed else number % 1) * _DAY_SECONDS)
    hours, minutes = seconds // 3_600, seconds // 60 % 60
    return f"{hours}:{minutes:02}:{seconds % 60:02}" if has_seconds else f"{hours}:{minutes:02}"


def _show_moment(number: float, is_late: bool) -> str:
    """Source: ECMA-376 part 1, section 18.17.4.1, with the day 60 that 1900 did not have."""
    if not 0 <= number < _LAST_DAY:
        raise ValueError(number)
    if number < 1 and not is_late:
        return _show_time(number, has_seconds=True, is_elapsed=False)
    first = datetime(1904, 1, 1) if is_late else datetime(1899, 12, 31) if number < 60 else datetime(1899, 12, 30)
    moment = first + timedelta(seconds=round(number * _DAY_SECONDS))
    return moment.date().isoformat() if number % 1 == 0 else moment.isoformat(" ").removesuffix(":00")
