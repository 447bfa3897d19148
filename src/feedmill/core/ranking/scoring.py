"""Ranks the best matches by all known factors.

An engine scores all matches quickly by their words alone. The best of them are ranked again here:

    score = (words + parts) x static rank x links x freshness x bias

``words`` is the engine's first score. ``parts`` is the sum of the other weighted parts (exact spelling, proximity, URL ...). A document
with all words of a query precedes one that lacks function words, and this one precedes those that lack others, whatever their scores.
"""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from feedmill.core.ranking.bias import WORDLESS_SCORE, bias_factor
from feedmill.model.document import Attributes
from feedmill.model.ranking import Ranking

# no larger: the engine adds in 32-bit floats, which still tell thousandths apart at this size
HOLDS_ALL_BONUS = 8_192.0
"""The bonus in the first score of a document that contains all optional parts."""

HOLDS_TELLING_BONUS = HOLDS_ALL_BONUS / 2
"""The bonus of a document that lacks only function words of the query; it exceeds every sum of word scores too."""

USUAL_RANK = 96
_LEAST_RANK, _MOST_RANK, _FEEDRANKS = 68, 100, (1, 100)
_RANK_SPAN = float(_MOST_RANK - _LEAST_RANK)
MOST_LINKED = 100
_DAY_SECONDS = 86_400.0
LEAST_FACTOR = 0.01


CandidateRow = tuple[int, float, int, int, int | None, float | None]
"""The fields of a ``Candidate``. Every query has hundreds of them, and a plain tuple is made in a third of the time."""

ScoredRow = tuple[int, float, float, float, float, float, float, float]
"""The fields of a ``ScoredCandidate``."""


class Candidate(NamedTuple):
    """One of the best matches.

    Units: ``rank`` 68 to 100; ``links`` 0 to 100, 0 for no known links; ``date`` seconds since 1970, None for no date; ``bias`` a sum of
    weights, None without a bias.
    """

    key: int
    words: float
    rank: int = USUAL_RANK
    links: int = 0
    date: int | None = None
    bias: float | None = None


class ScoredCandidate(NamedTuple):
    """A candidate with its final score and the factors of this score.

    ``holds_all``: 1 if it has all optional parts of the query, a half if it lacks only function words, else 0.
    """

    key: int
    score: float
    words: float
    static_rank: float
    links: float
    freshness: float
    bias: float
    holds_all: float


_KEY, _SCORE = itemgetter(0), itemgetter(1)


def fed_rank(attributes: Attributes) -> int:
    """Returns the static rank from a feed; a feedrank of 1 to 100 is scaled to the range of the pagerank. Units: 68 to 100."""
    if attributes.pagerank is not None:
        return attributes.pagerank
    if attributes.feedrank is None:
        return USUAL_RANK
    low, high = _FEEDRANKS
    return _LEAST_RANK + round((attributes.feedrank - low) * _RANK_SPAN / (high - low))


def rank(candidates: Sequence[CandidateRow], parts: Mapping[int, float], ranking: Ranking, now: float) -> list[ScoredRow]:
    """Returns the candidates best first, the lower key first among equals.

    Shape: ``parts`` by key, for candidates that have any. Units: ``now`` seconds since 1970.
    """
    factors = {value: rank_factor(value, ranking) for value in {row[2] for row in candidates}}
    has_freshness, find_parts = bool(ranking.freshness), parts.get
    scored: list[ScoredRow] = []
    for key, words, value, linked, date, weight in candidates:
        # the first score contains the bonus; it is subtracted here and added again to the final score
        bonus = 0.0
        if words >= HOLDS_TELLING_BONUS:
            bonus = HOLDS_ALL_BONUS if words >= HOLDS_ALL_BONUS else HOLDS_TELLING_BONUS
            words -= bonus
        static_rank, links, freshness, bias = factors[value], 1.0, 1.0, 1.0
        plain = words + find_parts(key, 0.0)
        if weight is not None:
            # a result without words has no score; a small one lets the bias order it
            plain, bias = plain or WORDLESS_SCORE, bias_factor(weight)
        # this loop runs a hundred times for each query, so factors that are mostly 1 are left out
        score = plain * static_rank
        if linked:
            links = 1.0 + ranking.links * linked / MOST_LINKED
            score *= links
        if has_freshness:
            freshness = freshness_factor(date, ranking, now)
            score *= freshness
        if weight is not None:
            score *= bias
        # No sum of parts may lift a document over those that have more of the words.
        if score > HOLDS_TELLING_BONUS:
            score = HOLDS_TELLING_BONUS
        scored.append((key, score + bonus, words, static_rank, links, freshness, bias, bonus / HOLDS_ALL_BONUS))
    # two stable sorts: by key, then by score, so the lower key comes first among equal scores
    scored.sort(key=_KEY)
    scored.sort(key=_SCORE, reverse=True)
    return scored


def rank_factor(value: int, ranking: Ranking) -> float:
    """Returns the factor of a static rank: 1 for the usual one."""
    return max(1.0 + ranking.static_rank * (value - USUAL_RANK) / _RANK_SPAN, LEAST_FACTOR)


def freshness_factor(date: int | None, ranking: Ranking, now: float) -> float:
    """Returns the factor of a date: 1 for an old one or none, more for a newer one."""
    if date is None or not ranking.freshness:
        return 1.0
    age_days = max(now - date, 0.0) / _DAY_SECONDS
    return 1.0 + float(ranking.freshness * 0.5 ** (age_days / ranking.freshness_days))
