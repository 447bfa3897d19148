"""Cleans text for storage: no control characters, no surrogates, white space collapsed, paragraphs on separate lines.

This runs on every character of every document, so it works on whole strings. Bytes below 0x20 and 0x7F are single bytes in UTF-8, and
one translation removes them. Only text that is not ASCII is searched for the rest.
"""

import re
from collections.abc import Sequence

_TO_NEWLINE = bytes.maketrans(b"\x0b\x0c\r\t", b"\n\n\n ")
CONTROLS = bytes(set(range(32)) - {9, 10, 11, 12, 13}) + b"\x7f"
"""The control characters that no text keeps."""
PASSING = b"\x0e\x0f\x10\x11\x12\x13\x14\x15"
"""Those by which a reader may mark places of its text for itself. It need not remove them, since they mean nothing to anyone else."""
_UNWANTED = re.compile("[\x80-\x9f\u00ad\u200b\u202a-\u202e\u2060\u2066-\u2069\ufeff\ufff9-\ufffb\ufffe\uffff]|[\U0001fffe\U0001ffff]")
_SEPARATORS = re.compile("[\u0085\u2028\u2029]")
# the same by their first bytes in UTF-8, which the search can jump to: a class of characters takes ten times as long
_LINE_ENDS = (b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9")
_STRIPPED = [
    (b"\xc2", re.compile(rb"\xc2[\x80-\x9f\xad]")),
    (b"\xe2\x80", re.compile(rb"\xe2\x80[\x8b\xaa-\xae]")),
    (b"\xe2\x81", re.compile(rb"\xe2\x81[\xa0\xa6-\xa9]")),
    (b"\xef\xbb\xbf", re.compile(rb"\xef\xbb\xbf")),
    (b"\xef\xbf", re.compile(rb"\xef\xbf[\xb9-\xbb\xbe\xbf]")),
    (b"\xf0\x9f\xbf", re.compile(rb"\xf0\x9f\xbf[\xbe\xbf]")),
]
_BLANK = [
    (b"\xc2\xa0", re.compile(rb"\xc2\xa0")),
    (b"\xe1\x9a\x80", re.compile(rb"\xe1\x9a\x80")),
    (b"\xe2\x80", re.compile(rb"\xe2\x80[\x80-\x8a\xaf]")),
    (b"\xe2\x81\x9f", re.compile(rb"\xe2\x81\x9f")),
    (b"\xe3\x80\x80", re.compile(rb"\xe3\x80\x80")),
]
# what ``squeeze`` removes: all of the above and all white space
_SQUEEZED = [
    (b"\xc2", re.compile(rb"\xc2[\x80-\xa0\xad]")),
    (b"\xe2\x80", re.compile(rb"\xe2\x80[\x80-\x8b\xa8-\xaf]")),
    (b"\xe2\x81", re.compile(rb"\xe2\x81[\x9f\xa0\xa6-\xa9]")),
    (b"\xe3\x80\x80", re.compile(rb"\xe3\x80\x80")),
    (b"\xe1\x9a\x80", re.compile(rb"\xe1\x9a\x80")),
    (b"\xef\xbb\xbf", re.compile(rb"\xef\xbb\xbf")),
    (b"\xef\xbf", re.compile(rb"\xef\xbf[\xb9-\xbb\xbe\xbf]")),
    (b"\xf0\x9f\xbf", re.compile(rb"\xf0\x9f\xbf[\xbe\xbf]")),
]
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
    if not text.isascii():
        for end in _LINE_ENDS:
            data = data.replace(end, b"\n")
        data = _replace(data, _STRIPPED, b"")
    return data.translate(_TO_NEWLINE, CONTROLS)


def _replace(data: bytes, patterns: Sequence[tuple[bytes, re.Pattern[bytes]]], by: bytes) -> bytes:
    for beginning, pattern in patterns:
        if beginning in data:
            data = pattern.sub(by, data)
    return data


def clean_text(text: str, limit: int) -> str:
    """Returns the text with every line collapsed and empty lines gone. Units: at most ``limit`` characters."""
    data = _strip(text)
    if not text.isascii():
        data = _replace(data, _BLANK, b" ")
    text = data.decode("utf-8", "ignore")
    if "  " in text:
        text = _BLANKS_IN_A_ROW.sub(" ", text)
    return "\n".join(filter(None, map(str.strip, text.split("\n"))))[:limit]


def unify_lines(text: str) -> str:
    """Returns the text with line feeds for all line ends, and without the characters beyond ASCII that ``clean_text`` removes."""
    if not text.isascii():
        text = _UNWANTED.sub("", _SEPARATORS.sub("\n", text))
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n").replace("\v", "\n")


def squeeze(text: str) -> bytes:
    """Returns one byte for each character of the text that ``clean_text`` keeps, except white space.

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
