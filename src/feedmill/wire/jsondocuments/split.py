"""Splits a JSON array, or JSON lines, into the bytes of its items, in pieces of any size.

Only quotes, escapes, brackets and commas are read here. An item is bounded in size and depth; one beyond a bound is counted and
dropped, and the items after it are found nevertheless. A reader that needs less of each item lowers the bound. Source: RFC 8259;
ndjson.org for JSON lines.
"""

import json
import re
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, Protocol

from feedmill.model.errors import BadFeed

MAX_ITEM_BYTES: Final = 50_331_648
"""The maximum size of an item: a content of 30 MB in base64 fits."""

MAX_DEPTH: Final = 32
"""How deeply an item may be nested."""

WHITE_SPACE: Final = b" \t\r\n"
BOM: Final = b"\xef\xbb\xbf"

_CONTINUATION: Final = bytes(range(0x80, 0xC0))
"""The bytes with which no character begins. Source: RFC 3629, 3."""
_REST_OF_STRING: Final = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
"""What a text holds up to its quote, or to an escape that the data cuts. Source: RFC 8259, 7."""
_MARK: Final = re.compile(rb'["{}\[\],]')
_TAIL_BYTES: Final = 65_536
_INNER_MARK: Final = re.compile(rb'["{}\[\]]')
_TOO_LARGE: Final = f"the item is larger than {MAX_ITEM_BYTES} bytes; send the document in a feed of XML"
_TOO_DEEP: Final = f"the item is nested deeper than {MAX_DEPTH} levels"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The bytes of one item, not yet decoded.

    Units: ``number``, ``line`` and ``column`` count from 1, a column in characters; ``offset`` is the byte at which the item begins.
    ``fault`` says why ``text`` is empty; ``first`` is the first byte also then. A text may have tens of megabytes, so it is never copied.
    """

    number: int
    line: int
    column: int
    offset: int
    text: bytes | bytearray = b""
    fault: str = ""
    first: bytes = b""

    def explain(self, error: json.JSONDecodeError) -> str:
        """Returns why the item is no JSON, and where in the body."""
        line, column = self.line + error.lineno - 1, error.colno + (self.column - 1 if error.lineno == 1 else 0)
        return f"is no JSON: {error.msg.removesuffix(' at')}, line {line}, column {column}"


class Splitter(Protocol):
    """Splits one body. ``count`` is the number of items so far."""

    count: int

    def feed(self, data: bytes) -> list[Piece]:
        """Reads the next bytes and returns the items that ended in them. Errors: BadFeed."""

    def close(self) -> list[Piece]:
        """Ends the body and returns the last items. Errors: BadFeed."""


class _Part(Enum):
    BEFORE = "before"
    INSIDE = "inside"
    AFTER = "after"


class _Item:
    """The bytes of the item that is being read."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._text = bytearray()
        self._fault = ""
        self._line, self._column = 1, 1
        self._offset = 0
        self._begin: tuple[int, int, int] | None = None
        self._first = b""

    def add(self, data: bytes) -> None:
        """Appends bytes, and counts lines, columns and bytes."""
        if self._begin is None:
            stripped = data.lstrip(WHITE_SPACE)
            self._pass(data[: len(data) - len(stripped)])
            if not stripped:
                return
            self._begin, self._first, data = (self._line, self._column, self._offset), stripped[:1], stripped
        self._pass(data)
        if not self._fault and len(self._text) + len(data) > self._max_bytes:
            self.fail(_TOO_LARGE)
        if not self._fault:
            self._text += data

    def fail(self, fault: str) -> None:
        """Drops the bytes of the item."""
        self._fault = self._fault or fault
        self._text.clear()

    def skip(self, separator: bytes) -> None:
        """Counts bytes that separate items."""
        self._pass(separator)

    def skip_mark(self) -> None:
        """Counts the mark at the beginning of a text, which is no character of its first line."""
        self._offset += len(BOM)

    def move(self, line: int, column: int) -> None:
        """Counts on from another position, as if the item had begun so far before it."""
        if self._begin is not None:
            begin_line, begin_column, offset = self._begin
            self._begin = (begin_line + line - self._line, begin_column + column - self._column, offset)
        self._line, self._column = line, column

    def _pass(self, data: bytes) -> None:
        self._offset += len(data)
        end = data.rfind(b"\n")
        if end >= 0:
            self._line += data.count(b"\n")
            self._column, data = 1, data[end + 1 :]
        self._column += count_characters(data)

    def end(self, number: int) -> Piece | None:
        """Returns the item and begins the next one; None if there were only blanks."""
        if self._begin is None:
            return None
        line, column, offset = self._begin
        text = self._text
        _strip_end(text)
        piece = Piece(number=number, line=line, column=column, offset=offset, text=text, fault=self._fault, first=self._first)
        self._text, self._fault, self._begin = bytearray(), "", None
        return piece

    def explain(self, reason: str) -> BadFeed:
        """Returns the error at the present position."""
        return BadFeed(f"{reason}, line {self._line}, column {self._column}", line=self._line)


def count_characters(data: bytes) -> int:
    """Returns how many characters UTF-8 begins in these bytes."""
    return len(data) if data.isascii() else len(data.translate(None, _CONTINUATION))


def _strip_end(text: bytearray) -> None:
    """Removes white space at the end, without a copy of the text."""
    while text and text[-1] in WHITE_SPACE:
        tail = text[-_TAIL_BYTES:]
        del text[len(text) - len(tail) + len(tail.rstrip(WHITE_SPACE)) :]


class ArraySplitter:
    """Splits a JSON array into its items. Units: an item of more than ``max_item_bytes`` is a fault."""

    def __init__(self, max_item_bytes: int = MAX_ITEM_BYTES) -> None:
        self.count = 0
        self._part = _Part.BEFORE
        self._item = _Item(max_item_bytes)
        self._depth = 0
        self._is_in_string = False
        self._is_escaped = False
        self._is_at_first_byte = True
        self._head = b""

    def feed(self, data: bytes) -> list[Piece]:
        """Reads the next bytes and returns the items that ended in them. Errors: BadFeed."""
        found: list[Piece] = []
        at = 0
        if self._part is _Part.BEFORE:
            data = self._open(data)
        while at < len(data) and self._part is not _Part.BEFORE:
            if self._part is _Part.AFTER:
                rest = data[at:].lstrip(WHITE_SPACE)
                self._item.skip(data[at : len(data) - len(rest)])
                if rest:
                    raise self._item.explain("there is more after the end of the array")
                break
            at = self._read_string(data, at) if self._is_in_string else self._read_structure(data, at, found)
        return found

    def close(self) -> list[Piece]:
        """Ends the body. Errors: BadFeed."""
        if self._part is _Part.BEFORE:
            raise BadFeed("the body is no JSON array: it is empty")
        if self._part is _Part.INSIDE:
            raise self._item.explain("the body ends within the array")
        return []

    def move(self, line: int, column: int) -> None:
        """Counts on from another position, where the bytes so far are not those of the body."""
        self._item.move(line, column)

    def _open(self, data: bytes) -> bytes:
        """Reads up to the bracket at the beginning. Returns the bytes after it."""
        data = self._head + data
        self._head = b""
        if self._is_at_first_byte:
            if len(data) < len(BOM) and BOM.startswith(data):
                self._head = data
                return b""
            self._is_at_first_byte = False
            if data.startswith(BOM):
                self._item.skip_mark()
                data = data[len(BOM) :]
        text = data.lstrip(WHITE_SPACE)
        self._item.add(data[: len(data) - len(text)])
        if not text:
            return b""
        if text[:1] != b"[":
            raise BadFeed("the body is no JSON array: it does not begin with [")
        self._item.skip(b"[")
        self._part = _Part.INSIDE
        return text[1:]

    def _read_string(self, data: bytes, at: int) -> int:
        begin = at
        if self._is_escaped:
            self._is_escaped = False
            at += 1
        # The pattern matches at every place: an empty text too has an end.
        match = _REST_OF_STRING.match(data, at)
        end = at if match is None else match.end()
        if data[end : end + 1] == b'"':
            self._is_in_string = False
            self._item.add(data[begin : end + 1])
            return end + 1
        self._is_escaped = end < len(data)
        self._item.add(data[begin:])
        return len(data)

    def _read_structure(self, data: bytes, at: int, found: list[Piece]) -> int:
        begin = at
        while (mark := (_INNER_MARK if self._depth else _MARK).search(data, at)) is not None:
            at = mark.end()
            sign = mark[0]
            if sign == b'"':
                self._is_in_string = True
                break
            if sign in b"{[":
                self._depth += 1
                if self._depth > MAX_DEPTH:
                    self._item.add(data[begin:at])
                    self._item.fail(_TOO_DEEP)
                    return at
            elif self._depth:
                self._depth -= 1
            else:
                self._item.add(data[begin : at - 1])
                self._end_item(sign, found)
                return at
        else:
            at = len(data)
        self._item.add(data[begin:at])
        return at

    def _end_item(self, sign: bytes, found: list[Piece]) -> None:
        """Ends an item at a comma or at the end of the array."""
        if sign == b"}":
            raise self._item.explain("there is a } without its {")
        piece = self._item.end(self.count + 1)
        if piece is not None:
            self.count += 1
            found.append(piece)
        elif sign == b"," or self.count:
            raise self._item.explain("an item is missing beside a comma")
        self._item.skip(sign)
        if sign == b"]":
            self._part = _Part.AFTER


class LineSplitter:
    """Splits JSON lines. Blank lines are no items. Units: as above."""

    def __init__(self, max_item_bytes: int = MAX_ITEM_BYTES) -> None:
        self.count = 0
        self._item = _Item(max_item_bytes)

    def feed(self, data: bytes) -> list[Piece]:
        """Reads the next bytes and returns the lines that ended in them."""
        *lines, rest = data.split(b"\n")
        found = []
        for line in lines:
            self._item.add(line)
            found += self._end_line()
            self._item.add(b"\n")
        self._item.add(rest)
        return found

    def close(self) -> list[Piece]:
        """Ends the body and returns the last line. Errors: BadFeed for an empty body."""
        last = self._end_line()
        if not self.count:
            raise BadFeed("the body is empty; send one JSON object a line")
        return last

    def _end_line(self) -> list[Piece]:
        piece = self._item.end(self.count + 1)
        if piece is None:
            return []
        self.count += 1
        return [replace(piece, text=piece.text.removeprefix(BOM)) if self.count == 1 else piece]
