"""Texts that make a regular expression slow when it can be slow: repetitions of what it takes, of what it almost takes.

The pieces come out of the expression itself. For each part of it, and for each choice of a character that a class allows, there is a text
that this part matches. A hostile text is ``lead + piece * n + end``, with the lead that brings an expression to the part, and an end upon
which it fails there. Where two repetitions may take the same characters, or where a search starts again at each character, time grows
faster than such a text.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

# the module has another name since Python 3.11, and no types
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final

_CATEGORIES: Final = {
    codes.CATEGORY_DIGIT: "0",
    codes.CATEGORY_NOT_DIGIT: "a",
    codes.CATEGORY_SPACE: " ",
    codes.CATEGORY_NOT_SPACE: "a",
    codes.CATEGORY_WORD: "a",
    codes.CATEGORY_NOT_WORD: " ",
}
_TRIED: Final = "a0 -.,:/<\"'=\n\\;&_[(*%@#\u00e9\u4e2d\u0301"
_MAX_PIECES: Final = 24
ENDS: Final = ("", "\n\0")


@dataclass(frozen=True, slots=True)
class HostileText:
    """A text of any length."""

    lead: str
    piece: str
    end: str

    def make(self, length: int) -> str:
        """Returns the text with about so many characters."""
        return self.lead + self.piece * max(1, length // len(self.piece)) + self.end


def list_hostile_texts(pattern: "re.Pattern[str] | re.Pattern[bytes]") -> list[HostileText]:
    """Returns texts for an expression."""
    source = pattern.pattern
    written = source.decode("latin-1") if isinstance(source, bytes) else source
    flags = pattern.flags & ~re.UNICODE if isinstance(source, bytes) else pattern.flags
    tree = parser.parse(written, flags)
    whole = _sample(tree)
    pieces: dict[str, None] = {}
    leads: dict[str, str] = {}
    for lead, piece in _walk(tree, ""):
        if piece:
            pieces[piece] = None
            leads.setdefault(piece, lead)
    found: dict[HostileText, None] = {}
    chosen = list(pieces)[:_MAX_PIECES]
    for piece in [whole, whole[:-1], *chosen, *(first + second for first, second in pairwise(chosen))]:
        if piece:
            for lead in {"", leads.get(piece, "")}:
                for end in ENDS:
                    found[HostileText(lead, piece, end)] = None
    return list(found)


def _walk(tree: Any, lead: str) -> Iterator[tuple[str, str]]:
    """Yields a lead and a piece for each part of a parsed expression, and of its parts."""
    for operation, argument in tree:
        taken = _sample_part(operation, argument)
        if operation in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            yield from _walk(argument[2], lead)
            yield lead, _sample(argument[2])
            taken = taken or ""
        elif operation is codes.SUBPATTERN:
            yield from _walk(argument[3], lead)
        elif operation is codes.ATOMIC_GROUP:
            yield from _walk(argument, lead)
        elif operation is codes.BRANCH:
            for branch in argument[1]:
                yield from _walk(branch, lead)
                yield lead, _sample(branch)
        elif operation in (codes.ASSERT, codes.ASSERT_NOT):
            yield from _walk(argument[1], lead)
        elif operation in (codes.IN, codes.ANY, codes.NOT_LITERAL):
            for character in _members(operation, argument):
                yield lead, character
        elif operation is codes.LITERAL:
            yield lead, chr(argument)
        lead += taken


def _sample(tree: Any) -> str:
    return "".join(_sample_part(operation, argument) for operation, argument in tree)


def _sample_part(operation: Any, argument: Any) -> str:
    """Returns a text that a part matches, as far as no other part looks at it."""
    if operation is codes.LITERAL:
        return chr(argument)
    if operation in (codes.IN, codes.ANY, codes.NOT_LITERAL):
        members = _members(operation, argument)
        return members[0] if members else ""
    if operation in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return _sample(argument[2]) * max(1, min(int(argument[0]), 40))
    if operation is codes.SUBPATTERN:
        return _sample(argument[3])
    if operation is codes.ATOMIC_GROUP:
        return _sample(argument)
    if operation is codes.BRANCH:
        return _sample(argument[1][0])
    if operation is codes.ASSERT:
        return _sample(argument[1])
    return ""


def _members(operation: Any, argument: Any) -> list[str]:
    """Returns characters that a class allows: some of those that other parts may take too."""
    if operation is codes.ANY:
        return ["a", " ", "<"]
    if operation is codes.NOT_LITERAL:
        return [character for character in _TRIED if ord(character) != argument][:3]
    is_negated = argument[0][0] is codes.NEGATE
    if is_negated:
        allowed = _make_class(argument)
        return [character for character in _TRIED if allowed(character)][:4]
    named = []
    for kind, value in argument:
        if kind is codes.LITERAL:
            named.append(chr(value))
        elif kind is codes.RANGE:
            named.append(chr(value[0]))
        elif kind is codes.CATEGORY:
            named.append(_CATEGORIES[value])
    return named[:6]


def _make_class(argument: Any) -> Callable[[str], bool]:
    compiled = re.compile("[" + "".join(_write(*each) for each in argument) + "]")
    return lambda character: compiled.match(character) is not None


def _write(kind: Any, value: Any) -> str:
    if kind is codes.NEGATE:
        return "^"
    if kind is codes.LITERAL:
        return re.escape(chr(value))
    if kind is codes.RANGE:
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    return {
        codes.CATEGORY_DIGIT: r"\d",
        codes.CATEGORY_NOT_DIGIT: r"\D",
        codes.CATEGORY_SPACE: r"\s",
        codes.CATEGORY_NOT_SPACE: r"\S",
        codes.CATEGORY_WORD: r"\w",
        codes.CATEGORY_NOT_WORD: r"\W",
    }[value]
