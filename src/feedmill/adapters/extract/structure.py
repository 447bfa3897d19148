"""The marks by which readers say what is a heading, a list or a table in the text that they return, and the structure that they make.

A mark is two control characters: one that all marks begin with, and one for its kind. No text keeps control characters (``clean``), so
the text is the same with marks and without them, whatever reads it. A document that brings such characters itself has a wrong structure,
and its own text.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from feedmill.adapters.extract.clean import CONTROLS, squeeze, unify_lines
from feedmill.core.text.structure import MAX_EVENTS, Kind, Space, encode_structure

SIGN = "\x01"
"""The first character of each mark."""

_MARKED = [kind for kind in Kind if kind is not Kind.NOTHING]
_SECONDS: dict[Kind, str] = dict(zip(_MARKED, map(chr, (*range(2, 9), *range(14, 32))), strict=False))
# from the second characters to the letters of the storage format
_LETTERS = bytes.maketrans("".join(_SECONDS.values()).encode(), "".join(kind.value for kind in _SECONDS).encode())
_SIGN = SIGN.encode()
_STARTS = SIGN + _SECONDS[Kind.PREFORMATTED]
_ENDED = frozenset(_SECONDS[kind] for kind in Kind if kind in "ABCDEFuodtqpjeska")
_MARKS = b"".join([SIGN.encode(), *(second.encode() for second in _SECONDS.values())])
_MARK = re.compile(f"{SIGN}[{''.join(_SECONDS.values())}]")
# line ends before empty lines or indents, and blanks in a row between words
_RUN = re.compile(r"\A[^\S\n]+|\n\s+|(?<=\S)[^\S\n]{2,}(?=\S)")
_EMPTY = re.compile(r"\n\s*\n")
_TAB = 8


def mark(kind: Kind) -> str:
    """Returns the mark of a kind."""
    return SIGN + _SECONDS[kind]


END = mark(Kind.END)


def without_structure(text: str) -> str:
    """Returns a text without marks."""
    return text.encode("utf-8", "surrogatepass").translate(None, _MARKS).decode("utf-8", "surrogatepass") if SIGN in text else text


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
    if len(squeezed) - len(squeezed.translate(None, CONTROLS)) != 2 * (len(pieces) - 1):
        pieces = _drop_strangers(pieces)
    del pieces[MAX_EVENTS + 1 :]
    letters = b"".join([piece[:1] for piece in pieces[1:]]).translate(_LETTERS).decode()
    distances = [len(pieces[0]), *[len(piece) - 1 for piece in pieces[1:-1]]]
    return encode_structure(letters, distances, unstored, islice(_find_spaces(marked), MAX_EVENTS))


def _drop_strangers(pieces: list[bytes]) -> list[bytes]:
    """Returns the pieces of a text that has control characters of its own, without these."""
    kept = [pieces[0].translate(None, CONTROLS)]
    for piece in pieces[1:]:
        second, rest = piece[:1], piece[1:].translate(None, CONTROLS)
        if second.translate(None, CONTROLS) or not second:
            kept[-1] += second + rest
        else:
            kept.append(second + rest)
    return kept


def _find_spaces(marked: str) -> Iterator[Space]:
    """Yields the white space of preformatted text that is lost when it is collapsed: further lines, indents, and blanks in a row."""
    end = line = 0
    while (start := marked.find(_STARTS, end)) >= 0:
        end = _find_end(marked, start)
        text = unify_lines(without_structure(marked[start:end])).expandtabs(_TAB).rstrip()
        text = text[len(text) - len(text.lstrip("\n")) :]
        if text:
            yield from _find_runs(text, line)
            line += _count_lines(text)


def _find_runs(text: str, line: int) -> Iterator[Space]:
    """Yields the white space of one text. Shape: ``line`` is the number of its first line; only runs that are lost are looked at."""
    read = begin = lost = 0
    for run in _RUN.finditer(text):
        start, end = run.span()
        if passed := text.count("\n", read, start):
            line += passed
            begin, lost = text.rindex("\n", read, start) + 1, 0
        read = end
        before, is_line, indent = run[0].rpartition("\n")
        if is_line or start == 0:
            line += bool(is_line)
            begin, lost = end - len(indent), len(indent)
            yield Space(line, 0, before.count("\n"), len(indent))
        else:
            lost += len(indent) - 1
            yield Space(line, end - begin - lost, 0, len(indent) - 1)


def _count_lines(text: str) -> int:
    """Returns the number of lines that are not empty. Shape: the first and the last are not."""
    return text.count("\n") + 1 - sum(run[0].count("\n") - 1 for run in _EMPTY.finditer(text))


def _find_end(marked: str, start: int) -> int:
    """Returns where the mark is that ends what begins at a place."""
    depth = 0
    while start >= 0:
        second = marked[start + 1 : start + 2]
        depth += 1 if second in _ENDED else -1 if second == END[1] else 0
        if depth == 0:
            return start
        start = marked.find(SIGN, start + 1)
    return len(marked)
