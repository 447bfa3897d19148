"""Undoes the content codings of a body, within a size limit.

A coding that expands a small body beyond the limit is stopped there, before the rest takes memory. Codings that are applied on top of one
another are undone in reverse order, at most ``_MAX_CODINGS`` of them.
Source: RFC 9110, 8.4; RFC 7932 (br); RFC 8878 (zstd).
"""

import zlib
from collections.abc import Callable
from io import BytesIO
from typing import Final, NamedTuple

import brotli
import zstandard

from feedmill.adapters.http.errors import ExchangeFailure, FailureKind

ACCEPTED: Final = "gzip, deflate, br, zstd"
_MAX_CODINGS: Final = 3
_ZSTD_WINDOW_BYTES: Final = 8 * 1024 * 1024
"""The largest window that a decoder must support; RFC 9659 forbids servers a larger one."""
_UNREADABLE: Final = "its answer is compressed in a way that cannot be read"
_CUT_SHORT: Final = "its answer is cut short"


class Decoded(NamedTuple):
    """A body without its codings. ``is_cut``: only its first ``max_bytes`` were decoded."""

    body: bytes
    is_cut: bool


def decode(body: bytes, coding: str, max_bytes: int, *, is_cut: bool = False) -> Decoded:
    """Returns a body without the codings that ``Content-Encoding`` lists; ``is_cut`` if not all of it is there. Errors: ExchangeFailure."""
    names = [name for name in (part.strip().lower() for part in coding.split(",")) if name not in ("", "identity")]
    if not body or not names:
        return Decoded(body[:max_bytes], is_cut or len(body) > max_bytes)
    if len(names) > _MAX_CODINGS or any(name not in _DECODERS for name in names):
        raise ExchangeFailure(_UNREADABLE, FailureKind.CODING)
    for name in reversed(names):
        try:
            # one byte more than allowed shows that there is more
            body, is_complete = _DECODERS[name](body, max_bytes + 1)
        except (zlib.error, brotli.error, zstandard.ZstdError) as exc:
            raise ExchangeFailure(_UNREADABLE, FailureKind.CODING) from exc
        if len(body) > max_bytes:
            body, is_cut = body[:max_bytes], True
        elif not is_complete and not is_cut:
            raise ExchangeFailure(_CUT_SHORT, FailureKind.CLOSED)
    return Decoded(body, is_cut)


_Decoder = Callable[[bytes, int], tuple[bytes, bool]]
"""Returns at most so many bytes, and whether the end of the compressed data was reached."""


def _inflate(body: bytes, most: int) -> tuple[bytes, bool]:
    """Inflates gzip and zlib; a gzip body may have several members (RFC 1952, 2.2)."""
    pieces, size, rest = [], 0, body
    while True:
        inflater = zlib.decompressobj(47)  # this window size accepts gzip and refuses zlib
        piece = inflater.decompress(rest, most - size)
        pieces.append(piece)
        size += len(piece)
        rest = inflater.unused_data
        if size >= most or not inflater.eof or not rest.startswith(b"\x1f\x8b"):
            return b"".join(pieces), inflater.eof


def _deflate(body: bytes, most: int) -> tuple[bytes, bool]:
    try:
        return _inflate(body, most)
    except zlib.error:
        # Some servers send the deflate stream without the zlib format around it.
        inflater = zlib.decompressobj(-15)
        return inflater.decompress(body, most), inflater.eof


def _unbrotli(body: bytes, most: int) -> tuple[bytes, bool]:
    decoder = brotli.Decompressor()
    pieces = [decoder.process(body, output_buffer_limit=most)]
    size = len(pieces[0])
    while size < most and not decoder.is_finished() and not decoder.can_accept_more_data():
        pieces.append(decoder.process(b"", output_buffer_limit=most - size))
        size += len(pieces[-1])
    return b"".join(pieces)[:most], decoder.is_finished()


def _unzstd(body: bytes, most: int) -> tuple[bytes, bool]:
    decoder = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    with decoder.stream_reader(BytesIO(body), read_across_frames=True) as stream:
        pieces, size = [], 0
        while size < most and (piece := stream.read(min(most - size, 1 << 20))):
            pieces.append(piece)
            size += len(piece)
    # The reader ends at the end of its source, whether or not a frame ended there.
    return b"".join(pieces), size >= most or _ends_with_a_frame(body)


def _ends_with_a_frame(body: bytes) -> bool:
    """Whether the last zstd frame is complete."""
    rest = body
    while rest:
        decoder = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES).decompressobj()
        decoder.decompress(rest)
        if not decoder.eof:
            return False
        rest = decoder.unused_data
    return True


_DECODERS: Final[dict[str, _Decoder]] = {
    "gzip": _inflate,
    "x-gzip": _inflate,
    "deflate": _deflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
