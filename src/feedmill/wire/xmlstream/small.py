"""Reads small untrusted XML documents, which are whole in memory, by their events and within limits.

A document type declaration is refused as soon as it begins, before anything in it is read. Elements nested too deeply are refused too.
"""

from abc import ABC, abstractmethod
from xml.parsers import expat

from feedmill.wire.xmlstream.errors import NotWellFormed

MAX_DEPTH = 40


class SmallReader(ABC):
    """Handles the events of one document. Shape: names are ``namespace name``, or as written if namespaces do not count."""

    def __init__(self, *, encoding: str | None = None, has_namespaces: bool = True) -> None:
        self._parser = expat.ParserCreate(encoding, " " if has_namespaces else None)
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._parser.StartElementHandler = self._enter
        self._parser.EndElementHandler = self._leave
        self._parser.CharacterDataHandler = self.take_text
        self.path: list[str] = []
        """The elements from the root to the current one."""

    @property
    def line(self) -> int:
        """Returns the line of the current event."""
        return self._parser.CurrentLineNumber

    def read_whole_document(self, data: bytes) -> None:
        """Reads the whole document. Errors: NotWellFormed, and those that the events raise; no other for any bytes."""
        self.read_piece(data, is_last=True)

    def read_piece(self, data: bytes, *, is_last: bool = False) -> None:
        """Reads the next bytes of a document; the last ones may be empty. Errors: as of ``read_whole_document``."""
        try:
            self._parser.Parse(data, is_last)
        except expat.ExpatError as exc:
            raise NotWellFormed(f"not XML: {expat.ErrorString(exc.code)}", line=exc.lineno, column=exc.offset + 1) from exc
        except (ValueError, LookupError) as exc:
            raise NotWellFormed("an encoding that is not known", line=self.line) from exc

    @abstractmethod
    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handles the start of an element, the last of ``path``."""

    @abstractmethod
    def end(self, name: str) -> None:
        """Handles the end of an element, still the last of ``path``."""

    @abstractmethod
    def take_text(self, text: str) -> None:
        """Handles text, which may come in pieces."""

    def _refuse_doctype(self, _name: str, _system: str | None, _public: str | None, _subset: int) -> None:
        raise NotWellFormed("a document type declaration, which is refused", line=self.line)

    def _enter(self, name: str, attributes: dict[str, str]) -> None:
        self.path.append(name)
        if len(self.path) > MAX_DEPTH:
            raise NotWellFormed(f"elements nested more than {MAX_DEPTH} deep", line=self.line)
        self.start(name, attributes)

    def _leave(self, name: str) -> None:
        self.end(name)
        self.path.pop()
