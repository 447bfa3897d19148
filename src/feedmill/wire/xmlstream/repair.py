"""Repairs a text that is not well-formed, in one pass: common client faults that can be corrected in only one way.

Rules:

1. A raw ``&`` becomes ``&amp;``, an HTML entity the characters that it means, a reference to a character that XML forbids a blank.
2. Curly quotes around an attribute's value become straight ones. A value opened by a double curly quote ends at the next double one, a
   value opened by a single one at the next single one after which the tag continues; straight quotes inside become references.
3. A missing blank between an attribute's value and the next name is inserted.
4. Control bytes become blanks; bytes that the charset cannot decode become the characters that they are in windows-1252.
5. The prolog is cleaned as in every reading (see ``prolog``), and the result is UTF-8 without declaration.
6. Nothing else changes. In CDATA sections, comments and processing instructions only rule 4 applies. No line is added or removed, so
   that lines of the result are lines of the text as received.

A strict reading checks the repaired text afterwards: a ``<`` in an attribute, a tag never closed and the like stay errors.
The pass holds no more than a piece of input; its result depends on the text alone, never on the boundaries of pieces.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from html.entities import html5

from feedmill.model.feed import LogEntry, LogLevel
from feedmill.wire.xmlstream.charset import UNDECODABLE, reinterpret
from feedmill.wire.xmlstream.front import Front


class Kind(Enum):
    """The repairs, in the words of the feed's log."""

    AMPERSAND = "a raw & was read as &amp;"
    ENTITY = "an HTML entity was replaced by its character"
    REFERENCE = "a reference to a forbidden character was replaced by a blank"
    QUOTE = "curly quotes around an attribute's value were read as straight ones"
    BLANK = "a missing blank between attributes was put"
    CONTROL = "a control byte was replaced by a blank"
    BYTE = "a byte that the encoding does not have was read as windows-1252"


@dataclass(slots=True)
class _RepairCount:
    count: int
    line: int


_Step = Callable[[str, int, bool], int]

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
# The longest run that needs no repair: text, the references of XML, CDATA sections and comments, tags whose attributes are correct.
_GOOD = re.compile(
    r"""(?>[^<&]++|&(?:amp|lt|gt|quot|apos);|<!\[CDATA\[.*?\]\]>|<!--.*?-->
        |</?[^\s<>/="'&!?]++(?>\s++[^\s<>/="'&]++\s*+=\s*+(?:"[^"&<]*+"|'[^'&<]*+'))*+\s*+/?>)*+""",
    re.DOTALL | re.VERBOSE,
)
_DOUBLE_QUOTES = "\u201c\u201d\u201e\u201f"
_SINGLE_QUOTES = "\u2018\u2019\u201a\u201b"
_QUOTES = _DOUBLE_QUOTES + _SINGLE_QUOTES
_IN_TAG = re.compile(f"[\"'>={_QUOTES}]|[^\\s\"'>={_QUOTES}]+")
_IN_VALUE = {
    '"': re.compile('[&"]'),
    "'": re.compile("[&']"),
    _DOUBLE_QUOTES: re.compile(f'[&<"{_DOUBLE_QUOTES}]'),
    _SINGLE_QUOTES: re.compile(f'[&<"{_SINGLE_QUOTES}]'),
}
_LONGEST_NAME = max(map(len, html5))
_REFERENCE = re.compile(r"&(?:#([0-9]{1,9});|#x([0-9A-Fa-f]{1,8});|([A-Za-z][A-Za-z0-9]*);)")
_TORN_REFERENCE = re.compile(rf"&[#A-Za-z0-9]{{0,{_LONGEST_NAME + 1}}}")
_XML_NAMES = frozenset({"amp", "lt", "gt", "quot", "apos"})
_SECTIONS = (("<![CDATA[", "]]>"), ("<!--", "-->"), ("<?", "?>"))
_ENDS_VALUE = frozenset(" \t\r\n/>?")


class Repairer:
    """One repair of one text. ``feed`` pieces in order, then ``close``; each returns repaired bytes. ``report`` says what was repaired.

    Errors: BadFeed from ``feed`` and ``close``, for a prolog that is refused.
    """

    def __init__(self) -> None:
        self._front = Front(lenient=True)
        self._counts: dict[Kind, _RepairCount] = {}
        self._line = 1
        self._text = ""
        self._out: list[str] = []
        self._step: _Step = self._in_text
        self._closer = ""
        self._last = ""
        self._waits = False
        self._has_tag = False

    @property
    def report(self) -> list[LogEntry]:
        """Returns the repairs, a warning for each kind with its count and its first line; complete after ``close``."""
        remarks = list(self._front.remarks)
        for kind, repairs in self._counts.items():
            times = "once" if repairs.count == 1 else f"{repairs.count} times, first here"
            remarks.append(LogEntry(level=LogLevel.WARNING, reason=f"repaired: {kind.value} ({times})", line=repairs.line))
        return remarks

    def feed(self, data: bytes) -> bytes:
        """Reads the next bytes and returns repaired ones."""
        return self._repair(self._front.feed(data), final=False)

    def close(self) -> bytes:
        """Ends the text and returns the remaining bytes."""
        return self._repair(self._front.close(), final=True)

    def _repair(self, data: bytes, *, final: bool) -> bytes:
        fresh = data.decode("utf-8", "surrogatepass")
        text = self._text + self._replace_signs(fresh)
        at = 0
        self._waits = False
        while at < len(text) and not self._waits:
            at = self._step(text, at, final)
        self._text = text[at:]
        repaired = "".join(self._out)
        self._out.clear()
        return repaired.encode("utf-8")

    def _replace_signs(self, text: str) -> str:
        """Applies rule 4, which holds everywhere, to text that was not seen before."""
        if UNDECODABLE.search(text):
            text = self._replace(UNDECODABLE, Kind.BYTE, text, lambda found: reinterpret(found[0]))
        if _FORBIDDEN.search(text):
            text = self._replace(_FORBIDDEN, Kind.CONTROL, text, lambda _: " ")
        self._line += text.count("\n")
        return text

    def _replace(self, pattern: re.Pattern[str], kind: Kind, text: str, give: Callable[[re.Match[str]], str]) -> str:
        first = pattern.search(text)
        line = self._line + text.count("\n", 0, first.start() if first else 0)
        repaired, count = pattern.subn(give, text)
        self._report(kind, line, count)
        return repaired

    def _report(self, kind: Kind, line: int, count: int = 1) -> None:
        repairs = self._counts.setdefault(kind, _RepairCount(0, line))
        repairs.count += count

    def _describe_time(self, kind: Kind, text: str, at: int) -> None:
        is_first = kind not in self._counts
        self._report(kind, self._line - text.count("\n", at) if is_first else 0)

    # Each step below reads the text from ``at`` on, writes what it has processed and returns the position after it.

    def _in_text(self, text: str, at: int, final: bool) -> int:
        found = _GOOD.match(text, at)
        end = at if found is None else found.end()
        self._out.append(text[at:end])
        self._has_tag = self._has_tag or "<" in text[at:end]
        if end == len(text):
            return end
        return self._reference(text, end, final) if text[end] == "&" else self._open(text, end, final)

    def _open(self, text: str, at: int, final: bool) -> int:
        for opener, closer in _SECTIONS:
            if text.startswith(opener, at):
                self._out.append(opener)
                self._step, self._closer = self._in_section, closer
                return at + len(opener)
            if not final and opener.startswith(text[at:]):
                return self._wait(at)
        self._out.append("<")
        self._step, self._last, self._has_tag = self._in_tag, "", True
        return at + 1

    def _in_section(self, text: str, at: int, final: bool) -> int:
        end = text.find(self._closer, at)
        if end >= 0:
            end += len(self._closer)
            self._step = self._in_text
        else:
            # All but a possible beginning of the closer, which the next piece may complete.
            end = len(text) if final else max(at, len(text) - len(self._closer) + 1)
        self._out.append(text[at:end])
        return end if end > at else self._wait(at)

    def _in_tag(self, text: str, at: int, _final: bool) -> int:
        found = _IN_TAG.search(text, at)
        if found is None:
            self._out.append(text[at:])
            self._last = " " if self._last != "=" else "="
            return len(text)
        sign, start = found[0], found.start()
        self._out.append(text[at:start])
        if self._last == "value" and start == at and (sign[0].isalpha() or sign[0] in "_:"):
            self._describe_time(Kind.BLANK, text, at)
            self._out.append(" ")
        return self._take_sign(text, sign, start)

    def _take_sign(self, text: str, sign: str, at: int) -> int:
        is_value = self._last == "="
        self._last = sign
        if sign == ">":
            self._step = self._in_text
        elif sign in ('"', "'"):
            self._step, self._closer = self._in_value, sign
        elif is_value and sign in _QUOTES:
            self._describe_time(Kind.QUOTE, text, at)
            self._step, self._closer = self._in_curly_value, _DOUBLE_QUOTES if sign in _DOUBLE_QUOTES else _SINGLE_QUOTES
            self._out.append('"')
            return at + 1
        self._out.append(sign)
        return at + len(sign)

    def _in_value(self, text: str, at: int, final: bool) -> int:
        sign = self._find_sign(text, at)
        if sign is None:
            return len(text)
        if text[sign] == "&":
            return self._reference(text, sign, final)
        return self._end_value(sign, self._closer)

    def _in_curly_value(self, text: str, at: int, final: bool) -> int:
        sign = self._find_sign(text, at)
        if sign is None:
            return len(text)
        if text[sign] == "&":
            return self._reference(text, sign, final)
        if text[sign] == '"':
            self._out.append("&quot;")
            return sign + 1
        if text[sign] == "<":  # never closed; the strict reading names the place
            self._step = self._in_text
            return sign
        if sign + 1 == len(text) and not final and self._closer == _SINGLE_QUOTES:
            return self._wait(sign)
        if self._closer == _SINGLE_QUOTES and text[sign + 1 : sign + 2] not in _ENDS_VALUE:
            self._out.append(text[sign])
            return sign + 1
        return self._end_value(sign, '"')

    def _end_value(self, at: int, quote: str) -> int:
        self._out.append(quote)
        self._step, self._last = self._in_tag, "value"
        return at + 1

    def _find_sign(self, text: str, at: int) -> int | None:
        """Writes up to the next significant character in a value. Returns its position, or None if there is none and all was written."""
        found = _IN_VALUE[self._closer].search(text, at)
        self._out.append(text[at : found.start()] if found else text[at:])
        return found.start() if found else None

    def _reference(self, text: str, at: int, final: bool) -> int:
        found = _REFERENCE.match(text, at)
        if found is None:
            torn = _TORN_REFERENCE.match(text, at)
            # The reference may continue in the next piece. A longer name than the longest that exists cannot become one.
            if torn is not None and torn.end() == len(text) and not final and len(torn[0]) <= _LONGEST_NAME + 1:
                return self._wait(at)
        written, kind = _read_reference(found)
        if not self._has_tag:  # no reference is permitted before the root, and a blank in its place would hide that
            written, kind = "&amp;", Kind.AMPERSAND
        if kind is not None:
            self._describe_time(kind, text, at)
        self._out.append(written)
        return at + (len(found[0]) if found is not None and kind is not Kind.AMPERSAND else 1)

    def _wait(self, at: int) -> int:
        """Leaves the text from ``at`` on for the next piece."""
        self._waits = True
        return at


def _read_reference(found: re.Match[str] | None) -> tuple[str, Kind | None]:
    """Returns what to write for a reference, and the kind of that repair; None for a correct reference."""
    if found is None:
        return "&amp;", Kind.AMPERSAND
    decimal, hexadecimal, name = found.groups()
    if name is None:
        code = int(decimal) if decimal is not None else int(hexadecimal, 16)
        return (found[0], None) if _is_allowed(code) else (" ", Kind.REFERENCE)
    if name in _XML_NAMES:
        return found[0], None
    characters = html5.get(name + ";")
    if characters is None:
        return "&amp;", Kind.AMPERSAND
    return "".join(f"&#{ord(character)};" if character in "<>&\"'\t\r\n" else character for character in characters), Kind.ENTITY


def _is_allowed(code: int) -> bool:
    """Returns whether XML permits a character. Source: XML 1.0, 2.2."""
    return code in (9, 10, 13) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or 0x10000 <= code <= 0x10FFFF
