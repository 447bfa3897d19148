"""Makes archives for tests. Those of 7z are bytes that the program wrote, since nothing here writes this format."""

import base64
import io
import lzma
import struct
import tarfile
import zlib
from collections.abc import Mapping


def make_tar(files: Mapping[str, bytes], form: int = tarfile.GNU_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def compress_lzip(data: bytes) -> bytes:
    """Returns a file as lzip writes it, with a dictionary of 8 MB."""
    filters = [{"id": lzma.FILTER_LZMA1, "dict_size": 1 << 23}]
    # the other format of LZMA has a header of its own, and the same stream with a sign at its end
    stream = lzma.compress(data, lzma.FORMAT_ALONE, filters=filters)[13:]
    sizes = len(data).to_bytes(8, "little") + (len(stream) + 26).to_bytes(8, "little")
    return b"LZIP\1\x17" + stream + zlib.crc32(data).to_bytes(4, "little") + sizes


def compress_lzw(data: bytes, most_bits: int = 16) -> bytes:
    """Returns a file as ``compress`` writes it, without emptying its table."""
    codes = {bytes((value,)): value for value in range(256)}
    written = bytearray(b"\x1f\x9d") + bytes((0x80 | most_bits,))
    group: list[int] = []
    bits, following = 9, 257

    def write_group() -> None:
        number = sum(code << bits * place for place, code in enumerate(group))
        written.extend(number.to_bytes(bits, "little"))
        group.clear()

    position, size = 0, 1
    while position < len(data):
        # all that a word begins with is a word too; in a run the next word is hardly longer than the last one
        size = size if data[position : position + size] in codes else 1
        while position + size < len(data) and data[position : position + size + 1] in codes:
            size += 1
        group.append(codes[data[position : position + size]])
        position += size
        if position >= len(data):
            break
        if following < 1 << most_bits:
            codes[data[position - size : position + 1]] = following
            following += 1
        # the reader of the codes is one entry behind
        if len(group) == 8 or (following > 1 << bits and bits < most_bits):
            write_group()
        if following > 1 << bits and bits < most_bits:
            bits += 1
    number = sum(code << bits * place for place, code in enumerate(group))
    return bytes(written) + number.to_bytes((len(group) * bits + 7) // 8, "little")


_WRITTEN = {
    "lzma2": (
        "N3q8ryccAARFNT+8vgAAAAAAAAAiAAAAAAAAAANiJJsBADV3b3JkcyBvZiB0aGUgZmlyc3QKPHRpdGxlPnQ8L3RpdGxlPjxwPnNlY29uZCB3b3JkczwvcD4A"
        "AACBMweuD9GYLRigkKB3XsVAGI7KoTayjvs2OGDNfhQO5p6JGMkALQxhdTKMVj65NZPL8+pYrQljb+GeQ9oOxKsgjpH5C0nl182eMBcup0uhecDRNz4qxN5K"
        "9woBq+Y6hnCYGJKvpVJPaj0kGhZzRE62E5S0Jmm6M5EPDP6ziND0AAAAFwY6AQmAhAAHCwEAASMDAQEFXQAQAAAMgKYKAchfcFMAAA=="
    ),
    "deflate": (
        "N3q8ryccAASZB2SwqwAAAAAAAAAhAAAAAAAAAOrEILglysEJACAIBdB7U7hBC4jLlFEQGfqh9YO6vcM75jXIGqErteGBxBiYKuD8wVtCi61KL3PecgEAAIEz"
        "B64P0VujJKCQoHJD1FmomWnMLeSmNr/YdrBXm4Q49ih4tAiMTJdnTF1ARa/Ey6Pg4Nx1Y8uB+KaUa0A6vdazeOsrbSsvTx9uRddHPpuA9BCxoOXz+oDBVl2w"
        "bZJMC2Jol4UaaBC2UgvCmwqFmkAAAAAXBjYBCXUABwsBAAEjAwEBBV0AEAAADICSCgFcilcnAAA="
    ),
    "copy": (
        "N3q8ryccAAQT9G9NEwAAAAAAAABCAAAAAAAAAPlBWHl3b3JkcyBvZiB0aGUgZmlyc3QKAQQGAAEJEwAHCwEAAQEADBMACAoBUxKmLwAABQERDQBhAC4AdAB4"
        "AHQAAAAUCgEA49MWNZp+3QEVBgEAIICkgQAA"
    ),
    "encrypted": (
        "N3q8ryccAAS3LpbuIAAAAAAAAABiAAAAAAAAAODmvMshTciWkF0iPENYzn7jzdc2x3U4nN5qI6DOoC6ldVxmkAEEBgABCSAABwsBAAIkBvEHARJTD0VZ5hI8"
        "n3E8aV3GRNDyCKkhIQEAAQAMFxMACAoBUxKmLwAABQEZAQARDQBhAC4AdAB4AHQAAAAUCgEA49MWNZp+3QEVBgEAIICkgQAA"
    ),
    "encrypted names": (
        "N3q8ryccAARCBcW4kAAAAAAAAAAuAAAAAAAAAE4UZgfMMmXFyaXlm/2+7ko1HPvqr5uasUZPwqXJhLm3XZRHY2tDoYsw+1e58ylkO++SFl5NGfvFE7HGj+jX"
        "4h0yb2Ue0s2oRcKSDyO1K1xaxX/rIlaF9iA+vcK6qy+8Y2YaO+rN5qIHTByjc1mESw2XXfzkx4wqvm2ma1luT/fa+t3ZMnECOAxVKJ0d2C8kM2pRxG0XBiAB"
        "CXAABwsBAAEkBvEHARJTD8mSYdYRa5YYjToUZejS9DQMYgoBbd4YLAAA"
    ),
}
SEVEN_ZIPS = {name: base64.b64decode(text) for name, text in _WRITTEN.items()}
"""By their compression. All hold ``a.txt``; ``lzma2`` and ``deflate`` also ``docs/b.html``, and ``lzma2`` an empty file."""


def make_packed_zip(packed: dict[str, tuple[int, bytes, bytes]]) -> bytes:
    """Returns a zip of files that ``zipfile`` cannot pack: by name the number of the method, the packed bytes, and what they unpack to."""
    files = directory = b""
    for name, (method, data, whole) in packed.items():
        sizes = struct.pack("<III", zlib.crc32(whole), len(data), len(whole))
        fields = struct.pack("<HHHHH", 63, 0x800, method, 0, 0) + sizes + struct.pack("<HH", len(name), 0)
        entry = struct.pack("<HHHII", 0, 0, 0, 0, len(files))
        directory += b"PK\x01\x02" + struct.pack("<H", 63) + fields + entry + name.encode()
        files += b"PK\x03\x04" + fields + name.encode() + data
    count = len(packed)
    end = struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), len(files), 0)
    return files + directory + b"PK\x05\x06" + end
