"""Regular expressions that administrators write, run by RE2 in linear time.

A backtracking engine (``re``) takes exponential time for some expressions, such as ``(a|a)*$``. RE2 takes at most the length of the text
times the size of the expression's program, and both are bounded here. RE2 has neither back references nor lookaround. An
expression that uses them is refused with the position.

Classes such as ``[[:digit:]]`` are supported; ``\\w``, ``\\d``, ``\\s`` and ``\\b`` mean ASCII. Two backslashes count as one, since the old
appliance's console required them doubled, and no URL contains a backslash that an expression could mean.
Source: RE2, "Syntax".
"""

import re
import warnings
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import re2

from feedmill.model.errors import BadRequest

MAX_EXPRESSION_CHARACTERS = 2_000
MAX_PROGRAM_SIZE = 5_000
"""The maximum number of instructions. Each character of an expression is about one, and each repetition is a copy."""
MAX_TEXT_CHARACTERS = 8_192
"""The maximum length of a text that an expression examines."""
_MEMORY_BYTES = 1 << 19
_SHOWN_CHARACTERS = 80

_REASONS = (
    (re.compile(r"invalid escape sequence: \\[1-9]"), "a back reference cannot be run in linear time"),
    (re.compile(r"invalid perl operator: \(\?P$"), "a back reference cannot be run in linear time"),
    (re.compile(r"invalid perl operator: \(\?<?[=!]"), "looking around cannot be run in linear time"),
    (re.compile(r"invalid perl operator: \(\?[>(]"), "this kind of group cannot be run in linear time"),
    (re.compile(r"invalid repetition size"), "more than 1,000 repetitions"),
    (re.compile(r"pattern too large"), "the expression is too large"),
)
# ``\Z`` is the end of a text in Python's spelling, ``\z`` in RE2's
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class _Program(Protocol):
    """The compiled form of an expression in the engine."""

    programsize: int

    def search(self, text: bytes) -> object | None:
        """Returns a match, None if there is none."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression. Errors on creation: BadRequest, with the position of the error."""

    text: str
    ignores_case: bool = False
    _program: _Program = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compiles the expression."""
        object.__setattr__(self, "_program", _compile(self.text, self.ignores_case))

    def is_in(self, text: str) -> bool:
        """Whether the expression matches anywhere in the first ``MAX_TEXT_CHARACTERS`` of a text. Errors: none."""
        return self._program.search(text[:MAX_TEXT_CHARACTERS].encode("utf-8", "replace")) is not None


@lru_cache(maxsize=256)
def _compile(text: str, ignores_case: bool) -> _Program:
    if not text:
        raise BadRequest("a regular expression is missing, write '/' for every url")
    if len(text) > MAX_EXPRESSION_CHARACTERS:
        raise BadRequest(f"{_quote(text)} is longer than {MAX_EXPRESSION_CHARACTERS} characters")
    single = text.replace(r"\\", "\\")
    _refuse_nested_sets(text, single)
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MEMORY_BYTES
    options.case_sensitive = not ignores_case
    try:
        program: _Program = re2.compile(_ESCAPED.sub(lambda found: r"\z" if found[1] == "Z" else found[0], single), options)
    except re2.error as exc:
        raise _explain(text, single, exc) from exc
    except UnicodeEncodeError as exc:
        raise BadRequest(f"{_quote(text)} is no regular expression: half a character at position {exc.start + 1}") from exc
    if program.programsize > MAX_PROGRAM_SIZE:
        raise BadRequest(
            f"{_quote(text)} is too large: repetitions make it {program.programsize} instructions, and {MAX_PROGRAM_SIZE} are allowed"
        )
    return program


def _refuse_nested_sets(text: str, single: str) -> None:
    """Refuses sets within sets, which engines interpret in different ways. Errors: BadRequest."""
    bare = re.sub(r"\[:\^?[a-z]+:\]", "", single)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(bare)
    except Warning as exc:
        raise BadRequest(f"{_quote(text)} is no regular expression: {exc}") from exc
    except (re.error, OverflowError, RecursionError):
        return


def _explain(text: str, single: str, exc: Exception) -> BadRequest:
    """Returns the error of an expression with its position: from the piece that the engine names, or where Python finds the same error."""
    said = exc.args[0].decode("utf-8", "replace") if exc.args and isinstance(exc.args[0], bytes) else str(exc)
    reason = next((reason for pattern, reason in _REASONS if pattern.search(said)), said.partition(":")[0])
    piece = said.partition(": ")[2]
    place = _find_fault(single)
    if place is None:
        # the engine names "(?P" here, which begins other groups too, so the search is for the back reference
        place = max(single.find("(?P=" if piece == "(?P" else piece), 0)
    # converts the position to the text as it was written, with its doubled backslashes
    place = next((at for at in range(len(text) + 1) if len(text[:at].replace("\\\\", "\\")) >= place), place)
    return BadRequest(f"{_quote(text)} is no regular expression: {reason}, at position {place + 1}")


def _find_fault(single: str) -> int | None:
    """Returns the position where Python finds an error, None if it finds none."""
    try:
        re.compile(single)
    except re.error as exc:
        return exc.pos
    except (OverflowError, RecursionError):
        pass
    return None


def _quote(text: str) -> str:
    return f"'{text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + '...'}'"
