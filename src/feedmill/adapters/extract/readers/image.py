"""Reads an image's data without looking at the picture: format, size in pixels, embedded title. Its name comes from the URL."""

import re
import struct
from urllib.parse import unquote

from feedmill.adapters.extract.clean import clean_line
from feedmill.adapters.extract.readers.content import Content

_PNG_KEYS = ("Title", "Author", "Description", "Copyright", "Comment")
# Frame headers hold the size. The three markers between them are tables and a reserved one (ITU-T T.81, table B.1).
_JPEG_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_EXIF_NAMES = {0x010E: "Description", 0x013B: "Author", 0x8298: "Copyright"}
_MAX_SEGMENTS = 500


def read_image(data: bytes, mimetype: str, url: str) -> Content:
    """Reads an image's name, format, pixel size and embedded words. Errors: none, damaged parts are left out."""
    name = name_of(url)
    size, words = _measure(data, mimetype)
    metadata = [("format", mimetype.split("/", 1)[1])]
    if size is not None:
        metadata += [("width", str(size[0])), ("height", str(size[1]))]
    metadata += [(key, value) for key, raw in words if (value := clean_line(raw))]
    title = next((value for key, value in metadata if key in ("Title", "Description")), None) or name
    text = "\n".join(dict.fromkeys(filter(None, [name, *(value for key, value in metadata if key in _PNG_KEYS)])))
    return Content(text=text, title=title or None, metadata=tuple(metadata))


def name_of(url: str) -> str:
    """Returns the words of a file's name in its URL, without the suffix."""
    last = unquote(re.split(r"[?#]", url, maxsplit=1)[0].rstrip("/").rsplit("/", 1)[-1])
    return clean_line(re.sub(r"[_\-+]+", " ", re.sub(r"\.[A-Za-z0-9]{2,5}$", "", last)), 200)


def _measure(data: bytes, mimetype: str) -> tuple[tuple[int, int] | None, list[tuple[str, str]]]:
    try:
        match mimetype:
            case "image/png":
                return struct.unpack_from(">II", data, 16), _png_words(data)
            case "image/gif":
                return struct.unpack_from("<HH", data, 6), []
            case "image/bmp":
                # A negative height means that the rows go from top to bottom.
                width, height = struct.unpack_from("<ii", data, 18)
                return (abs(width), abs(height)), []
            case "image/jpeg":
                return _walk_jpeg(data)
            case "image/webp":
                return _webp_size(data), []
    except (struct.error, IndexError):
        pass
    return None, []


def _png_words(data: bytes) -> list[tuple[str, str]]:
    words, position = [], 8
    for _ in range(_MAX_SEGMENTS):
        if position + 8 > len(data):
            break
        length, kind = struct.unpack_from(">I4s", data, position)
        chunk = data[position + 8 : position + 8 + min(length, 5_000)]
        if kind == b"tEXt" and b"\0" in chunk:
            key, value = chunk.split(b"\0", 1)
            if key.decode("latin-1") in _PNG_KEYS:
                words.append((key.decode("latin-1"), value.decode("latin-1")))
        elif kind == b"iTXt" and chunk.count(b"\0") >= 4:
            key, rest = chunk.split(b"\0", 1)
            fields = rest[2:].split(b"\0", 2)
            # Only uncompressed texts, so that no image unpacks to more than its size.
            if rest[:1] == b"\0" and len(fields) == 3 and key.decode("latin-1") in _PNG_KEYS:
                words.append((key.decode("latin-1"), fields[2].decode("utf-8", "replace")))
        position += 12 + length
    return words


def _walk_jpeg(data: bytes) -> tuple[tuple[int, int] | None, list[tuple[str, str]]]:
    words: list[tuple[str, str]] = []
    position = 2
    for _ in range(_MAX_SEGMENTS):
        if position + 9 > len(data) or data[position] != 0xFF:
            break
        marker, length = data[position + 1], struct.unpack_from(">H", data, position + 2)[0]
        body = data[position + 4 : position + 2 + length]
        if marker in _JPEG_SIZES:
            height, width = struct.unpack_from(">HH", body, 1)
            return (width, height), words
        if marker == 0xE1 and body.startswith(b"Exif\0\0"):
            words += _exif_words(body[6:])
        elif marker == 0xFE:
            words.append(("Comment", body.decode("utf-8", "replace")))
        position += 2 + length
    return None, words


def _exif_words(tiff: bytes) -> list[tuple[str, str]]:
    """Reads the texts of the first directory. Source: TIFF 6.0, section 2; Exif 2.3, 4.6.4."""
    try:
        order = {b"II": "<", b"MM": ">"}[tiff[:2]]
        start = struct.unpack_from(order + "I", tiff, 4)[0]
        count = min(struct.unpack_from(order + "H", tiff, start)[0], 200)
        words = []
        for number in range(count):
            tag, kind, length, offset = struct.unpack_from(order + "HHII", tiff, start + 2 + number * 12)
            if tag in _EXIF_NAMES and kind == 2:
                # A value of at most four bytes is in the entry itself, in the place of the offset.
                begin = offset if length > 4 else start + 2 + number * 12 + 8
                words.append((_EXIF_NAMES[tag], tiff[begin : begin + min(length, 2_000)].rstrip(b"\0 ").decode("utf-8", "replace")))
    except (KeyError, struct.error):
        return []
    return words


def _webp_size(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8X":
            # Sizes minus one, in three bytes each (RFC 9649, "Extended File Format").
            return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
        case b"VP8L":
            # Sizes minus one, in 14 bits each, behind a byte of signature (RFC 9649, lossless format).
            bits = struct.unpack_from("<I", data, 21)[0]
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            # The upper two bits of each are a scale for the display (RFC 6386, 9.1).
            width, height = struct.unpack_from("<HH", data, 26)
            return width & 0x3FFF, height & 0x3FFF
    return None
