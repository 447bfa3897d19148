"""Reads a multipart/form-data body by the ``multipart`` package's push parser.

A part needs a name and nothing else: no filename, no type. Part headers are read as Latin-1, because old clients write file names in
any charset. The length that a part claims is ignored, because the delimiter decides. Base64 by Content-Transfer-Encoding is decoded.
If the first line of a body ends in LF alone, so may all lines but those of values.

Nearly all bytes of a large feed lie inside one part. If the parser has returned a whole chunk, it buffers nothing. Following
chunks that hold no delimiter and end in no beginning of one can bypass it. The search for the carriage return at the start of
every delimiter is the quickest check. If there are some, a search backwards is still several times faster than
the parser. Source: RFC 7578; googlegsa/library, ``GsaFeedFileSender``.
"""

from collections.abc import Iterator
from typing import Final

from multipart import MultipartError, MultipartSegment, ParserLimitReached, PushMultipartParser

from feedmill.model.errors import BadRequest
from feedmill.wire.upload.form import FieldStart, FormEvent
from feedmill.wire.upload.lineends import LineEndRepairer
from feedmill.wire.upload.transfer import PlainDecoder, TransferDecoder, choose_transfer_decoder

MAX_PARTS: Final = 64
"""More parts than any form has; a body with more is refused."""


class _FormParser(PushMultipartParser):  # type: ignore[misc]
    """A parser that ignores Content-Length within a part. Source: RFC 7578, 4.8."""

    def _on_segment_headerline(self, line: bytes) -> None:
        if not line.lower().startswith(b"content-length"):
            super()._on_segment_headerline(line)


class MultipartReader:
    """Reads one multipart body with a known boundary; ``has_bare_lines``: its lines may end in LF alone."""

    def __init__(self, boundary: bytes, *, has_bare_lines: bool = False) -> None:
        self._delimiter = b"\r\n--" + boundary
        self._is_inside = False
        self._parser = _FormParser(boundary, max_segment_count=MAX_PARTS, header_charset="latin-1")
        self._repairer = LineEndRepairer(boundary) if has_bare_lines else None
        self._decoder: TransferDecoder = PlainDecoder()

    def read_events(self, chunk: bytes) -> Iterator[FormEvent]:
        """Yields fields and their bytes; bytes after the last delimiter are ignored."""
        yield from self._read(chunk if self._repairer is None else self._repairer.repair(chunk))

    def _read(self, chunk: bytes) -> Iterator[FormEvent]:
        if not chunk:
            return  # the parser would take an empty chunk as the end
        if self._is_inside and self._holds_no_delimiter(chunk):
            yield self._decoder.decode_piece(chunk)
            return
        self._is_inside = False
        try:
            for event in self._parser.parse(chunk):
                # All single bytes of one value are the same object, so identity is meaningful for longer chunks only.
                self._is_inside = event is chunk and len(chunk) > 1
                if isinstance(event, MultipartSegment):
                    self._decoder = choose_transfer_decoder(event.header("Content-Transfer-Encoding", ""))
                    yield FieldStart(event.name or "")
                elif decoded := self._decoder.finish() if event is None else self._decoder.decode_piece(event):
                    yield decoded
        except ParserLimitReached as exc:
            raise BadRequest(f"the multipart body is beyond a limit of {MAX_PARTS} parts with short headers: {_describe(exc)}") from exc
        except MultipartError as exc:
            raise BadRequest(f"the multipart body cannot be read: {_describe(exc)}") from exc

    def _holds_no_delimiter(self, chunk: bytes) -> bool:
        if b"\r" not in chunk:
            return True
        # The second search covers the end alone: a delimiter that begins there continues in the next chunk.
        return chunk.rfind(self._delimiter) < 0 and chunk.rfind(b"\r", -len(self._delimiter)) < 0

    def finish(self) -> Iterator[FormEvent]:
        """Ends the body. One without its last delimiter is refused, because a part of it may be missing."""
        if self._repairer is not None:
            yield from self._read(self._repairer.finish())
        try:
            self._parser.close()
        except MultipartError as exc:
            raise BadRequest("the multipart body ends before its last delimiter, so a part of it may be missing; send it again") from exc


def _describe(error: MultipartError) -> str:
    text = str(error.args[0]) if error.args else "unknown fault"
    return text[:1].lower() + text[1:].rstrip(".")
