"""The order of the best matches, by all that is known of them.

What an engine finds is scored by words alone and quickly, over everything that matches. The best of it is ranked again here:

    score = (words + parts) x static rank x links x freshness x bias

``words`` is what the engine found first, ``parts`` the sum of what else speaks for a document (exact spelling, proximity, URL ...),
each already weighted. A document that holds all of a query's words stays before one that holds some, whatever their scores.
"""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from feedmill.core.biasing import WORDLESS_SCORE, bias_factor
from feedmill.model.document import Attributes
from feedmill.model.ranking import Ranking

HOLDS_ALL_BONUS = 8_192.0
"""What a first score has in addition where a document holds all of what may be left out; more than words can ever add up to."""

USUAL_RANK = 96
_LEAST_RANK, _MOST_RANK, _FEEDRANKS = 68, 100, (1, 100)
_RANK_SPAN = float(_MOST_RANK - _LEAST_RANK)
MOST_LINKED = 100
_DAY_SECONDS = 86_400.0
LEAST_FACTOR = 0.01


class Candidate(NamedTuple):
    """One of the best matches; a tuple, because every query makes hundreds.

    Units: ``rank`` 68 to 100; ``links`` 0 to 100, 0 for none known; ``date`` seconds since 1970, None for none; ``bias`` a sum of weights,
    None where nothing biases.
    """

    key: int
    words: float
    rank: int = USUAL_RANK
    links: int = 0
    date: int | None = None
    bias: float | None = None


class Scored(NamedTuple):
    """A candidate in its place, with the factors of its score."""

    key: int
    score: float
    words: float
    static_rank: float
    links: float
    freshness: float
    bias: float
    holds_all: bool


_KEY, _SCORE = itemgetter(0), itemgetter(1)


def fed_rank(attributes: Attributes) -> int:
    """Returns the static rank that a feed gave a document, a feedrank of 1 to 100 on the scale of the pagerank. Units: 68 to 100."""
    if attributes.pagerank is not None:
        return attributes.pagerank
    if attributes.feedrank is None:
        return USUAL_RANK
    low, high = _FEEDRANKS
    return _LEAST_RANK + round((attributes.feedrank - low) * _RANK_SPAN / (high - low))


def rank(candidates: Sequence[Candidate], parts: Mapping[int, float], ranking: Ranking, now: float) -> list[Scored]:
    """Returns the candidates best first, the lower key first among equals.

    Shape: ``parts`` by key, those that have any. Units: ``now`` seconds since 1970.
    """
    factors = {value: rank_factor(value, ranking) for value in {candidate.rank for candidate in candidates}}
    scored: list[Scored] = []
    for key, words, value, linked, date, weight in candidates:
        bonus = HOLDS_ALL_BONUS if words >= HOLDS_ALL_BONUS else 0.0
        words -= bonus
        freshness = freshness_factor(date, ranking, now) if ranking.freshness else 1.0
        plain, bias = words + parts.get(key, 0.0), 1.0
        if weight is not None:
            plain, bias = plain or WORDLESS_SCORE, bias_factor(weight)
        static_rank, links = factors[value], 1.0 + ranking.links * linked / MOST_LINKED if linked else 1.0
        score = plain * static_rank * links * freshness * bias
        if score > HOLDS_ALL_BONUS:
            score = HOLDS_ALL_BONUS
        # by place and not by name, which would take twice as long
        scored.append(Scored._make((key, score + bonus, words, static_rank, links, freshness, bias, bonus > 0)))
    scored.sort(key=_KEY)
    scored.sort(key=_SCORE, reverse=True)
    return scored


def rank_factor(value: int, ranking: Ranking) -> float:
    """Returns by what a static rank multiplies a score: 1 for the usual one."""
    return max(1.0 + ranking.static_rank * (value - USUAL_RANK) / _RANK_SPAN, LEAST_FACTOR)


def freshness_factor(date: int | None, ranking: Ranking, now: float) -> float:
    """Returns by what a date multiplies a score: 1 for an old one and for none, more the fresher it is."""
    if date is None or not ranking.freshness:
        return 1.0
    age_days = max(now - date, 0.0) / _DAY_SECONDS
    return 1.0 + float(ranking.freshness * 0.5 ** (age_days / ranking.freshness_days))
