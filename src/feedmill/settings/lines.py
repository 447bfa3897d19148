"""Finds the line of each key in a TOML text, so that a fault can name it.

The text was parsed by ``tomllib`` before, so it is well-formed, and the scanner looks only at what separates keys from values. A path
holds key names and, for lists, the place in the list. Lines count from 1. Source: TOML 1.0.0.
"""

import re
from collections.abc import Iterator

from feedmill.settings.keypaths import KeyPath

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}\n#]*")
_STRINGS = (
    # The longer delimiters first, since the empty text ``""`` matches their beginning.
    # One or two quotation marks may stand directly before the three that end a text.
    re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}', re.DOTALL),
    re.compile(r"'''.*?'{3,5}", re.DOTALL),
    re.compile(r'"(?:[^"\\\n]|\\.)*"'),
    re.compile(r"'[^'\n]*'"),
)


def find_lines(text: str) -> dict[KeyPath, int]:
    """Returns the line of every key, table and list entry of a well-formed TOML text."""
    return _Scanner(text).scan()


def nearest_line(lines: dict[KeyPath, int], path: KeyPath) -> int:
    """Returns the line of a path or of the nearest table that encloses it, 0 if there is none.

    A table without a line of its own, whose header only names one within it, has the first line of what it contains.
    """
    for length in range(len(path), 0, -1):
        line = lines.get(path[:length])
        if line is not None:
            return line
    return min((line for known, line in lines.items() if known[: len(path)] == path), default=0)


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1
        self._counted = 0
        self._lists: dict[KeyPath, int] = {}
        self._lines: dict[KeyPath, int] = {}

    def scan(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while self._skip_blank():
            if self._peek() == "[":
                table = self._scan_header()
            else:
                self._scan_pair(table)
        return self._lines

    def _scan_header(self) -> KeyPath:
        is_list = self._text.startswith("[[", self._at)
        line = self._line_now()
        self._at += 2 if is_list else 1
        keys = tuple(self._scan_key())
        self._at = self._text.index("]", self._at) + (2 if is_list else 1)
        parent: KeyPath = ()
        for key in keys[:-1]:
            parent = self._enter((*parent, key))
        path = (*parent, keys[-1])
        self._lines.setdefault(path, line)
        if is_list:
            self._lists[path] = self._lists.get(path, -1) + 1
            path = (*path, self._lists[path])
        self._lines.setdefault(path, line)
        return path

    def _enter(self, path: KeyPath) -> KeyPath:
        """Returns the path with the newest entry where it names a list of tables."""
        return (*path, self._lists[path]) if path in self._lists else path

    def _scan_pair(self, table: KeyPath) -> None:
        line = self._line_now()
        path = table
        for key in self._scan_key():
            path = (*path, key)
            self._lines.setdefault(path, line)
        self._at = self._text.index("=", self._at) + 1
        self._scan_value(path)

    def _scan_key(self) -> Iterator[str]:
        """Yields the parts of a dotted key, each bare or quoted."""
        while True:
            self._skip_blank()
            quoted = self._match_string()
            if quoted is not None:
                yield quoted[1:-1]
            else:
                bare = _BARE.match(self._text, self._at)
                if bare is None:
                    return
                self._at = bare.end()
                yield bare.group()
            self._skip_blank()
            if self._peek() != ".":
                return
            self._at += 1

    def _scan_value(self, path: KeyPath) -> None:
        self._skip_blank()
        if self._peek() == "[":
            self._scan_list(path)
        elif self._peek() == "{":
            self._scan_inline(path)
        elif self._match_string() is None:
            scalar = _SCALAR.match(self._text, self._at)
            self._at = scalar.end() if scalar else len(self._text)

    def _scan_list(self, path: KeyPath) -> None:
        self._at += 1
        place = 0
        while self._skip_blank() and self._peek() != "]":
            self._lines.setdefault((*path, place), self._line_now())
            self._scan_value((*path, place))
            place += 1
            self._skip_comma()
        self._at += 1

    def _scan_inline(self, path: KeyPath) -> None:
        self._at += 1
        while self._skip_blank() and self._peek() != "}":
            self._scan_pair(path)
            self._skip_comma()
        self._at += 1

    def _match_string(self) -> str | None:
        for form in _STRINGS:
            match = form.match(self._text, self._at)
            if match is not None:
                self._at = match.end()
                return match.group()
        return None

    def _skip_comma(self) -> None:
        if self._skip_blank() and self._peek() == ",":
            self._at += 1

    def _skip_blank(self) -> bool:
        blank = _BLANK.match(self._text, self._at)
        self._at = blank.end() if blank else self._at
        return self._at < len(self._text)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _line_now(self) -> int:
        # Counts only what is new since the last call, so that all calls together read the text once.
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line
