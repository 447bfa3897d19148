"""Cleans text for storage: no control characters, no surrogates, white space collapsed, paragraphs on separate lines.

This runs on every character of every document, so it works on whole strings. Bytes below 0x20 and 0x7F are single bytes in UTF-8, and
one translation removes them. Only text that is not ASCII is searched for the rest.
"""

import re

_TO_NEWLINE = bytes.maketrans(b"\x0b\x0c\r\t", b"\n\n\n ")
_CONTROLS = bytes(set(range(32)) - {9, 10, 11, 12, 13}) + b"\x7f"
_UNWANTED = re.compile("[\x80-\x9f\u00ad\u200b\u202a-\u202e\u2060\u2066-\u2069\ufeff\ufff9-\ufffb\ufffe\uffff]|[\U0001fffe\U0001ffff]")
_SEPARATORS = re.compile("[\u0085\u2028\u2029]")


def strip_controls(text: str) -> str:
    """Returns the text without control characters, lone surrogates, soft hyphens, zero-width blanks, and what turns the direction.

    Embeddings and overrides of direction go, since a title or a snippet would leave them open and turn what stands behind it on a page.
    """
    if not text.isascii():
        text = _UNWANTED.sub("", _SEPARATORS.sub("\n", text))
    # Encoding with ``ignore`` drops lone surrogates, which no UTF-8 can hold.
    return text.encode("utf-8", "ignore").translate(_TO_NEWLINE, _CONTROLS).decode("utf-8", "ignore")


def clean_text(text: str, limit: int) -> str:
    """Returns the text with every line collapsed and empty lines gone. Units: at most ``limit`` characters."""
    text = strip_controls(text)
    if text.isascii():
        # each pass halves a run of blanks at least
        while "  " in text:
            text = text.replace("  ", " ")
        lines = [line.strip() for line in text.split("\n")]
    else:
        lines = [" ".join(line.split()) for line in text.split("\n")]
    return "\n".join(filter(None, lines))[:limit]


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
