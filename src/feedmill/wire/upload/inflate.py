"""Decodes the Content-Encoding of a request body, piece by piece, so that the limits also apply to a small body that inflates to much.

gzip may have several members one after the other and zero bytes after the last. ``deflate`` is a zlib stream by the standard, and a raw
deflate stream in some clients. Source: RFC 9110, 8.4; RFC 1952, 2.2; googlegsa/library, ``GsaFeedFileSender``.
"""

import zlib
from collections.abc import Iterator
from typing import Final, Protocol

from feedmill.model.errors import BadRequest

OUTPUT_BYTES: Final = 262_144
"""The maximum size of one yielded piece."""

_INPUT_BYTES: Final = 16_384
_GZIP: Final = 31  # window of 2^15 bytes, plus 16: expect a gzip header
_ZLIB: Final = 15  # a zlib header
_RAW: Final = -15  # no header


class Decoder(Protocol):
    """One content coding."""

    def decode_chunk(self, chunk: bytes) -> Iterator[bytes]:
        """Reads the next bytes as sent and yields them decoded. Errors: BadRequest."""

    def finish(self) -> None:
        """Ends the body. Errors: BadRequest if it ends too early."""


class IdentityDecoder:
    """No coding."""

    def decode_chunk(self, chunk: bytes) -> Iterator[bytes]:
        """Yields the bytes as they are."""
        yield chunk

    def finish(self) -> None:
        """Accepts any end."""


class Inflater:
    """The gzip and deflate codings."""

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._member = zlib.decompressobj(_GZIP) if coding == "gzip" else None
        self._is_between = False

    def decode_chunk(self, chunk: bytes) -> Iterator[bytes]:
        """Yields pieces of bounded size, however much the bytes inflate to."""
        for start in range(0, len(chunk), _INPUT_BYTES):
            yield from self._inflate(chunk[start : start + _INPUT_BYTES])

    def finish(self) -> None:
        """Refuses a body that stops inside a member."""
        if self._member is not None and not self._is_between and not self._member.eof:
            raise BadRequest(f"the {self._coding} body stops in the middle; send it again")

    def _inflate(self, data: bytes) -> Iterator[bytes]:
        if self._coding == "deflate" and self._member is not None and self._member.eof:
            return
        while data:
            if self._is_between:
                # The program gzip accepts zero bytes after a member, with which some senders pad.
                data = data.lstrip(b"\x00")
                if not data:
                    return
                self._member, self._is_between = zlib.decompressobj(_GZIP), False
            member = self._member or self._open_deflate(data)
            try:
                inflated = member.decompress(data, OUTPUT_BYTES)
            except zlib.error as exc:
                raise BadRequest(f"the body is not {self._coding} as its Content-Encoding says, or is damaged") from exc
            if inflated:
                yield inflated
            # Two different rests: bytes behind the end of a member, or bytes that wait because the output has reached its bound.
            data = member.unused_data if member.eof else member.unconsumed_tail
            if member.eof:
                self._is_between = self._coding == "gzip"
                data = data if self._is_between else b""
            # A full piece may have more behind it inside the decompressor, also after the last input byte.
            elif not data and len(inflated) == OUTPUT_BYTES:
                yield from self._drain(member)

    def _drain(self, member: "zlib._Decompress") -> Iterator[bytes]:
        """Yields the output that is left inside the decompressor after the last full piece."""
        while piece := member.decompress(b"", OUTPUT_BYTES):
            yield piece
        if member.eof:
            self._is_between = self._coding == "gzip"

    def _open_deflate(self, data: bytes) -> "zlib._Decompress":
        # The first byte of a zlib stream: method 8 in the low half, and a window of at most 2^15 in the high half (RFC 1950, 2.2).
        is_zlib = data[0] & 0x0F == 8 and data[0] >> 4 <= 7
        self._member = zlib.decompressobj(_ZLIB if is_zlib else _RAW)
        return self._member


def choose_decoder(content_encoding: str) -> Decoder:
    """Returns the decoder for a Content-Encoding header. Errors: BadRequest for an unknown coding."""
    codings = [coding.strip().lower() for coding in content_encoding.split(",")]
    named = [coding for coding in codings if coding not in ("", "identity")]
    if not named:
        return IdentityDecoder()
    if len(named) == 1 and named[0] in ("gzip", "x-gzip", "deflate"):
        return Inflater(named[0].removeprefix("x-"))
    raise BadRequest(f"content-encoding {content_encoding[:80]!a} is not known; send gzip, deflate or none")
