"""Decodes the content of ``<content>``: text, base64, or base64 around a zlib stream.

Rules: white space in base64 is dropped, padding is optional, the alphabet for URLs counts too; any other character makes the content
undecodable. Limits of bytes, and of bytes relative to its size, apply to a compressed content (``wire/inflation``). Text is
stored as UTF-8 without changes.
Small contents stay in memory. Those of ``SMALL_BYTES`` or more go to a spool as they arrive, so that a content of any size costs little.
Source: Feeds Protocol Developer's Guide, "Providing Content in the Feed", "Content Compression".
"""

import io
import zlib
from collections.abc import Callable
from typing import BinaryIO, Protocol

from feedmill.model.change import Content
from feedmill.wire.base64groups import NO_BASE64, WHITE_SPACE, Base64Groups
from feedmill.wire.inflation import DEFAULT_RATIO, Inflation, InflationLimitExceeded, inflation_of_content, inflation_of_feed

SMALL_BYTES = 262_144
_PIECE_BYTES = 1_048_576
_ZLIB_OR_GZIP = 47
_ALPHABET = bytes.maketrans(b"-_", b"+/")
_BASE64_NAMES = frozenset({"base64binary", "base64"})

Spool = Callable[[], BinaryIO]


class Undecodable(Exception):
    """The content does not match its encoding; the message says why."""


class Decoder(Protocol):
    """Converts the text of a content to bytes, piece by piece. Errors: Undecodable."""

    def decode(self, text: str, sink: Callable[[bytes], object]) -> None:
        """Decodes the next text and passes the bytes to the sink."""

    def finish(self, sink: Callable[[bytes], object]) -> None:
        """Ends the text."""


class _Plain:
    def decode(self, text: str, sink: Callable[[bytes], object]) -> None:
        sink(text.encode("utf-8"))

    def finish(self, sink: Callable[[bytes], object]) -> None:
        sink(b"")


class _Base64:
    def __init__(self) -> None:
        self._groups = Base64Groups()

    def decode(self, text: str, sink: Callable[[bytes], object]) -> None:
        try:
            decoded = self._groups.decode(text.encode("ascii").translate(_ALPHABET, WHITE_SPACE))
        except UnicodeEncodeError as exc:
            raise Undecodable(NO_BASE64) from exc
        except ValueError as exc:
            raise Undecodable(str(exc)) from exc
        sink(decoded)

    def finish(self, sink: Callable[[bytes], object]) -> None:
        try:
            decoded = self._groups.finish()
        except ValueError as exc:
            raise Undecodable(str(exc)) from exc
        sink(decoded)


class _Compressed:
    def __init__(self, max_inflated_bytes: int, max_inflation: int, feed: Inflation) -> None:
        self._base64 = _Base64()
        self._own, self._feed = inflation_of_content(max_inflation), feed
        self._counted = 0
        self._inflater = zlib.decompressobj(_ZLIB_OR_GZIP)
        self._limit = max_inflated_bytes
        self._total = 0
        self._sink: Callable[[bytes], object] = bytes

    def decode(self, text: str, sink: Callable[[bytes], object]) -> None:
        self._sink = sink
        self._base64.decode(text, self._inflate)

    def finish(self, sink: Callable[[bytes], object]) -> None:
        self._sink = sink
        self._base64.finish(self._inflate)
        if not self._inflater.eof:
            raise Undecodable("its compressed data ends too early")

    def _inflate(self, data: bytes) -> None:
        self._own.count_read(len(data))
        self._feed.count_read(len(data))
        while not self._inflater.eof:
            limit = min(_PIECE_BYTES, self._limit - self._total + 1)
            try:
                inflated = self._inflater.decompress(data, limit)
            except zlib.error as exc:
                raise Undecodable("it is not zlib-compressed data") from exc
            self._total += len(inflated)
            if self._total > self._limit:
                raise self._refuse(f"it inflates beyond {self._limit} bytes (setting gate.max_feed_bytes)")
            self._counted += len(inflated)
            try:
                self._feed.count_inflated(len(inflated))
                self._own.count_inflated(len(inflated))
            except InflationLimitExceeded as exc:
                raise self._refuse(str(exc)) from exc
            self._sink(inflated)
            data = self._inflater.unconsumed_tail
            if not data and len(inflated) < limit:
                return

    def _refuse(self, reason: str) -> Undecodable:
        """Returns the error of a dropped content, whose inflated bytes no longer count for the feed."""
        self._feed.take_back(self._counted)
        return Undecodable(reason)


class ContentWriter:
    """Collects one content. After a fault, ``fault`` holds the reason, and all further text is dropped."""

    def __init__(
        self,
        encoding: str | None,
        *,
        spool: Spool,
        max_inflated_bytes: int,
        max_inflation: int = DEFAULT_RATIO,
        feed: Inflation | None = None,
    ) -> None:
        """``max_inflated_bytes`` and ``max_inflation`` limit this content, ``feed`` counts the contents of its feed."""
        self.fault: str | None = None
        self._spool = spool
        self._file: BinaryIO | None = None
        self._small: list[bytes] = []
        self._size = 0
        self._charset: str | None = None
        feed = feed or inflation_of_feed(max_inflation)
        self._decoder = self._choose((encoding or "").strip().lower(), _Compressed(max_inflated_bytes, max_inflation, feed))

    def write(self, text: str) -> None:
        """Decodes the next text."""
        if self.fault is None:
            self._guard(lambda: self._decoder.decode(text, self._buffer_bytes))

    def close(self, text: str) -> Content | None:
        """Decodes the last text and returns the content, None if there is a fault."""
        self.write(text)
        if self.fault is None:
            self._guard(lambda: self._decoder.finish(self._buffer_bytes))
        if self.fault is not None:
            return None
        stream = self._file if self._file is not None else io.BytesIO(b"".join(self._small))
        stream.seek(0)
        return Content(stream=stream, size_bytes=self._size, charset=self._charset)

    def discard(self) -> None:
        """Drops the bytes collected so far."""
        self._small.clear()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _choose(self, encoding: str, compressed: _Compressed) -> Decoder:
        if encoding in _BASE64_NAMES:
            return _Base64()
        if encoding == "base64compressed":
            return compressed
        if encoding:
            self.fault = f'its encoding "{encoding[:100]}" is neither base64binary nor base64compressed'
        self._charset = "utf-8"
        return _Plain()

    def _guard(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Undecodable as exc:
            self.fault = str(exc)
            self.discard()

    def _buffer_bytes(self, data: bytes) -> None:
        if not data:
            return
        self._size += len(data)
        if self._file is None and self._size > SMALL_BYTES:
            self._file = self._spool()
            self._file.writelines(self._small)
            self._small.clear()
        if self._file is None:
            self._small.append(data)
        else:
            self._file.write(data)


def decode_base64(text: str) -> bytes:
    """Decodes a short base64 text as contents are decoded. Errors: Undecodable."""
    pieces: list[bytes] = []
    decoder = _Base64()
    decoder.decode(text, pieces.append)
    decoder.finish(pieces.append)
    return b"".join(pieces)
