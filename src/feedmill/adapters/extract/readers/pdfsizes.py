"""Measures the letters of the lines of a PDF page, and finds headings by them in documents whose outline is missing.

The size of a line is that of its first letter and of one in its middle, if they agree. The size that most letters of a document have is
that of its text. Consecutive lines of one larger size are a heading, unless they are many, long or a part of a sentence. Some programs
write other things in large letters too, so a size counts only if most of what it has are headings, and if it has few of all letters.
What is said again and again, as ``Note``, is a label, and what stands between the title and the text names the authors.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from pypdfium2 import PdfTextPage, raw

_RATIO = 1.15
# of two letters of one size
_TOLERANCE = 1.08
_MOST_LINES, _MOST_CHARACTERS, _LEAST_LETTERS = 3, 150, 3
_LEAST_SHARE_OF_SIZE, _MOST_SHARE_OF_TEXT = 0.6, 0.15
_MOST_REPEATED = 2
_MOST_HEADINGS, _LEVELS = 500, 4
_SENTENCE_CHARACTERS = 40
# pieces of code, and remarks
_OTHER = re.compile(r"[({\[].*|.*[{}\\=;]", re.DOTALL)
_LETTER = re.compile(r"[^\W\d_]")
# two letters of these scripts are a word
_WORD_LETTER = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# pieces of code, and remarks
_OTHER = re.compile(r"[({\[].*|.*[{}\\=;]", re.DOTALL)
_JOINING = ("\ufffe", "\x02")


class SizedHeading(NamedTuple):
    """A heading on a page: its first line, the line behind it, its words, and its level from 0."""

    page: int
    first: int
    end: int
    words: str
    level: int


class _Group(NamedTuple):
    page: int
    first: int
    end: int
    words: str
    size: float
    is_heading: bool


def measure_lines(textpage: PdfTextPage, text: str) -> list[float]:
    """Returns the size of the letters of each line of a page, 0 where it is not known. Shape: a line that ends in a hyphen goes on."""
    lines: list[tuple[int, int]] = []
    start = 0
    is_joined = False
    for line in text.split("\r\n"):
        if not is_joined:
            words = line.strip()
            first = start + line.find(words)
            lines.append((first, first + len(words) // 2) if words else (-1, -1))
        is_joined = line.endswith(_JOINING)
        start += len(line) + 2
    # characters that the library counts otherwise move the others
    if textpage.count_chars() != len(text):
        return [0] * len(lines)
    measure = _make_measure(textpage)
    sizes = [measure(first) if first >= 0 else 0 for first, _ in lines]
    [(usual, _)] = Counter(filter(None, sizes)).most_common(1) or [(0, 0)]
    # in most lines, which are text, one letter is enough
    return [
        size if size in (0, usual) or _are_alike(size, measure(middle - text[middle].isspace())) else 0
        for size, (_, middle) in zip(sizes, lines, strict=True)
    ]


def _make_measure(textpage: PdfTextPage) -> Callable[[int], float]:
    page, matrix, get_size, get_matrix = textpage.raw, raw.FS_MATRIX(), raw.FPDFText_GetFontSize, raw.FPDFText_GetMatrix

    def measure(place: int) -> float:
        get_matrix(page, place, matrix)
        size: float = get_size(page, place) * math.hypot(matrix.c, matrix.d)
        return round(size * 2) / 2

    return measure


def _are_alike(size: float, other: float) -> bool:
    return size <= other * _TOLERANCE and other <= size * _TOLERANCE


def find_headings(
    pages: Sequence[Sequence[str]], sizes: Sequence[Sequence[float]], left_out: Sequence[Collection[int]]
) -> list[SizedHeading]:
    """Returns the headings of a document in order. Shape: lines without blanks around them, their sizes, and those that are navigation.

    Sizes that do not fit the lines of a page are not used.
    """
    sizes = [known if len(known) == len(lines) else [0] * len(lines) for known, lines in zip(sizes, pages, strict=True)]
    characters: Counter[float] = Counter()
    for lines, of_lines in zip(pages, sizes, strict=True):
        for line, size in zip(lines, of_lines, strict=True):
            characters[size] += len(line) if size else 0
    usual, _ = max(characters.items(), key=lambda pair: pair[1], default=(0, 0))
    if not usual:
        return []
    groups: defaultdict[float, list[_Group]] = defaultdict(list)
    for group in _iter_groups(pages, sizes, left_out, usual * _RATIO):
        groups[group.size].append(group)
    kept = sorted(group for size, same in groups.items() for group in _choose(same, _MOST_SHARE_OF_TEXT * characters.total()))
    repeated = Counter(group.words.casefold() for group in kept)
    kept = [group for group in kept if repeated[group.words.casefold()] <= _MOST_REPEATED][:_MOST_HEADINGS]
    if len(kept) > 1 and _are_authors(kept[0], kept[1], pages):
        del kept[1]
    order = sorted({group.size for group in kept}, reverse=True)
    return [SizedHeading(group.page, group.first, group.end, group.words, min(order.index(group.size), _LEVELS - 1)) for group in kept]


def _iter_groups(
    pages: Sequence[Sequence[str]], sizes: Sequence[Sequence[float]], left_out: Sequence[Collection[int]], least: float
) -> Iterator[_Group]:
    """Yields consecutive lines of one size that is larger than that of the text."""
    for number, (lines, of_lines) in enumerate(zip(pages, sizes, strict=True)):
        first = 0
        while first < len(lines):
            size, end = of_lines[first], first + 1
            if size < least or not lines[first] or first in left_out[number]:
                first = end
                continue
            while end < len(lines) and of_lines[end] == size and lines[end] and end not in left_out[number]:
                end += 1
            words = " ".join(lines[first:end])
            is_heading = end - first <= _MOST_LINES and _is_heading(words)
            yield _Group(number, first, end, words, size, is_heading)
            first = end


def _is_heading(words: str) -> bool:
    if len(words) > _MOST_CHARACTERS or words[-1] in ":," or (words[-1] in ".。" and len(words) > _SENTENCE_CHARACTERS):
        return False
    if _OTHER.match(words):
        return False
    letters = len(_LETTER.findall(words))
    is_word = letters >= _LEAST_LETTERS or len(_WORD_LETTER.findall(words)) > 1
    return is_word and letters >= len(words.replace(" ", "")) / 2


def _choose(same: Sequence[_Group], most_characters: float) -> list[_Group]:
    """Returns the headings of one size."""
    headings = [group for group in same if group.is_heading]
    is_of_headings = len(headings) >= _LEAST_SHARE_OF_SIZE * len(same) and sum(len(group.words) for group in same) <= most_characters
    return headings if is_of_headings else []


def _are_authors(title: _Group, behind: _Group, pages: Sequence[Sequence[str]]) -> bool:
    """Whether what stands directly below the title is in smaller letters and has no number."""
    if behind.page != title.page or behind.size >= title.size or behind.words[0].isdigit():
        return False
    return not any(pages[title.page][title.end : behind.first])
