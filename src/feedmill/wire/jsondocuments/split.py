"""Splits a JSON array, or JSON lines, into the bytes of its items, in pieces of any size.

Only quotes, escapes, brackets and commas are read here. An item is bounded in size and depth; one beyond a bound is counted and
dropped, and the items after it are found nevertheless. A reader that needs less of each item lowers the bound. Source: RFC 8259;
ndjson.org for JSON lines.
"""

import json
import re
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
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
_REST_OF_STRING: Final = rb'[^"]*+(?:(?<=\\)"[^"]*+)*+"'
"""A text from anywhere in it up to its quote, in data without pairs of backslashes. Source: RFC 8259, 7."""
_END_OF_STRING: Final = re.compile(_REST_OF_STRING)
_MARK: Final = re.compile(rb'["{}\[\],]')
_TAIL_BYTES: Final = 65_536
_INNER_MARK: Final = re.compile(rb'["{}\[\]]')
_BLANKS: Final = re.compile(rb"[ \t\r\n]*+")
_QUICK_DEPTH: Final = 4
"""How deeply an item may be nested that one pattern matches: as deeply as the principals of an ACL are."""
_DECODER: Final = json.JSONDecoder(parse_int=len)
"""Checks JSON. A number of any length is JSON; whether it can be stored is decided later."""
_TOO_LARGE: Final = f"the item is larger than {MAX_ITEM_BYTES} bytes; send the document in a feed of XML"
_TOO_DEEP: Final = f"the item is nested deeper than {MAX_DEPTH} levels"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The bytes of one item, not yet decoded.

    Units: ``number``, ``line`` and ``column`` count from 1, a column in characters; ``offset`` is the byte at which the item begins.
    ``fault`` says why ``text`` is empty; ``first`` is the first byte also then. A text may have tens of megabytes, so it is never copied.
    ``is_checked``: it is known to be JSON.
    """

    number: int
    line: int
    column: int
    offset: int
    text: bytes | bytearray = b""
    fault: str = ""
    first: bytes = b""
    is_checked: bool = False

    def check(self) -> None:
        """Decodes the text and forgets what it holds. Errors: UnicodeDecodeError, JSONDecodeError."""
        if not self.is_checked:
            _DECODER.decode(self.text.decode("utf-8"))

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

    @property
    def is_begun(self) -> bool:
        """Whether anything but blanks was read."""
        return self._begin is not None

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

    def end(self, number: int, *, is_checked: bool = False) -> Piece | None:
        """Returns the item and begins the next one; None if there were only blanks."""
        if self._begin is None:
            return None
        line, column, offset = self._begin
        text = self._text
        _strip_end(text)
        piece = Piece(
            number=number,
            line=line,
            column=column,
            offset=offset,
            text=text,
            fault=self._fault,
            first=self._first,
            is_checked=is_checked,
        )
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


def _compile_item() -> re.Pattern[bytes]:
    """Returns the pattern of a whole item. It tries nothing twice, so its time is in proportion to the data."""
    string, between = rb'"' + _REST_OF_STRING, rb'[^"{}\[\]]*+'
    item = string
    for _ in range(_QUICK_DEPTH):
        item = rb"[{\[]" + between + rb"(?:(?:" + string + rb"|" + item + rb")" + between + rb")*+[}\]]"
    return re.compile(item)


_ITEM: Final = _compile_item()


class _Data:
    """Some bytes of an array, as they came and as they are searched. ``is_escaped``: a backslash came before them."""

    def __init__(self, data: bytes, *, is_escaped: bool) -> None:
        self.bytes = data
        self._is_escaped = is_escaped

    @cached_property
    def unpaired(self) -> bytes:
        """As many bytes, in which a backslash before a quote escapes it: others stand for the pairs of backslashes."""
        data = self.bytes
        if self._is_escaped and data[:1] in (b'"', b"\\"):
            data = b"_" + data[1:]
        # one byte is found much faster than two
        return data.replace(b"\\\\", b"__") if b"\\" in data else data

    @cached_property
    def text(self) -> str:
        """As many characters."""
        return self.bytes.decode("latin-1")

    @property
    def ends_escaped(self) -> bool:
        """Whether the bytes end with a backslash that escapes what follows."""
        backslashes = len(self.bytes) - len(self.bytes.rstrip(b"\\"))
        return bool((backslashes + (self._is_escaped and backslashes == len(self.bytes))) % 2)

    def find_end(self, at: int) -> int | None:
        """Returns where the item ends that begins here; None if the data cuts it, or if it is no common one."""
        found = _ITEM.match(self.unpaired, at)
        return None if found is None else found.end()

    def find_checked_end(self, at: int) -> int | None:
        """Returns where the item ends that begins here; None if it is no JSON as far as the data has it."""
        if self.bytes[at : at + 1] not in (b"{", b"["):
            return None
        try:
            _, end = _DECODER.raw_decode(self.text, at)
            self.bytes[at:end].decode("utf-8")
        except (ValueError, RecursionError):
            return None
        return end


def _skip_blanks(data: bytes, at: int) -> int:
    found = _BLANKS.match(data, at)
    return at if found is None else found.end()


class ArraySplitter:
    """Splits a JSON array into its items. Units: an item of more than ``max_item_bytes`` is a fault.

    ``checks``: tells of the items that come whole in one piece of data whether they are JSON.
    """

    def __init__(self, max_item_bytes: int = MAX_ITEM_BYTES, *, checks: bool = False) -> None:
        self.count = 0
        self._checks = checks
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
        searched = _Data(data, is_escaped=self._is_escaped)
        while at < len(data) and self._part is not _Part.BEFORE:
            if self._part is _Part.AFTER:
                rest = data[at:].lstrip(WHITE_SPACE)
                self._item.skip(data[at : len(data) - len(rest)])
                if rest:
                    raise self._item.explain("there is more after the end of the array")
                break
            at = self._read_string(searched, at) if self._is_in_string else self._read_structure(searched, at, found)
        self._is_escaped = searched.ends_escaped
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

    def _read_string(self, data: _Data, at: int) -> int:
        match = _END_OF_STRING.match(data.unpaired, at)
        self._is_in_string = match is None
        end = len(data.bytes) if match is None else match.end()
        self._item.add(data.bytes[at:end])
        return end

    def _read_structure(self, data: _Data, at: int, found: list[Piece]) -> int:
        if not self._depth and not self._item.is_begun and (end := self._read_whole(data, at, found)) is not None:
            return end
        begin = at
        while (mark := (_INNER_MARK if self._depth else _MARK).search(data.bytes, at)) is not None:
            at = mark.end()
            sign = mark[0]
            if sign == b'"':
                self._is_in_string = True
                break
            if sign in b"{[":
                self._depth += 1
                if self._depth > MAX_DEPTH:
                    self._item.add(data.bytes[begin:at])
                    self._item.fail(_TOO_DEEP)
                    return at
            elif self._depth:
                self._depth -= 1
            else:
                self._item.add(data.bytes[begin : at - 1])
                self._end_item(sign, found)
                return at
        else:
            at = len(data.bytes)
        self._item.add(data.bytes[begin:at])
        return at

    def _read_whole(self, data: _Data, at: int, found: list[Piece]) -> int | None:
        """Reads an item that the data has whole, and what ends it. Returns where that was; None if it must be read mark by mark."""
        begin = _skip_blanks(data.bytes, at)
        end = data.find_checked_end(begin) if self._checks else data.find_end(begin)
        if end is None:
            return None
        end = _skip_blanks(data.bytes, end)
        sign = data.bytes[end : end + 1]
        if sign not in (b",", b"]"):
            return None
        self._item.add(data.bytes[at:end])
        self._end_item(sign, found, is_checked=self._checks)
        return end + 1

    def _end_item(self, sign: bytes, found: list[Piece], *, is_checked: bool = False) -> None:
        """Ends an item at a comma or at the end of the array."""
        if sign == b"}":
            raise self._item.explain("there is a } without its {")
        piece = self._item.end(self.count + 1, is_checked=is_checked)
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
