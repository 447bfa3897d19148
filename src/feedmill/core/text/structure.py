"""The structure of an extracted text: which of it is a heading, a list, a table, a quotation, a link or emphasized.

It is stored beside the text as events at places of the text. A place is the number of characters before it that are no white space, so
that it stays true while white space is collapsed. Events come from a process that has read hostile input. They cannot be nested wrongly,
since all that has an end has the same end, but their order may be any.

The storage format holds three parts, with tabs between them. Numbers are characters: the number plus 32 is the code point.

structure ::= events tab unstored tab white-space
events        a letter for each event, then for each its distance from the event before
unstored      numbers among the events that are links: those that are not among the stored links of the document
white-space   of preformatted text, which the text has lost: for each place the distance of its line from the one before, the column, the
              lines and the blanks
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import accumulate
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

    #: nothing; it carries a distance that is too large for one number
    NOTHING = "-"


HEADINGS: Final = (Kind.HEADING_1, Kind.HEADING_2, Kind.HEADING_3, Kind.HEADING_4, Kind.HEADING_5, Kind.HEADING_6)
"""The headings, the highest first."""


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
    """The structure of a text. Shape: ``unstored`` counts the links among the events from 0."""

    events: Sequence[Event] = ()
    unstored: frozenset[int] = frozenset()
    spaces: Sequence[Space] = ()


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
    spaces = [Space(*each) for each in zip(accumulate(sizes[::4]), sizes[1::4], sizes[2::4], sizes[3::4], strict=True)]
    return Structure(events=found[:MAX_EVENTS], unstored=frozenset(numbers), spaces=spaces[:MAX_EVENTS])


def _decode(numbers: str) -> list[int]:
    return [ord(number) - _CODE for number in numbers]
