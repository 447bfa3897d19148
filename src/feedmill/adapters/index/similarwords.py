"""Chooses among the words of an index the one that a user may have meant, the same way for every engine."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence

from rapidfuzz import process
from rapidfuzz.distance import OSA

MAX_START_CHARACTERS = 60
"""The longest start of a word that is completed."""
LONG_CHARACTERS = 8
"""A word so long may have two typing errors of which one is in its first letter."""
MAX_TRIED = 1_000
"""So many that words of hidden documents do not use them up: their numbers are known only after they were counted."""

Counted = tuple[str, int]
"""A word and its number of documents."""


def count_allowed(word: str) -> int:
    """Returns how many typing errors a word may have: one in a short word, two in a longer one."""
    return 1 if len(word) < 6 else 2


class WordTable:
    """Words in which similar ones are looked up: by length, and the words of a length by their numbers of documents, largest first.

    Words with digits are left out: they are numbers and names, of which another is no better spelling.
    """

    def __init__(self, counted: Mapping[str, int]) -> None:
        self._words: dict[int, list[str]] = {}
        self._counts: dict[int, list[int]] = {}
        for word, count in sorted(counted.items(), key=lambda pair: -pair[1]):
            if word.isalpha() or not any(map(str.isdigit, word)):
                self._words.setdefault(len(word), []).append(word)
                self._counts.setdefault(len(word), []).append(count)

    def __len__(self) -> int:
        return sum(map(len, self._words.values()))

    def iter_near(self, word: str, more_than: int) -> Iterator[Counted]:
        """Yields the words within the distance that is allowed for a word, each in more documents than ``more_than``."""
        allowed = count_allowed(word)
        for size in range(len(word) - allowed, len(word) + allowed + 1):
            counts = self._counts.get(size, [])
            frequent = self._words.get(size, [])[: bisect_left(counts, -more_than, key=lambda count: -count)]
            for found, _, place in process.extract(word, frequent, scorer=OSA.distance, score_cutoff=allowed, limit=None):
                yield found, counts[place]


def choose_alike(word: str, known: Mapping[str, int], count: Callable[[str], int], more_than: int) -> str | None:
    """Chooses the word at the least distance among those with a count above ``more_than``; among several, the most frequent.

    If several are equally frequent, the first in the alphabet wins. The part of ``known`` beyond ``count`` comes from hidden documents and
    must not decide.

    Shape: ``known`` has at least the number that ``count`` returns, so that a word is counted only where that may matter.
    """
    allowed = count_allowed(word)
    words = [one for one in known if one != word and abs(len(one) - len(word)) <= allowed and not any(map(str.isdigit, one))]
    near: Sequence[tuple[str, int, int]] = process.extract(word, words, scorer=OSA.distance, score_cutoff=allowed, limit=None)
    # A different first letter counts as half an error more, because it is seldom the mistyped one.
    slips = {found: distance + (found[0] != word[0]) / 2 for found, distance, _ in near if known[found] > more_than}
    # Two slips, of which one makes another first letter, make another word of a short one: ``oublié`` is no ``double``.
    if len(word) < LONG_CHARACTERS:
        slips = {found: slip for found, slip in slips.items() if slip <= 2}
    ranked = sorted(slips, key=lambda found: (slips[found], -known[found], found))
    best, most = None, more_than
    for candidate in ranked[:MAX_TRIED]:
        # In the order of ``ranked``, nothing later can be better: it is further away, or even its unfiltered count is too small.
        if best is not None and (slips[candidate] > slips[best] or known[candidate] < most):
            break
        found = count(candidate)
        if found > most or (found == most and best is not None and candidate < best):
            best, most = candidate, found
    return best
