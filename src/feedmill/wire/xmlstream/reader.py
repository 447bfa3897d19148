"""Reads an XML text of any size in constant memory and calls the handlers that a protocol declares for its elements.

A protocol describes its grammar as a tree of ``Element`` values. Content of an element that is not declared there is ignored with
all its descendants, and counted. Text is collected only for elements that request it.

Limits, each of which refuses the text with its line: elements nested deeper than ``MAX_DEPTH``; one tag, comment or processing
instruction longer than ``MAX_TOKEN_BYTES`` (the parser holds it whole and, in older versions, reads it again at every piece); more
than ``MAX_NAMES`` different names (the parser never frees one), names longer than ``MAX_NAME`` characters, elements with more than
``MAX_ATTRIBUTES`` attributes; a document type after the prolog. There are no entities but the five of XML, and nothing is
ever fetched.
Source: XML 1.0; docs/adr/0002-expat-for-feeds.md.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from feedmill.model.errors import BadFeed
from feedmill.model.feed import LogEntry, LogLevel
from feedmill.wire.xmlstream.errors import NotWellFormed
from feedmill.wire.xmlstream.front import Front
from feedmill.wire.xmlstream.namespaces import NamespaceScopes

MAX_DEPTH = 250
MAX_TOKEN_BYTES = 4_194_304
MAX_NAMES = 10_000
MAX_NAME = 1_000
MAX_ATTRIBUTES = 1_000
MAX_TEXT = 65_536
_TEXT_BUFFER_BYTES = 65_536
_NAMES_SHOWN = 5

Attributes = Mapping[str, str]

# The errors of libexpat, in words that help the sender to find the fault, and whether the repair pass knows the fault.
_SYNTAX, _INVALID, _PARTIAL, _MISMATCH, _UNDEFINED, _BAD_REFERENCE = 2, 4, 6, 7, 11, 14
_REPAIRABLE = frozenset({_INVALID, _PARTIAL, _UNDEFINED, _BAD_REFERENCE})
_PLAIN_WORDS = {
    _SYNTAX: "there is text where the root element should be",
    3: "the text ends before all elements are closed",
    _INVALID: "a character that cannot stand here: a raw < or & in text or attribute, a missing quote, or a control byte",
    5: "the text ends inside a tag or a comment",
    _PARTIAL: "the text ends inside a character",
    8: "an attribute stands twice in one element",
    9: "there is something after the end of the root element",
    _UNDEFINED: "an entity that XML does not define",
    _BAD_REFERENCE: "a reference to a character that XML does not allow",
    20: "the text ends inside a CDATA section",
}


def local_name(name: str) -> str:
    """Returns a name without its namespace prefix."""
    return name.rpartition(":")[2]


def _do_nothing(_: Attributes) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """The permitted content of an element, and its handlers.

    ``start`` gets the attributes. ``end`` gets the text (empty unless ``text`` requests it, then that of undeclared elements inside
    too). ``part`` gets the text so far whenever a piece of input ends, so that a huge text is never held whole; without it a
    text is cut somewhere beyond ``MAX_TEXT`` characters. The text of an element ends where a declared text element begins inside it.
    ``markup`` returns what replaces the tags of an undeclared element inside the text; such elements are not counted.
    """

    attributes: frozenset[str] = frozenset()
    children: Mapping[str, "Element"] = field(default_factory=dict)
    start: Callable[[Attributes], None] = _do_nothing
    end: Callable[[str], None] | None = None
    text: bool = False
    part: Callable[[str], None] | None = None
    markup: Callable[[str], str] | None = None


_UNDECLARED = Element()


class XmlReader:
    """One reading of one text. ``feed`` pieces in order, then ``close``; after an error it is unusable."""

    def __init__(self, root: str, grammar: Element, *, ignores_prefixes: bool = False, namespaces: tuple[str, ...] | None = None) -> None:
        """Begins a reading.

        ``ignores_prefixes``: the root and attributes may have any namespace prefix, declared or not. ``namespaces``: all elements may,
        unless the prefix is declared for a namespace that begins with none of these (see ``NamespaceScopes``).
        """
        self._scopes = NamespaceScopes(namespaces) if namespaces is not None else None
        self._ignores_prefixes = ignores_prefixes
        self._root = root
        self._grammar = grammar
        self._front = Front()
        self._open: list[tuple[str, Element]] = []
        self._pieces: list[str] = []
        self._text: Element | None = None
        self._fed = 0
        self._ignored = 0
        self._ignored_names: dict[str, None] = {}
        self._parser = self._make_parser()

    def feed(self, data: bytes) -> None:
        """Reads the next bytes. Errors: BadFeed, with its subclass NotWellFormed if the text is no XML."""
        self._parse_bytes(self._front.feed(data), final=False)

    def close(self) -> None:
        """Ends the text. Errors: BadFeed, with its subclass NotWellFormed if the text is no XML."""
        self._parse_bytes(self._front.close(), final=False)
        self._parse_bytes(b"", final=True)

    @property
    def line(self) -> int:
        """Returns the line of the tag that is being read. Units: from 1, as received."""
        return self._parser.CurrentLineNumber

    @property
    def remarks(self) -> list[LogEntry]:
        """Returns notes for the sender about the text as a whole; complete after ``close``."""
        if not self._ignored:
            return list(self._front.remarks)
        names = ", ".join(self._ignored_names) + (", ..." if len(self._ignored_names) == _NAMES_SHOWN else "")
        reason = f"{self._ignored} unknown elements and attributes were ignored ({names})"
        return [*self._front.remarks, LogEntry(level=LogLevel.NOTICE, reason=reason)]

    def refuse(self, reason: str) -> NoReturn:
        """Refuses the text at the current place. Errors: BadFeed, always."""
        raise BadFeed(reason, line=self._parser.CurrentLineNumber, column=self._parser.CurrentColumnNumber + 1)

    def _make_parser(self) -> expat.XMLParserType:
        parser = expat.ParserCreate("utf-8")
        # Text would otherwise arrive in a separate call for each line and each reference.
        parser.buffer_text = True
        parser.buffer_size = _TEXT_BUFFER_BYTES
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end_element
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.EntityDeclHandler = self._refuse_doctype
        defer = getattr(parser, "SetReparseDeferralEnabled", None)
        if defer is not None:
            # Newer versions of libexpat put off reading an incomplete token, so that long ones do not take quadratic time.
            # ``MAX_TOKEN_BYTES`` bounds that time here, and each item should be ready as soon as its last byte has arrived.
            defer(False)
        return parser

    def _parse_bytes(self, data: bytes, *, final: bool) -> None:
        parser = self._parser
        try:
            parser.Parse(data, final)
        except expat.ExpatError as error:
            raise self._explain(error) from error
        self._fed += len(data)
        # The parser stands at the beginning of the token that it has not read to its end.
        if self._fed - max(parser.CurrentByteIndex, 0) > MAX_TOKEN_BYTES:
            self.refuse(f"a tag, comment or processing instruction is longer than {MAX_TOKEN_BYTES} bytes")
        # The parser stores each name for its whole life, so different names without end would fill the memory.
        if len(parser.intern) > MAX_NAMES:
            self.refuse(f"more than {MAX_NAMES} different names of elements and attributes")
        if self._text is not None and self._pieces:
            self._limit_text(self._text)

    def _limit_text(self, element: Element) -> None:
        """Limits the memory for the collected part of an unfinished text."""
        text = "".join(self._pieces)
        self._pieces.clear()
        if element.part is not None:
            element.part(text)
        else:
            self._pieces.append(text[:MAX_TEXT])

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        opened = self._open
        if self._scopes is not None:
            name = self._scopes.enter(name, attributes)
        element = opened[-1][1].children.get(name) if opened else self._enter_root(name)
        if element is None:
            self._pass_over(name)
            element = _UNDECLARED
        # One comparison of sets for the usual case; only unknown attributes are looked at one by one.
        elif not attributes.keys() <= element.attributes:
            self._check_attributes(element, attributes)
        opened.append((name, element))
        if len(opened) > MAX_DEPTH:
            self.refuse(f"elements are nested deeper than {MAX_DEPTH}")
        if element is not _UNDECLARED:
            element.start(attributes)
            if element.text:
                self._pieces.clear()
                self._text = element
                # Only inside elements whose text counts: for all other text, the parser calls nothing.
                self._parser.CharacterDataHandler = self._pieces.append

    def _end_element(self, _: str) -> None:
        name, element = self._open.pop()
        if self._scopes is not None:
            self._scopes.leave()
        if element.end is None:
            if self._text is not None and self._text.markup is not None:
                self._pieces.append(self._text.markup(name))
            return
        text = ""
        if element.text:
            self._parser.CharacterDataHandler = None
            self._text = None
            text = "".join(self._pieces)
            self._pieces.clear()
        element.end(text)

    def _pass_over(self, name: str) -> None:
        if self._text is not None and self._text.markup is not None:
            self._pieces.append(self._text.markup(name))
        else:
            self._ignore(name)

    def _enter_root(self, name: str) -> Element:
        if (local_name(name) if self._ignores_prefixes else name) != self._root:
            self.refuse(f"the root element is <{name[:100]}>, not <{self._root}>")
        return self._grammar

    def _check_attributes(self, element: Element, attributes: dict[str, str]) -> None:
        if len(attributes) > MAX_ATTRIBUTES:
            self.refuse(f"an element has more than {MAX_ATTRIBUTES} attributes")
        for name in attributes:
            known = local_name(name) if self._ignores_prefixes else name
            if known not in element.attributes and not name.startswith("xmlns"):
                self._ignore(name)

    def _ignore(self, name: str) -> None:
        if len(name) > MAX_NAME:
            self.refuse(f"a name is longer than {MAX_NAME} characters")
        self._ignored += 1
        if len(self._ignored_names) < _NAMES_SHOWN:
            self._ignored_names[name[:100]] = None

    def _refuse_doctype(self, *_: object) -> None:
        self.refuse("a DOCTYPE or an entity definition inside the text")

    def _explain(self, error: expat.ExpatError) -> NotWellFormed:
        said = expat.ErrorString(error.code)
        plain = _PLAIN_WORDS.get(error.code, said)
        if error.code == _MISMATCH and self._open:
            plain = f"<{self._open[-1][0][:100]}> is not closed before another end tag"
        reason = plain if plain == said else f"{plain} ({said})"
        return NotWellFormed(reason, line=error.lineno, column=error.offset + 1, repairable=error.code in _REPAIRABLE)
