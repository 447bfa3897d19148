"""Encodes numbers and dates from texts so that an index can compare them.

A text that is no number (``core.text.measures``) may be a date, in any form of feeds. Both become 16 hexadecimal digits that sort like the
values: the bits of an IEEE double, inverted below zero; dates are seconds since 1970, in UTC. A number's unit precedes its digits, so a
range can select one unit or all.

A range of such terms is a regular expression over the digits, with at most two branches for each digit. An engine that can only look up
terms evaluates it by walking its dictionary.
"""

import hashlib
import re
import struct
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from functools import lru_cache

from feedmill.core.text.analysis import fold_value
from feedmill.core.text.dates import parse_date
from feedmill.core.text.measures import MAX_VALUE_CHARACTERS, Quantity, measures_of_text, read_measure
from feedmill.core.text.units import unit_pattern
from feedmill.model.document import Metadata

MAX_DATES = 200

NUMBER = "n"
DATE = "d"
TEXT = "t"
# a letter and the digest of a name, which makes terms short whatever the length of the name
_HEAD_CHARACTERS = 17

_DECIMAL = re.compile(r"\d")
_DAY = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})", re.ASCII)
_ALL = "0" * 16, "f" * 16


def read_day(text: str) -> date | None:
    """Returns the day of a text in the form YYYY-MM-DD, None for any other text."""
    found = _DAY.fullmatch(text)
    try:
        return date(int(found[1]), int(found[2]), int(found[3])) if found else None
    except ValueError:
        return None


def typed_values(metadata: Metadata) -> Iterator[tuple[str, str, Quantity]]:
    """Yields each metadata value that is a number or a date: folded name, kind, and the number or the seconds.

    Parsing a date is slow, so at most ``MAX_DATES`` values are tried.
    """
    tries = 0
    for name, value in metadata:
        measure = read_measure(value)
        if measure is not None:
            yield fold_name(name), NUMBER, measure
        elif tries < MAX_DATES and len(value) <= MAX_VALUE_CHARACTERS and _DECIMAL.search(value):
            tries += 1
            moment = parse_date(value)
            if moment is not None:
                yield fold_name(name), DATE, Quantity(moment.timestamp())


def typed_terms(metadata: Metadata) -> list[str]:
    """Returns the terms of all numbers and dates of a document's metadata, each once."""
    return list(dict.fromkeys(_term(f"{kind}{name_digest(name)}", measure) for name, kind, measure in typed_values(metadata)))


def text_number_terms(texts: Iterable[str], language: str | None = None) -> list[str]:
    """Returns the terms of the numbers in texts, each once."""
    return list(dict.fromkeys(_term(TEXT, measure) for text in texts for measure in measures_of_text(text, language)))


def _term(head: str, measure: Quantity) -> str:
    return f"{head}{measure.unit}:{sortable(measure.number)}"


def split_typed_term(term: str) -> tuple[str, str]:
    """Returns the kind and name's digest of a metadata term, whatever its unit, and its sortable digits."""
    return term[:_HEAD_CHARACTERS], term.rpartition(":")[2]


def text_pattern(low: float | None, high: float | None, unit: str) -> str | None:
    """Returns the regular expression for the terms of a text's numbers in a range, None for an empty range."""
    return _pattern(TEXT + unit_pattern(unit), low, high)


def typed_pattern(kind: str, folded_name: str, low: float | None, high: float | None, unit: str = "") -> str | None:
    """Returns the regular expression for the terms of a name's values in a range, None for an empty range."""
    return _pattern(kind + name_digest(folded_name) + unit_pattern(unit), low, high)


def _pattern(head: str, low: float | None, high: float | None) -> str | None:
    digits = range_pattern(low, high)
    return f"{head}:({digits})" if digits else None


@lru_cache(maxsize=1_024)
def fold_name(name: str) -> str:
    """Returns the folded form of a metadata name; documents have the same few again and again."""
    return fold_value(name)


@lru_cache(maxsize=1_024)
def name_digest(folded_name: str) -> str:
    """Returns 16 hexadecimal digits that represent a name."""
    return hashlib.blake2b(folded_name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


_DOUBLE = struct.Struct(">d")
_TOP_BIT_SET = [f"{byte | 0x80:02x}" for byte in range(0x80)]
_INVERTED = bytes(byte ^ 0xFF for byte in range(0x100))


def sortable(number: float) -> str:
    """Returns 16 hexadecimal digits that sort as numbers do."""
    packed = _DOUBLE.pack(number + 0.0)  # adding zero turns minus zero, which has other bits, into zero
    # The bits of positive doubles sort like the numbers; setting the top bit puts them after the negative ones. The bits of negative
    # doubles sort in reverse, so all of them are inverted.
    if packed[0] < 0x80:
        return _TOP_BIT_SET[packed[0]] + packed[1:].hex()
    return packed.translate(_INVERTED).hex()


def first_second(day: date | None) -> float | None:
    """Returns the first second of a day."""
    return None if day is None else datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()


def last_second(day: date | None) -> float | None:
    """Returns the last second of a day."""
    return None if day is None else datetime(day.year, day.month, day.day, 23, 59, 59, 999_999, tzinfo=UTC).timestamp()


def is_within(number: float, low: float | None, high: float | None) -> bool:
    """Whether a number is in a range, ends included; None means an open end."""
    return (low is None or low <= number) and (high is None or number <= high)


def range_pattern(low: float | None, high: float | None) -> str | None:
    """Returns the regular expression for the sortable terms in a range, None for an empty range."""
    # An open end is the least or the greatest of all terms.
    first = _ALL[0] if low is None else sortable(low)
    last = _ALL[1] if high is None else sortable(high)
    return "|".join(_branches(first, last)) if first <= last else None


def _branches(first: str, last: str) -> list[str]:
    """Returns patterns for all texts of hexadecimal digits from first to last, which have the same length."""
    rest = len(first)
    shared = next((at for at in range(rest) if first[at] != last[at]), rest)
    if shared == rest:
        return [first]
    head, low, high = first[:shared], first[shared:], last[shared:]
    # ``above``: ``first`` itself, then texts that share a prefix with it and have a greater digit next, from the last digit to the second
    above = [low] + [low[:at] + _digits(int(low[at], 16) + 1, 15, len(low) - at) for at in range(len(low) - 1, 0, -1)]
    # ``below``: the same for ``last``, with a smaller digit next
    below = [high[:at] + _digits(0, int(high[at], 16) - 1, len(high) - at) for at in range(1, len(high))] + [high]
    # ``middle``: texts whose first differing digit lies strictly between those of the two ends
    middle = _digits(int(low[0], 16) + 1, int(high[0], 16) - 1, len(low))
    branches = [branch for branch in (*above, middle, *below) if "!" not in branch]
    return [head + branch for branch in branches]


def _digits(low: int, high: int, length: int) -> str:
    """Returns a pattern of one digit from low to high followed by any digits; one with "!" if there is no such digit.

    The number of following digits is not stated, since all terms have the same length. A short pattern suits engines that limit its size.
    """
    if low > high:
        return "!"
    wanted = "".join(f"{digit:x}" for digit in range(low, high + 1))
    return f"[{wanted}]" + ("[0-9a-f]*" if length > 1 else "")
