"""Reads the files of a zip archive.

``zipfile`` unpacks what most programs write. Files that are packed by Zstandard or xz are taken out of the archive by their header.
Source: APPNOTE.TXT 6.3.10, sections 4.3.7 and 4.4.5.
"""

import io
import zipfile
import zlib
from collections.abc import Callable, Iterator

from feedmill.adapters.extract.charset import decode
from feedmill.adapters.extract.readers.archives.compressed import FAULTS as STREAM_FAULTS
from feedmill.adapters.extract.readers.archives.compressed import iter_xz, iter_zstd
from feedmill.adapters.extract.readers.archives.unpacking import CHUNK, Exhausted, Member, Unpacking
from feedmill.adapters.extract.readers.content import Unreadable
from feedmill.adapters.extract.readers.zips import FAULTS

_ENCRYPTED, _UTF8 = 0x1, 0x800
_STRONG_ENCRYPTION = 0x40
_HEADER, _HEADER_BYTES = b"PK\x03\x04", 30
# the methods that ``zipfile`` does not know; 20 was the first number of Zstandard
_STREAMS: dict[int, Callable[[bytes], Iterator[bytes]]] = {
    20: lambda data: iter_zstd((data,)),
    93: lambda data: iter_zstd((data,)),
    95: iter_xz,
}


def iter_zip(data: bytes, unpacking: Unpacking) -> Iterator[Member]:
    """Yields the files of an archive. Errors: Exhausted; Unreadable if its directory is damaged, or if files share bytes."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        infos = archive.infolist()
    except FAULTS as exc:
        raise Unreadable("the archive is damaged: its directory cannot be read") from exc
    # Files that share their bytes are the way to a bomb of any ratio without an archive in another.
    if sum(info.compress_size for info in infos) > len(data):
        raise Unreadable("the archive is damaged: its files overlap")
    for info in infos:
        if info.is_dir():
            continue
        unpacking.take_file()
        name = info.filename if info.flag_bits & _UTF8 else decode(info.filename.encode("cp437", "replace"))
        if info.flag_bits & (_ENCRYPTED | _STRONG_ENCRYPTION):
            yield Member(name=name, reason="it is encrypted")
            continue
        chunks = _iter_packed(data, info) if info.compress_type in _STREAMS else _iter_member(archive, info)
        yield _read_member(chunks, name, unpacking)


def _read_member(chunks: Iterator[bytes], name: str, unpacking: Unpacking) -> Member:
    parts: list[bytes] = []
    size = 0
    try:
        for chunk in chunks:
            parts.append(unpacking.take(chunk))
            size += len(chunk)
            if size > unpacking.file_bytes:
                break
    except Exhausted:
        raise
    except NotImplementedError:
        return Member(name=name, reason="it is compressed by a method that is not read")
    except (*FAULTS, *STREAM_FAULTS):
        return Member(name=name, reason="it is damaged")
    return Member(name=name, data=b"".join(parts)[: unpacking.file_bytes], is_cut=size > unpacking.file_bytes)


def _iter_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yields the bytes of a file. Errors: NotImplementedError; FAULTS."""
    with archive.open(info) as stream:
        while chunk := stream.read(CHUNK):
            yield chunk


def _iter_packed(data: bytes, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yields the bytes of a file that ``zipfile`` does not unpack. Errors: FAULTS, STREAM_FAULTS."""
    start = info.header_offset
    header = data[start : start + _HEADER_BYTES]
    if len(header) < _HEADER_BYTES or not header.startswith(_HEADER):
        raise ValueError
    start += _HEADER_BYTES + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    check = size = 0
    for chunk in _STREAMS[info.compress_type](data[start : start + info.compress_size]):
        check, size = zlib.crc32(chunk, check), size + len(chunk)
        yield chunk
    if (check, size) != (info.CRC, info.file_size):
        raise ValueError
