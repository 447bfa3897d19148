"""Ranks the passages of several texts for the words of one query.

1. In each text the words are found quickly, by how they begin (``find``). The ``KEPT`` passages with the most different words are the
   candidates of the text; a text in which no word is found has its first passage. Navigation counts only where the main text holds no word.
2. The words of each candidate are counted exactly (``count``), and scored as by BM25 over the candidates of all texts. A word of the title
   counts half as often as one of the passage, since a passage seldom repeats what its title says.
3. Texts that the search ranks higher come first among passages that are alike, and a text gives only a part of the list.

Everything is derived from texts that the user may see, so a score reveals nothing of others.
Source: Robertson, Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, 3.4 and 3.6.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from feedmill.core.text.passages import MOST_CHARACTERS, Passage, split_passages
from feedmill.core.text.textblob import QuotableText, Range

KEPT: Final = 6
LEAST_OF_ONE: Final = 3
"""So many passages of one text may be listed, however many texts there are."""
SCANNED_CHARACTERS: Final = 1_000_000
"""The part of a text in which passages are looked for."""

_SATURATION: Final = 1.2
_LENGTH_SHARE: Final = 0.5
_TITLE_SHARE: Final = 0.5
_NAVIGATION_SHARE: Final = 0.3

FindTerms = Callable[[str], Sequence[tuple[int, int]]]
CountTerms = Callable[[str], Mapping[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A passage of one text. Shape: ``source`` is the number of the text; ``counts`` and ``titled`` are by number of the word."""

    source: int
    passage: Passage
    counts: Mapping[int, int]
    titled: Mapping[int, int]
    is_navigation: bool = False
    score: float = 0.0


def find_candidates(source: int, text: QuotableText, titled: Mapping[int, int], find: FindTerms, count: CountTerms) -> list[Candidate]:
    """Returns the candidates of a text, best first. Shape: ``titled`` is what ``count`` returns for the title."""
    passages, is_navigation = _choose(text.text, text.main, find), False
    if not any(counts for counts, _ in passages):
        beside = _choose(text.text, text.navigation, find)
        if any(counts for counts, _ in beside) or not passages:
            passages, is_navigation = beside, True
    return [
        Candidate(source=source, passage=passage, counts=count(passage.text), titled=titled, is_navigation=is_navigation)
        for _, passage in passages
    ]


def _choose(text: str, ranges: Sequence[Range], find: FindTerms) -> list[tuple[int, Passage]]:
    """Returns the passages with the most different words, and how many each has; the first passage if none has any."""
    passages: list[Passage] = []
    for start, end in ranges:
        end = min(end, SCANNED_CHARACTERS)
        passages += [Passage(each.text, each.start + start, each.end + start) for each in split_passages(text[start:end])]
    if not passages:
        return []
    starts = [passage.start for passage in passages]
    found: dict[int, Counter[int]] = {}
    for place, number in find(text[: passages[-1].end]):
        index = bisect_right(starts, place) - 1
        if index >= 0 and place < passages[index].end:
            found.setdefault(index, Counter())[number] += 1
    if not found:
        return [(0, passages[0])]
    best = sorted(found, key=lambda index: (-len(found[index]), -found[index].total(), index))[:KEPT]
    return [(len(found[index]), passages[index]) for index in best]


def rank_candidates(candidates: Sequence[Candidate], num: int) -> list[Candidate]:
    """Returns the best candidates with their scores, best first. Shape: ``num`` at most, of each text its share of them."""
    holding = Counter(number for candidate in candidates for number in candidate.counts)
    scored = [replace(candidate, score=_score(candidate, holding, len(candidates))) for candidate in candidates]
    most = max(LEAST_OF_ONE, num // max(len({candidate.source for candidate in candidates}), 1))
    taken: Counter[int] = Counter()
    ranked: list[Candidate] = []
    for candidate in sorted(scored, key=lambda one: (-one.score, one.source, one.passage.start)):
        taken[candidate.source] += 1
        if taken[candidate.source] <= most:
            ranked.append(candidate)
    return ranked[:num]


def _score(candidate: Candidate, holding: Mapping[int, int], total: int) -> float:
    length = len(candidate.passage.text) / MOST_CHARACTERS
    norm = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * length)
    score = 0.0
    for number in {*candidate.counts, *candidate.titled}:
        often = candidate.counts.get(number, 0) + _TITLE_SHARE * min(candidate.titled.get(number, 0), 1)
        rarity = math.log(1 + (total - holding.get(number, 0) + 0.5) / (holding.get(number, 0) + 0.5))
        score += rarity * often / (often + norm)
    score *= 1 + 1 / (2 + candidate.source)
    return score * _NAVIGATION_SHARE if candidate.is_navigation else score
