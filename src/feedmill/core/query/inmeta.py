"""Parses the value of ``inmeta:``.

    inmeta    = NAME                                          the document has the name
              | NAME "=" VALUE                                one whole value
              | NAME "~" WORDS [ "*" ]                        words of a value; with the star the last one may continue
              | NAME ":" [LOW] ".." [HIGH]                    numbers, optionally with a unit, or days as YYYY-MM-DD; one end is optional
              | NAME ":daterange:" ( DAY | [DAY] ".." [DAY] )

A name may contain colons (``dc:title=x``): it ends at the first ``=`` or ``~``, or before a text that is a valid range. Names and values
may be percent-encoded. They are decoded after they are separated, so ``%2E`` is a dot and ``%3D`` an equals sign that separate nothing.
Source: Search Protocol Reference, "inmeta".
"""

import re
from datetime import date
from urllib.parse import unquote

from feedmill.core.text.measures import read_range
from feedmill.core.text.typedvalues import read_day
from feedmill.model.query import MetaContains, MetaDates, MetaEquals, MetaExists, MetaNumbers, Restriction

_DIVIDER = re.compile(r"[=~]")
_DAYS = ":daterange"


def read_inmeta(text: str) -> Restriction | None:
    """Returns the restriction that a text means, None if it is not valid. Errors: none."""
    divider = _DIVIDER.search(text)
    if divider is not None:
        name, value = _decode(text[: divider.start()]), text[divider.end() :].strip()
        if not name:
            return None
        return MetaEquals(name, _decode(value)) if divider[0] == "=" else _read_words(name, value)
    if ":" in text:
        return _read_range(text)
    name = _decode(text)
    return MetaExists(name) if name else None


def _read_words(name: str, value: str) -> Restriction | None:
    is_prefix = value.endswith("*")
    words = _decode(value[:-1] if is_prefix else value)
    if words:
        return MetaContains(name, words, is_prefix=is_prefix)
    return MetaExists(name) if is_prefix else None


def _read_range(text: str) -> Restriction | None:
    # The last colon, because a name may contain others.
    head, _, tail = text.rpartition(":")
    is_days = head.lower().endswith(_DAYS)
    name = _decode(head[: -len(_DAYS)] if is_days else head)
    low, dots, high = (_decode(part) for part in tail.partition(".."))
    if is_days and not dots:
        high = low
    if not name or not (low or high) or not (dots or is_days):
        return None
    return (None if is_days else _read_numbers(name, low, high)) or _read_days(name, low, high)


def _read_numbers(name: str, low: str, high: str) -> Restriction | None:
    ends = read_range(low, high)
    return None if ends is None else MetaNumbers(name, *ends)


def _read_days(name: str, low: str, high: str) -> Restriction | None:
    days = read_days(low, high)
    return None if days is None else MetaDates(name, *days)


def read_days(low: str, high: str) -> tuple[date | None, date | None] | None:
    """Returns the days of a range, "" for an open end; None if they are not valid."""
    first, last = read_day(low), read_day(high)
    if (low and first is None) or (high and last is None) or not (low or high):
        return None
    return first, last


def _decode(text: str) -> str:
    return unquote(text).strip()
