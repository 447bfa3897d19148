"""Unpacks a file that is compressed by itself. Damaged ones are unpacked up to their damage."""

import bz2
import lzma
import re
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import quote

import zstandard

from feedmill.adapters.extract import sniff
from feedmill.adapters.extract.charset import decode
from feedmill.adapters.extract.clean import clean_line
from feedmill.adapters.extract.readers.archives.lzw import iter_lzw
from feedmill.adapters.extract.readers.archives.unpacking import CHUNK, Exhausted

MAX_STREAMS = 20_000
"""Such files may be several, one behind the other."""
_MEMORY_BYTES = 200_000_000
WINDOW_BYTES = 1 << 27
"""The most memory that data may claim for what was unpacked before."""
FAULTS = (zlib.error, lzma.LZMAError, zstandard.ZstdError, OSError, EOFError, ValueError)
# the suffixes of names in URLs, and what stands in their place inside
_SUFFIX = re.compile(r"\.(gz|bz2|xz|zst|lzma|lz|z|tgz|tbz2?|txz|tzst|tlz|taz|svgz)(?=[?#]|$)", re.IGNORECASE)
_INNER = dict.fromkeys(("tgz", "tbz", "tbz2", "txz", "tzst", "tlz", "taz"), ".tar") | {"svgz": ".svg"}
_GZIP_NAME, _GZIP_EXTRA = 8, 4
_LZMA_PROPERTIES, _LZIP_TRAILER_BYTES = b"\x5d", 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """The file inside. Shape: ``is_cut`` if there is more of it; ``reason`` if its end is missing."""

    data: bytes
    is_cut: bool = False
    reason: str | None = None


def decompress(data: bytes, mimetype: str, limit: int, take: Callable[[bytes], bytes]) -> Unpacked:
    """Unpacks at most ``limit`` bytes. Shape: ``take`` counts them, and raises Exhausted. Errors: none."""
    parts: list[bytes] = []
    size = 0
    reason = None
    try:
        for chunk in _STREAMS[mimetype](data):
            parts.append(take(chunk))
            size += len(chunk)
            if size > limit:
                break
    except Exhausted as exc:
        return Unpacked(data=b"".join(parts)[:limit], reason=f"the text behind is missing: {exc}")
    except FAULTS:
        reason = "the compressed data is damaged or ends early, the text behind is missing"
    return Unpacked(data=b"".join(parts)[:limit], is_cut=size > limit, reason=reason)


def name_inside(url: str, data: bytes) -> str:
    """Returns the URL by whose suffix the type of the file inside is known. A gzip file may hold the name, if the URL does not."""
    path = re.split(r"[?#]", url, maxsplit=1)[0]
    if match := _SUFFIX.search(path):
        return path[: match.start()] + _INNER.get(match[1].lower(), "")
    name = _read_gzip_name(data)
    return f"{path.rpartition('/')[0]}/{quote(name)}" if name else url


def _read_gzip_name(data: bytes) -> str:
    """Source: RFC 1952, 2.3."""
    if data[:2] != b"\x1f\x8b" or len(data) < 12 or not data[3] & _GZIP_NAME:
        return ""
    start = 10 + (2 + int.from_bytes(data[10:12], "little") if data[3] & _GZIP_EXTRA else 0)
    end = data.find(b"\0", start, start + 300)
    return clean_line(decode(data[start:end])) if end > start else ""


def _iter_gzip(data: bytes) -> Iterator[bytes]:
    position = 0
    for _ in range(MAX_STREAMS):
        if data[position : position + 2] != b"\x1f\x8b":
            return
        stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
        while not stream.eof:
            packed = stream.unconsumed_tail
            if not packed:
                packed = data[position : position + CHUNK]
                position += len(packed)
            chunk = stream.decompress(packed, CHUNK)
            if not packed and not chunk:
                raise EOFError
            yield chunk
        position -= len(stream.unused_data)


_Stream: TypeAlias = bz2.BZ2Decompressor | lzma.LZMADecompressor


def _iter_streams(data: bytes, magic: bytes, make: Callable[[], _Stream]) -> Iterator[bytes]:
    position = 0
    for _ in range(MAX_STREAMS):
        if not data.startswith(magic, position):
            return
        position = yield from _iter_stream(data, position, make())


def _iter_stream(data: bytes, position: int, stream: _Stream) -> Generator[bytes, None, int]:
    """Yields what one stream unpacks to, and returns the place behind it."""
    while not stream.eof:
        packed = data[position : position + CHUNK] if stream.needs_input else b""
        if stream.needs_input and not packed:
            raise EOFError
        position += len(packed)
        yield stream.decompress(packed, CHUNK)
    return position - len(stream.unused_data)


def _iter_bzip2(data: bytes) -> Iterator[bytes]:
    return _iter_streams(data, b"BZh", bz2.BZ2Decompressor)


def iter_xz(data: bytes) -> Iterator[bytes]:
    """Yields the unpacked bytes of streams of xz, in pieces of bounded size. Errors: LZMAError; EOFError if the end is missing."""
    return _iter_streams(data, b"\xfd7zXZ\0", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY_BYTES))


def _iter_lzma(data: bytes) -> Iterator[bytes]:
    return _iter_streams(data, data[:1], lambda: lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=_MEMORY_BYTES))


def _iter_lzip(data: bytes) -> Iterator[bytes]:
    """Source: the manual of lzip, "File format"."""
    position = 0
    for _ in range(MAX_STREAMS):
        if not data.startswith(b"LZIP\1", position):
            return
        coded = data[position + 5 : position + 6]
        position += 6
        base = 1 << (coded[0] & 0x1F) if coded else 0
        dictionary = base - base // 16 * (coded[0] >> 5) if coded else 0
        stream = lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=_MEMORY_BYTES)
        # the header of a file of LZMA, whose length only its end says
        stream.decompress(_LZMA_PROPERTIES + dictionary.to_bytes(4, "little") + b"\xff" * 8)
        position = (yield from _iter_stream(data, position, stream)) + _LZIP_TRAILER_BYTES


def iter_zstd(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the unpacked bytes of Zstandard frames, in pieces of bounded size. Errors: ZstdError, and those of ``chunks``."""
    # not the object that takes chunks: it unpacks each of them as a whole, to any size
    with zstandard.ZstdDecompressor(max_window_size=WINDOW_BYTES).stream_reader(b"".join(chunks), read_across_frames=True) as stream:
        while chunk := stream.read(CHUNK):
            yield chunk


_STREAMS: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    sniff.GZIP: _iter_gzip,
    sniff.BZIP2: _iter_bzip2,
    sniff.XZ: iter_xz,
    sniff.LZMA: _iter_lzma,
    sniff.LZIP: _iter_lzip,
    sniff.COMPRESS: iter_lzw,
    sniff.ZSTD: lambda data: iter_zstd((data,)),
}
