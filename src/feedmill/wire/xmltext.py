"""Makes texts fit for XML. Source: XML 1.0, 2.2."""

import re

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def is_clean(text: str) -> bool:
    """Returns whether XML can hold all of a text."""
    # XML can hold every printable character
    return text.isprintable() or _ILLEGAL.search(text) is None


def clean_text(text: str) -> str:
    """Returns a text with U+FFFD for each character that XML cannot hold."""
    return text if text.isprintable() else _ILLEGAL.sub("\ufffd", text)
