"""Reads the XML inside ``<Refs>`` and ``<Errors>``: ``<results>`` with a ``<result>`` for each link or error of the document.

Source: Thunderstone Search Appliance Manual, "Other Details".
"""

from typing import Final

from feedmill.wire.xmlstream.reader import local_name
from feedmill.wire.xmlstream.small import SmallReader

MAX_RESULTS: Final = 2_000
"""How many links or errors of one document are read."""

MAX_CHARACTERS: Final = 8_000


class _Results(SmallReader):
    """Collects the text of one element of each result."""

    def __init__(self, element: str) -> None:
        super().__init__(has_namespaces=False)
        self.texts: list[str] = []
        self._wanted = ["results", "result", element]
        self._pieces: list[str] | None = None

    def start(self, _name: str, _attributes: dict[str, str]) -> None:
        if [local_name(each) for each in self.path] == self._wanted:
            self._pieces = []

    def end(self, _name: str) -> None:
        if self._pieces is not None and len(self.path) == len(self._wanted):
            text = "".join(self._pieces).strip()
            if text and len(self.texts) < MAX_RESULTS:
                self.texts.append(text[:MAX_CHARACTERS])
            self._pieces = None

    def take_text(self, text: str) -> None:
        if self._pieces is not None:
            self._pieces.append(text)


def read_results(data: bytes, element: str) -> tuple[str, ...]:
    """Returns the text of an element (``Ref``, ``Reason``) of each result, in order. Errors: NotWellFormed."""
    reader = _Results(element)
    if data.strip():
        reader.read_whole_document(data)
    return tuple(reader.texts)
