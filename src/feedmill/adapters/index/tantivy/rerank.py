"""Finds the best matches by words and ranks them again by all parts of the score.

The engine quickly finds and scores the matches. For the best ``depth`` of them the other parts of the score are computed, and
``core.ranking.scoring`` orders them. Matches below that depth stay in the engine's order, after them.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tantivy import DocAddress, Query, Searcher

from feedmill.adapters.index.tantivy.accessfilter import PermittedMatches, find_permitted
from feedmill.adapters.index.tantivy.features import among, ask_bias, build_parts
from feedmill.adapters.index.tantivy.query import build_unfiltered
from feedmill.adapters.index.tantivy.schema import MAX_RANK, RANK_FIELDS, read_fingerprint
from feedmill.adapters.index.tantivy.words import WordQueries
from feedmill.core.ranking.scoring import CandidateRow, ScoredCandidate, ScoredRow, rank
from feedmill.model.access import AccessFilter
from feedmill.model.query import Node
from feedmill.model.ranking import Ranking, ScoreBias
from feedmill.model.search import Hit, Hits

BIASED_WHOLE = 200
"""The number of results, moved by a bias, for which all parts of the score are computed."""

RankValues = tuple[int, int]
"""The values of the rank fields of a document."""

MATCH_BYTES = 4 * 8
"""The size of a match: its key, its score and the values of its rank fields."""


@dataclass(frozen=True, slots=True)
class TopMatches:
    """The best matches in their final order, of each its key and score, and the values of its rank fields, which hold the fingerprint.

    They are arrays, which take a seventh of the memory of tuples, so that seven times as many results are cached. ``total`` is exact if
    ``is_exact``.
    """

    keys: "array[int]"
    scores: "array[float]"
    ranks: tuple["array[int]", "array[int]"]
    total: int
    is_exact: bool

    def list_hits(self, start: int, num: int) -> Hits:
        """Returns a page of the best matches."""
        page = slice(start, start + num)
        fingerprints = map(read_fingerprint, *(values[page] for values in self.ranks))
        hits = [
            Hit(key=key, score=score, fingerprint=fingerprint)
            for key, score, fingerprint in zip(self.keys[page], self.scores[page], fingerprints, strict=True)
        ]
        return Hits(hits=tuple(hits), total=self.total, is_exact=self.is_exact)


def count_best(best: TopMatches) -> int:
    """Returns the bytes that the best matches take in memory."""
    return 600 + MATCH_BYTES * len(best.keys)


@dataclass(frozen=True, slots=True)
class RankedSearch:
    """One query to the engine, ranked. Units: ``now`` seconds since 1970."""

    searcher: Searcher
    root: Node
    access: AccessFilter
    ranking: Ranking
    now: float
    bias: ScoreBias | None = None

    def find_ranked_hits(self, start: int, num: int, *, explains: bool = False) -> Hits:
        """Finds a page of the best matches, with the parts of their scores if ``explains`` is set."""
        word_queries, depth = self._make_word_queries(), self.ranking.depth
        # A page within the depth needs all matches down to the depth, since any of them may move onto it.
        offset = 0 if start < depth else start
        found = self._find_matches(word_queries, offset, max(start + num, depth) - offset if num else 1)
        total, is_exact = found.total, found.is_exact
        pairs = found.pairs if num else []
        if not pairs:
            return Hits(hits=(), total=total, is_exact=is_exact)
        keys = self._values("key", [address for _, address in pairs])
        if offset:
            return Hits(
                hits=tuple(Hit(key=int(key or 0), score=score) for key, (score, _) in zip(keys, pairs, strict=True)),
                total=total,
                is_exact=is_exact,
            )
        best, values = self._rank_again(word_queries, pairs[:depth], keys[:depth])
        page = [ScoredCandidate._make(row) for row in best[start : start + num]]
        hits = self._explain(word_queries, page) if explains else [Hit(key=one.key, score=one.score) for one in page]
        hits = [replace(hit, fingerprint=read_fingerprint(*values[hit.key])) for hit in hits]
        # Matches below the depth keep the engine's order. Their scores are capped, so that scores never rise down the list.
        _, least, *_ = best[-1]
        rest = zip(keys[depth : start + num], pairs[depth : start + num], strict=True)
        hits += [Hit(key=int(key or 0), score=min(score, least)) for key, (score, _) in rest]
        return Hits(hits=tuple(hits), total=total, is_exact=is_exact)

    def find_best(self) -> TopMatches:
        """Finds all matches that are ranked again. Each page within that depth is a part of them."""
        word_queries = self._make_word_queries()
        found = self._find_matches(word_queries, 0, self.ranking.depth)
        keys = self._values("key", [address for _, address in found.pairs]) if found.pairs else ()
        ranked, values = self._rank_again(word_queries, found.pairs, keys) if keys else ([], {})
        numbers = [row[0] for row in ranked]
        ordered = [values[key] for key in numbers]
        return TopMatches(
            keys=array("q", numbers),
            scores=array("d", [row[1] for row in ranked]),
            ranks=(array("Q", [rank for rank, _ in ordered]), array("Q", [linked for _, linked in ordered])),
            total=found.total,
            is_exact=found.is_exact,
        )

    def _make_word_queries(self) -> WordQueries:
        return WordQueries(self.searcher, self.root, self.ranking)

    def _find_matches(self, word_queries: WordQueries, offset: int, num: int) -> PermittedMatches:
        """Finds the best matches by words that the user may see, from ``offset`` on."""
        return find_permitted(self.searcher, build_unfiltered(self.root, word_queries), self.access, start=offset, num=num)

    def _values(self, field: str, addresses: list[DocAddress]) -> Sequence[int | float | None]:
        return self.searcher.fast_field_values(field, addresses)

    def _rank_again(
        self, word_queries: WordQueries, pairs: Sequence[tuple[float, DocAddress]], keys: Sequence[int | float | None]
    ) -> tuple[list[ScoredRow], dict[int, RankValues]]:
        """Returns the best matches in their final order, and the values of their rank fields by key.

        If a bias reaches deeper, it first chooses which matches get all parts.
        """
        numbers = [int(key or 0) for key in keys]
        addresses = [address for _, address in pairs]
        ranks, linked = ([int(value or 0) for value in self._values(field, addresses)] for field in RANK_FIELDS)
        # fingerprints are made of these where a hit is listed, ten times less often
        rank_values = dict(zip(numbers, zip(ranks, linked, strict=True), strict=True))
        chosen, rest = self._list_candidates(pairs, numbers, ranks, linked), list[ScoredRow]()
        # Without the other parts first, which are expensive; the bias's factors decide which matches get them.
        if self.bias is not None and len(chosen) > BIASED_WHOLE:
            by_key = {row[0]: row for row in chosen}
            moved = rank(chosen, {}, self.ranking, self.now)
            chosen, rest = [by_key[row[0]] for row in moved[:BIASED_WHOLE]], moved[BIASED_WHOLE:]
        parts = [one for part in build_parts(word_queries, self.ranking).values() for one in part]
        best = rank(chosen, self._score([row[0] for row in chosen], parts), self.ranking, self.now)
        return best + [(row[0], min(row[1], best[-1][1]), *row[2:]) for row in rest], rank_values

    def _list_candidates(
        self, pairs: Sequence[tuple[float, DocAddress]], numbers: list[int], ranks: list[int], linked: list[int]
    ) -> list[CandidateRow]:
        addresses = [address for _, address in pairs]
        nothing: Sequence[int | float | None] = [None] * len(pairs)
        link_ranks = [value & MAX_RANK for value in linked] if self.ranking.links else [0] * len(pairs)
        dates = self._values("date", addresses) if self.ranking.freshness else nothing
        biases: Sequence[float | None] = nothing
        if self.bias is not None:
            raised, lowered = (self._score(numbers, queries) for queries in ask_bias(self.bias))
            biases = [raised.get(key, 0.0) - lowered.get(key, 0.0) for key in numbers]
        return [
            (key, score, value & MAX_RANK, link_rank, None if date is None else int(date), bias)
            for (score, _), key, value, link_rank, date, bias in zip(pairs, numbers, ranks, link_ranks, dates, biases, strict=True)
        ]

    def _score(self, keys: list[int], parts: list[Query]) -> dict[int, float]:
        """Returns what each part adds to the scores of some documents."""
        if not parts or not keys:
            return {}
        hits = self.searcher.search(among(keys, parts), len(keys), count=False).hits
        found = self._values("key", [address for _, address in hits]) if hits else ()
        return {int(key or 0): score for key, (score, _) in zip(found, hits, strict=True)}

    def _explain(self, word_queries: WordQueries, page: Sequence[ScoredCandidate]) -> list[Hit]:
        keys = [one.key for one in page]
        parts = build_parts(word_queries, self.ranking)
        scores = {name: self._score(keys, queries) for name, queries in parts.items()}
        return [Hit(key=one.key, score=one.score, parts=tuple(self._parts_of(one, scores))) for one in page]

    def _parts_of(self, one: ScoredCandidate, scores: dict[str, dict[int, float]]) -> list[tuple[str, float]]:
        parts = [(name, found.get(one.key, 0.0)) for name, found in scores.items()]
        factors = [(name, float(getattr(one, name))) for name in ("static_rank", "links", "freshness", "bias", "holds_all")]
        return [("words", one.words), *parts, *factors]
