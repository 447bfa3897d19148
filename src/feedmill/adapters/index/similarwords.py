"""Chooses among the words of an index the one that a user may have meant, the same way for every engine."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter

from rapidfuzz import process
from rapidfuzz.distance import OSA

MAX_START_CHARACTERS = 60
"""The longest start of a word that is completed."""
LONG_CHARACTERS = 8
"""A word so long may have two typing errors of which one is in its first letter."""
SECOND_LETTERS = 3
"""How many letters words begin with after a first letter that is missing or another one."""
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
        self._words: defaultdict[int, list[str]] = defaultdict(list)
        self._counts: defaultdict[int, list[int]] = defaultdict(list)
        for word, count in sorted(counted.items(), key=itemgetter(1), reverse=True):
            if word.isalpha() or not any(map(str.isdigit, word)):
                size = len(word)
                self._words[size].append(word)
                self._counts[size].append(count)

    def __len__(self) -> int:
        return sum(map(len, self._words.values()))

    def iter_near(self, word: str, more_than: int) -> Iterator[Counted]:
        """Yields the words within the distance that is allowed for a word, each in more documents than ``more_than``."""
        allowed = count_allowed(word)
        for size in range(len(word) - allowed, len(word) + allowed + 1):
            counts = self._counts.get(size, [])
            frequent = self._words.get(size, [])[: bisect_left(counts, -more_than, key=lambda count: -count)]
            if not frequent:
                continue
            for found, _, place in process.extract(word, frequent, scorer=OSA.distance, score_cutoff=allowed, limit=None):
                yield found, counts[place]

    def iter_words(self) -> Iterator[Counted]:
        """Yields all words."""
        for size, words in self._words.items():
            yield from zip(words, self._counts[size], strict=True)


class WordEnds:
    """Words in which those are looked up that another first letter makes of a word, or one more letter in front of it."""

    def __init__(self) -> None:
        self._words: dict[str, list[Counted]] = {}

    def add(self, table: WordTable) -> None:
        """Adds the words of a table."""
        for counted in table.iter_words():
            self._words.setdefault(counted[0][1 : 1 + SECOND_LETTERS], []).append(counted)

    def list_near(self, word: str) -> dict[str, int]:
        """Lists words with one more letter in front that go on like a word, and those with another first letter, by their counts.

        Some are not near.
        """
        allowed, size, rest = count_allowed(word), len(word), word[1:]
        longer = self._words.get(word[:SECOND_LETTERS], ())
        others = self._words.get(rest[:SECOND_LETTERS], ())
        found = {near: count for near, count in longer if abs(len(near) - size) <= allowed}
        return found | {near: count for near, count in others if near[1:] == rest}


def choose_alike(word: str, known: Mapping[str, int], count: Callable[[str], int], more_than: int) -> str | None:
    """Chooses the word at the least distance among those with a count above ``more_than``; among several, the most frequent.

    If several are equally frequent, the first in the alphabet wins. The part of ``known`` beyond ``count`` comes from hidden documents and
    must not decide.

    Shape: ``known`` has at least the number that ``count`` returns, so that a word is counted only where that may matter.
    """
    allowed = count_allowed(word)
    frequent = [one for one, count in known.items() if count > more_than and one != word and abs(len(one) - len(word)) <= allowed]
    words = [one for one in frequent if not any(map(str.isdigit, one))]
    if not words:
        return None
    near: Sequence[tuple[str, int, int]] = process.extract(word, words, scorer=OSA.distance, score_cutoff=allowed, limit=None)
    # A different first letter counts as half an error more, because it is seldom the mistyped one.
    slips = {found: distance + (found[0] != word[0]) / 2 for found, distance, _ in near}
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
