"""Reads XLSX: sheet names, cells row by row, as people see them, notes, properties.

Sheets are the largest XML that Office writes. They are read as a stream, a row at a time, until a limit of time or text is
reached. Which cells are merged stands behind the rows, and is searched for in the bytes of the sheet before they are parsed.
Source: ECMA-376 part 1, section 18.
"""

import re
import time
from collections.abc import Iterator
from itertools import islice, zip_longest
from typing import NamedTuple

from lxml import etree

from feedmill.adapters.extract.readers.content import Content
from feedmill.adapters.extract.readers.officexml import find_title, parse_optional_part, parse_part, stream_elements, stream_part
from feedmill.adapters.extract.readers.ooxml import read_office_metadata
from feedmill.adapters.extract.readers.xlsxformats import Show, read_formats, show_truth, show_value
from feedmill.adapters.extract.readers.zips import ZipArchive
from feedmill.adapters.extract.structure import END, mark, mark_cell, mark_heading
from feedmill.core.text.structure import MAX_SPAN, Kind
from feedmill.model.extraction import ExtractionLimits

_SHEETS = "xl/worksheets/sheet"
_SHEET_PARTS = re.compile(rf"{_SHEETS}(\d+)\.xml\Z")
_NOTE_PARTS = re.compile(r"xl/(?:comments\d*|threadedComments/threadedComment\d+|drawings/drawing\d+)\.xml$")
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_SHARE_OF_TIME = 0.7
_LOOK_EVERY = 256
# The longest text that a cell can hold in Excel.
_CELL_CHARACTERS = 32_767
_CELL = mark(Kind.CELL)
# empty cells between two others beyond so many are not shown
_GAP = 29
_MERGED = re.compile(rb"""<(?:\w{1,20}:)?mergeCell\s[^<>]{0,100}?ref=["']([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})["']""")
_MAX_MERGED = 20_000
# merged cells that reach down into one row beyond so many leave no place free
_MAX_ABOVE = 100


def read_xlsx(data: bytes, limits: ExtractionLimits) -> Content:
    """Reads a workbook. Errors: Unreadable."""
    deadline = time.monotonic() + limits.seconds * _SHARE_OF_TIME
    container = ZipArchive(data)
    metadata = read_office_metadata(container)
    workbook = parse_part(container, "xl/workbook.xml")
    sheets = [] if workbook is None else workbook.findall("{*}sheets/{*}sheet")
    names = [str(sheet.get("name") or "") for sheet in sheets]
    shows = read_formats(parse_optional_part(container, "xl/styles.xml"), workbook)
    parts, reason = _read_cells(container, _name_parts(container, sheets), shows, deadline, limits.text_characters)
    if reason is None:
        parts += _read_notes(container)
    return Content(text="\n".join(parts), title=find_title(metadata), metadata=metadata, headings="\n".join(names), reason=reason)


def _name_parts(container: ZipArchive, sheets: list[etree._Element]) -> list[tuple[str, str]]:
    """Returns the sheets in their order, each with its part, "" for none; then parts that no sheet names.

    Shape: where relations are missing, the parts in the order of their numbers.
    """
    # by number, because by name sheet10 would come before sheet2
    found = sorted(
        (match[0] for name in container.names if (match := _SHEET_PARTS.match(name))),
        key=lambda part: int(part[len(_SHEETS) : -len(".xml")]),
    )
    root = parse_optional_part(container, "xl/_rels/workbook.xml.rels")
    relations = [] if root is None else root.findall("{*}Relationship")
    targets = {node.get("Id"): "xl/" + (node.get("Target") or "").removeprefix("/").removeprefix("xl/") for node in relations}
    named = [(str(sheet.get("name") or ""), targets.get(sheet.get(_RELATION), "")) for sheet in sheets]
    if not any(part in found for _, part in named):
        names = [name for name, _ in named]
        return list(zip_longest(names, found, fillvalue=""))
    left = dict.fromkeys(found)
    # each part once, however many sheets name it
    own = [(name, part if left.pop(part, part) is None else "") for name, part in named]
    return [*own, *(("", part) for part in left)]


def _read_cells(
    container: ZipArchive, sheets: list[tuple[str, str]], shows: list[Show | None], deadline: float, limit: int
) -> tuple[list[str], str | None]:
    strings = _read_shared_strings(container)
    rows: list[str] = []
    characters = 0
    for name, part in sheets:
        rows += [f"{mark_heading(2)}{name}{END}"] if name else []
        begin = len(rows)
        for row in _read_rows(container, part, strings, shows):
            rows.append(row)
            characters += len(row) + 1
            if characters > limit:
                return _mark_table(rows, begin), None
            if len(rows) % _LOOK_EVERY == 0 and time.monotonic() > deadline:
                return _mark_table(rows, begin), f"cut after {len(rows)} rows"
        _mark_table(rows, begin)
    return rows, None


def _mark_table(rows: list[str], begin: int) -> list[str]:
    """Marks the rows from one on as a table."""
    if begin < len(rows):
        rows[begin] = mark(Kind.TABLE) + rows[begin]
        rows[-1] += END
    return rows


def _read_shared_strings(container: ZipArchive) -> list[str]:
    strings: list[str] = []
    for item in stream_part(container, "xl/sharedStrings.xml", "si"):
        # the element rPh holds phonetic guides
        texts = [node.text or "" for path in ("{*}t", "{*}r/{*}t") for node in item.iterfind(path)]
        strings.append("".join(texts)[:_CELL_CHARACTERS])
    return strings


def _read_rows(container: ZipArchive, name: str, strings: list[str], shows: list[Show | None]) -> Iterator[str]:
    data = container.read(name)
    if data is None:
        return
    merged = _find_merged(data)
    above: list[_Merged] = []
    number = 0
    # rows without text, which count for the cells that span them
    empty = ""
    for row in stream_elements(data, name, "row"):
        before = number
        number = int(given) if (given := row.get("r") or "").isdecimal() and len(given) < 8 else number + 1
        last = max((each.last_row for each in above), default=0)
        empty += mark(Kind.ROW) * min(max(min(number - 1, last) - before, 0), MAX_SPAN)
        above = [each for each in above if each.last_row >= number]
        own = merged.get(number, ())
        line = _Line(number, [*above, *own[:_MAX_ABOVE]])
        cells = [line.mark_cell(_find_column(cell)) + text for cell in row if (text := _read_cell(cell, strings, shows))]
        above = [*above, *(each for each in own if each.last_row > number)][:_MAX_ABOVE]
        if cells:
            yield empty + mark(Kind.ROW) + " ".join(cells)
            empty = ""
        elif above:
            empty += mark(Kind.ROW)


class _Merged(NamedTuple):
    """Cells that are one. Shape: the first and the last of their columns and rows, from 1."""

    column: int
    row: int
    last_column: int
    last_row: int


def _find_merged(data: bytes) -> dict[int, list[_Merged]]:
    """Returns the merged cells of a sheet by their first row, each list in the order of the columns."""
    found: dict[int, list[_Merged]] = {}
    start = data.rfind(b"mergeCells", 0, data.rfind(b"mergeCells"))
    if start < 0:
        return found
    for match in islice(_MERGED.finditer(data, start), _MAX_MERGED):
        column, last_column = (_number_column(match[place].decode()) for place in (1, 3))
        merged = _Merged(column, int(match[2]), last_column, int(match[4]))
        if merged.last_column >= column and merged.last_row >= merged.row:
            found.setdefault(merged.row, []).append(merged)
    for of_row in found.values():
        of_row.sort()
    return found


class _Line:
    """The places of a row, some of which belong to merged cells. Shape: those that begin in it, or reach into it from above."""

    def __init__(self, number: int, merged: list[_Merged]) -> None:
        self._number = number
        self._merged = sorted(merged)
        self._next = 0
        self._column = 0

    def mark_cell(self, column: int) -> str:
        """Returns the marks of the next cell, after those of the empty places before it. Shape: column 0 is not known."""
        # cells without a value are not written, and a place may be missing
        place = max(column, self._column + 1)
        free = place - self._column - 1
        while self._next < len(self._merged) and self._merged[self._next].last_column < place:
            covered = self._merged[self._next]
            free -= max(covered.last_column - max(covered.column, self._column + 1) + 1, 0)
            self._next += 1
        self._column = place
        marks = _CELL * min(max(free, 0), _GAP)
        own = self._merged[self._next] if self._next < len(self._merged) else None
        if own is None or own.column != place or own.row != self._number:
            return marks + _CELL
        self._next += 1
        self._column = own.last_column
        width, height = own.last_column - own.column + 1, own.last_row - own.row + 1
        return marks + mark_cell(min(width, MAX_SPAN), min(height, MAX_SPAN))


def _find_column(cell: etree._Element) -> int:
    """Returns the number of a cell's column, 0 if it is not known."""
    return _number_column((cell.get("r") or "")[:3].upper())


def _number_column(letters: str) -> int:
    column = 0
    for letter in letters:
        if "A" <= letter <= "Z":
            column = column * 26 + ord(letter) - 64
    return column


def _read_cell(cell: etree._Element, strings: list[str], shows: list[Show | None]) -> str:
    kind = cell.get("t")
    if kind == "inlineStr":
        return "".join(node.text or "" for node in cell.iter("{*}t"))
    value = cell.findtext("{*}v")
    # An error such as ``#DIV/0!`` is no text of the document.
    if value is None or kind == "e":
        return ""
    if kind == "s":
        index = int(value) if value.isdecimal() and len(value) < 10 else -1
        return strings[index] if 0 <= index < len(strings) else ""
    if kind == "b":
        return show_truth(value)
    if kind not in (None, "n"):
        return value
    style = cell.get("s") or ""
    place = int(style) if style.isdecimal() and len(style) < 7 else -1
    return show_value(value, shows[place] if 0 <= place < len(shows) else None)


def _read_notes(container: ZipArchive) -> list[str]:
    roots = (parse_part(container, name) for name in container.names if _NOTE_PARTS.match(name))
    return ["\n".join(text for text in root.itertext(etree.Element) if isinstance(text, str)) for root in roots if root is not None]
