"""Numbers and dates that stand in texts, as an index compares them.

What is no number (``core.measures``) may be a date, in any form that feeds use. Both become 16 hexadecimal digits that sort as the values
do: the bits of an IEEE double, turned round below zero; dates are seconds since 1970, in UTC. A number's unit stands before its digits, so
that a range asks for one unit, or for all.

A range of such terms is a regular expression over the digits, with at most two branches a digit, so that an engine that can only look
terms up answers it by walking its dictionary.
"""

import hashlib
import re
import struct
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from functools import lru_cache

from feedmill.core.analysis import fold_value
from feedmill.core.dates import parse_date
from feedmill.core.measures import MAX_VALUE_CHARACTERS, Measure, measures_of_text, read_measure
from feedmill.core.units import unit_pattern
from feedmill.model.document import Metadata

MAX_DATES = 200

NUMBER = "n"
DATE = "d"
TEXT = "t"
# a letter and the digest of a name, which keeps terms short whatever the name is
_HEAD_CHARACTERS = 17

_DECIMAL = re.compile(r"\d")
_DAY = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})", re.ASCII)
_ALL = "0" * 16, "f" * 16


def read_day(text: str) -> date | None:
    """Returns the day that a text is, written as YYYY-MM-DD, None when it is none."""
    found = _DAY.fullmatch(text)
    try:
        return date(int(found[1]), int(found[2]), int(found[3])) if found else None
    except ValueError:
        return None


def typed_values(metadata: Metadata) -> Iterator[tuple[str, str, Measure]]:
    """Returns each metadata value that is a number or a date: folded name, kind, and the number or the seconds.

    Reading a date is slow, so that no more than ``MAX_DATES`` values are tried.
    """
    tries = 0
    for name, value in metadata:
        measure = read_measure(value)
        if measure is not None:
            yield fold_value(name), NUMBER, measure
        elif tries < MAX_DATES and len(value) <= MAX_VALUE_CHARACTERS and _DECIMAL.search(value):
            tries += 1
            moment = parse_date(value)
            if moment is not None:
                yield fold_value(name), DATE, Measure(moment.timestamp())


def typed_terms(metadata: Metadata) -> list[str]:
    """Returns the terms of all numbers and dates of a document's metadata, each once."""
    return list(dict.fromkeys(_term(f"{kind}{name_digest(name)}", measure) for name, kind, measure in typed_values(metadata)))


def text_number_terms(texts: Iterable[str], language: str | None = None) -> list[str]:
    """Returns the terms of the numbers that stand in texts, each once."""
    return list(dict.fromkeys(_term(TEXT, measure) for text in texts for measure in measures_of_text(text, language)))


def _term(head: str, measure: Measure) -> str:
    return f"{head}{measure.unit}:{sortable(measure.number)}"


def split_typed_term(term: str) -> tuple[str, str]:
    """Returns the kind and name's digest of a term of metadata, whatever its unit, and its sortable digits."""
    return term[:_HEAD_CHARACTERS], term.rpartition(":")[2]


def text_pattern(low: float | None, high: float | None, unit: str) -> str | None:
    """Returns the regular expression of the terms of a text's numbers in a range, None for a range that holds nothing."""
    return _pattern(TEXT + unit_pattern(unit), low, high)


def typed_pattern(kind: str, folded_name: str, low: float | None, high: float | None, unit: str = "") -> str | None:
    """Returns the regular expression of the terms of a name's values in a range, None for a range that holds nothing."""
    return _pattern(kind + name_digest(folded_name) + unit_pattern(unit), low, high)


def _pattern(head: str, low: float | None, high: float | None) -> str | None:
    digits = range_pattern(low, high)
    return f"{head}:({digits})" if digits else None


@lru_cache(maxsize=1_024)
def name_digest(folded_name: str) -> str:
    """Returns 16 hexadecimal digits that stand for a name."""
    return hashlib.blake2b(folded_name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def sortable(number: float) -> str:
    """Returns 16 hexadecimal digits that sort as numbers do."""
    (bits,) = struct.unpack(">Q", struct.pack(">d", number + 0.0))  # plus nothing, since minus nothing sorts elsewhere
    return f"{bits ^ 0xFFFFFFFFFFFFFFFF if bits >> 63 else bits | 0x8000000000000000:016x}"


def first_second(day: date | None) -> float | None:
    """Returns the first second of a day."""
    return None if day is None else datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


def last_second(day: date | None) -> float | None:
    """Returns the last second of a day."""
    return None if day is None else datetime(day.year, day.month, day.day, 23, 59, 59, 999_999, tzinfo=UTC).timestamp()


def is_within(number: float, low: float | None, high: float | None) -> bool:
    """Whether a number lies in a range, ends included, None for an open end."""
    return (low is None or low <= number) and (high is None or number <= high)


def range_pattern(low: float | None, high: float | None) -> str | None:
    """Returns the regular expression of the sortable terms in a range, None for a range that holds nothing."""
    first = _ALL[0] if low is None else sortable(low)
    last = _ALL[1] if high is None else sortable(high)
    return "|".join(_branches(first, last)) if first <= last else None


def _branches(first: str, last: str) -> list[str]:
    """Returns patterns for all texts of hexadecimal digits from first to last, which are of one length."""
    rest = len(first)
    shared = next((at for at in range(rest) if first[at] != last[at]), rest)
    if shared == rest:
        return [first]
    head, low, high = first[:shared], first[shared:], last[shared:]
    above = [low] + [low[:at] + _digits(int(low[at], 16) + 1, 15, len(low) - at) for at in range(len(low) - 1, 0, -1)]
    below = [high[:at] + _digits(0, int(high[at], 16) - 1, len(high) - at) for at in range(1, len(high))] + [high]
    middle = _digits(int(low[0], 16) + 1, int(high[0], 16) - 1, len(low))
    kept = [branch for branch in (*above, middle, *below) if "!" not in branch]
    return [head + branch for branch in kept]


def _digits(low: int, high: int, length: int) -> str:
    """Returns a pattern of one digit from low to high and any behind it; one with "!" when there is no such digit.

    How many are behind it need not be said, for all terms are of one length; engines that bound the size of a pattern like it short.
    """
    if low > high:
        return "!"
    wanted = "".join(f"{digit:x}" for digit in range(low, high + 1))
    return f"[{wanted}]" + ("[0-9a-f]*" if length > 1 else "")
