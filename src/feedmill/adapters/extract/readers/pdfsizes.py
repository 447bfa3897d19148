"""Measures the lines of a PDF page. By their places it finds paragraphs, by their letters headings in documents without an outline.

The size of a line is that of its first letter and of one in its middle, if they agree. The size that most letters of a document have is
that of its text. Consecutive lines of one larger size are a heading, unless they are many, long or a part of a sentence. Some programs
write other things in large letters too, so a size counts only if most of what it has are headings, and if it has few of all letters.
What is said again and again, as ``Note``, is a label, and what stands between the title and the text names the authors.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from pypdfium2 import PdfTextPage, raw

_RATIO = 1.15
# of two letters of one size
_TOLERANCE = 1.08
_MOST_LINES, _MOST_CHARACTERS, _LEAST_LETTERS = 3, 150, 3
_LEAST_SHARE_OF_SIZE, _MOST_SHARE_OF_TEXT = 0.6, 0.15
_MOST_REPEATED = 2
_MOST_HEADINGS, _LEVELS = 500, 4
_SENTENCE_CHARACTERS = 40
_LETTER = re.compile(r"[^\W\d_]")
# two letters of these scripts are a word
_WORD_LETTER = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# pieces of code, and remarks
_OTHER = re.compile(r"[({\[].*|.*[{}\\=;]", re.DOTALL)
# how an entry of a list begins
_ENTRY = re.compile(r"(?:\(?(?:\d{1,3}|[a-zA-Z])[.)]|[•‣▪■●○◦∙·–—*-])\s")
# times the usual distance of two lines
_FAR = 1.3
_AROUND, _LETTERS_BEFORE_BREAK = 8, 2.5
_LEAST_CHARACTERS, _LEAST_WORD_LETTERS = 30, 12
# lines that end at the same place
_LEAST_FULL = 4
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


class Measure(NamedTuple):
    """Where a line stands on its page. Units: points; ``size`` is that of its letters, 0 if they have several, or if it was not looked for.

    Shape: ``letter`` is the mean width of a letter, 0 if nothing is known. A line that goes on behind hyphens is on several lines of the
    page: ``begin`` and ``top`` are the left end and the foot of the first, the others are those of the last.
    """

    size: float = 0
    begin: float = 0
    top: float = 0
    left: float = 0
    right: float = 0
    bottom: float = 0
    letter: float = 0


NOWHERE: Final = Measure()


def measure_lines(textpage: PdfTextPage, text: str, *, with_sizes: bool) -> list[Measure]:
    """Returns where each line of a page stands; nothing for a page whose characters the library counts otherwise."""
    if textpage.count_chars() != len(text):
        return []
    lines = list(_iter_lines(text))
    sizes = _measure_sizes(textpage, text, lines) if with_sizes else [0.0] * len(lines)
    page, box, get_box = textpage.raw, raw.FS_RECTF(), raw.FPDFText_GetLooseCharBox
    found: list[Measure] = []
    for size, (first, last, end) in zip(sizes, lines, strict=True):
        if last < 0:
            found.append(NOWHERE)
            continue
        get_box(page, first, box)
        begin, top = box.left, box.bottom
        if last != first:
            get_box(page, last, box)
        left, bottom = box.left, box.bottom
        get_box(page, end - 1, box)
        found.append(Measure(size, begin, top, left, box.right, bottom, (box.right - left) / max(end - last, 1)))
    return found


def _iter_lines(text: str) -> Iterator[tuple[int, int, int]]:
    """Yields for each line where its first letter is, and its last part begins and ends, without blanks; -1 for an empty line.

    The library divides a line at some hyphens, and leaves a sign within the line at others.
    """
    start, before = 0, -1
    for line in text.split("\r\n"):
        words = line.strip()
        place = start + line.find(words) if words else -1
        first = before if before >= 0 else place
        start += len(line) + 2
        if line.endswith(_JOINING):
            before = first
            continue
        before = -1
        yield first, place + 1 + max(words.rfind(sign) for sign in _JOINING), place + len(words)
    if before >= 0:
        yield before, -1, -1


def _measure_sizes(textpage: PdfTextPage, text: str, lines: Sequence[tuple[int, int, int]]) -> list[float]:
    measure = _make_measure(textpage)
    sizes = [measure(first) if first >= 0 else 0 for first, _, _ in lines]
    [(usual, _)] = Counter(filter(None, sizes)).most_common(1) or [(0, 0)]
    # in most lines, which are text, one letter is enough
    return [
        size if size in (0, usual) or place < 0 or _are_alike(size, measure(_find_middle(text, place, end))) else 0
        for size, (_, place, end) in zip(sizes, lines, strict=True)
    ]


def _find_middle(text: str, first: int, end: int) -> int:
    middle = first + (end - first) // 2
    return middle - text[middle].isspace()


def _make_measure(textpage: PdfTextPage) -> Callable[[int], float]:
    page, matrix, get_size, get_matrix = textpage.raw, raw.FS_MATRIX(), raw.FPDFText_GetFontSize, raw.FPDFText_GetMatrix

    def measure(place: int) -> float:
        get_matrix(page, place, matrix)
        size: float = get_size(page, place) * math.hypot(matrix.c, matrix.d)
        return round(size * 2) / 2

    return measure


def _are_alike(size: float, other: float) -> bool:
    return size <= other * _TOLERANCE and other <= size * _TOLERANCE


def find_paragraphs(lines: Sequence[str], measures: Sequence[Measure]) -> list[bool]:
    """Returns for each line of a page whether its paragraph goes on in the next one. Shape: lines without blanks around them.

    It does if the line ends where many do, or if the next word had no room behind it, as the lines around it tell. It does not if the line
    is short, if the next line is further away than most, is indented, or begins as an entry of a list does, nor if both end in numbers, as
    rows of a table do.
    """
    steps = sorted(one.bottom - other.top for one, other in pairwise(measures) if one.letter and other.letter)
    usual = steps[len(steps) // 2] if steps else 0.0
    counts = Counter(round(each.right) for each in measures)
    ends = [False] * len(lines)
    for number, ((line, one), (following, other)) in enumerate(pairwise(zip(lines, measures, strict=True))):
        if not one.letter or not other.letter or not _may_go_on(line, following):
            continue
        step = one.bottom - other.top
        is_indented = step > 0 and not _ENTRY.match(line) and _is_indented(one, other, measures[number + 2 : number + 3])
        if step <= max(usual, one.letter) * _FAR and not is_indented:
            end = round(one.right)
            is_full = counts[end - 1] + counts[end] + counts[end + 1] >= _LEAST_FULL
            ends[number] = is_full or _find_room(measures, number) < _measure_word(following, one.letter)
    return ends


def _may_go_on(line: str, following: str) -> bool:
    least = _LEAST_WORD_LETTERS if _WORD_LETTER.search(line) else _LEAST_CHARACTERS
    return len(line) >= least and not _ENTRY.match(following) and not (line[-1].isdigit() and following[-1:].isdigit())


def _is_indented(one: Measure, other: Measure, behind: Sequence[Measure]) -> bool:
    """Whether the second line is the first of a paragraph. All lines behind the first of an entry may be indented."""
    return other.begin > one.left + one.letter and not any(abs(each.begin - other.begin) <= each.letter for each in behind)


def _find_room(measures: Sequence[Measure], number: int) -> float:
    """Returns how much room is behind a line, by how far the lines around it reach that stand above or below it."""
    own = measures[number]
    around = measures[max(0, number - _AROUND) : number + _AROUND + 1]
    return max((each.right for each in around if each.left < own.right and own.left < each.right), default=own.right) - own.right


def _measure_word(line: str, letter: float) -> float:
    """Returns how much room the first word of a line needs. Scripts without blanks break lines anywhere."""
    word = line.split(" ", 1)[0]
    return letter * (_LETTERS_BEFORE_BREAK if _WORD_LETTER.search(word) else len(word) + 1)


def find_headings(
    pages: Sequence[Sequence[str]], measures: Sequence[Sequence[Measure]], left_out: Sequence[Collection[int]]
) -> list[SizedHeading]:
    """Returns the headings of a document in order. Shape: lines without blanks around them, their measures, and those that are navigation.

    A page has as many measures as lines, or none.
    """
    sizes = [[each.size for each in known] or [0.0] * len(lines) for known, lines in zip(measures, pages, strict=True)]
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
