"""Reads zip containers that may be hostile: counts, declared sizes and real sizes are limited, nothing is written to disk."""

import io
import re
import zipfile
import zlib
from typing import IO

from feedmill.adapters.extract.readers.content import Unreadable

MAX_ENTRIES = 20_000
MAX_ENTRY_BYTES = 200_000_000
MAX_TOTAL_BYTES = 400_000_000
MAX_RATIO = 400
_CHUNK = 1 << 16
_HEADERS_BYTES = 1 << 20
_LOCAL_NAME = re.compile(rb"PK\x03\x04.{26}([\w\[\]. /\-]{1,100}?(?:\.xml|\.rels|mimetype))", re.S)
FAULTS = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    ValueError,
    NotImplementedError,
    RuntimeError,
    EOFError,
    KeyError,
    IndexError,
    OverflowError,
)


class ZipArchive:
    """A zip file's entries by name, with a budget of bytes for all that is read from it."""

    def __init__(self, data: bytes) -> None:
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            infos = self._zip.infolist()
        except FAULTS as exc:
            raise Unreadable("the file is damaged: its zip directory cannot be read") from exc
        if len(infos) > MAX_ENTRIES:
            raise Unreadable(f"the file has more than {MAX_ENTRIES} parts")
        # Declared sizes may lie. They are checked first because nothing has to be unpacked for it; reading counts the real bytes.
        declared = sum(info.file_size for info in infos)
        # A small file may unpack to 10 MB at any ratio: nearly empty sheets compress extremely well.
        if declared > MAX_TOTAL_BYTES or declared > max(10_000_000, len(data) * MAX_RATIO):
            raise Unreadable(f"the file unpacks to {declared} bytes, more than is allowed for its size")
        self._budget = MAX_TOTAL_BYTES
        self.names = [info.filename for info in infos]

    def read(self, name: str) -> bytes | None:
        """Unpacks one entry, None if there is none. Errors: Unreadable for damage, encryption and bombs."""
        if name not in self._zip.NameToInfo:
            return None
        try:
            with self._zip.open(name) as stream:
                return self._read_bounded(stream, name)
        except FAULTS as exc:
            if isinstance(exc, RuntimeError) and "password" in str(exc):
                raise Unreadable("the file is encrypted") from exc
            raise Unreadable(f"the file is damaged: part {name[:80]} cannot be unpacked") from exc

    def _read_bounded(self, stream: IO[bytes], name: str) -> bytes:
        parts, total = [], 0
        while chunk := stream.read(_CHUNK):
            total += len(chunk)
            self._budget -= len(chunk)
            if total > MAX_ENTRY_BYTES or self._budget < 0:
                raise Unreadable(f"part {name[:80]} of the file unpacks to more than is allowed")
            parts.append(chunk)
        return b"".join(parts)


def list_names(data: bytes) -> frozenset[str]:
    """Lists the entries of a zip file; if the directory is missing or damaged, those that its beginning names."""
    try:
        return frozenset(zipfile.ZipFile(io.BytesIO(data)).namelist()[:MAX_ENTRIES])
    except FAULTS:
        return frozenset(match[1].decode("utf-8", "replace") for match in _LOCAL_NAME.finditer(data, 0, _HEADERS_BYTES))


def read_small(data: bytes, name: str, limit: int) -> bytes:
    """Reads the beginning of an entry, empty if it is unreadable."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)).open(name) as stream:
            return stream.read(limit)
    except FAULTS:
        return b""
