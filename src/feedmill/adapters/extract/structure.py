"""The marks by which readers say what is a heading, a list or a table in the text that they return, and the structure that they make.

A mark is three control characters: one that all marks begin with, and two for its kind. No text keeps control characters (``clean``), so
the text is the same with marks and without them, whatever reads it. A document that brings such characters itself has a wrong structure,
and its own text.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice, product

from feedmill.adapters.extract.clean import CONTROLS, squeeze, unify_lines
from feedmill.core.text.structure import HEADINGS, MAX_EVENTS, Kind, encode_structure, list_digits
from feedmill.core.text.textblob import without_markers

SIGN = "\x01"
"""The first character of each mark."""

_DIGITS = "\x02\x03\x04\x05\x06\x07"
# two digits for each kind leave other control characters to the readers, whose own signs then keep a text in ASCII (``PASSING``)
_PAIRS: dict[Kind, str] = dict(
    zip((kind for kind in Kind if kind is not Kind.NOTHING), map("".join, product(_DIGITS, repeat=2)), strict=False)
)
_LETTERS = {pair.encode(): kind.value for kind, pair in _PAIRS.items()}
_SIGN = SIGN.encode()
_STARTS = SIGN + _PAIRS[Kind.PREFORMATTED]
_ENDED = frozenset(_PAIRS[kind] for kind in Kind if kind in "ABCDEFuodtqpjeska")
_MARKS = (SIGN + _DIGITS).encode()
_MARK = re.compile(f"{SIGN}[{_DIGITS}][{_DIGITS}]")
_BLANKS = re.compile(r"\s{2,}")
_TAB = 8


def mark(kind: Kind) -> str:
    """Returns the mark of a kind."""
    return SIGN + _PAIRS[kind]


END = mark(Kind.END)


def mark_heading(level: int) -> str:
    """Returns the mark of a heading by its level from 1. The sixth level stands for deeper ones, the first for 0."""
    return mark(HEADINGS[min(max(level, 1), len(HEADINGS)) - 1])


def mark_numbers(*numbers: int) -> str:
    """Returns the marks of the numbers that belong to the mark before them."""
    return "".join([mark(kind) for number in numbers for kind in list_digits(number)])


def mark_cell(columns: int = 1, rows: int = 1, *, is_header: bool = False) -> str:
    """Returns the mark of a cell of a table, with the columns and rows that it spans."""
    numbers = mark_numbers(columns, rows) if columns > 1 or rows > 1 else ""
    return mark(Kind.HEADER_CELL if is_header else Kind.CELL) + numbers


def without_structure(text: str) -> str:
    """Returns a text without marks."""
    return _drop(text, _MARKS) if SIGN in text else text


def _drop(text: str, characters: bytes) -> str:
    return text.encode("utf-8", "surrogatepass").translate(None, characters).decode("utf-8", "surrogatepass")


def only_structure(text: str) -> str:
    """Returns the marks of a text without the text."""
    return "".join(_MARK.findall(text)) if SIGN in text else ""


def build_structure(marked: str, unstored: Sequence[int]) -> str:
    """Returns the structure of a marked text in its storage format, "" if there is none.

    Shape: ``unstored`` has the numbers of the marked links that are not among the stored links.
    """
    if SIGN not in marked:
        return ""
    squeezed = squeeze(marked)
    pieces = squeezed.split(_SIGN)
    controls = len(squeezed) - len(squeezed.translate(None, CONTROLS))
    pairs = [piece[:2] for piece in pieces[1:]]
    if controls != 3 * len(pairs) or not _LETTERS.keys() >= set(pairs):
        pieces = _drop_strangers(pieces)
        pairs = [piece[:2] for piece in pieces[1:]]
    del pieces[MAX_EVENTS + 1 :]
    if not pairs:
        return ""
    letters = "".join(map(_LETTERS.__getitem__, pairs[:MAX_EVENTS]))
    distances = [len(pieces[0]), *[len(piece) - 2 for piece in pieces[1:-1]]]
    spaces = _find_spaces(marked) if Kind.PREFORMATTED.value in letters else []
    return encode_structure(letters, distances, unstored, spaces[:MAX_EVENTS])


def _drop_strangers(pieces: list[bytes]) -> list[bytes]:
    """Returns the pieces of a text that has control characters of its own, without these."""
    kept = [bytearray(pieces[0].translate(None, CONTROLS))]
    for piece in pieces[1:]:
        if (pair := piece[:2]) in _LETTERS:
            kept.append(bytearray(pair + piece[2:].translate(None, CONTROLS)))
        else:
            kept[-1] += piece.translate(None, CONTROLS)
    return list(map(bytes, kept))


def _find_spaces(marked: str) -> list[tuple[int, int, int, int]]:
    """Returns the white space of preformatted text that is lost when it is collapsed: further lines, indents, and blanks in a row.

    Shape: the values of a ``Space``, which take longer to make.
    """
    found: list[tuple[int, int, int, int]] = []
    end = number = last = 0
    while (start := marked.find(_STARTS, end)) >= 0:
        end = _find_end(marked, start)
        text = unify_lines(without_markers(_drop(marked[start:end], CONTROLS))).expandtabs(_TAB).rstrip()
        lines = text.lstrip("\n").split("\n")
        empty = 0
        for line, words in zip(lines, map(str.lstrip, lines), strict=True):
            if not words:
                empty += 1
                continue
            indent = len(line) - len(words)
            if indent != last or empty:
                found.append((number, 0, empty, indent))
                last, empty = indent, 0
            if "  " in words:
                found += islice(_find_blanks(words, number), MAX_EVENTS)
            number += 1
            if len(found) >= MAX_EVENTS:
                return found
    return found


def _find_blanks(words: str, number: int) -> Iterator[tuple[int, int, int, int]]:
    """Yields the blanks in a row of a line. Shape: without its indent."""
    lost = 0
    for run in _BLANKS.finditer(words.rstrip()):
        blanks = len(run[0]) - 1
        lost += blanks
        yield number, run.end() - lost, 0, blanks


def _find_end(marked: str, start: int) -> int:
    """Returns where the mark is that ends what begins at a place."""
    depth = 0
    while start >= 0:
        pair = marked[start + 1 : start + 3]
        depth += 1 if pair in _ENDED else -1 if pair == END[1:] else 0
        if depth == 0:
            return start
        start = marked.find(SIGN, start + 1)
    return len(marked)
