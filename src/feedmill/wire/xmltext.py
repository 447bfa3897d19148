"""Texts as XML can hold them. Source: XML 1.0, 2.2."""

import re

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def is_clean(text: str) -> bool:
    """Whether XML can hold all of a text."""
    # whatever can be printed it can
    return text.isprintable() or _ILLEGAL.search(text) is None


def clean_text(text: str) -> str:
    """Returns a text with U+FFFD for what XML cannot hold."""
    return text if text.isprintable() else _ILLEGAL.sub("\ufffd", text)
