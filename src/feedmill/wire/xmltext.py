"""Makes texts fit for XML, and escapes them. Source: XML 1.0, 2.2, 2.4, 3.3.3."""

import re
from typing import Final

from feedmill_client.xmltext import clean_text, escape, is_clean

__all__: Final = ("clean_text", "escape_text", "is_clean", "write_attributes")

_ATTRIBUTE = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
_ATTRIBUTE_CHARACTERS = re.compile('[&<>"\n\r\t]')


def escape_text(text: str) -> str:
    """Returns a text as the content of an element."""
    return escape(clean_text(text)).replace("\r", "&#13;")


def write_attributes(**values: str) -> str:
    """Returns attributes, each with a blank before it."""
    return "".join(f' {name}="{_escape_attribute(value)}"' for name, value in values.items())


def _escape_attribute(text: str) -> str:
    return _ATTRIBUTE_CHARACTERS.sub(lambda match: _ATTRIBUTE[match[0]], clean_text(text))
