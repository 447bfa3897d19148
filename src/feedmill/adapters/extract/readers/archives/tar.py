"""Reads tar archives: names and bytes, nothing else. A header that lies costs its file and those behind it, never memory.

Source: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Header Block"; GNU tar manual, "Basic Tar Format".
"""

from collections.abc import Iterator

from feedmill.adapters.extract.charset import decode
from feedmill.adapters.extract.readers.archives.unpacking import Member, Unpacking

BLOCK = 512
MAX_HEADER_BYTES = 100_000
_FILES = b"0\x007"
_SPARSE = b"S"
_GNU_NAME, _PAX, _PAX_SOLARIS = b"L", b"x", b"X"


def iter_tar(data: bytes, unpacking: Unpacking) -> Iterator[Member]:
    """Yields the files of an archive. Errors: Exhausted; the end of a damaged archive is a member with a reason and no name."""
    position = 0
    name = ""
    is_sparse = False
    while position + BLOCK <= len(data):
        header = data[position : position + BLOCK]
        if not header.strip(b"\0"):
            return
        size = _read_number(header[124:136])
        if size is None or not _is_header(header):
            yield Member(name="", reason="the archive is damaged, the files behind the damage are missing")
            return
        kind = header[156:157]
        start = position + BLOCK
        position = start + (size + BLOCK - 1) // BLOCK * BLOCK
        if kind in (_GNU_NAME, _PAX, _PAX_SOLARIS):
            unpacking.check_time()
            extra = data[start : start + min(size, MAX_HEADER_BYTES)]
            found, sparse = (decode(extra.rstrip(b"\0")), False) if kind == _GNU_NAME else _read_pax(extra)
            name, is_sparse = found or name, is_sparse or sparse
            continue
        if kind in _FILES or kind == _SPARSE:
            yield _make_member(name or _read_name(header), data[start : start + size], size, is_sparse or kind == _SPARSE, unpacking)
        name, is_sparse = "", False


def _make_member(name: str, data: bytes, size: int, is_sparse: bool, unpacking: Unpacking) -> Member:
    unpacking.take_file()
    if is_sparse:
        return Member(name=name, reason="it is a sparse file")
    found = unpacking.take(data[: unpacking.file_bytes])
    return Member(name=name, data=found, is_cut=size > len(found))


def _is_header(header: bytes) -> bool:
    """Returns whether the sum of a header is right: that of its bytes, with blanks in the place of the sum."""
    given = _read_number(header[148:156])
    return given == sum(header) - sum(header[148:156]) + 8 * 32


def _read_number(field: bytes) -> int | None:
    """Returns a number in octal digits or, as GNU tar writes large ones, in binary; None if it is neither."""
    if field[:1] == b"\x80":
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    try:
        return int(digits, 8) if digits.isdigit() or not digits else None
    except ValueError:
        return None


def _read_name(header: bytes) -> str:
    name, _, _ = header[:100].partition(b"\0")
    prefix, _, _ = header[345:500].partition(b"\0")
    return decode(prefix + b"/" + name if prefix and header[257:263] == b"ustar\0" else name)


def _read_pax(data: bytes) -> tuple[str, bool]:
    """Returns the name among the records ``LENGTH KEY=VALUE``, and whether one of them says that the file is sparse."""
    name, is_sparse = "", False
    position = 0
    while (blank := data.find(b" ", position, position + 20)) > 0:
        digits = data[position:blank]
        length = int(digits) if digits.isdigit() else 0
        if length <= blank - position:
            break
        key, _, value = data[blank + 1 : position + length - 1].partition(b"=")
        if key == b"path":
            name = decode(value)
        is_sparse = is_sparse or key.startswith(b"GNU.sparse.")
        position += length
    return name, is_sparse
