"""The blocks of an extracted text: headings, paragraphs, lists, tables and what else its structure says, each with its place in the text.

A text has no markup: its structure, headings and links are stored beside it. The structure may be any, because it comes from a process that
has read hostile input. It decides how the text is grouped, and nothing else: every character that is no white space is in exactly one
block, in the order of the text.

What has no structure is a paragraph for each line. Such a line is a heading if it is one of the headings, and a link if it is the whole
text of links that all lead to the same URL. A line that is a heading at one place and a link at another, as in a table of contents, is a
link.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain

from feedmill.core.text.structure import HEADINGS, Event, Kind, Structure
from feedmill.model.extraction import Link

MAX_BLOCKS = 20_000
"""What follows so many paragraphs is one more block of several lines."""

MAX_DEPTH = 20
"""Lists, tables and quotations that are nested deeper count for nothing; their text does."""

MAX_SPANNED = 50_000
"""Cells of a table span no more columns and rows together, since a browser makes room for each."""

MAX_LINES, MAX_BLANKS = 10, 200
"""Empty lines and blanks in a row beyond so many are not shown."""

_LISTS = frozenset({Kind.UNORDERED, Kind.ORDERED})
_CONTAINERS = frozenset({Kind.UNORDERED, Kind.ORDERED, Kind.DEFINITIONS, Kind.TABLE, Kind.QUOTE})
_STYLES = frozenset({Kind.EMPHASIS, Kind.STRONG, Kind.CODE})
_CELLS = frozenset({Kind.CELL, Kind.HEADER_CELL})
_STARTING_IN = {
    Kind.ITEM: _LISTS,
    Kind.TERM: frozenset({Kind.DEFINITIONS}),
    Kind.DESCRIPTION: frozenset({Kind.DEFINITIONS}),
    Kind.ROW: frozenset({Kind.TABLE}),
    Kind.CELL: frozenset({Kind.TABLE}),
    Kind.HEADER_CELL: frozenset({Kind.TABLE}),
}
# what a block is put into where only such blocks may be
_INSIDE: Mapping[Kind | None, Kind] = {Kind.UNORDERED: Kind.ITEM, Kind.ORDERED: Kind.ITEM, Kind.DEFINITIONS: Kind.DESCRIPTION}
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A part of a line. Shape: ``link`` is "" for none, and may be any URL; ``before`` is white space that the text has lost."""

    start: int
    end: int
    styles: frozenset[Kind] = frozenset()
    link: str = ""
    before: str = ""


@dataclass(slots=True, kw_only=True)
class Block:
    """A part of a text.

    Shape: ``kind`` is None for a paragraph; either ``spans`` or ``blocks`` is empty; both are in order. ``numbers`` of a cell are the
    columns and rows that it spans, of an ordered list its step and the number of its first item, and of an item its own.
    """

    kind: Kind | None = None
    spans: list[Span] = field(default_factory=list)
    blocks: list["Block"] = field(default_factory=list)
    numbers: tuple[int, ...] = ()

    @property
    def start(self) -> int:
        """Returns the place of the first character of a block with spans."""
        return self.spans[0].start

    @property
    def end(self) -> int:
        """Returns the place behind the last character of a block with spans."""
        return self.spans[-1].end


def split_blocks(text: str, headings: str = "", links: Sequence[Link] = (), start: int = 0) -> list[Block]:
    """Returns the blocks of a text without structure, without its empty lines. Shape: the headings each on its lines.

    ``start`` is added to all places.
    """
    targets = _find_targets(links)
    lines = list(_iter_lines(text))
    counts = Counter(text[first:end] for first, end in lines)
    known = Counter(line for line in map(_collapse, headings.split("\n")) if line)
    blocks = []
    for first, end in lines[:MAX_BLOCKS]:
        line = text[first:end]
        link = targets.get(line, "")
        is_heading = line in known and (not link or counts[line] <= known[line])
        kind = Kind.HEADING_1 if is_heading else None
        blocks.append(Block(kind=kind, spans=[Span(start=start + first, end=start + end, link=link)]))
    if len(lines) > MAX_BLOCKS:
        blocks.append(Block(kind=Kind.PREFORMATTED, spans=[Span(start=start + lines[MAX_BLOCKS][0], end=start + lines[-1][1])]))
    return blocks


def build_blocks(text: str, structure: Structure, headings: str = "", links: Sequence[Link] = ()) -> list[Block]:
    """Returns the blocks of a text with a structure. Shape: the links are those that the structure counts."""
    if not structure.events:
        return split_blocks(text, headings, links)
    text = text.rstrip()
    builder = _Builder(text, [link.url for link in links], structure)
    end = 0
    for number, (event, first) in enumerate(zip(structure.events, _find_places(text, structure.events), strict=True)):
        if first > end:
            builder.read(end, first)
            end = first
        builder.take(event.kind, structure.numbers.get(number, ()))
    # only what is cut or wrong is without its end
    builder.close()
    builder.read(end, len(text))
    blocks = builder.finish()
    if not any(event.kind in HEADINGS for event in structure.events):
        _find_headings(text, blocks, headings)
    return blocks


def _find_headings(text: str, blocks: Sequence[Block], headings: str) -> None:
    known = {line for line in map(_collapse, headings.split("\n")) if line}
    for block in blocks:
        if block.kind is None and text[block.start : block.end] in known:
            block.kind = Kind.HEADING_1


def _find_targets(links: Sequence[Link]) -> Mapping[str, str]:
    """Returns the URLs of links by their texts, "" for a text that leads to several."""
    targets: dict[str, str] = {}
    for link in links:
        text = _collapse(link.text)
        targets[text] = link.url if targets.setdefault(text, link.url) == link.url else ""
    return targets


def _collapse(text: str) -> str:
    return " ".join(text.split())


def _iter_lines(text: str) -> Iterator[tuple[int, int]]:
    """Yields where each line begins and ends, without white space around it."""
    start = 0
    for line in text.split("\n"):
        if stripped := line.strip():
            first = start + len(line) - len(line.lstrip())
            yield first, first + len(stripped)
        start += len(line) + 1


def _find_places(text: str, events: Sequence[Event]) -> Iterator[int]:
    """Yields for each event how many characters of the text, with white space, are before it.

    An end is directly behind a character, and anything else directly before one.
    """
    words = _WORD.finditer(text)
    first = last = counted = before = 0
    for event in events:
        kind, place = event
        is_end = kind is Kind.END
        # in the word that holds the character before an end, or the character behind anything else
        while counted < place or (counted == place and not is_end):
            word = next(words, None)
            if word is None:
                first, last, before, counted = len(text), len(text), counted, place + 1
                break
            first, last = word.span()
            before, counted = counted, counted + last - first
        yield min(first + max(place - before, 0), last)


class _Builder:
    """Puts a text into blocks, event by event. Shape: ``_path`` has the blocks that are open, the outermost first."""

    def __init__(self, text: str, urls: Sequence[str], structure: Structure) -> None:
        self._text = text
        self._urls = iter(urls)
        self._unstored = structure.unstored
        self._spaces: dict[int, list[tuple[int, str]]] = defaultdict(list)
        self._indents: dict[int, tuple[int, int]] = {}
        self._indent = 0
        for line, column, lines, blanks in structure.spaces:
            if column:
                self._spaces[line].append((column, " " * min(blanks, MAX_BLANKS)))
            else:
                self._indents[line] = (min(lines, MAX_LINES), min(blanks, MAX_BLANKS))
        #: the number of a line among all preformatted ones, and where it starts
        self._line = self._line_start = 0
        self._path = [Block()]
        #: among which blocks a container stands, by the identity of the container
        self._siblings: dict[int, list[Block]] = {}
        #: the last cell of a table, by the identity of the table
        self._last_cells: dict[int, Block] = {}
        #: what has no end yet, None for what counts for nothing; and how many blocks were open before
        self._opened: list[tuple[Kind | None, int]] = []
        self._styles: list[Kind] = []
        self._headings: list[Kind] = []
        #: whether the lines of the text are those of a block: of preformatted text, or of a paragraph
        self._lines: Kind | None = None
        self._links = 0
        self._link: str | None = None
        self._leaf: Block | None = None
        self._leaves = 0
        self._rest: int | None = None

    def close(self) -> None:
        """Ends what has no end yet."""
        while self._opened:
            self._end()

    def finish(self) -> list[Block]:
        """Returns the blocks."""
        self._close_leaf()
        root = self._path[0]
        if self._rest is not None:
            root.blocks.append(Block(kind=Kind.PREFORMATTED, spans=[Span(start=self._rest, end=len(self._text.rstrip()))]))
        return [each for block in root.blocks for each in _tidy(block)]

    # --- text -------------------------------------------------------------------------------------------------------------------

    def read(self, start: int, end: int) -> None:
        """Adds the text of a range."""
        if self._lines is Kind.PREFORMATTED:
            self._read_preformatted(start, end)
            return
        if self._lines is Kind.JOINED:
            self._add(start, end)
            return
        while start < end:
            line_end = self._text.find("\n", start, end)
            self._add(start, end if line_end < 0 else line_end)
            if line_end < 0:
                return
            self._close_leaf()
            start = line_end + 1

    def _read_preformatted(self, start: int, end: int) -> None:
        if self._leaf is None:
            start = self._line_start = end - len(self._text[start:end].lstrip())
        while start < end:
            line_end = self._text.find("\n", start, end) + 1 or end
            before = ""
            if start == self._line_start:
                lines, self._indent = self._indents.get(self._line, (0, self._indent))
                before = "\n" * lines + " " * self._indent
            for column, space in self._spaces.get(self._line, ()):
                place = self._line_start + column
                if start <= place < line_end:
                    self._add(start, place, before)
                    start, before = place, space
            self._add(start, line_end, before)
            if self._text[line_end - 1] == "\n":
                self._line, self._line_start = self._line + 1, line_end
            start = line_end

    def _add(self, start: int, end: int, before: str = "") -> None:
        if self._leaf is None:
            start = end - len(self._text[start:end].lstrip())
            if start < end and self._rest is None:
                self._open_leaf(start)
        if self._leaf is not None and start < end:
            self._leaf.spans.append(Span(start=start, end=end, styles=frozenset(self._styles), link=self._link or "", before=before))

    def _open_leaf(self, start: int) -> None:
        self._leaves += 1
        if self._leaves > MAX_BLOCKS:
            self._rest = start
            return
        kind = self._headings[-1] if self._headings else None
        self._leaf = Block(kind=Kind.PREFORMATTED if self._lines is Kind.PREFORMATTED else kind)
        self._add_block(self._leaf)

    def _close_leaf(self) -> None:
        leaf, self._leaf = self._leaf, None
        if leaf is None:
            return
        if leaf.kind is Kind.PREFORMATTED:
            self._line += self._line_start < leaf.end
        while True:
            last = leaf.spans.pop()
            if stripped := self._text[last.start : last.end].rstrip():
                leaf.spans.append(replace(last, end=last.start + len(stripped)))
                return

    # --- structure --------------------------------------------------------------------------------------------------------------

    def take(self, kind: Kind, numbers: tuple[int, ...]) -> None:
        """Begins or ends something. Shape: ``numbers`` as in a block."""
        if kind is Kind.END:
            self._end()
        elif kind in _STYLES:
            self._open(kind)
            self._styles.append(kind)
        elif kind is Kind.LINK:
            self._take_link()
        elif kind in (Kind.NOTHING, Kind.NUMBER):
            return
        elif self._lines is not None:
            # nothing but links and emphasis is inside of lines
            if kind not in _STARTING_IN:
                self._open(None)
        elif kind in _STARTING_IN:
            self._close_leaf()
            self._start(kind, numbers)
        else:
            self._close_leaf()
            self._take_block(kind, numbers)

    def _open(self, kind: Kind | None) -> None:
        self._opened.append((kind, len(self._path)))

    def _take_link(self) -> None:
        number, self._links = self._links, self._links + 1
        is_stored = number not in self._unstored
        url = next(self._urls, "") if is_stored else ""
        if is_stored and self._link is None:
            self._link = url
            self._open(Kind.LINK)
        else:
            self._open(None)

    def _take_block(self, kind: Kind, numbers: tuple[int, ...]) -> None:
        if kind in HEADINGS:
            self._open(kind)
            self._headings.append(kind)
        elif kind in (Kind.PREFORMATTED, Kind.JOINED):
            self._open(kind)
            self._lines = kind
        elif len(self._path) > MAX_DEPTH:
            self._open(None)
        else:
            block = Block(kind=kind, numbers=numbers)
            self._siblings[id(block)] = self._add_block(block)
            self._open(kind)
            self._path.append(block)

    def _end(self) -> None:
        kind, depth = self._opened.pop() if self._opened else (None, len(self._path))
        if kind is Kind.LINK:
            self._link = None
        elif kind in _STYLES:
            self._styles.pop()
        elif kind is None:
            return
        else:
            self._close_leaf()
            if kind in HEADINGS:
                self._headings.pop()
            elif kind in (Kind.PREFORMATTED, Kind.JOINED):
                self._lines = None
            else:
                del self._path[depth:]

    def _start(self, kind: Kind, numbers: tuple[int, ...]) -> None:
        """Begins an item, a row or a cell, which ends what began so before. Where it belongs to nothing, it only ends a line."""
        place = max((place for place, block in enumerate(self._path) if block.kind in _CONTAINERS), default=0)
        if self._path[place].kind not in _STARTING_IN[kind]:
            return
        if kind not in _CELLS:
            del self._path[place + 1 :]
        elif len(self._path) == place + 1:
            self._push(Kind.ROW)
        else:
            del self._path[place + 2 :]
        self._push(kind, numbers)
        if kind in _CELLS:
            self._last_cells[id(self._path[place])] = self._path[-1]

    def _push(self, kind: Kind, numbers: tuple[int, ...] = ()) -> None:
        block = Block(kind=kind, numbers=numbers)
        self._path[-1].blocks.append(block)
        self._path.append(block)

    def _add_block(self, block: Block) -> list[Block]:
        """Adds a block where it may be: in an item of a list, in a cell of a table. Returns the blocks among which it stands."""
        top = self._path[-1]
        if top.kind in (Kind.TABLE, Kind.ROW):
            return self._add_beside_cells(block)
        if top.kind in _INSIDE:
            self._push(_INSIDE[top.kind])
        self._path[-1].blocks.append(block)
        return self._path[-1].blocks

    def _add_beside_cells(self, block: Block) -> list[Block]:
        """Adds a block that is in a table and in none of its cells: before the table if it has no cells yet, else to the last one."""
        table = next(other for other in reversed(self._path) if other.kind is Kind.TABLE)
        cell = self._last_cells.get(id(table))
        if cell is not None:
            cell.blocks.append(block)
            return cell.blocks
        siblings = self._siblings[id(table)]
        # behind it are only the tables without cells that it is in
        behind = next(number for number, other in enumerate(reversed(siblings)) if other is table)
        siblings.insert(len(siblings) - 1 - behind, block)
        return siblings


def _tidy(block: Block) -> list[Block]:
    """Returns what is shown of a block: nothing if it is empty, and the contents of a table that only arranges them."""
    if block.spans:
        return [block]
    rows, tidied = block.blocks, [_tidy(child) for child in block.blocks]
    if block.kind is Kind.TABLE:
        _fit_spans(rows, [bool(row) for row in tidied])
    block.blocks = list(chain.from_iterable(tidied))
    if block.kind in _CELLS:
        return [block]
    if block.kind is Kind.ROW:
        return [block] if any(cell.blocks for cell in block.blocks) else []
    if block.kind is Kind.TABLE and _is_arrangement(block):
        return [each for row in block.blocks for cell in row.blocks for each in cell.blocks]
    return [block] if block.blocks else []


def _fit_spans(rows: Sequence[Block], are_shown: Sequence[bool]) -> None:
    """Gives each cell the columns and rows that it spans in the table as it is shown: without the rows that are empty, and bounded."""
    before = [0, *accumulate(are_shown)]
    left = MAX_SPANNED
    for place, row in enumerate(rows):
        for cell in row.blocks:
            if not cell.numbers:
                continue
            columns, height = (max(span, 1) for span in (*cell.numbers, 1)[:2])
            height = before[min(place + height, len(rows))] - before[place]
            left -= columns * height
            cell.numbers = (columns, max(height, 1)) if left >= 0 else ()


def _is_arrangement(table: Block) -> bool:
    if all(len(row.blocks) < 2 and Kind.HEADER_CELL not in [cell.kind for cell in row.blocks] for row in table.blocks):
        return True
    return any(_holds_table(cell) for row in table.blocks for cell in row.blocks)


def _holds_table(block: Block) -> bool:
    return any(child.kind is Kind.TABLE or _holds_table(child) for child in block.blocks)
