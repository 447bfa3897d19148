"""Reads XLSX: sheet names, cells row by row, notes, properties.

Sheets are the largest XML that Office writes. They are read as a stream, a row at a time, until a limit of time or text is
reached. Source: ECMA-376 part 1, section 18.
"""

import re
import time
from collections.abc import Iterator

from lxml import etree

from feedmill.adapters.extract.readers.content import Content
from feedmill.adapters.extract.readers.officexml import find_title, parse_part, stream_part
from feedmill.adapters.extract.readers.ooxml import read_office_metadata
from feedmill.adapters.extract.readers.zips import ZipArchive
from feedmill.adapters.extract.structure import END, mark, mark_list
from feedmill.core.text.structure import Kind
from feedmill.model.extraction import ExtractionLimits

_SHEET_PARTS = re.compile(r"xl/worksheets/sheet(\d+)\.xml$")
_NOTE_PARTS = re.compile(r"xl/(?:comments\d*|threadedComments/threadedComment\d+|drawings/drawing\d+)\.xml$")
_SHARE_OF_TIME = 0.7
_LOOK_EVERY = 256
# The longest text that a cell can hold in Excel.
_CELL_CHARACTERS = 32_767
_CELL = mark(Kind.CELL)
# empty cells between two others beyond so many are not shown
_GAP = 30


def read_xlsx(data: bytes, limits: ExtractionLimits) -> Content:
    """Reads a workbook. Errors: Unreadable."""
    deadline = time.monotonic() + limits.seconds * _SHARE_OF_TIME
    container = ZipArchive(data)
    metadata = read_office_metadata(container)
    names = _read_sheet_names(container)
    parts = [mark_list(names)]
    cells, reason = _read_cells(container, deadline, limits.text_characters)
    parts += cells
    if reason is None:
        parts += _read_notes(container)
    return Content(text="\n".join(parts), title=find_title(metadata), metadata=metadata, headings="\n".join(names), reason=reason)


def _read_cells(container: ZipArchive, deadline: float, limit: int) -> tuple[list[str], str | None]:
    strings = _read_shared_strings(container)
    rows: list[str] = []
    characters = 0
    # By number, because by name sheet10 would come before sheet2.
    for _, name in sorted((int(match[1]), name) for name in container.names if (match := _SHEET_PARTS.match(name))):
        begin = len(rows)
        for row in _read_rows(container, name, strings):
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


def _read_sheet_names(container: ZipArchive) -> list[str]:
    root = parse_part(container, "xl/workbook.xml")
    return [] if root is None else [str(node.get("name") or "") for node in root.iterfind("{*}sheets/{*}sheet")]


def _read_shared_strings(container: ZipArchive) -> list[str]:
    strings: list[str] = []
    for item in stream_part(container, "xl/sharedStrings.xml", "si"):
        # the element rPh holds phonetic guides
        texts = [node.text or "" for path in ("{*}t", "{*}r/{*}t") for node in item.iterfind(path)]
        strings.append("".join(texts)[:_CELL_CHARACTERS])
    return strings


def _read_rows(container: ZipArchive, name: str, strings: list[str]) -> Iterator[str]:
    for row in stream_part(container, name, "row"):
        cells: list[str] = []
        column = 0
        for cell in row:
            if text := _read_cell(cell, strings):
                # cells without a value are not written, and a place may be missing
                place = max(_find_column(cell), column + 1)
                cells.append(_CELL * min(place - column, _GAP) + text)
                column = place
        if cells:
            yield mark(Kind.ROW) + " ".join(cells)


def _find_column(cell: etree._Element) -> int:
    """Returns the number of a cell's column, 0 if it is not known."""
    column = 0
    for letter in (cell.get("r") or "")[:3].upper():
        if "A" <= letter <= "Z":
            column = column * 26 + ord(letter) - 64
    return column


def _read_cell(cell: etree._Element, strings: list[str]) -> str:
    kind = cell.get("t")
    if kind == "inlineStr":
        return "".join(node.text or "" for node in cell.iter("{*}t"))
    value = cell.findtext("{*}v")
    # An error such as ``#DIV/0!`` is no text of the document.
    if value is None or kind == "e":
        return ""
    if kind != "s":
        return value
    index = int(value) if value.isdecimal() and len(value) < 10 else -1
    return strings[index] if 0 <= index < len(strings) else ""


def _read_notes(container: ZipArchive) -> list[str]:
    roots = (parse_part(container, name) for name in container.names if _NOTE_PARTS.match(name))
    return ["\n".join(text for text in root.itertext(etree.Element) if isinstance(text, str)) for root in roots if root is not None]
