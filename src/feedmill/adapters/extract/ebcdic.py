"""Detects and decodes EBCDIC, the charsets of mainframes.

A blank is the byte that ASCII has for ``@``, and letters and digits are beyond ASCII, so no other charset has these blanks among these
bytes. What is left are bytes of pictures and of pairs of other charsets: they are not nearly all letters, digits and punctuation, or
make words without vowels.

The code pages have the same letters, and differ in brackets and in the letters of single languages. The one wins whose text has the
fewest signs that nobody writes, or that stand within words. The code page 1047 of Unix services is 037 with three pairs of signs swapped.
Records of a fixed length have no line ends.

Source: IBM, "Character Data Representation Architecture", code pages 37, 273, 500 and 1047.
"""

import re

CODECS = frozenset({"cp037", "cp273", "cp424", "cp500", "cp875", "cp1026", "cp1140"})
"""The codecs of EBCDIC that Python has."""

_HEAD_BYTES, _LEAST_BYTES = 4_000, 32
_BLANK = b"@"
_LETTERS_AND_DIGITS = bytes(
    [
        *range(0x81, 0x8A),
        *range(0x91, 0x9A),
        *range(0xA2, 0xAA),
        *range(0xC1, 0xCA),
        *range(0xD1, 0xDA),
        *range(0xE2, 0xEA),
        *range(0xF0, 0xFA),
    ]
)
# tab, line ends, punctuation; then brackets and braces of the code pages, and letters of Western Europe
_OTHERS = bytes([0x05, 0x0C, 0x0D, 0x15, 0x25, *range(0x4A, 0x51), *range(0x5A, 0x62), *range(0x6A, 0x70), *range(0x79, 0x80)]) + bytes(
    [
        0xA1,
        0xAD,
        0xB0,
        0xB5,
        0xBA,
        0xBB,
        0xBD,
        0xC0,
        0xD0,
        0xDC,
        0xE0,
        0xEC,
        0xFC,
        *range(0x42, 0x4A),
        *range(0x51, 0x5A),
        0x63,
        0xCB,
        0xCC,
        0xCE,
        0xDE,
    ]
)
_LEAST_BLANKS, _MOST_BLANKS, _LEAST_LETTERS, _LEAST_READ = 0.015, 0.9, 0.45, 0.95
_WORD = re.compile(r"[A-Za-z]{3,}")
_VOWEL = re.compile("[aeiouyAEIOUY]")
_LEAST_WITH_VOWELS = 0.7
_CODE_PAGES = ("cp037", "cp1047", "cp500", "cp273")
_SWAPPED = str.maketrans("Ý[¨]^¬", "[Ý]¨¬^")
# signs that hardly occur, signs within words, an exclamation mark alone, a bar in place of one
_UNUSUAL = re.compile(r"[¢¬¦¨Ý]|(?<=[^\W\d_])[{}~\[\]!|§@\\^]+(?=[^\W\d_])|(?<=\s)!+(?=\s)|(?<=[^\W\d_])\|(?=\s)")
_SAMPLE_BYTES = 20_000


def guess_ebcdic(data: bytes) -> str | None:
    """Returns the code page of bytes that are a text in EBCDIC, None for others. Errors: none."""
    head = data[:_HEAD_BYTES]
    # the cheapest test first: hardly any other text has so many of these bytes
    blanks = head.count(_BLANK)
    if len(head) < _LEAST_BYTES or not _LEAST_BLANKS <= blanks / len(head) <= _MOST_BLANKS or head.count(b" ") > blanks / 10:
        return None
    size = len(head) - blanks
    without_letters = head.translate(None, _BLANK + _LETTERS_AND_DIGITS)
    unread = len(without_letters.translate(None, _OTHERS))
    if size - len(without_letters) < _LEAST_LETTERS * size or unread > (1 - _LEAST_READ) * len(head):
        return None
    words = _WORD.findall(head.decode("cp037"))
    if sum(_VOWEL.search(word) is not None for word in words) < max(_LEAST_WITH_VOWELS * len(words), 2):
        return None
    sample = data[:_SAMPLE_BYTES]
    return min(_CODE_PAGES, key=lambda page: len(_UNUSUAL.findall(decode_ebcdic(sample, page))))


def decode_ebcdic(data: bytes, page: str) -> str:
    """Returns a text of a code page, with the line ends of other texts."""
    text = data.decode("cp037").translate(_SWAPPED) if page == "cp1047" else data.decode(page, "replace")
    return text.replace("\r\x85", "\n").replace("\x85", "\n")
