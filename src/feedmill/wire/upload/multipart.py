"""A multipart/form-data body, by the ``multipart`` package's push parser.

A part needs a name and nothing else: no filename, no type. Part headers are read as Latin-1, since old clients put file names in
whatever charset they had.

Nearly all bytes of a large feed lie inside one part. When the parser has given a chunk back whole it holds nothing back, and as long as
chunks follow that hold no delimiter and end in no beginning of one, they need not go through it. Looking for the carriage return that
every delimiter begins with is the quickest way to know; where there are some, searching backwards is still several times faster than
what the parser does. Source: RFC 7578; googlegsa/library, ``GsaFeedFileSender``.
"""

from collections.abc import Iterator
from typing import Final

from multipart import MultipartError, MultipartSegment, ParserLimitReached, PushMultipartParser

from feedmill.model.errors import BadRequest
from feedmill.wire.upload.form import FieldStart, FormEvent

MAX_PARTS: Final = 64
"""More parts than any form has; a body with more is refused."""


class MultipartReader:
    """Reads one multipart body with a known boundary."""

    def __init__(self, boundary: bytes) -> None:
        self._delimiter = b"\r\n--" + boundary
        self._is_inside = False
        self._parser = PushMultipartParser(boundary, max_segment_count=MAX_PARTS, header_charset="latin-1")

    def read(self, chunk: bytes) -> Iterator[FormEvent]:
        """Yields fields and their bytes; bytes after the last delimiter are ignored."""
        if not chunk:
            return  # the parser would take no bytes for the end
        if self._is_inside and self._holds_no_delimiter(chunk):
            yield chunk
            return
        self._is_inside = False
        try:
            for event in self._parser.parse(chunk):
                # Single bytes are one object wherever they come from, so that identity says something of longer chunks only.
                self._is_inside = event is chunk and len(chunk) > 1
                if isinstance(event, MultipartSegment):
                    yield FieldStart(event.name or "")
                elif event:
                    yield event
        except ParserLimitReached as exc:
            raise BadRequest(f"the multipart body is beyond a limit of {MAX_PARTS} parts with short headers: {_describe(exc)}") from exc
        except MultipartError as exc:
            raise BadRequest(f"the multipart body cannot be read: {_describe(exc)}") from exc

    def _holds_no_delimiter(self, chunk: bytes) -> bool:
        if b"\r" not in chunk:
            return True
        return chunk.rfind(self._delimiter) < 0 and chunk.rfind(b"\r", -len(self._delimiter)) < 0

    def finish(self) -> Iterator[FormEvent]:
        """Yields nothing; a body without its last delimiter is refused, since the rest of it may be missing."""
        try:
            self._parser.close()
        except MultipartError as exc:
            raise BadRequest("the multipart body ends before its last delimiter, so a part of it may be missing; send it again") from exc
        return iter(())


def _describe(error: MultipartError) -> str:
    text = str(error.args[0]) if error.args else "unknown fault"
    return text[:1].lower() + text[1:].rstrip(".")
