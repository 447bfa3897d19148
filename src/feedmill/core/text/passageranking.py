"""Ranks the passages of several texts for the words of one query.

1. In each text the words are found quickly, by how they begin. At most ``MAX_CANDIDATES`` passages, those that hold most of the query, are
   candidates of the text; a text in which no word is found has its first passage. Navigation counts only where the main text holds no word.
2. The words of each candidate are counted exactly, and scored as by BM25, over all passages of the texts. A word of the title counts half
   as often as one of the passage, since a passage seldom repeats what its title says. Function words have little weight.
   A passage that is near to the query by meaning is a candidate too, and gets as much as for one frequent word.
3. Texts that the search ranks higher come first among passages that are alike, and a text gives only a part of the list.

Everything is derived from texts that the user may see, so a score reveals nothing of others.
Source: Robertson, Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, 3.4 and 3.6.
"""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Final, Protocol

from feedmill.core.text.passages import MOST_CHARACTERS, Passage, split_ranges
from feedmill.core.text.textblob import QuotableText, Range

MAX_CANDIDATES: Final = 6
LEAST_OF_ONE: Final = 3
"""So many passages of one text may be listed, however many texts there are."""
SCANNED_CHARACTERS: Final = 1_000_000
"""The part of a text in which passages are looked for."""

_SATURATION: Final = 1.2
_LENGTH_SHARE: Final = 0.5
_TITLE_SHARE: Final = 0.5
_NAVIGATION_SHARE: Final = 0.3
_NEAR: Final = 1.0
"""What a passage near to the query gets: about as much as for one word that every other passage has."""
_NUMBER: Final = itemgetter(1)


class QueryWords(Protocol):
    """The words of a query, numbered from 0; ``ports.Highlighter`` is one.

    Shape: ``language`` is that of the text, None if it is unknown.
    """

    @property
    def weights(self) -> Sequence[float]:
        """How much each word counts."""

    def find_terms(self, text: str, language: str | None = None) -> Sequence[tuple[int, int]]:
        """Returns where words begin in a text, each with its number, in order: quickly, also words that only begin alike."""

    def count_terms(self, text: str, language: str | None = None) -> Mapping[int, int]:
        """Returns how often a text holds each word, by its number, without those that it does not hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A passage of one text. Shape: ``source`` is the number of the text; ``counts`` and ``titled`` are by number of the word.

    ``coverage`` is the share of the query that the passage holds, from 0 to 1.
    """

    source: int
    passage: Passage
    counts: Mapping[int, int]
    titled: Mapping[int, int]
    coverage: float
    is_navigation: bool = False
    #: it is near to the query by meaning
    is_near: bool = False
    score: float = 0.0


class PassageRanking:
    """Takes the texts of a search, best first, and returns their best passages."""

    def __init__(self, words: QueryWords) -> None:
        self._words = words
        self._weights = words.weights
        self._candidates: list[Candidate] = []
        self._passages = 0
        self._holding: Counter[int] = Counter()

    def add(self, source: int, title: str, text: QuotableText, near: int | None = None, language: str | None = None) -> None:
        """Adds a text. Shape: ``source`` is its number in the order of the search.

        ``near`` is the place of the passage of its main text that is near to the query by meaning, None for none.
        """
        passages, is_navigation = self._choose(text.text, text.main, language), False
        nearest = None if near is None else next(iter(split_ranges(text.text, text.main, near + 1)[near:]), None)
        if nearest is not None:
            # a passage without any word of the query makes way for the one that is near to it
            passages = [(each, True) for each, has_words in passages if has_words and each != nearest] + [(nearest, True)]
        if not any(has_words for _, has_words in passages):
            beside = self._choose(text.text, text.navigation, language)
            if any(has_words for _, has_words in beside) or not passages:
                passages, is_navigation = beside, True
        titled = self._words.count_terms(title, language)
        for passage, _ in passages:
            counts = self._words.count_terms(passage.text, language)
            candidate = Candidate(
                source=source,
                passage=passage,
                counts=counts,
                titled=titled,
                coverage=self._weigh(counts) / (sum(self._weights) or 1.0),
                is_navigation=is_navigation,
                is_near=passage == nearest,
            )
            self._candidates.append(candidate)

    def _choose(self, text: str, ranges: Sequence[Range], language: str | None) -> list[tuple[Passage, bool]]:
        """Returns the passages that hold most of the query, and whether each has any of it; the first passage if none has."""
        passages = split_ranges(text, [(start, min(end, SCANNED_CHARACTERS)) for start, end in ranges])
        if not passages:
            return []
        places = self._words.find_terms(text[: passages[-1].end], language)
        found: dict[int, Counter[int]] = {}
        for index, passage in enumerate(passages):
            first, behind = (bisect_left(places, (place,)) for place in (passage.start, passage.end))
            if first < behind:
                found[index] = Counter(map(_NUMBER, places[first:behind]))
        self._passages += len(passages)
        for held in found.values():
            self._holding.update(held.keys())
        best = sorted(found, key=lambda index: (-self._weigh(found[index]), -found[index].total(), index))[:MAX_CANDIDATES]
        return [(passages[index], True) for index in best] or [(passages[0], False)]

    def _weigh(self, numbers: Mapping[int, int]) -> float:
        return sum(self._weights[number] for number in numbers)

    def rank(self, num: int) -> list[Candidate]:
        """Returns the best passages with their scores, best first. Shape: ``num`` at most, of each text its share of them."""
        scored = [replace(candidate, score=self._score(candidate)) for candidate in self._candidates]
        most = max(LEAST_OF_ONE, num // max(len({candidate.source for candidate in scored}), 1))
        taken: Counter[int] = Counter()
        ranked: list[Candidate] = []
        for candidate in sorted(scored, key=lambda one: (-one.score, one.source, one.passage.start)):
            taken[candidate.source] += 1
            if taken[candidate.source] <= most:
                ranked.append(candidate)
        return ranked[:num]

    def _score(self, candidate: Candidate) -> float:
        length = len(candidate.passage.text) / MOST_CHARACTERS
        norm = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * length)
        score = 0.0
        for number in sorted({*candidate.counts, *candidate.titled}):
            often = candidate.counts.get(number, 0) + _TITLE_SHARE * min(candidate.titled.get(number, 0), 1)
            # a word that was counted exactly may have been found in no passage, as the second word of a phrase
            holding = min(max(self._holding[number], 1), self._passages)
            rarity = math.log(1 + (self._passages - holding + 0.5) / (holding + 0.5))
            score += self._weights[number] * rarity * often / (often + norm)
        score += _NEAR if candidate.is_near else 0.0
        score *= 1 + 1 / (2 + candidate.source)
        return score * _NAVIGATION_SHARE if candidate.is_navigation else score
