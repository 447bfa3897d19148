"""Splits a text into passages: pieces of a few sentences, each long enough to mean something and short enough to be about one thing.

A passage ends, in this order of preference, between two paragraphs, after a sentence, between two words, and only then anywhere. Passages
do not overlap, and together they hold every character that is no blank.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

LEAST_CHARACTERS = 400
"""A passage goes on at least this far, so that headings and short lines belong to what follows them."""
MOST_CHARACTERS = 1_000

_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_SENTENCE = re.compile(r"(?:[.!?…][\"'”’»)\]]*\s+|[。！？｡]|\n\s*)")
_BLANK = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a text. Shape: ``text`` stands at ``start`` up to ``end``. Units: characters."""

    text: str
    start: int
    end: int


def split_passages(text: str, limit: int | None = None) -> list[Passage]:
    """Returns the passages of a text in its order, none for a text of blanks alone. Units: ``limit`` is the most passages."""
    found: list[Passage] = []
    for start, end in _iter_ranges(text):
        if len(found) == limit:
            break
        found.append(Passage(text[start:end], start, end))
    return found


def split_ranges(text: str, ranges: Iterable[tuple[int, int]], limit: int | None = None) -> list[Passage]:
    """Returns the passages of ranges of a text, none of them in two ranges. Shape: their positions are those in the whole text."""
    found: list[Passage] = []
    for start, end in ranges:
        rest = None if limit is None else limit - len(found)
        found += [Passage(each.text, each.start + start, each.end + start) for each in split_passages(text[start:end], rest)]
    return found


def _iter_ranges(text: str) -> Iterator[tuple[int, int]]:
    start = _skip_blanks(text, 0)
    while start < len(text):
        end = _find_end(text, start)
        yield start, start + len(text[start:end].rstrip())
        start = _skip_blanks(text, end)


def _skip_blanks(text: str, start: int) -> int:
    blanks = _BLANK.match(text, start)
    return start if blanks is None else blanks.end()


def _find_end(text: str, start: int) -> int:
    """Returns where the passage that begins at a position ends."""
    most = start + MOST_CHARACTERS
    if most >= len(text):
        return len(text)
    for boundary in (_PARAGRAPH, _SENTENCE, _BLANK):
        ends = [found.end() for found in boundary.finditer(text, start + LEAST_CHARACTERS, most)]
        if ends:
            return ends[-1]
    return most
