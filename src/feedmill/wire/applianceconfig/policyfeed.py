"""Policy ACLs as the old appliance's administration API gave them out: an Atom feed with two properties an entry.

Only ``entry/content`` of the API's namespace counts, with the names ``urlPattern`` and ``acl``. A document type declaration is refused.
Source: gsa-compat 4.8; other-protocols 4.
"""

import re
from collections.abc import Iterator
from xml.parsers import expat

from feedmill.model.errors import BadRequest

MAX_DEPTH = 40
_ATOM, _GSA = "http://www.w3.org/2005/Atom", "http://schemas.google.com/gsa/2007"
_XML = re.compile(r"\ufeff?\s*<[?!A-Za-z]")
_ENTRY, _CONTENT = f"{_ATOM} entry", f"{_GSA} content"


def is_feed(text: str) -> bool:
    """Whether a text is XML rather than lines, which may begin with a pattern such as ``</>secret/``."""
    return _XML.match(text) is not None


def iter_feed(text: str) -> Iterator[tuple[int, str, str]]:
    """Yields the line of each entry, its pattern and its ACL, "" for what is missing. Errors: BadRequest, with the line."""
    reading = _Reading()
    try:
        reading.parser.Parse(text.lstrip("\ufeff").encode("utf-8", "replace"), True)
    except expat.ExpatError as exc:
        raise BadRequest(f"line {exc.lineno}: not XML: {expat.ErrorString(exc.code)}") from exc
    yield from reading.found


class _Reading:
    """Takes the parser's events."""

    def __init__(self) -> None:
        # what the text says of its encoding no longer counts
        self.parser = expat.ParserCreate("utf-8", " ")
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._take_text
        self.found: list[tuple[int, str, str]] = []
        self._depth = 0
        self._line = 0
        self._name: str | None = None
        self._values: dict[str, str] = {}

    def _refuse_doctype(self, _name: str, _system: str | None, _public: str | None, _subset: int) -> None:
        raise BadRequest(f"line {self.parser.CurrentLineNumber}: a document type declaration, which no feed has")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise BadRequest(f"line {self.parser.CurrentLineNumber}: elements nested more than {MAX_DEPTH} deep")
        if name == _ENTRY:
            self._line, self._values = self.parser.CurrentLineNumber, {}
        elif name == _CONTENT:
            self._name = attributes.get("name", "")
            self._values[self._name] = ""

    def _end(self, name: str) -> None:
        self._depth -= 1
        if name == _ENTRY:
            self.found.append((self._line, self._values.get("urlPattern", "").strip(), self._values.get("acl", "").strip()))
        elif name == _CONTENT:
            self._name = None

    def _take_text(self, text: str) -> None:
        if self._name is not None:
            self._values[self._name] += text
