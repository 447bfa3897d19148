"""Reads 7z archives that are compressed by LZMA, LZMA2, Deflate, bzip2 or Zstandard, or not at all, also filtered (BCJ, Delta).

The directory stands behind the files and is mostly compressed itself. Files stand in folders, which are streams of one chain of coders
each, so that the files of a folder are unpacked one behind the other.
Source: 7-Zip, DOC/7zFormat.txt.
"""

import bz2
import lzma
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

import zstandard

from feedmill.adapters.extract.readers.archives.compressed import WINDOW_BYTES, iter_zstd
from feedmill.adapters.extract.readers.archives.unpacking import CHUNK, Exhausted, Member, Unpacking
from feedmill.adapters.extract.readers.content import Unreadable

MAX_HEADER_BYTES = 10_000_000
MAX_FOLDERS, MAX_CODERS, MAX_FILES_IN_DIRECTORY = 10_000, 8, 200_000
_SIGNATURE_BYTES = 32
_END, _HEADER, _PROPERTIES, _MAIN_STREAMS, _FILES = 0x00, 0x01, 0x02, 0x04, 0x05
_PACK_INFO, _UNPACK_INFO, _SUBSTREAMS_INFO, _SIZE, _DIGESTS = 0x06, 0x07, 0x08, 0x09, 0x0A
_FOLDER, _UNPACK_SIZES, _FILES_IN_FOLDER, _EMPTY_STREAMS, _NAMES, _ENCODED_HEADER = 0x0B, 0x0C, 0x0D, 0x0E, 0x11, 0x17
_COPY, _LZMA, _LZMA2, _DELTA, _AES = b"\x00", b"\x03\x01\x01", b"\x21", b"\x03", b"\x06\xf1\x07\x01"
_DEFLATE, _BZIP2, _ZSTD = b"\x04\x01\x08", b"\x04\x02\x02", b"\x04\xf7\x11\x01"
_BRANCHES = {
    b"\x04": lzma.FILTER_X86, b"\x03\x03\x01\x03": lzma.FILTER_X86, b"\x05": lzma.FILTER_POWERPC, b"\x06": lzma.FILTER_IA64,
    b"\x07": lzma.FILTER_ARM, b"\x08": lzma.FILTER_ARMTHUMB, b"\x09": lzma.FILTER_SPARC,
}  # fmt: skip
_FAULTS = (lzma.LZMAError, zlib.error, zstandard.ZstdError, OSError, EOFError, ValueError, IndexError, OverflowError, UnicodeDecodeError)


@dataclass(slots=True, kw_only=True)
class _Folder:
    """Shape: ``coders`` in the order of unpacking, each a method and its properties; empty if no chain of coders reads it."""

    coders: list[tuple[bytes, bytes]]
    pack_streams: int
    outputs: int
    sizes: list[int] = field(default_factory=list)
    last_output: int = 0
    files: int = 1
    has_digest: bool = False

    @property
    def unpacked_bytes(self) -> int:
        return self.sizes[self.last_output]


@dataclass(slots=True, kw_only=True)
class _Streams:
    position: int = 0
    packed_sizes: list[int] = field(default_factory=list)
    folders: list[_Folder] = field(default_factory=list)
    file_sizes: list[int] = field(default_factory=list)


def iter_seven_zip(data: bytes, unpacking: Unpacking) -> Iterator[Member]:
    """Yields the files of an archive. Errors: Exhausted; Unreadable if its directory cannot be read."""
    try:
        streams, names = _read_directory(data, unpacking)
    except _FAULTS as exc:
        raise Unreadable("the archive is damaged: its directory cannot be read") from exc
    position = _SIGNATURE_BYTES + streams.position
    packed_sizes, file_sizes, remaining = iter(streams.packed_sizes), iter(streams.file_sizes), iter(names)
    for folder in streams.folders:
        size = sum(islice(packed_sizes, folder.pack_streams))
        sizes = list(islice(file_sizes, folder.files))
        yield from _iter_folder(folder, data[position : position + size], sizes, remaining, unpacking)
        position += size


def _iter_folder(folder: _Folder, packed: bytes, sizes: list[int], names: Iterator[str], unpacking: Unpacking) -> Iterator[Member]:
    reason = _refuse(folder)
    unpacked = _Unpacked(_unpack(folder, packed), unpacking)
    for size in sizes:
        name = next(names, "")
        unpacking.take_file()
        if reason is not None:
            yield Member(name=name, reason=reason)
            continue
        try:
            data = unpacked.read(min(size, unpacking.file_bytes))
            unpacked.skip(size - len(data))
        except Exhausted:
            raise
        except _FAULTS:
            reason = "it is damaged"
            yield Member(name=name, reason=reason)
            continue
        yield Member(name=name, data=data, is_cut=size > len(data))


def _refuse(folder: _Folder) -> str | None:
    if any(method == _AES for method, _ in folder.coders):
        return "it is encrypted"
    known = {_COPY, _LZMA, _LZMA2, _DELTA, _DEFLATE, _BZIP2, _ZSTD, *_BRANCHES}
    if not folder.coders or any(method not in known for method, _ in folder.coders):
        return "it is compressed by a method that is not read"
    return None


class _Unpacked:
    """The bytes of a folder, read from its beginning to its end."""

    def __init__(self, chunks: Iterator[bytes], unpacking: Unpacking) -> None:
        self._chunks = chunks
        self._unpacking = unpacking
        self._rest = b""

    def read(self, size: int) -> bytes:
        parts = []
        while size > 0:
            chunk = self._rest or self._unpacking.take(self._next())
            parts.append(chunk[:size])
            self._rest = chunk[size:]
            size -= len(parts[-1])
        return b"".join(parts)

    def skip(self, size: int) -> None:
        while size > 0:
            size -= len(self.read(min(size, CHUNK)))

    def _next(self) -> bytes:
        chunk = next(self._chunks, b"")
        if not chunk:
            raise EOFError
        return chunk


# --- coders ---------------------------------------------------------------------------------------------------------------------


def _unpack(folder: _Folder, packed: bytes) -> Iterator[bytes]:
    """Yields the unpacked bytes of a folder, in pieces of bounded size. Neighbouring coders of the LZMA family are one decoder."""
    chunks: Iterator[bytes] = _iter_copy(packed)
    filters: list[dict[str, int]] = []
    for method, properties in folder.coders:
        if (found := _find_filter(method, properties, folder.unpacked_bytes)) is not None:
            # decoders take them in the order of packing
            filters.insert(0, found)
            continue
        if filters:
            chunks, filters = _iter_lzma(chunks, filters), []
        if method == _DEFLATE:
            chunks = _iter_deflate(chunks)
        elif method == _BZIP2:
            chunks = _iter_bzip2(chunks)
        elif method == _ZSTD:
            chunks = iter_zstd(chunks)
    return _iter_lzma(chunks, filters) if filters else chunks


def _find_filter(method: bytes, properties: bytes, unpacked_bytes: int) -> dict[str, int] | None:
    # A dictionary is allocated at once, and never needs to be larger than what it unpacks, or than what may be unpacked.
    largest = max(4096, min(unpacked_bytes, WINDOW_BYTES))
    if method == _LZMA2:
        bits = properties[0]
        size = 0xFFFFFFFF if bits >= 40 else (2 | bits & 1) << (bits // 2 + 11)
        return {"id": lzma.FILTER_LZMA2, "dict_size": min(size, largest)}
    if method == _LZMA:
        first, size = properties[0], int.from_bytes(properties[1:5], "little")
        bounds = {"lc": first % 9, "lp": first // 9 % 5, "pb": first // 45}
        return {"id": lzma.FILTER_LZMA1, "dict_size": max(4096, min(size, largest)), **bounds}
    if method == _DELTA:
        return {"id": lzma.FILTER_DELTA, "dist": properties[0] + 1}
    return {"id": _BRANCHES[method]} if method in _BRANCHES else None


def _iter_copy(packed: bytes) -> Iterator[bytes]:
    for position in range(0, len(packed), CHUNK):
        yield packed[position : position + CHUNK]


def _iter_lzma(chunks: Iterator[bytes], filters: list[dict[str, int]]) -> Iterator[bytes]:
    # a filter alone ends no stream, and the library takes none without a coder behind it
    if filters[-1]["id"] not in (lzma.FILTER_LZMA1, lzma.FILTER_LZMA2):
        raise lzma.LZMAError
    yield from _iter_decoder(chunks, lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters))


def _iter_bzip2(chunks: Iterator[bytes]) -> Iterator[bytes]:
    return _iter_decoder(chunks, bz2.BZ2Decompressor())


def _iter_decoder(chunks: Iterator[bytes], decoder: lzma.LZMADecompressor | bz2.BZ2Decompressor) -> Iterator[bytes]:
    while not decoder.eof:
        packed = next(chunks, b"") if decoder.needs_input else b""
        found = decoder.decompress(packed, CHUNK)
        if found:
            yield found
        elif not packed:
            return


def _iter_deflate(chunks: Iterator[bytes]) -> Iterator[bytes]:
    decoder = zlib.decompressobj(-zlib.MAX_WBITS)
    while not decoder.eof:
        packed = decoder.unconsumed_tail or next(chunks, b"")
        found = decoder.decompress(packed, CHUNK)
        if found:
            yield found
        elif not packed:
            return


# --- the directory --------------------------------------------------------------------------------------------------------------


class _Bytes:
    """Reads the values of the directory. Errors: EOFError behind its end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def take(self, size: int) -> bytes:
        found = self._data[self._position : self._position + size]
        if len(found) < size:
            raise EOFError
        self._position += size
        return found

    def rest(self) -> bytes:
        return self.take(len(self._data) - self._position)

    def byte(self) -> int:
        return self.take(1)[0]

    def number(self) -> int:
        """The leading ones of the first byte count the bytes behind it, whose lowest comes first; the rest of it is the highest part."""
        first = self.byte()
        extra = 8 - (0xFF ^ first).bit_length() if first != 0xFF else 8
        low = int.from_bytes(self.take(extra), "little")
        return low + ((first & ((1 << (7 - extra)) - 1)) << (8 * extra) if extra < 7 else 0)

    def count(self, most: int) -> int:
        found = self.number()
        if found > most:
            raise ValueError
        return found

    def flags(self, count: int) -> list[bool]:
        packed = self.take((count + 7) // 8)
        return [bool(packed[place // 8] & 0x80 >> place % 8) for place in range(count)]

    def skip_digests(self, count: int) -> list[bool]:
        defined = [True] * count if self.byte() else self.flags(count)
        self.take(4 * sum(defined))
        return defined


def _read_directory(data: bytes, unpacking: Unpacking) -> tuple[_Streams, list[str]]:
    """Returns the streams, and the names of the files that have bytes, in the order of the streams."""
    offset, size = int.from_bytes(data[12:20], "little"), int.from_bytes(data[20:28], "little")
    start = _SIGNATURE_BYTES + offset
    if start + size > len(data):
        raise Unreadable("the directory of the archive is missing: the file is one part of several, or it is cut")
    if size > MAX_HEADER_BYTES:
        raise EOFError
    if not size:
        return _Streams(), []
    raw = _Bytes(data[start : start + size])
    kind = raw.byte()
    for _ in range(2):
        if kind != _ENCODED_HEADER:
            break
        streams = _read_streams(raw)
        folder = streams.folders[0]
        if (reason := _refuse(folder)) is not None:
            raise Unreadable(f"the directory of the archive cannot be read: {reason}")
        begin = _SIGNATURE_BYTES + streams.position
        packed = data[begin : begin + sum(streams.packed_sizes)]
        if folder.unpacked_bytes > MAX_HEADER_BYTES:
            raise EOFError
        raw = _Bytes(_Unpacked(_unpack(folder, packed), unpacking).read(folder.unpacked_bytes))
        kind = raw.byte()
    if kind != _HEADER:
        raise EOFError
    return _read_header(raw)


def _read_header(raw: _Bytes) -> tuple[_Streams, list[str]]:
    streams, names = _Streams(), list[str]()
    while (kind := raw.byte()) != _END:
        if kind == _MAIN_STREAMS:
            streams = _read_streams(raw)
        elif kind == _FILES:
            names = _read_names(raw)
        elif kind == _PROPERTIES:
            while raw.byte() != _END:
                raw.take(raw.number())
        else:
            raise EOFError
    return streams, names


def _read_streams(raw: _Bytes) -> _Streams:
    found = _Streams()
    has_substreams = False
    while (kind := raw.byte()) != _END:
        if kind == _PACK_INFO:
            _read_pack_info(raw, found)
        elif kind == _UNPACK_INFO:
            _read_unpack_info(raw, found)
        elif kind == _SUBSTREAMS_INFO:
            has_substreams = True
            _read_substreams(raw, found)
        else:
            raise EOFError
    if not has_substreams:
        found.file_sizes = [folder.unpacked_bytes for folder in found.folders]
    return found


def _read_pack_info(raw: _Bytes, found: _Streams) -> None:
    found.position = raw.number()
    count = raw.count(MAX_FOLDERS * MAX_CODERS)
    while (kind := raw.byte()) != _END:
        if kind == _SIZE:
            found.packed_sizes = [raw.number() for _ in range(count)]
        elif kind == _DIGESTS:
            raw.skip_digests(count)
        else:
            raise EOFError


def _read_unpack_info(raw: _Bytes, found: _Streams) -> None:
    while (kind := raw.byte()) != _END:
        if kind == _FOLDER:
            count = raw.count(MAX_FOLDERS)
            if raw.byte():
                raise EOFError
            found.folders = [_read_folder(raw) for _ in range(count)]
        elif kind == _UNPACK_SIZES:
            for folder in found.folders:
                folder.sizes = [raw.number() for _ in range(folder.outputs)]
        elif kind == _DIGESTS:
            for folder, has_digest in zip(found.folders, raw.skip_digests(len(found.folders)), strict=True):
                folder.has_digest = has_digest
        else:
            raise EOFError


def _read_folder(raw: _Bytes) -> _Folder:
    coders: list[tuple[bytes, bytes]] = []
    inputs = outputs = 0
    for _ in range(raw.count(MAX_CODERS)):
        flags = raw.byte()
        method = raw.take(flags & 0x0F)
        ins, outs = (raw.count(MAX_CODERS), raw.count(MAX_CODERS)) if flags & 0x10 else (1, 1)
        coders.append((method, raw.take(raw.count(1_000)) if flags & 0x20 else b""))
        inputs, outputs = inputs + ins, outputs + outs
    if not outputs:
        raise EOFError
    # each pair leads the output of one coder into another
    source_of = {raw.number(): raw.number() for _ in range(outputs - 1)}
    pack_streams = inputs - len(source_of)
    if pack_streams > 1:
        for _ in range(pack_streams):
            raw.number()
    bound = set(source_of.values())
    last = next((number for number in range(outputs) if number not in bound), 0)
    is_chain = inputs == outputs == len(coders)
    return _Folder(
        coders=_order(coders, source_of, last) if is_chain else [coder for coder in coders if coder[0] == _AES],
        pack_streams=pack_streams,
        outputs=outputs,
        last_output=last,
    )


def _order(coders: list[tuple[bytes, bytes]], source_of: dict[int, int], last: int) -> list[tuple[bytes, bytes]]:
    """Returns the coders from the one that reads the packed bytes to the last; none if the pairs are no chain of all of them."""
    order = [last]
    while (source := source_of.get(order[-1])) is not None and source < len(coders) and source not in order:
        order.append(source)
    return [coders[number] for number in reversed(order)] if len(order) == len(coders) else []


def _read_substreams(raw: _Bytes, found: _Streams) -> None:
    kind = raw.byte()
    if kind == _FILES_IN_FOLDER:
        left = MAX_FILES_IN_DIRECTORY
        for folder in found.folders:
            folder.files = raw.count(left)
            left -= folder.files
        kind = raw.byte()
    sizes: list[int] = []
    for folder in found.folders:
        given = [raw.number() for _ in range(folder.files - 1)] if kind == _SIZE else []
        if folder.files:
            sizes += [*given, max(0, folder.unpacked_bytes - sum(given))]
    found.file_sizes = sizes
    if kind == _SIZE:
        kind = raw.byte()
    if kind == _DIGESTS:
        raw.skip_digests(sum(folder.files for folder in found.folders if folder.files != 1 or not folder.has_digest))
        kind = raw.byte()
    if kind != _END:
        raise EOFError


def _read_names(raw: _Bytes) -> list[str]:
    count = raw.count(MAX_FILES_IN_DIRECTORY)
    names: list[str] = []
    are_empty = [False] * count
    while (kind := raw.byte()) != _END:
        value = _Bytes(raw.take(raw.count(MAX_HEADER_BYTES)))
        if kind == _EMPTY_STREAMS:
            are_empty = value.flags(count)
        elif kind == _NAMES:
            names = _split_names(value)
    return [name for name, is_empty in zip(names, are_empty, strict=False) if not is_empty]


def _split_names(value: _Bytes) -> list[str]:
    if value.byte():
        raise EOFError
    return value.rest().decode("utf-16-le", "replace").split("\0")
