"""Makes texts fit for XML, and escapes them. Source: XML 1.0, 2.2, 2.4, 3.3.3.

Example::

    from feedmill_client.xmltext import clean_text

    print(clean_text("a tone \\x07"))
"""

import re

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def is_clean(text: str) -> bool:
    """Returns whether XML can hold all of a text."""
    # XML can hold every printable character
    return text.isprintable() or _ILLEGAL.search(text) is None


def clean_text(text: str) -> str:
    """Returns a text with U+FFFD for each character that XML cannot hold."""
    return text if text.isprintable() else _ILLEGAL.sub("\ufffd", text)


def escape(text: str) -> str:
    """Returns a text as the content of an element."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def quote_attribute(text: str) -> str:
    """Returns a text as the value of an attribute, in the quotes that it holds none of if there are such."""
    escaped = escape(text).replace("\n", "&#10;").replace("\r", "&#13;").replace("\t", "&#9;")
    if '"' in escaped and "'" not in escaped:
        return f"'{escaped}'"
    return '"' + escaped.replace('"', "&quot;") + '"'
