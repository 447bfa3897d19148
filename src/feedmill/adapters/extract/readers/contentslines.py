"""Finds tables of contents and indexes among the lines of a text: lines that lead to a page and say nothing themselves.

- Entries with leaders: dots between a title and the number of its page, ``Introduction . . . . 12``. Three of them near to one another are
  a table of contents, with the lines between them, which are titles that are too long for a line.
- Entries without leaders: consecutive lines that end in numbers of pages, which never go down.
- Indexes: most lines of a page end in a comma and numbers of pages.

The label before a table of contents belongs to it. Rows of a table may look the same: numbers that go up and down, or that no page has, are
none of pages, and entries that are most of a text are the text. Of plain text only entries with leaders count whose numbers never go down.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

_LEAST_ENTRIES, _LEAST_PLAIN_ENTRIES, _LEAST_INDEX_LINES = 3, 6, 8
_INDEX_SHARE, _MOST_SHARE = 0.6, 0.6
_MOST_BETWEEN = 2
_LABEL_WORDS = 5
_ENTRY_CHARACTERS = 200
_LEADERS = re.compile(r"(?:\. ?){4,}|(?:… ?){2,}|(?:· ?){4,}|_{5,}")
_PAGE_NUMBER = re.compile(r"\s*(?:[A-Z]{1,2}-)?(?:\d{1,4}|[ivxlc]{1,7}|[IVXLC]{1,7})\Z")
_DIGITS = re.compile(r"(?<!\d)\d{1,4}\Z")
_PLAIN_ENTRY = re.compile(r"(?=.{0,20}[^\W\d_]).{2,160}[^\d.,:;\-–/=+$€£%]\s{1,20}(\d{1,4})\Z")
_INDEX_LINE = re.compile(r"(?=.{0,20}[^\W\d_]).{1,120},\s(?:see\s.{2,60}|\d{1,4}(?:[–-]\d{1,4})?)\Z")
# how the first line of a title of two lines begins
_NUMBERED = re.compile(r"(?:\d{1,3}\.?){1,5}\s")
_SENTENCE_END = re.compile(r"[.!?。！？][\"')”’»]*\Z")


def find_contents(pages: Sequence[Sequence[str]]) -> list[list[bool]]:
    """Returns for each line of each page whether it is one of a table of contents or an index. Shape: lines without blanks around them."""
    found = [_find_on_page(lines, len(pages)) for lines in pages]
    lines = sum(map(bool, (line for page in pages for line in page)))
    if sum(map(sum, found)) > _MOST_SHARE * lines:
        return [[False] * len(page) for page in pages]
    return found


def find_dotted(lines: Sequence[str]) -> list[bool]:
    """Returns for each line of a plain text whether it is one of a table of contents. Shape: lines without blanks around them."""
    found = [False] * len(lines)
    run: list[int] = []
    before = 0
    for number, line in enumerate(lines):
        if not line or len(line) > _ENTRY_CHARACTERS or not _ends_in_number(line) or not _has_leaders(line):
            continue
        page = int(digits[0]) if (digits := _DIGITS.search(line)) else 0
        if page < before:
            _mark_runs(lines, run, found, _LEAST_ENTRIES)
            run = []
        run.append(number)
        before = page
    _mark_runs(lines, run, found, _LEAST_ENTRIES)
    return found if sum(found) <= _MOST_SHARE * sum(map(bool, lines)) else [False] * len(lines)


def without_leaders(line: str) -> str:
    """Returns an entry of a table of contents as words."""
    return " ".join(_LEADERS.sub(" ", line).split())


def _find_on_page(lines: Sequence[str], count: int) -> list[bool]:
    found = [False] * len(lines)
    ends_in_number = [bool(line) and _ends_in_number(line) for line in lines]
    if not any(ends_in_number):
        return found
    entries = [number for number, line in enumerate(lines) if ends_in_number[number] and _has_leaders(line)]
    _mark_runs(lines, entries, found, _LEAST_ENTRIES)
    if count > 1:
        for entries in _list_plain(lines, count):
            _mark_runs(lines, entries, found, _LEAST_PLAIN_ENTRIES)
        index = sum(ends and _INDEX_LINE.match(line) is not None for ends, line in zip(ends_in_number, lines, strict=True))
        if index >= max(_LEAST_INDEX_LINES, _INDEX_SHARE * sum(map(bool, lines))):
            return [True] * len(lines)
    return found


def _ends_in_number(line: str) -> bool:
    return line[-1].isdigit() or line[-1] in "ivxlcIVXLC"


def _has_leaders(line: str) -> bool:
    """Whether a line ends in leaders and the number of a page."""
    if not ("." in line or "…" in line or "·" in line or "_" in line):
        return False
    ends = [found.end() for found in _LEADERS.finditer(line)]
    return bool(ends) and _PAGE_NUMBER.match(line, ends[-1]) is not None


def _list_plain(lines: Sequence[str], count: int) -> list[list[int]]:
    """Returns the runs of lines that end in numbers of pages, which never go down."""
    runs: list[list[int]] = []
    before = count
    for number, line in enumerate(lines):
        match = _PLAIN_ENTRY.match(line) if line[-1:].isdigit() else None
        page = int(match[1]) if match else 0
        # the numbers of the first pages may be others than those that are printed
        if not 0 < page <= 2 * count:
            continue
        if not runs or number - runs[-1][-1] > 2 or page < before:
            runs.append([])
        runs[-1].append(number)
        before = page
    return runs


def _mark_runs(lines: Sequence[str], entries: Sequence[int], found: list[bool], least: int) -> None:
    """Marks entries that are near to one another, what stands between them, and the label before them."""
    run: list[int] = list(entries[:1])
    for before, number in pairwise([*entries, len(lines) + _MOST_BETWEEN + 1]):
        if number - before <= 1 + _MOST_BETWEEN and not any(_SENTENCE_END.search(line) for line in lines[before + 1 : number]):
            run.append(number)
            continue
        if len(run) >= least:
            begin = run[0]
            if begin and _NUMBERED.match(lines[begin - 1]) and not _NUMBERED.match(lines[begin]):
                begin -= 1
            found[begin : run[-1] + 1] = [True] * (run[-1] + 1 - begin)
            label = next((place for place in range(begin - 1, -1, -1) if lines[place]), None)
            if label is not None and len(lines[label].split()) <= _LABEL_WORDS and not _SENTENCE_END.search(lines[label]):
                found[label] = True
        run = [number]
