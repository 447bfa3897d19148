"""Reads files of the program ``compress`` (``.Z``), which packs text by LZW.

A code stands for bytes that were there before, and one more. The codes become longer as the table of them grows. They stand in groups of
eight; where their length changes, the rest of a group means nothing.

The entries of the table are, together, no longer than what was unpacked since it was empty. Whoever bounds that bounds the memory too.
Source: IEEE Std 1003.1-2024, "compress"; the program ncompress for the groups.
"""

from collections.abc import Iterator

from feedmill.adapters.extract.readers.archives.unpacking import CHUNK

_HEADER_BYTES = 3
_BITS, _CLEARS = 0x1F, 0x80
_FIRST_BITS, _LAST_BITS = 9, 16
_CLEAR = 256
_SINGLES = [bytes((value,)) for value in range(256)]


def iter_lzw(data: bytes) -> Iterator[bytes]:
    """Yields the unpacked bytes in pieces. Errors: ValueError for damage, behind the bytes before it."""
    if len(data) < _HEADER_BYTES or not _FIRST_BITS <= data[2] & _BITS <= _LAST_BITS:
        raise ValueError("no header of compress")
    most_bits, has_clear = data[2] & _BITS, bool(data[2] & _CLEARS)
    position, bits = _HEADER_BYTES, _FIRST_BITS
    # the code that empties the table has a place in it
    table = [*_SINGLES, b""] if has_clear else [*_SINGLES]
    last = b""
    parts: list[bytes] = []
    size = 0
    while position < len(data):
        group = data[position : position + bits]
        position += bits
        codes = int.from_bytes(group, "little")
        for place in range(0, len(group) * 8 // bits * bits, bits):
            code = codes >> place & (1 << bits) - 1
            if code == _CLEAR and has_clear:
                del table[_CLEAR + 1 :]
                last, bits = b"", _FIRST_BITS
                break
            if code < len(table):
                entry = table[code]
            elif code == len(table) and last:
                entry = last + last[:1]
            else:
                yield b"".join(parts)
                raise ValueError("a code that stands for nothing yet")
            parts.append(entry)
            size += len(entry)
            if last and len(table) < 1 << most_bits:
                table.append(last + entry[:1])
            last = entry
            if len(table) == 1 << bits and bits < most_bits:
                bits += 1
                break
        if size >= CHUNK:
            yield b"".join(parts)
            parts.clear()
            size = 0
    yield b"".join(parts)
