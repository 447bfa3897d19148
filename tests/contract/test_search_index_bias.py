"""Result biasing, as every search index does it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from feedmill.core.query.patternsets import CompiledPatterns
from feedmill.core.ranking.bias import bias_factor, biased, prepare_bias
from feedmill.model.access import ANONYMOUS
from feedmill.model.query import MatchAll, Node, Word
from feedmill.model.ranking import Ranking
from feedmill.model.search import IndexDocument, Sort
from feedmill.model.serving import Bias, MetadataBias, SourceBias
from tests.builders.indexdocuments import make_index_document
from tests.contract.indexharness import ENGINES, Opened, open_index, put

NOW = datetime(2026, 3, 1, tzinfo=UTC)
BOOK = CompiledPatterns(("press.com/", "contains:old"))


@pytest.fixture(params=ENGINES)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    with open_index(request.param, tmp_path / "index", NOW.timestamp) as index_and_writer:
        yield index_and_writer


def document(key: int, url: str, body: str = "needle", kind: str = "", age_days: int | None = None) -> IndexDocument:
    return make_index_document(
        key=key,
        url=url,
        body=body,
        metadata=(("kind", kind),) if kind else (),
        last_modified=None if age_days is None else NOW - timedelta(days=age_days),
        patterns=BOOK.terms_of(url),
    )


def keys(opened: Opened, bias: Bias, query: Node | None = None, sort: Sort | None = None) -> list[int]:
    node = query or Word("needle")
    return [hit.key for hit in opened[0].search(node, ANONYMOUS, start=0, num=100, sort=sort, bias=prepare_bias(bias)).hits]


def of_sources(**weights: int) -> Bias:
    patterns: Mapping[str, str] = {"press": "press.com/", "old": "contains:old", "all": "/"}
    return Bias(name="b", sources=tuple(SourceBias(pattern=patterns[name], weight=weight) for name, weight in weights.items()))


URLS = ("http://a.com/1", "http://press.com/2", "http://a.com/old/3", "http://press.com/old/4")


def test_source_patterns_raise_and_lower_what_they_mean(opened: Opened) -> None:
    put(opened, *(document(number, url) for number, url in enumerate(URLS, 1)))
    assert keys(opened, Bias(name="b")) == [1, 2, 3, 4]
    assert keys(opened, of_sources(press=1)) == [2, 4, 1, 3]
    assert keys(opened, of_sources(old=-10)) == [1, 2, 3, 4]
    assert keys(opened, of_sources(old=10)) == [3, 4, 1, 2]
    assert keys(opened, of_sources(press=-1)) == [1, 3, 2, 4]
    assert keys(opened, of_sources(press=5, old=-3)) == [2, 4, 1, 3]
    assert keys(opened, of_sources(press=3, old=-5)) == [2, 1, 4, 3]
    assert keys(opened, of_sources(press=0, old=0)) == [1, 2, 3, 4]
    assert keys(opened, of_sources(all=10)) == [1, 2, 3, 4]


def test_metadata_values_raise_what_has_them_in_any_letter_case(opened: Opened) -> None:
    kinds = ("", "memo", "Policy", "policy")
    put(opened, *(document(number, f"http://a.com/{number}", kind=kind) for number, kind in enumerate(kinds, 1)))
    assert keys(opened, Bias(name="b", metadata=(MetadataBias(name="KIND", value="policy", weight=4),))) == [3, 4, 1, 2]
    assert keys(opened, Bias(name="b", metadata=(MetadataBias(name="kind", value="", weight=4),))) == [2, 3, 4, 1]
    assert keys(opened, Bias(name="b", metadata=(MetadataBias(name="kind", value="", weight=-4),))) == [1, 2, 3, 4]


def test_newer_dates_raise_and_none_does_not(opened: Opened) -> None:
    put(opened, *(document(number, f"http://a.com/{number}", age_days=age) for number, age in enumerate((None, 900, 90, 0), 1)))
    assert keys(opened, Bias(name="b", date=10)) == [4, 3, 2, 1]
    assert keys(opened, Bias(name="b", date=1)) == [4, 3, 2, 1]


def test_a_policy_orders_what_matches_without_words(opened: Opened) -> None:
    put(opened, *(document(number, url) for number, url in enumerate(URLS, 1)))
    assert keys(opened, of_sources(press=2), MatchAll()) == [2, 4, 1, 3]


def test_a_sorted_list_is_not_biased(opened: Opened) -> None:
    put(opened, *(document(number, url, age_days=number) for number, url in enumerate(URLS, 1)))
    assert keys(opened, of_sources(press=10), sort=Sort(is_descending=False)) == [4, 3, 2, 1]


def test_bias_weighs_against_relevance_and_does_not_change_what_matches(opened: Opened) -> None:
    better = document(1, "http://a.com/1", "needle needle needle")
    other = document(2, "http://press.com/2", "needle " + "hay " * 8)
    put(
        opened, better, other, document(3, "http://a.com/3", "hay"), *(document(key, f"http://a.com/{key}", "straw") for key in range(4, 9))
    )
    assert keys(opened, Bias(name="b")) == [1, 2]
    assert keys(opened, of_sources(press=10)) == [2, 1]
    assert sorted(keys(opened, of_sources(press=-10))) == [1, 2]


def test_bias_reaches_the_best_thousand(opened: Opened) -> None:
    documents = [document(number, f"http://a.com/{number}") for number in range(1, 901)]
    put(opened, *documents, document(901, "http://press.com/x", "needle hay"))
    assert opened[0].search(Word("needle"), ANONYMOUS, start=0, num=1, bias=prepare_bias(of_sources(press=10))).hits[0].key == 901


def test_weights_are_doubled_by_five_and_bounded() -> None:
    assert [bias_factor(weight) for weight in (0, 5, 10, -5, -10)] == [1.0, 2.0, 4.0, 0.5, 0.25]
    assert bias_factor(1000) == bias_factor(20)
    assert prepare_bias(None) is None
    assert prepare_bias(Bias(name="b", sources=(SourceBias(pattern="a/", weight=0),))) is None
    ranking = Ranking(depth=20, freshness=0.1)
    assert biased(ranking, None) == ranking
    assert biased(ranking, prepare_bias(Bias(name="b", date=10))) == replace(ranking, depth=1000, freshness=3.1)
