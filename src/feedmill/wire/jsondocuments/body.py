"""Reads the body of a request that is JSON, and refuses one that is none before anything of it is stored.

Of an array, all of the structure is checked, and each item of up to 1 MB as JSON; a larger item that is no JSON is an error of its own
when the feed is read. Of JSON lines each line stands alone, so only a body without a line that looks like an object is refused.
Source: docs/reference/feed-port.md, "Documents as JSON".
"""

import json
from collections.abc import Iterator
from typing import Final

from feedmill.model.errors import BadFeed, BadRequest
from feedmill.wire.jsondocuments.split import BOM, WHITE_SPACE, ArraySplitter, LineSplitter, Piece, count_characters
from feedmill.wire.upload.form import FieldStart, FormEvent

_CHECKED_BYTES: Final = 1_048_576
_DATA: Final = FieldStart("data")


class ArrayBody:
    """Reads a body that is an array of objects, which refusals call ``name``. Implements ``wire.upload.form.BodyReader``."""

    def __init__(self, name: str = "") -> None:
        self._name = name
        self._splitter = ArraySplitter(_CHECKED_BYTES, checks=True)
        self._is_begun = False

    @property
    def count(self) -> int:
        """How many items the body has so far."""
        return self._splitter.count

    def move(self, line: int, column: int) -> None:
        """Counts on from another position, where the bytes so far are not those of the body."""
        self._splitter.move(line, column)

    def read_events(self, chunk: bytes) -> Iterator[FormEvent]:
        """Yields the bytes as they come. Errors: BadRequest."""
        try:
            for piece in self._splitter.feed(chunk):
                _check_item(piece, self._name or f"item {piece.number}")
        except BadFeed as exc:
            raise BadRequest(str(exc)) from exc
        if not self._is_begun:
            self._is_begun = True
            yield _DATA
        yield chunk

    def finish(self) -> Iterator[FormEvent]:
        """Ends the body. Errors: BadRequest if the array is not complete."""
        try:
            self._splitter.close()
        except BadFeed as exc:
            raise BadRequest(str(exc)) from exc
        return iter(())


class LinesBody:
    """Reads a body of one object a line. Implements ``wire.upload.form.BodyReader``."""

    def __init__(self) -> None:
        self._splitter = LineSplitter(_CHECKED_BYTES)
        self._is_begun = False
        self._has_object = False

    def read_events(self, chunk: bytes) -> Iterator[FormEvent]:
        """Yields the bytes as they come."""
        # The search ends with the first line that looks like an object.
        if not self._has_object:
            self._has_object = any(_may_be_object(piece) for piece in self._splitter.feed(chunk))
        if not self._is_begun:
            self._is_begun = True
            yield _DATA
        yield chunk

    def finish(self) -> Iterator[FormEvent]:
        """Ends the body. Errors: BadRequest if no line looks like an object."""
        if not self._has_object:
            try:
                has_object = any(_may_be_object(piece) for piece in self._splitter.close())
            except BadFeed as exc:
                raise BadRequest(str(exc)) from exc
            if not has_object:
                raise BadRequest("no line of the body is a JSON object; send one object a line, or an array as application/json")
        return iter(())


class ObjectBody:
    """Reads a body that is one object without ``url``, and yields an array with that object and the URL of the request."""

    def __init__(self, url: str) -> None:
        self._array = ArrayBody("the object")
        self._head = b""
        self._is_open = False
        self._url = b'[{"url": ' + json.dumps(url).encode("ascii")

    def read_events(self, chunk: bytes) -> Iterator[FormEvent]:
        """Yields the array as far as the object has come. Errors: BadRequest."""
        if self._is_open:
            yield from self._array.read_events(chunk)
            return
        self._head += chunk
        if BOM.startswith(self._head):
            return
        body = self._head.removeprefix(BOM)
        found = body.lstrip(WHITE_SPACE)
        if found and found[:1] != b"{":
            raise BadRequest("the body is no JSON object: it does not begin with {")
        inner = found[1:].lstrip(WHITE_SPACE)
        if not inner:
            self._check_blanks()
            return
        self._is_open, self._head = True, b""
        yield from self._array.read_events(self._url + (b"" if inner.startswith(b"}") else b", "))
        before = body[: len(body) - len(inner)]
        self._array.move(1 + before.count(b"\n"), 1 + count_characters(before.rpartition(b"\n")[2]))
        yield from self._array.read_events(inner)

    def _check_blanks(self) -> None:
        if len(self._head) > _CHECKED_BYTES:
            raise BadRequest(f"the body is no JSON object: it begins with more than {_CHECKED_BYTES} bytes of white space")

    def finish(self) -> Iterator[FormEvent]:
        """Ends the object. Errors: BadRequest if the body is not one whole object."""
        if not self._is_open:
            raise BadRequest("the body is no JSON object: it is empty or ends within the object")
        yield from self._array.read_events(b"]")
        yield from self._array.finish()
        if self._array.count != 1:
            raise BadRequest("the body holds more than one JSON object; send several documents with POST")


def _check_item(piece: Piece, name: str) -> None:
    if piece.fault:
        return
    try:
        piece.check()
    except UnicodeDecodeError as exc:
        raise BadRequest(f"{name}, which begins in line {piece.line}, column {piece.column}, is not UTF-8") from exc
    except json.JSONDecodeError as exc:
        raise BadRequest(f"{name} {piece.explain(exc)}") from exc


def _may_be_object(piece: Piece) -> bool:
    if piece.fault:
        return piece.first in (b"{", BOM[:1])
    if piece.text.startswith(b"{"):
        return True
    try:
        piece.check()
    except ValueError:
        return False
    return True
