"""Reads the files of a zip archive."""

import io
import zipfile
from collections.abc import Iterator

from feedmill.adapters.extract.charset import decode
from feedmill.adapters.extract.readers.archives.unpacking import CHUNK, Exhausted, Member, Unpacking
from feedmill.adapters.extract.readers.content import Unreadable
from feedmill.adapters.extract.readers.zips import FAULTS

_ENCRYPTED, _UTF8 = 0x1, 0x800
_STRONG_ENCRYPTION = 0x40


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
        yield _read_member(archive, info, name, unpacking)


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str, unpacking: Unpacking) -> Member:
    parts: list[bytes] = []
    size = 0
    try:
        with archive.open(info) as stream:
            while size <= unpacking.file_bytes and (chunk := stream.read(CHUNK)):
                parts.append(unpacking.take(chunk))
                size += len(chunk)
    except Exhausted:
        raise
    except NotImplementedError:
        return Member(name=name, reason="it is compressed by a method that is not read")
    except FAULTS:
        return Member(name=name, reason="it is damaged")
    return Member(name=name, data=b"".join(parts)[: unpacking.file_bytes], is_cut=size > unpacking.file_bytes)
