"""The conditions of manual pages, as ``nroff -Tutf8`` decides them: ``.if``, and ``.ie`` with its ``.el``.

A page is written for printers and for terminals, and for several programs that format it. Of two texts that say the same for each of them,
one is printed. Registers that a page sets to a number are known; those that nobody set are 0, as for the program.
Source: groff(7), "Conditionals and loops", "Numerical expressions".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_MAX_NAMES, _MAX_DEPTH = 1_000, 20
_KNOWN = {".g": 1, ".x": 1, ".y": 23}
_DEVICE = re.compile(r"\\\*(?:\[\.T]|\(\.T)")
_TOKEN = re.compile(
    r"\\n(?:\((?P<two>..)|\[(?P<long>[^\]\s]{1,80})]|(?P<one>[^\s(\[]))|(?P<number>\d{1,9})(?:\.\d*)?[a-zA-Z]?|(?P<sign><=|>=|==|[-+<>=&:()])"
)
_COMPARED = re.compile(r"(['\"|])(.*?)\1(.*?)\1")
_BLOCK = re.compile(r"\\([{}])")
_SET = re.compile(r"(\S{1,80})\s+(-?\d{1,9})\s*$")


@dataclass(slots=True)
class Conditions:
    """What a page has decided so far. Shape: ``_skipped`` counts the blocks that are open and not read; names that the page defined."""

    _registers: dict[str, int] = field(default_factory=lambda: dict(_KNOWN))
    _defined: set[str] = field(default_factory=set)
    _otherwise: list[bool] = field(default_factory=list)
    _skipped: int = 0

    def skips(self, line: str) -> bool:
        """Whether a line is in a block that is not read."""
        if not self._skipped:
            return False
        self._skipped = max(self._skipped + _count_blocks(line), 0)
        return True

    def define(self, name: str, rest: str) -> None:
        """Takes a definition: of a register, of a string or of a macro."""
        if len(self._registers) + len(self._defined) > _MAX_NAMES:
            return
        if name != "nr":
            self._defined.update(rest.split(None, 1)[:1])
        elif found := _SET.match(rest):
            self._registers[found[1]] = int(found[2])

    def choose(self, name: str, rest: str) -> str:
        """Returns the line that stands behind a condition, "" if it is not read."""
        if name == "el":
            is_true = self._otherwise.pop() if self._otherwise else False
        else:
            is_true, rest = self._decide(rest)
            if name == "ie":
                self._otherwise.append(not is_true)
                del self._otherwise[:-_MAX_DEPTH]
        rest = rest.lstrip()
        if is_true and name != "while":
            return rest.removeprefix("\\{").removesuffix("\\").strip() if rest.startswith("\\{") else rest
        self._skipped = max(_count_blocks(rest), 0)
        return ""

    def _decide(self, rest: str) -> tuple[bool, str]:
        """Returns whether a condition holds, and what stands behind it."""
        rest = rest.lstrip()
        bare = rest.lstrip("!")
        is_negated = (len(rest) - len(bare)) % 2 == 1
        bare = bare.lstrip()
        if found := _COMPARED.match(_DEVICE.sub("utf8", bare)):
            return (found[2] == found[3]) is not is_negated, _DEVICE.sub("utf8", bare)[found.end() :]
        kind, behind = bare[:1], bare[1:]
        if kind in ("d", "r", "c", "F", "m", "S") and kind:
            word, _, behind = behind.lstrip().partition(" ")
            names: set[str] | dict[str, int] = self._registers if kind == "r" else self._defined
            return (kind in "cF" or word in names) is not is_negated, behind
        if kind in ("n", "t", "o", "e", "v") and kind:
            return (kind in "no") is not is_negated, behind
        # an expression ends at a blank, or where the line behind it begins
        expression = re.split(r"\s|\\\{", bare, maxsplit=1)[0]
        return (self._compute(expression) > 0) is not is_negated, bare[len(expression) :]

    def _compute(self, expression: str) -> int:
        """Returns the value of an expression, 0 for one that cannot be read."""
        return _compute(self._iter_tokens(expression[:200]), 0)

    def _iter_tokens(self, expression: str) -> Iterator[int | str]:
        for found in _TOKEN.finditer(expression):
            if found["sign"]:
                yield found["sign"]
            elif found["number"]:
                yield int(found["number"])
            else:
                yield self._registers.get(found["two"] or found["long"] or found["one"], 0)


def _compute(tokens: Iterator[int | str], depth: int) -> int:
    """Computes from left to right, as the program does: no sign binds stronger than another."""
    value, sign = 0, "+"
    for part in tokens:
        if part == ")":
            break
        if isinstance(part, str) and part != "(":
            sign = part
            continue
        number = part if isinstance(part, int) else _compute(tokens, depth + 1) if depth < _MAX_DEPTH else 0
        value = _join(value, sign, number)
    return value


def _join(left: int, sign: str, right: int) -> int:
    match sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "<":
            return int(left < right)
        case ">":
            return int(left > right)
        case "<=":
            return int(left <= right)
        case ">=":
            return int(left >= right)
        case "&":
            return int(left > 0 and right > 0)
        case ":":
            return int(left > 0 or right > 0)
        case _:
            return int(left == right)


def _count_blocks(line: str) -> int:
    """Returns how many more blocks begin in a line than end there."""
    return sum(1 if sign == "{" else -1 for sign in _BLOCK.findall(line))
