"""Cleans text for storage: no control characters, no surrogates, white space collapsed, paragraphs on separate lines.

This runs on every character of every document, so it works on whole strings. Bytes below 0x20 and 0x7F are single bytes in UTF-8, and
one translation removes them. Only text that is not ASCII is searched for the rest.
"""

import re
from collections.abc import Sequence

from feedmill.core.text.textblob import MARKERS

_TO_NEWLINE = bytes.maketrans(b"\x0b\x0c\r\t", b"\n\n\n ")
CONTROLS = bytes(set(range(32)) - {9, 10, 11, 12, 13}) + b"\x7f"
"""The control characters that no text keeps."""
PASSING = b"\x0e\x0f\x10\x11\x12\x13\x14\x15"
"""Those by which a reader may mark places of its text for itself. It need not remove them, since they mean nothing to anyone else."""


def _by_beginning(characters: str) -> list[tuple[bytes, re.Pattern[bytes]]]:
    """Returns patterns of characters in UTF-8, each with the bytes before the last one of those that it finds.

    The search can jump to these bytes: a class of characters takes ten times as long.
    """
    groups: dict[bytes, bytes] = {}
    for data in map(str.encode, characters):
        groups[data[:-1]] = groups.get(data[:-1], b"") + data[-1:]
    return [(beginning, re.compile(re.escape(beginning) + b"[" + re.escape(ends) + b"]")) for beginning, ends in groups.items()]


_UNSEEN_RANGES = (
    (0x80, 0x9F), (0xAD, 0xAD), (0x200B, 0x200B), (0x202A, 0x202E), (0x2060, 0x2060), (0x2066, 0x2069), (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB), (0xFFFE, 0xFFFF), (0x1FFFE, 0x1FFFF),
)  # fmt: skip
_UNSEEN = "".join(chr(code) for first, last in _UNSEEN_RANGES for code in range(first, last + 1))
_LINE_ENDS = "\x85\u2028\u2029"
_BLANKS = "\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_TO_LINE_FEEDS, _STRIPPED, _TO_BLANKS = map(_by_beginning, (_LINE_ENDS, _UNSEEN, _BLANKS))
# what ``squeeze`` removes at once: all of the above, and the markers of stored texts
_SQUEEZED = _by_beginning(_UNSEEN + _LINE_ENDS[1:] + _BLANKS + MARKERS)
_BLANKS_IN_A_ROW = re.compile("  +")
_BLANK_ASCII = b"\t\n\x0b\x0c\r \x00\x7f" + PASSING
_CONTINUATION = bytes(range(0x80, 0xC0))


def strip_controls(text: str) -> str:
    """Returns the text without control characters, lone surrogates, soft hyphens, zero-width blanks, and what turns the direction.

    Embeddings and overrides of direction go, since a title or a snippet would leave them open and turn what stands behind it on a page.
    """
    return _strip(text).decode("utf-8", "ignore")


def _strip(text: str) -> bytes:
    # Encoding with ``ignore`` drops lone surrogates, which no UTF-8 can hold.
    data = text.encode("utf-8", "ignore")
    return (data if text.isascii() else _strip_beyond_ascii(data)).translate(_TO_NEWLINE, CONTROLS)


def _strip_beyond_ascii(data: bytes) -> bytes:
    return _replace(_replace(data, _TO_LINE_FEEDS, b"\n"), _STRIPPED, b"")


def _replace(data: bytes, patterns: Sequence[tuple[bytes, re.Pattern[bytes]]], by: bytes) -> bytes:
    for beginning, pattern in patterns:
        if beginning in data:
            data = pattern.sub(by, data)
    return data


def clean_text(text: str, limit: int) -> str:
    """Returns the text with every line collapsed and empty lines gone. Units: at most ``limit`` characters."""
    data = _strip(text)
    if not text.isascii():
        data = _replace(data, _TO_BLANKS, b" ")
    text = data.decode("utf-8", "ignore")
    if "  " in text:
        text = _BLANKS_IN_A_ROW.sub(" ", text)
    return "\n".join(filter(None, map(str.strip, text.split("\n"))))[:limit]


def unify_lines(text: str) -> str:
    """Returns the text with line feeds for all line ends, and without the characters beyond ASCII that ``clean_text`` removes."""
    if not text.isascii():
        text = _strip_beyond_ascii(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n").replace("\v", "\n")


def squeeze(text: str) -> bytes:
    """Returns one byte for each character of the text that ``clean_text`` keeps, except white space and the markers of stored texts.

    Control characters stay themselves, except those that readers use for themselves.
    """
    if text.isascii():
        return text.encode().translate(None, _BLANK_ASCII)
    data = _replace(text.encode("utf-8", "ignore"), _SQUEEZED, b"")
    return data.translate(None, _BLANK_ASCII + _CONTINUATION)


def clean_line(text: str | None, limit: int = 1_000) -> str:
    """Returns the text on one line, for titles, names and values. Units: at most ``limit`` characters."""
    if not text:
        return ""
    # The common case: no control or format character, and no white space except the blank.
    if text.isprintable():
        text = text.strip()
        return text if len(text) <= limit and "  " not in text else " ".join(text[: limit * 4].split())[:limit]
    # Four times the limit allows for white space that collapses, and bounds the work for a huge value.
    return " ".join(strip_controls(text[: limit * 4]).split())[:limit]
