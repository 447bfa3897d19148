"""Makes the prolog of an XML text harmless before a parser sees it.

Rules:

1. The XML declaration and the DOCTYPE are replaced by blanks, newlines retained, so that line numbers do not change. Nothing that they
   name is ever fetched, and an undefined entity is an error rather than skipped in silence.
2. An entity definition in the internal subset refuses the text. Other declarations there are ignored.
3. A DOCTYPE whose quotes are misplaced ends at its first ``>`` outside of whole literals, or before the next ``<``; a literal that
   holds ``<`` is not whole. Only a DOCTYPE without internal subset is repaired in this way.
4. White space, control bytes and byte order marks before the XML declaration are dropped.
5. Comments and processing instructions stay.

The sender is informed of repairs by rules 3 and 4. Works on bytes read as ISO-8859-1: every significant character is ASCII.
Source: XML 1.0, 2.8.
"""

import re
from dataclasses import dataclass

from feedmill.model.errors import BadFeed
from feedmill.wire.xmlstream.errors import NotWellFormed

MAX_PROLOG_BYTES = 262_144

# Control bytes count as white space here; the parser behind refuses those that stay, and the repair pass blanks them.
_SPACE = re.compile(r"(?:[\x00-\x20]|\xef\xbb\xbf)*")
_DECLARATION = re.compile(r"<\?xml[\x00-\x20]")
_DOCTYPE_PART = re.compile(r"\"[^\"<]*\"|'[^'<]*'|[^\"'<>\[]+")
_SUBSET_PART = re.compile(r"<!--.*?-->|<\?.*?\?>|\"[^\"]*\"|'[^']*'|[^\"'\]<]+|<(?!!ENTITY|!--|\?)", re.DOTALL)
_OPENERS = ("<?xml", "<!DOCTYPE", "<!--", "<?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prolog:
    """A whole prolog: its length, its replacement, and the repairs (line, reason)."""

    length: int
    clean: bytes
    mended: tuple[tuple[int, str], ...] = ()


class _Incomplete(Exception):
    """The prolog continues after the available bytes."""


def clean_prolog(data: bytes, *, final: bool) -> Prolog | None:
    """Cleans the prolog at the start of a text. Returns None if its end has not arrived yet.

    Errors: BadFeed for an entity definition or a prolog beyond ``MAX_PROLOG_BYTES``, NotWellFormed for a DOCTYPE without end.
    """
    try:
        # One character for each byte, so positions in the text are positions in the bytes.
        found = _Scanner(data.decode("latin-1")).scan()
    except _Incomplete:
        found = None
    if (len(data) if found is None else found.length) > MAX_PROLOG_BYTES:
        raise BadFeed(f"what stands before the root element is longer than {MAX_PROLOG_BYTES} bytes")
    if found is not None or not final:
        return found
    start = data.find(b"<!DOCTYPE")
    if start >= 0:
        raise NotWellFormed("the DOCTYPE never ends", line=1 + data.count(b"\n", 0, start))
    return Prolog(length=len(data), clean=data.replace(b"\xef\xbb\xbf", b""))


class _Scanner:
    """One walk over a prolog; ``at`` is the position of the cursor."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._clean: list[str] = []
        self._mended: list[tuple[int, str]] = []
        self._doctypes = 0

    def scan(self) -> Prolog:
        """Walks to the root element, or to what no prolog holds. Errors: NotWellFormed; _Incomplete if the text ends first."""
        self._skip_lead()
        while True:
            self._copy(self._match_space())
            if self._at == len(self._text) or self._is_torn():
                raise _Incomplete
            if self._text.startswith("<!DOCTYPE", self._at):
                self._blank(self._find_doctype_end())
            elif self._text.startswith("<!--", self._at):
                self._copy(self._find_mark("-->"))
            elif self._text.startswith("<?", self._at):
                if _DECLARATION.match(self._text, self._at):
                    raise NotWellFormed("an XML declaration behind the start of the text", line=self._line(self._at))
                self._copy(self._find_mark("?>"))
            else:
                return Prolog(length=self._at, clean="".join(self._clean).encode("latin-1"), mended=tuple(self._mended))

    def _skip_lead(self) -> None:
        end = self._match_space()
        if end == len(self._text) or self._is_torn(end):
            raise _Incomplete
        lead = self._text[:end]
        self._blank(end)
        declared = _DECLARATION.match(self._text, end) is not None
        if lead and (declared or lead.strip(" \t\r\n")):
            self._mended.append((1, "white space, control bytes or a byte order mark before the XML text were dropped"))
        if declared:
            self._blank(self._find_mark("?>"))
        elif self._text[end:] == "<?xml":
            raise _Incomplete

    def _is_torn(self, at: int | None = None) -> bool:
        """Returns whether the text ends within the first characters of a part that a prolog may hold."""
        rest = self._text[self._at if at is None else at :][:10]
        return any(rest != opener and opener.startswith(rest) for opener in _OPENERS)

    def _find_doctype_end(self) -> int:
        start = self._at
        self._doctypes += 1
        if self._doctypes > 1:
            raise NotWellFormed("a second DOCTYPE", line=self._line(start))
        at = start + len("<!DOCTYPE")
        while at < len(self._text):
            sign = self._text[at]
            if sign == ">":
                return at + 1
            if sign == "[":
                at = self._find_subset_end(at + 1)
            elif sign == "<":
                self._mended.append((self._line(start), "a DOCTYPE without end was closed before the next tag"))
                return at
            elif part := _DOCTYPE_PART.match(self._text, at):
                at = part.end()
            else:
                return self._find_broken_end(start, at)
        raise _Incomplete

    def _find_broken_end(self, start: int, at: int) -> int:
        """Ends a DOCTYPE at whose cursor a literal begins that is torn or holds a tag."""
        if "<" not in self._text[at:]:
            raise _Incomplete
        end = self._text.find(">", at)
        tag = self._text.find("<", at)
        self._mended.append((self._line(start), "a misplaced quote in the DOCTYPE was ignored"))
        return end + 1 if 0 <= end < tag else tag

    def _find_subset_end(self, at: int) -> int:
        while at < len(self._text):
            if self._text[at] == "]":
                return at + 1
            part = _SUBSET_PART.match(self._text, at)
            if part is None:
                if self._text.startswith("<!ENTITY", at):
                    raise BadFeed("entity definitions are not accepted", line=self._line(at))
                raise _Incomplete
            at = part.end()
        raise _Incomplete

    def _match_space(self) -> int:
        found = _SPACE.match(self._text, self._at)
        return found.end() if found else self._at

    def _find_mark(self, mark: str) -> int:
        end = self._text.find(mark, self._at)
        if end < 0:
            raise _Incomplete
        return end + len(mark)

    def _copy(self, end: int) -> None:
        self._clean.append(self._text[self._at : end].replace("\xef\xbb\xbf", ""))
        self._at = end

    def _blank(self, end: int) -> None:
        # Line ends stay, so that later lines keep their numbers.
        self._clean.append(re.sub(r"[^\r\n]", " ", self._text[self._at : end]))
        self._at = end

    def _line(self, at: int) -> int:
        return 1 + self._text.count("\n", 0, at)
