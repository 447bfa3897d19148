"""Makes texts fit for XML, and escapes them. Source: XML 1.0, 2.2, 2.4, 3.3.3."""

import re

_ATTRIBUTE = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
_ATTRIBUTE_CHARACTERS = re.compile('[&<>"\n\r\t]')
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def is_clean(text: str) -> bool:
    """Returns whether XML can hold all of a text."""
    # XML can hold every printable character
    return text.isprintable() or _ILLEGAL.search(text) is None


def clean_text(text: str) -> str:
    """Returns a text with U+FFFD for each character that XML cannot hold."""
    return text if text.isprintable() else _ILLEGAL.sub("\ufffd", text)


def escape_text(text: str) -> str:
    """Returns a text as the content of an element."""
    clean = clean_text(text)
    return clean.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#13;")


def write_attributes(**values: str) -> str:
    """Returns attributes, each with a blank before it."""
    return "".join(f' {name}="{_escape_attribute(value)}"' for name, value in values.items())


def _escape_attribute(text: str) -> str:
    return _ATTRIBUTE_CHARACTERS.sub(lambda match: _ATTRIBUTE[match[0]], clean_text(text))
