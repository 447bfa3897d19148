"""The page of a cached copy as people read it: headings, paragraphs, lists, tables, links, and jumps from match to match without script.

It holds no markup of the document: the template makes elements of a closed list of kinds, and escapes the text. Like ``cachepage`` it is
in a sandbox of its own.
"""

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain, groupby, islice
from operator import itemgetter
from urllib.parse import urlencode

from feedmill.core.text.structure import HEADINGS, Kind
from feedmill.core.text.textblocks import Block, Span
from feedmill.core.urls.breadcrumbs import name_url
from feedmill.http.search.parameters import read_search
from feedmill.http.search.resultpage import find_address, find_link, lists_results, write_anchor
from feedmill.http.search.titles import is_named_by
from feedmill.services.searching.cachedcopy import CachedCopy

_WEB = ("http://", "https://")
_ELEMENTS = {
    None: "p",
    Kind.PREFORMATTED: "pre",
    Kind.UNORDERED: "ul",
    Kind.ORDERED: "ol",
    Kind.ITEM: "li",
    Kind.DEFINITIONS: "dl",
    Kind.TERM: "dt",
    Kind.DESCRIPTION: "dd",
    Kind.TABLE: "table",
    Kind.ROW: "tr",
    Kind.CELL: "td",
    Kind.HEADER_CELL: "th",
    Kind.QUOTE: "blockquote",
}
_STYLES = {Kind.STRONG: "strong", Kind.EMPHASIS: "em", Kind.CODE: "code"}
_DIRECTED = frozenset({Kind.UNORDERED, Kind.ORDERED, Kind.DEFINITIONS, Kind.TABLE, Kind.QUOTE})
_DEEPEST = 6
_DIRECTION_CHARACTERS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPart:
    """A piece of a line. Shape: ``styles`` are names of elements, the outermost first."""

    text: str
    styles: tuple[str, ...] = ()
    is_marked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLink:
    """Pieces that lead to the same URL, None for pieces that lead nowhere."""

    url: str | None
    parts: tuple[ShownPart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownLine:
    """A paragraph, or a line of preformatted text. Shape: ``match`` counts the lines with matches from 1, 0 for a line without."""

    links: tuple[ShownLink, ...]
    match: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownBlock:
    """An element with either lines of text or further elements.

    Shape: ``element`` is one of a closed list of names. ``direction`` is "" where that of the block around it counts. ``numbers`` are
    attributes, "" for one without a value.
    """

    element: str
    numbers: tuple[tuple[str, int | str], ...] = ()
    direction: str = ""
    lines: tuple[ShownLine, ...] = ()
    blocks: tuple["ShownBlock", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCopy:
    """Everything that the template needs. ``document`` is None if a browser should not open it, ``results`` if no list led to the copy."""

    title: str
    url: str
    day: date
    document: str | None
    results: str | None
    blocks: tuple[ShownBlock, ...]
    matches: int
    has_own_title: bool


def show_copy(copy: CachedCopy, parameters: Sequence[tuple[str, str]]) -> ShownCopy:
    """Returns what the page shows. Shape: the parameters are those of its request, which a link back to the result repeats."""
    page = _Page(copy)
    blocks = tuple(page.show(block) for block in copy.blocks)
    others = [(name, value) for name, value in parameters if name != "url"]
    anchor = write_anchor(next((value for name, value in parameters if name == "url"), copy.url))
    selected = tuple(value for name, value in others if name == "select")
    request = replace(read_search(dict(others)), selected=selected)
    return ShownCopy(
        title=copy.title if copy.title != copy.url else name_url(copy.url),
        url=copy.url,
        day=copy.updated_at.date(),
        document=find_address(copy),
        results=f"/?{urlencode(others, errors='replace')}#{anchor}" if lists_results(request.query, request) else None,
        blocks=blocks,
        matches=page.matches,
        has_own_title=page.has_own_title,
    )


class _Page:
    """Shows the blocks of a copy in their order."""

    def __init__(self, copy: CachedCopy) -> None:
        self.matches = 0
        self._copy = copy
        self._mark = 0
        first = copy.blocks[0] if copy.blocks else None
        #: whether the text begins with a heading that is the title, which is then not shown twice
        self.has_own_title = first is not None and first.kind in HEADINGS and is_named_by(copy.title, copy.text[first.start : first.end])
        self._is_first = True
        #: the levels of the headings below which the text is
        self._levels: list[int] = []

    def show(self, block: Block, *, is_directed: bool = False) -> ShownBlock:
        """Returns what is shown of a block. Shape: ``is_directed`` inside of a block that has a direction."""
        element = self._find_element(block.kind)
        self._is_first = False
        if block.spans:
            lines = (block.spans,) if block.kind is not Kind.PREFORMATTED else _split_lines(self._copy.text, block.spans)
            return ShownBlock(element=element, direction="auto", lines=tuple(self._show_line(spans, element) for spans in lines))
        has_direction = not is_directed and block.kind in _DIRECTED
        direction = _find_direction(self._copy.text, block) if has_direction else ""
        blocks = tuple(self.show(each, is_directed=is_directed or has_direction) for each in block.blocks)
        return ShownBlock(element=element, numbers=_list_numbers(block), direction=direction, blocks=blocks)

    def _find_element(self, kind: Kind | None) -> str:
        if kind not in HEADINGS:
            return _ELEMENTS[kind]
        # below the title of the page, and no level is left out
        level = HEADINGS.index(kind)
        while self._levels and self._levels[-1] >= level:
            self._levels.pop()
        self._levels.append(level)
        if self._is_first and self.has_own_title:
            return "h1"
        return f"h{min(max(len(self._levels) + (not self.has_own_title), 2), _DEEPEST)}"

    def _show_line(self, spans: Sequence[Span], element: str) -> ShownLine:
        marks = self._take_marks(spans[0].start, spans[-1].end)
        if marks:
            self.matches += 1
        shown = [each for span in spans for each in self._split(span, marks, is_preformatted=element == "pre")]
        links = tuple(
            ShownLink(url=find_link(url) if url.lower().startswith(_WEB) else None, parts=tuple(part for _, part in parts if part.text))
            for url, parts in groupby(shown, key=lambda pair: pair[0])
        )
        return ShownLine(links=links, match=self.matches if marks else 0)

    def _take_marks(self, start: int, end: int) -> list[tuple[int, int]]:
        """Returns the marks that are in a range at least in part; blocks come in the order of the text, and so do marks."""
        marks = self._copy.marks
        while self._mark < len(marks) and marks[self._mark][1] <= start:
            self._mark += 1
        after = self._mark
        while after < len(marks) and marks[after][0] < end:
            after += 1
        return list(marks[self._mark : after])

    def _split(self, span: Span, marks: Sequence[tuple[int, int]], *, is_preformatted: bool) -> Iterator[tuple[str, ShownPart]]:
        """Yields the parts of a span, each with the URL to which it leads."""
        styles = tuple(name for style, name in _STYLES.items() if style in span.styles and not (is_preformatted and style is Kind.CODE))
        if span.before:
            yield "", ShownPart(text=span.before)
        position = span.start
        # a mark may begin before the span or end behind it; a line may have thousands of marks and of spans
        place = bisect_right(marks, position, key=itemgetter(1))
        while place < len(marks) and marks[place][0] < span.end:
            low, high = max(marks[place][0], position), min(marks[place][1], span.end)
            place += 1
            yield span.link, self._make_part(position, low, styles, is_marked=False)
            yield span.link, self._make_part(low, high, styles, is_marked=True)
            position = high
        yield span.link, self._make_part(position, span.end, styles, is_marked=False)

    def _make_part(self, start: int, end: int, styles: tuple[str, ...], *, is_marked: bool) -> ShownPart:
        return ShownPart(text=self._copy.text[start:end].replace("\n", " "), styles=styles, is_marked=is_marked)


def _list_numbers(block: Block) -> tuple[tuple[str, int | str], ...]:
    """Returns the attributes of a cell that spans others, of a list that does not count from 1, and of an item with a number of its own."""
    match block.kind, block.numbers:
        case Kind.CELL | Kind.HEADER_CELL, (columns, rows):
            return tuple((name, span) for name, span in (("colspan", columns), ("rowspan", rows)) if span > 1)
        case Kind.ORDERED, (step, *first):
            return (*[("start", number) for number in first[:1]], *([("reversed", "")] if step < 0 else []))
        case Kind.ITEM, (number, *_):
            return (("value", number),)
        case _:
            return ()


def _split_lines(text: str, spans: Sequence[Span]) -> Iterator[list[Span]]:
    """Yields the lines of preformatted text, without their ends."""
    line: list[Span] = []
    for span in spans:
        start = span.start
        while (end := text.find("\n", start, span.end)) >= 0:
            line.append(replace(span, start=start, end=end, before=span.before if start == span.start else ""))
            yield line
            line, start = [], end + 1
        if start < span.end:
            line.append(replace(span, start=start, before=span.before if start == span.start else ""))
    if line:
        yield line


def _find_direction(text: str, block: Block) -> str:
    """Returns the direction of a block by the first letter in it, as browsers find that of a paragraph."""
    pieces = (text[leaf.start : leaf.end] for leaf in _iter_leaves(block))
    for character in islice(chain.from_iterable(pieces), _DIRECTION_CHARACTERS):
        direction = unicodedata.bidirectional(character)
        if direction in ("L", "R", "AL"):
            return "ltr" if direction == "L" else "rtl"
    return "ltr"


def _iter_leaves(block: Block) -> Iterator[Block]:
    if block.spans:
        yield block
    for each in block.blocks:
        yield from _iter_leaves(each)
