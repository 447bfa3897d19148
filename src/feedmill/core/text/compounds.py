"""Divides compounds: words that some languages write together of others, as German ``Urlaubsantrag`` of ``Urlaub`` and ``Antrag``.

- Each part must be in the list of the language. A part before another may end with a linking ``s``, and some words have a form for that
  place alone (``Schul-``).
- Of several ways to divide a word the likeliest is taken: few parts, and frequent ones.
- A part has at least three letters. The last one has more where little stands before it, since short words end many others by chance.

Many writers put a hyphen between the parts (``Urlaubs-Antrag``). Such a word is a compound too, of whatever parts.

The lists decide what is divided, not the texts of an index. So a word is found as a part in the first document that holds it, and the same
parts are indexed, highlighted and looked up, whatever else is in the index.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cache

from feedmill.core.text.wordforms import FOLDED
from feedmill.core.text.wordlists import list_names, read_list

LANGUAGES = tuple(sorted(list_names("compounds")))
"""Languages with a list of parts, by ISO 639-1, in order. To add one, add its file to the folder."""

MIN_CHARACTERS, MAX_CHARACTERS = 7, 60
"""The lengths of words that are divided."""
MIN_PART = 3
MIN_BEFORE_SHORT = 5
"""So many characters stand before a last part of ``MIN_PART`` letters."""
MAX_PARTS = 6

PART_COST = 6.0
"""What each part costs besides its rarity: much, so that few long parts win over many short ones."""
LINK_COST = 0.7
ONLY_BEFORE_RANK = 2_000
"""Forms that stand only before another part are as likely as the word at this place of the list."""
LINK = "s"
_BEHIND = re.compile(r"(?:-?[^\W\d_])+")
_SAME_LIST = {"nb": "no", "nn": "no"}


def find_language(language: str | None) -> str:
    """Returns the language whose list divides the words of a language, "" if there is none. Norwegian has one for both written forms."""
    code = _SAME_LIST.get(language or "", language or "")
    return code if code in LANGUAGES else ""


def iter_hyphenated(text: str, starts: Set[str] | None = None) -> Iterator[tuple[str, int, int]]:
    """Yields the hyphenated words of a text as they are written together, folded, each with the place where it begins and ends.

    Shape: of a text in lower case, only words whose first letter is among ``starts``, if these are given.
    """
    # by the hyphens, which are found many times as fast as a pattern that begins with letters
    text = text.replace("\u2010", "-").replace("\u2011", "-")
    place, behind = text.find("-"), 0
    while place >= 0:
        start = place
        while start > behind and text[start - 1].isalpha():
            start -= 1
        is_wanted = start < place and (starts is None or text[start] in starts)
        found = _BEHIND.match(text, place) if is_wanted else None
        behind = found.end() if found else place + 1
        if found and (joined := FOLDED[text[start:behind].replace("-", "").lower()]):
            yield joined, start, behind
        place = text.find("-", behind)


class Compounds:
    """The compounds of one language. Shape: ``entries`` as in the files of the lists."""

    def __init__(self, entries: Iterable[str]) -> None:
        self._last: dict[str, float] = {}
        self._before: dict[str, float] = {}
        self._whole: set[str] = set()
        for place, entry in enumerate(entries):
            if entry.endswith("-"):
                self._before[entry[:-1]] = _cost_of(ONLY_BEFORE_RANK)
            elif entry.startswith("="):
                self._whole.add(entry[1:])
            else:
                self._last[entry] = self._before[entry] = _cost_of(place)

    def list_parts(self, word: str) -> tuple[str, ...]:
        """Returns the words that a folded word contains, nothing for one that is no compound.

        Shape: each part, and neighbouring parts together if there are more than two; without the linking ``s`` behind them.
        """
        if not MIN_CHARACTERS <= len(word) <= MAX_CHARACTERS or word in self._whole:
            return ()
        starts = self._divide(word)
        whole = (0, len(word))
        ranges = [(first, last) for first in range(len(starts)) for last in range(first + 1, len(starts))]
        named = [self._name(word, starts, first, last) for first, last in ranges if (starts[first], starts[last]) != whole]
        return tuple(dict.fromkeys(named))

    def _divide(self, word: str) -> tuple[int, ...]:
        """Returns where the parts of a word begin, and its end; nothing for a word that has no parts."""
        size = len(word)
        last = [start for start in range(MIN_PART, size - MIN_PART + 1) if word[start:] in self._last]
        if size - MIN_PART in last and size - MIN_PART < MIN_BEFORE_SHORT:
            last.remove(size - MIN_PART)
        if not last:
            return ()
        # the cheapest way to divide the word up to each place where a part may end, with the beginnings of its parts
        reached: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}
        for end in range(MIN_PART, last[-1] + 1):
            ways = [
                (cost + found, (*starts, start))
                for start, (cost, starts) in reached.items()
                if end - start >= MIN_PART and len(starts) < MAX_PARTS - 1 and (found := self._find_cost_before(word[start:end]))
            ]
            if ways:
                reached[end] = min(ways)
        whole = [(reached[start][0] + self._last[word[start:]], (*reached[start][1], start, size)) for start in last if start in reached]
        return min(whole)[1] if whole else ()

    def _find_cost_before(self, text: str) -> float | None:
        """Returns the cost of a part before another one, None if it cannot be one."""
        cost = self._before.get(text)
        linked = self._last.get(text[: -len(LINK)]) if text.endswith(LINK) else None
        if linked is None:
            return cost
        return linked + LINK_COST if cost is None else min(cost, linked + LINK_COST)

    def _name(self, word: str, starts: Sequence[int], first: int, last: int) -> str:
        """Returns neighbouring parts of a word as a word of their own, without the link behind them."""
        end = starts[last]
        behind = word[starts[last - 1] : end]
        is_linked = end < len(word) and behind not in self._before
        return word[starts[first] : end - len(LINK) if is_linked else end]


def _cost_of(place: int) -> float:
    """Returns the cost of the word at a place of the list, which is in the order of frequency (Zipf's law)."""
    return PART_COST + math.log(2 + place)


@cache
def compounds_of(language: str) -> Compounds:
    """Returns the compounds of a language with a list."""
    return Compounds(read_list(f"compounds/{language}"))
