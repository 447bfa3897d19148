"""Reads what a PostScript file says about itself in comments. Its text is the output of a program in it, which nothing here runs.

Source: Adobe, "PostScript Language Document Structuring Conventions Specification", version 3.0, 5.
"""

import re

from feedmill.adapters.extract.charset import decode
from feedmill.adapters.extract.clean import clean_line
from feedmill.adapters.extract.readers.content import Content
from feedmill.adapters.extract.readers.image import name_of

_HEAD_BYTES = 20_000
_COMMENT = re.compile(rb"^%%(Title|Creator|For|CreationDate|Pages):[ \t]*([^\r\n]{1,1000})", re.M)
_REASON = "PostScript is a program that draws pages: its text cannot be read, only its name and title are known"


def read_postscript(data: bytes, url: str) -> Content:
    """Reads title and other comments of a PostScript file. Errors: none."""
    found: dict[str, str] = {}
    for match in _COMMENT.finditer(data, 0, _HEAD_BYTES):
        value = match[2].strip()
        if value.startswith(b"(") and value.endswith(b")"):
            value = value[1:-1]
        if (text := clean_line(decode(value))) and text != "atend":
            found.setdefault(match[1].decode("ascii"), text)
    name = name_of(url)
    title = found.get("Title")
    text = "\n".join(dict.fromkeys(filter(None, [name, title])))
    return Content(text=text, title=title, metadata=tuple(found.items()), reason=_REASON)
