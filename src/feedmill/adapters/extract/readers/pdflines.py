"""Makes a text of the lines of PDF pages, which have neither headings nor paragraphs of their own.

- Headings are the titles of the outline, on the page to which the outline leads, also on several lines and with other numbers before them.
  Where a running header has the same words, the heading is the line behind it. Without an outline, larger letters tell them (``pdfsizes``).
- Tables of contents and indexes are navigation (``contentslines``), and so are running headers and footers: lines at the edge of pages that
  are the same on three of them but for their numbers.
- The places of lines tell whether a paragraph goes on (``pdfsizes``). Where they are not known, a line goes on if it is nearly as long
  as most of its page, or if the next line begins with a small letter.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import NamedTuple

from feedmill.adapters.extract.readers.contentslines import find_contents, without_leaders
from feedmill.adapters.extract.readers.navigation import GAP
from feedmill.adapters.extract.readers.pdfsizes import Measure, SizedHeading, find_headings, find_paragraphs
from feedmill.adapters.extract.structure import END, SIGN, mark, mark_heading, only_structure, without_structure
from feedmill.core.text.structure import Kind

# white space, as the text of no page has it
_PAGE = "\n\f"
_JOINED = mark(Kind.JOINED)
_FULL, _LEAST_CHARACTERS = 0.85, 30
_EDGE_LINES, _EDGE_CHARACTERS, _LEAST_EDGES, _LEAST_PAGE_LINES = 2, 120, 3, 6
_HEADING_LINES, _HEADING_CHARACTERS, _SEARCHED_LINES = 3, 400, 1_000
_PAGE_NUMBER = re.compile(r"[ivxlcIVXLC]+\Z")
_SIGNS = re.compile("[^a-z0-9]+")
_DIGITS = re.compile(r"\d+|\b[ivxlc]{1,7}\Z")
_NUMBER = re.compile(r"\A(?:\d{1,3}\.)*\d{1,3}\.?\s+")
# the number of a heading, without its signs
_NUMBERING = re.compile(
    r"(?:chapter|kapitel|chapitre|capítulo|capitolo|hoofdstuk|rozdział|bölüm|глава|section|abschnitt|part|teil|partie|appendix|anhang|annexe|第)?"
    r"(?:\d{1,12}[a-z]?|[ivxlc]{1,7}|[a-z]\d{0,8})?[章節节部編篇]?\Z"
)


class OutlineTitle(NamedTuple):
    """A title of the outline. Units: levels and pages from 0; a page of None is not known."""

    title: str
    level: int
    page: int | None


class _Line(NamedTuple):
    whole: str
    plain: str


class Arranged(NamedTuple):
    """The marked main text of pages, their navigation, and the titles of their headings by size, if these were looked for.

    Shape: the marks of links stay in the main text, as many as they are. ``title`` is the first of the largest headings on the first page.
    """

    text: str
    navigation: str
    headings: tuple[str, ...] = ()
    title: str | None = None


def arrange(pages: Sequence[str], outline: Sequence[OutlineTitle], measures: Sequence[Sequence[Measure]] = ()) -> Arranged:
    """Makes a text of pages. Shape: the measures of the lines of each page as far as they are known."""
    lines = [
        [_Line(line, without_structure(line) if SIGN in line else line) for line in map(str.strip, page.split("\n"))] for page in pages
    ]
    plain = [[line.plain for line in page] for page in lines]
    measures = [known if len(known) == len(page) else () for known, page in zip_longest(measures, plain, fillvalue=())]
    contents = find_contents(plain)
    edges = _find_edges(plain)
    found: list[SizedHeading] = []
    if outline:
        headings = _place_headings(plain, outline)
    else:
        outside = [edge.union(place for place, is_one in enumerate(own) if is_one) for edge, own in zip(edges, contents, strict=True)]
        found = find_headings(plain, measures, outside)
        headings = [{} for _ in plain]
        for each in found:
            headings[each.page][each.first] = each.level, each.end
    main: list[str] = []
    navigation: dict[str, None] = {}
    has_gap = False
    for number, page in enumerate(lines):
        levels = headings[number]
        are_contents = [is_entry and place not in levels for place, is_entry in enumerate(contents[number])]
        left_out = {place for place in edges[number] if place not in levels}.union(
            place for place, is_one in enumerate(are_contents) if is_one
        )
        # running headers repeat, so each is kept once
        navigation |= dict.fromkeys(without_leaders(page[place].plain) for place in sorted(left_out))
        going_on = find_paragraphs(plain[number], measures[number]) if measures[number] else None
        main.append(_mark_page(page, levels, left_out, are_contents, going_on, has_gap=has_gap))
        # a table of contents on several pages leaves one sign
        has_gap = main[-1].endswith(GAP) or (has_gap and not without_structure(main[-1]).strip())
    text = _PAGE.join(main)
    if navigation and not any(map(str.isalnum, without_structure(text))):
        text = _PAGE.join(_mark_page(page, headings[number], set(), [False] * len(page)) for number, page in enumerate(lines))
        navigation = {}
    title = next((each.words for each in found if each.page == 0 and each.level == 0), None)
    return Arranged(text, "\n".join(navigation), tuple(each.words for each in found), title)


def _mark_page(
    lines: Sequence[_Line],
    levels: dict[int, tuple[int, int]],
    left_out: set[int],
    are_contents: Sequence[bool],
    going_on: Sequence[bool] | None = None,
    *,
    has_gap: bool = False,
) -> str:
    """Returns the main text of a page, with marks.

    Shape: of each line that begins a heading its level, and the line behind the heading; whether the paragraph of each line goes on, None
    if it is not known; ``has_gap`` if the page before ended in a gap.
    """
    kept = [number for number in range(len(lines)) if number not in left_out]
    lengths = sorted(len(lines[number].plain) for number in kept) or [0]
    usual = lengths[len(lengths) * 7 // 8]
    following = dict(pairwise(kept))
    marked: list[str] = []
    is_open = False
    heading_end = -1
    for number, line in enumerate(lines):
        if number in left_out:
            if marks := only_structure(line.whole):
                marked.append(marks)
            if are_contents[number] and not has_gap and not is_open:
                marked.append(GAP)
                has_gap = True
            continue
        if line.plain:
            has_gap = False
        if number in levels:
            level, heading_end = levels[number]
            marked.append(f"{END if is_open else ''}{mark_heading(level + 1)}{line.whole}{END if heading_end == number + 1 else ''}")
            is_open = False
            continue
        if number < heading_end:
            marked[-1] += f" {line.whole}{END if heading_end == number + 1 else ''}"
            continue
        behind = following.get(number, -1)
        is_joined = behind == number + 1 and behind not in levels
        if is_joined:
            is_joined = going_on[number] if going_on is not None else _goes_on(line.plain, lines[behind].plain, usual)
        marked.append(f"{_JOINED if is_joined and not is_open else ''}{line.whole}{END if is_open and not is_joined else ''}")
        is_open = is_joined
    return "\n".join(marked)


def _goes_on(line: str, following: str, usual: int) -> bool:
    """Returns whether the paragraph of a line goes on: if the line is nearly as long as most, or the next begins with a small letter."""
    if not following or len(line) < _LEAST_CHARACTERS:
        return False
    return len(line) >= _FULL * usual or (following[0].islower() and len(line) >= usual / 2)


# --- headings -------------------------------------------------------------------------------------------------------------------


def _place_headings(pages: Sequence[Sequence[str]], outline: Sequence[OutlineTitle]) -> list[dict[int, tuple[int, int]]]:
    """Returns for each page which of its lines begin headings, each with its level and the line behind the heading."""
    placed: list[dict[int, tuple[int, int]]] = [{} for _ in pages]
    of_page: dict[int, list[tuple[str, int]]] = defaultdict(list)
    anywhere: dict[str, list[int]] = defaultdict(list)
    for title, level, page in outline:
        if wanted := _normalize(title):
            if page is None:
                anywhere[wanted].append(level)
            elif page < len(pages):
                of_page[page].append((wanted, level))
    for number in sorted(of_page):
        first, *others = (each for each in (number, number + 1) if each < len(pages))
        missing = _place_on_page(pages[first], of_page[number], placed[first])
        # an outline may lead to the end of the page before
        for other in others:
            if missing:
                _place_on_page(pages[other], missing, placed[other])
    if anywhere:
        _place_anywhere(pages, anywhere, placed)
    return placed


def _place_anywhere(pages: Sequence[Sequence[str]], titles: dict[str, list[int]], placed: list[dict[int, tuple[int, int]]]) -> None:
    """Places titles whose pages are not known, where they are lines, each as often as it is one of the outline."""
    for lines, found in zip(pages, placed, strict=True):
        for number, line in enumerate(lines):
            levels = titles.get(_normalize(line)) or titles.get(_normalize(_NUMBER.sub("", line))) if line else None
            if levels and len(line) <= _HEADING_CHARACTERS:
                found[number] = (levels.pop(0), number + 1)


def _place_on_page(lines: Sequence[str], titles: Sequence[tuple[str, int]], placed: dict[int, tuple[int, int]]) -> list[tuple[str, int]]:
    """Places titles on a page, and returns those that it does not have."""
    normalized = [_normalize(line[:_HEADING_CHARACTERS]) for line in lines[:_SEARCHED_LINES]]
    taken = {line for start, (_, end) in placed.items() for line in range(start, end)}
    missing: list[tuple[str, int]] = []
    last = 0
    for title, level in titles:
        found = [(start, end) for start, end in _find_title(normalized, title) if not any(line in taken for line in range(start, end))]
        found = [each for each in found if each[0] >= last] or found
        if found and found[0][0] == 0:
            # the first line may be a running header with the words of a heading below it
            found = [each for each in found if each[0] >= found[0][1]] or found
        if not found:
            missing.append((title, level))
            continue
        # the last line before a heading may be a number, such as that of the page
        alike = [each for each in found if each[1] == found[0][1] and "".join(normalized[each[0] : each[1]]) == title]
        start, end = (alike or found)[0]
        placed[start] = (level, end)
        taken.update(range(start, end))
        last = end
    return missing


def _find_title(lines: Sequence[str], title: str) -> Iterator[tuple[int, int]]:
    """Yields where a title stands: its first line, and the line behind it."""
    for start, line in enumerate(lines):
        joined = line
        end = start + 1
        while line and not _is_title(joined, title):
            if end == len(lines) or end == start + _HEADING_LINES or len(joined) > len(title) + 12:
                break
            joined += lines[end]
            end += 1
        else:
            if line:
                yield start, end


def _is_title(line: str, title: str) -> bool:
    """Whether a line is a title, where each may have a number before it that the other has not."""
    if line == title:
        return True
    longer, shorter = (line, title) if len(line) > len(title) else (title, line)
    return longer.endswith(shorter) and len(shorter) > 2 and _NUMBERING.match(longer.removesuffix(shorter)) is not None


def _normalize(text: str) -> str:
    """Returns the letters and digits of a text alone, since outlines have other blanks, quotes and ligatures than pages."""
    if text.isascii():
        return _SIGNS.sub("", text.lower())
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


# --- running headers and footers ------------------------------------------------------------------------------------------------


def _find_edges(pages: Sequence[Sequence[str]]) -> list[set[int]]:
    """Returns for each page which of its lines are running headers and footers."""
    candidates = [dict(_list_edge_lines(lines)) for lines in pages]
    counts = Counter(key for of_page in candidates for key in set(of_page.values()))
    return [{number for number, key in of_page.items() if counts[key] >= _LEAST_EDGES} for of_page in candidates]


def _list_edge_lines(lines: Sequence[str]) -> Iterable[tuple[int, str]]:
    """Yields the first and the last lines of a page, each with what it has in common with those of other pages."""
    places = [number for number, line in enumerate(lines) if line]
    if len(places) < _LEAST_PAGE_LINES:
        return
    for number in (*places[:_EDGE_LINES], *places[-_EDGE_LINES:]):
        line = lines[number]
        if len(line) <= _EDGE_CHARACTERS:
            yield number, "#" if _PAGE_NUMBER.match(line) else _DIGITS.sub("#", line)
