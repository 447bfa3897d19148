"""Policy ACLs as the old appliance's administration API returned them: an Atom feed with two properties an entry.

Only ``entry/content`` of the API's namespace counts, with the names ``urlPattern`` and ``acl``.
Source: the appliance's Administrative API, policy ACLs.
"""

import re
from collections.abc import Iterator

from feedmill.model.errors import BadRequest
from feedmill.wire.xmlstream.errors import NotWellFormed
from feedmill.wire.xmlstream.small import SmallReader

_ATOM, _GSA = "http://www.w3.org/2005/Atom", "http://schemas.google.com/gsa/2007"
_XML = re.compile(r"\ufeff?\s*<[?!A-Za-z]")
_ENTRY, _CONTENT = f"{_ATOM} entry", f"{_GSA} content"


def is_feed(text: str) -> bool:
    """Returns whether a text is XML rather than lines, which may begin with a pattern such as ``</>secret/``."""
    return _XML.match(text) is not None


def iter_feed(text: str) -> Iterator[tuple[int, str, str]]:
    """Yields the line of each entry, its pattern and its ACL, "" if one is missing. Errors: BadRequest, with the line."""
    reading = _Reading()
    try:
        reading.read_whole_document(text.lstrip("\ufeff").encode("utf-8", "replace"))
    except NotWellFormed as exc:
        raise BadRequest(f"line {exc.line}: {exc.reason}") from exc
    yield from reading.found


class _Reading(SmallReader):
    """Collects the entries."""

    def __init__(self) -> None:
        # the text is decoded already, so its own encoding declaration no longer counts
        super().__init__(encoding="utf-8")
        self.found: list[tuple[int, str, str]] = []
        self._line = 0
        self._name: str | None = None
        self._values: dict[str, str] = {}

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Begins an entry, or one of its properties."""
        if name == _ENTRY:
            self._line, self._values = self.line, {}
        elif name == _CONTENT:
            self._name = attributes.get("name", "")
            self._values[self._name] = ""

    def end(self, name: str) -> None:
        """Stores an entry."""
        if name == _ENTRY:
            self.found.append((self._line, self._values.get("urlPattern", "").strip(), self._values.get("acl", "").strip()))
        elif name == _CONTENT:
            self._name = None

    def take_text(self, text: str) -> None:
        """Collects the text of a property."""
        if self._name is not None:
            self._values[self._name] += text
