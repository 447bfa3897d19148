"""The structure of an extracted text: which of it is a heading, a list, a table, a quotation, a link or emphasized.

It is stored beside the text as events at places of the text. A place is the number of characters before it that are no white space, so
that it stays true while white space is collapsed. Events come from a process that has read hostile input. They cannot be nested wrongly,
since all that has an end has the same end, but their order may be any.

The storage format holds three parts, with tabs between them. Numbers are characters: the number plus 32 is the code point.

structure ::= events tab unstored tab white-space
events        a letter for each event, then for each its distance from the event before; numbers that belong to an event stand behind it, in
              digits of base 4 between two signs, all of them letters at the distance 0
unstored      numbers among the events that are links: those that are not among the stored links of the document
white-space   of preformatted text, which the text has lost: for each place the distance of its line from the one before, the column, the
              lines and the blanks
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import accumulate
from types import MappingProxyType
from typing import Final, NamedTuple

MAX_EVENTS = 50_000
"""What follows so many events is shown without structure."""

MAX_NUMBER = 50_000
"""The largest number that is stored."""

_CODE = 32


class Kind(StrEnum):
    """What begins at a place. Shape: values are the letters of the storage format."""

    # to their end
    HEADING_1 = "A"
    HEADING_2 = "B"
    HEADING_3 = "C"
    HEADING_4 = "D"
    HEADING_5 = "E"
    HEADING_6 = "F"
    UNORDERED = "u"
    ORDERED = "o"
    DEFINITIONS = "d"
    TABLE = "t"
    QUOTE = "q"
    PREFORMATTED = "p"
    #: a paragraph whose line ends have no meaning
    JOINED = "j"
    EMPHASIS = "e"
    STRONG = "s"
    CODE = "k"
    LINK = "a"
    END = "z"

    # to the next of their kind, or the end of their list or table
    ITEM = "i"
    TERM = "n"
    DESCRIPTION = "v"
    ROW = "r"
    CELL = "c"
    HEADER_CELL = "h"

    #: around the digits of a number that belongs to the event before
    NUMBER = "#"

    #: nothing; it carries a distance that is too large for one number
    NOTHING = "-"


HEADINGS: Final = (Kind.HEADING_1, Kind.HEADING_2, Kind.HEADING_3, Kind.HEADING_4, Kind.HEADING_5, Kind.HEADING_6)
"""The headings, the highest first."""


DIGITS: Final = (Kind.ITEM, Kind.TERM, Kind.DESCRIPTION, Kind.ROW)
"""The kinds that stand for the digits of a number, 0 first. They have no end, so nothing looks for one behind them."""

MAX_SPAN = 1_000
"""The most columns or rows that a cell spans. Source: HTML, "Attributes common to td and th elements"."""

MAX_DIGITS = 9
"""Numbers beyond about 100,000 are not stored."""


class Event(NamedTuple):
    """The beginning or the end of something at a place."""

    kind: Kind
    place: int


class Space(NamedTuple):
    """White space before a character: so many further lines, then so many blanks.

    Shape: ``line`` counts the lines of all preformatted text from 0, ``column`` the characters of that line. The blanks at column 0 stand
    before all lines from there on, to the next such.
    """

    line: int
    column: int
    lines: int
    blanks: int


class Structure(NamedTuple):
    """The structure of a text.

    Shape: ``unstored`` counts the links among the events from 0. ``numbers`` are those that belong to an event, by its place in the list:
    the columns and rows that a cell spans, the step and the first number of an ordered list, the number of an item.
    """

    events: Sequence[Event] = ()
    unstored: frozenset[int] = frozenset()
    spaces: Sequence[Space] = ()
    numbers: Mapping[int, tuple[int, ...]] = MappingProxyType({})


def encode_structure(
    letters: str, distances: Sequence[int], unstored: Sequence[int] = (), spaces: Sequence[tuple[int, int, int, int]] = ()
) -> str:
    """Returns a structure in the storage format. Shape: a distance for each letter; the values of spaces, in order."""
    if distances and max(distances) > MAX_NUMBER:
        letters, distances = _divide(letters, distances)
    whites: list[int] = []
    last = 0
    for line, column, lines, blanks in spaces:
        whites += (line - last, column, lines, blanks)
        last = line
    if whites and max(whites) > MAX_NUMBER:
        whites = [min(number, MAX_NUMBER) for number in whites]
    return f"{letters}{_encode(distances)}\t{_encode(unstored)}\t{_encode(whites)}"


def _divide(letters: str, distances: Sequence[int]) -> tuple[str, list[int]]:
    parts: list[str] = []
    smaller: list[int] = []
    for letter, distance in zip(letters, distances, strict=True):
        whole, rest = divmod(distance, MAX_NUMBER)
        parts.append(Kind.NOTHING * whole + letter)
        smaller += [*[MAX_NUMBER] * whole, rest]
    return "".join(parts), smaller


def _encode(numbers: Iterable[int]) -> str:
    return "".join([chr(number + _CODE) for number in numbers])


_KINDS = {kind.value: kind for kind in Kind}
_NUMBERS = re.compile(f"{Kind.NUMBER}([{''.join(DIGITS)}]{{1,{MAX_DIGITS}}}){Kind.NUMBER}")
_FIGURES = str.maketrans("".join(DIGITS), "".join(map(str, range(len(DIGITS)))))


def decode_structure(stored: str) -> Structure:
    """Returns a stored structure; an empty one if it is none or invalid."""
    parts = stored.split("\t")
    if len(parts) != 3 or len(parts[0]) % 2 or len(parts[2]) % 4:
        return Structure()
    events, unstored, whites = parts
    half = len(events) // 2
    kinds = [_KINDS.get(letter) for letter in events[:half]]
    distances, numbers, sizes = _decode(events[half:]), _decode(unstored), _decode(whites)
    if None in kinds or min((0, *distances, *numbers, *sizes)) < 0:
        return Structure()
    found = [Event(kind, place) for kind, place in zip(kinds, accumulate(distances), strict=True) if kind is not None]
    found, belonging = _take_numbers(events[:half][:MAX_EVENTS], found[:MAX_EVENTS])
    spaces = [Space(*each) for each in zip(accumulate(sizes[::4]), sizes[1::4], sizes[2::4], sizes[3::4], strict=True)]
    return Structure(events=found, unstored=frozenset(numbers), spaces=spaces[:MAX_EVENTS], numbers=belonging)


def _take_numbers(letters: str, events: Sequence[Event]) -> tuple[list[Event], dict[int, tuple[int, ...]]]:
    """Returns the events without the numbers among them, and the numbers by the place of the event to which they belong."""
    kept: list[Event] = []
    numbers: dict[int, tuple[int, ...]] = {}
    end = 0
    for found in _NUMBERS.finditer(letters):
        kept += events[end : found.start()]
        end = found.end()
        owner = len(kept) - 1
        numbers[owner] = (*numbers.get(owner, ()), _decode_number(found[1]))
    return [*kept, *events[end:]], numbers


def list_digits(number: int) -> list[Kind]:
    """Returns a number as kinds, nothing for one that is too large. Shape: the lowest bit is the sign."""
    rest = 2 * number if number >= 0 else -2 * number - 1
    digits: list[Kind] = []
    while rest or not digits:
        rest, digit = divmod(rest, len(DIGITS))
        digits.append(DIGITS[digit])
    return [Kind.NUMBER, *reversed(digits), Kind.NUMBER] if len(digits) <= MAX_DIGITS else []


def _decode_number(digits: str) -> int:
    number, is_negative = divmod(int(digits.translate(_FIGURES), len(DIGITS)), 2)
    return -number - 1 if is_negative else number


def _decode(numbers: str) -> list[int]:
    return [ord(number) - _CODE for number in numbers]
