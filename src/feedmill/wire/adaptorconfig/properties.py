"""Reads Java properties: keys and values as text.

Rules:

1. A line that ends with an odd number of backslashes continues on the next line, whose leading white space does not count.
2. A line whose first character is ``#`` or ``!`` is a comment; a comment does not continue.
3. The key ends at the first ``=``, ``:`` or white space that no backslash precedes. White space around the separator does not count.
4. ``\\t``, ``\\n``, ``\\r``, ``\\f`` and ``\\uXXXX`` stand for characters; before any other character the backslash is left out.
5. Of a repeated key the last value counts.

Source: Java SE, ``java.util.Properties.load``. The library reads the file as UTF-8; a file that is not UTF-8 is read as ISO 8859-1.
"""

from collections.abc import Iterator
from typing import Final

from feedmill.model.errors import BadRequest

_WHITE: Final = " \t\f"
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_HEXADECIMAL: Final = frozenset("0123456789abcdefABCDEF")


def parse_properties(data: bytes) -> dict[str, str]:
    """Returns the values by key. Errors: BadRequest with the line."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    found: dict[str, str] = {}
    for number, line in _iter_logical_lines(text):
        key, at = _read_key(line)
        value = line[at:].lstrip(_WHITE)
        if value[:1] in ("=", ":"):
            value = value[1:].lstrip(_WHITE)
        try:
            found[_unescape(key)] = _unescape(value)
        except ValueError as exc:
            raise BadRequest(f"line {number}: {exc}") from exc
    return found


def _iter_logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yields lines with their numbers, continued ones as one."""
    parts: list[str] = []
    first = 0
    for number, natural in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        line = natural.lstrip(_WHITE)
        if not parts:
            first = number
            if not line or line[0] in "#!":
                continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            parts.append(line[:-1])
            continue
        yield first, "".join((*parts, line))
        parts = []
    if any(parts):
        yield first, "".join(parts)


def _read_key(line: str) -> tuple[str, int]:
    """Returns the key as written, and where it ends."""
    at = 0
    while at < len(line) and line[at] not in "=:" + _WHITE:
        at += 2 if line[at] == "\\" else 1
    at = min(at, len(line))
    return line[:at], at


def _unescape(text: str) -> str:
    """Returns a text without its escapes. Errors: ValueError."""
    if "\\" not in text:
        return text
    parts: list[str] = []
    at = 0
    while (found := text.find("\\", at)) >= 0:
        parts.append(text[at:found])
        escaped = text[found + 1 : found + 2]
        at = found + 2
        if escaped == "u":
            digits = text[at : at + 4]
            if len(digits) < 4 or not _HEXADECIMAL.issuperset(digits):
                raise ValueError(f"'\\u{digits}' is no character: \\u needs four hexadecimal digits")
            parts.append(chr(int(digits, 16)))
            at += 4
        else:
            parts.append(_ESCAPES.get(escaped, escaped))
    parts.append(text[at:])
    joined = "".join(parts)
    try:
        # two escapes may make one character
        return joined.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError as exc:
        raise ValueError("an escape is half of a character") from exc
