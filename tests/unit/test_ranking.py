from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.ranking.scoring import HOLDS_ALL_BONUS, Candidate, ScoredCandidate, fed_rank, freshness_factor, rank, rank_factor
from feedmill.model.document import Attributes
from feedmill.model.ranking import Ranking

RANKING = Ranking()
DAY = 86_400
NOW = 1_000.0 * DAY


def order(*candidates: Candidate, parts: Mapping[int, float] = MappingProxyType({}), ranking: Ranking = RANKING) -> list[int]:
    return [key for key, *_ in rank(candidates, parts, ranking, NOW)]


def test_rank_parts_add_to_words_and_equals_go_by_key() -> None:
    assert order(Candidate(key=1, words=2.0), Candidate(key=2, words=1.5), parts={2: 1.0}) == [2, 1]
    assert order(Candidate(key=9, words=1.0), Candidate(key=3, words=1.0)) == [3, 9]


def test_rank_holding_all_comes_first_whatever_else_speaks() -> None:
    some = Candidate(key=1, words=8_000.0, rank=100)
    every = Candidate(key=2, words=HOLDS_ALL_BONUS + 0.5, rank=68)
    assert order(some, every, parts={1: 9_000.0}) == [2, 1]


def test_rank_static_rank_and_freshness_multiply() -> None:
    assert rank_factor(96, RANKING) == 1.0
    assert rank_factor(68, RANKING) < 1.0 < rank_factor(100, RANKING)
    assert rank_factor(-10_000, RANKING) > 0
    fresh = replace(RANKING, freshness=1.0, freshness_days=10.0)
    assert freshness_factor(int(NOW), fresh, NOW) == 2.0
    assert freshness_factor(int(NOW - 10 * DAY), fresh, NOW) == 1.5
    assert freshness_factor(int(NOW + DAY), fresh, NOW) == 2.0
    assert freshness_factor(None, fresh, NOW) == freshness_factor(int(NOW), RANKING, NOW) == 1.0
    dated = Candidate(key=1, words=1.0, date=int(NOW)), Candidate(key=2, words=1.5, date=0)
    assert order(*dated) == [2, 1]
    assert order(*dated, ranking=fresh) == [1, 2]


@given(st.lists(st.tuples(st.floats(0, 20_000), st.floats(0, 20_000), st.integers(0, 100)), max_size=20))
def test_rank_keeps_every_candidate_in_falling_scores(values: list[tuple[float, float, int]]) -> None:
    candidates = [Candidate(key=key, words=words, rank=value) for key, (words, _, value) in enumerate(values)]
    scored = list(map(ScoredCandidate._make, rank(candidates, {key: parts for key, (_, parts, _) in enumerate(values)}, RANKING, NOW)))
    assert sorted(one.key for one in scored) == list(range(len(values)))
    assert [one.score for one in scored] == sorted((one.score for one in scored), reverse=True)


@pytest.mark.parametrize(
    ("pagerank", "feedrank", "rank"),
    [(None, None, 96), (70, None, 70), (70, 1, 70), (None, 1, 68), (None, 100, 100), (None, 50, 84)],
)
def test_fed_rank_is_the_pagerank_else_the_feedrank_on_its_scale(pagerank: int | None, feedrank: int | None, rank: int) -> None:
    assert fed_rank(Attributes(pagerank=pagerank, feedrank=feedrank)) == rank


def test_rank_links_raise_and_are_neutral_where_all_are_alike() -> None:
    assert order(Candidate(key=1, words=1.0), Candidate(key=2, words=1.0, links=40)) == [2, 1]
    assert order(Candidate(key=1, words=1.0), Candidate(key=2, words=2.0, links=0), Candidate(key=3, words=1.5, links=100)) == [2, 3, 1]
    assert order(Candidate(key=1, words=1.0, links=100), Candidate(key=2, words=1.2, links=100)) == [2, 1]
