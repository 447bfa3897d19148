import threading
import tracemalloc
from array import array
from functools import partial

import pytest

from feedmill.adapters.index.tantivy.queryresultcache import ENTRY_BYTES, FEW_CLASSES, QueryResultCache, name_classes
from feedmill.adapters.index.tantivy.rerank import TopMatches, count_best
from feedmill.model.access import ANONYMOUS, AccessFilter, ClassMap
from feedmill.model.errors import Busy
from feedmill.model.query import And, MetaEquals


def repeat(number: int) -> list[int]:
    return [number] * 3


class Finder:
    """Finds answers of so many parts and counts how often."""

    def __init__(self, parts: int = 1) -> None:
        self.parts = parts
        self.found = 0

    def __call__(self) -> list[int]:
        self.found += 1
        return [self.found] * self.parts


def test_query_repeated_returns_the_result_that_was_found() -> None:
    cache, find = QueryResultCache(), Finder()
    assert cache.get("a", find, len) is cache.get("a", find, len)
    assert (cache.get("b", find, len), find.found) == ([2], 2)


def test_results_beyond_the_bound_are_evicted_least_recently_used_first() -> None:
    cache, find = QueryResultCache(cache_bytes=3 * (ENTRY_BYTES + 2)), Finder(parts=2)
    first = cache.get("a", find, len)
    cache.get("b", find, len)
    cache.get("c", find, len)
    assert cache.get("a", find, len) is first
    cache.get("d", find, len)
    assert cache.get("a", find, len) is first
    assert cache.get("b", find, len) == [5, 5]


def test_result_larger_than_the_bound_is_returned_and_not_cached() -> None:
    cache, find = QueryResultCache(cache_bytes=ENTRY_BYTES + 2), Finder(parts=3)
    assert [cache.get("a", find, len)[0] for _ in range(2)] == [1, 2]


def test_answer_larger_than_the_bound_evicts_no_other() -> None:
    cache, find = QueryResultCache(cache_bytes=2 * (ENTRY_BYTES + 2)), Finder()
    small = cache.get("small", find, len)
    cache.get("large", lambda: [0] * 10_000, len)
    assert cache.get("small", find, len) is small


def test_failure_to_find_is_raised_and_not_cached() -> None:
    cache, find = QueryResultCache(), Finder()

    def fail() -> list[int]:
        raise Busy("later")

    with pytest.raises(Busy):
        cache.get("a", fail, len)
    assert cache.get("a", find, len) == [1]


def test_results_of_many_threads_stay_within_the_bound() -> None:
    cache = QueryResultCache(cache_bytes=5 * (ENTRY_BYTES + 3))

    def ask(number: int) -> None:
        for turn in range(200):
            question = (number * 7 + turn) % 15
            assert cache.get(question, partial(repeat, question), len) == [question] * 3

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache.get("last", lambda: [1], len) == [1]
    assert cache.size_bytes <= 5 * (ENTRY_BYTES + 3)


def test_long_queries_take_no_more_memory_than_short_ones() -> None:
    cache, find = QueryResultCache(), Finder()
    cache.get("x" * 100_000, find, len)
    assert cache.size_bytes == ENTRY_BYTES + 1


def make_matches() -> TopMatches:
    keys = range(1_000, 1_100)
    ranks = array("Q", [96] * 100), array("Q", [0] * 100)
    return TopMatches(keys=array("q", keys), scores=array("d", map(float, keys)), ranks=ranks, total=100, is_exact=True)


def make_question(number: int) -> And:
    return And(tuple(MetaEquals(f"name{number}", f"value{part} {number}") for part in range(190)))


def test_thousands_of_long_questions_stay_within_the_bound_of_memory() -> None:
    cache = QueryResultCache(cache_bytes=200_000)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(600):
            # named nowhere, since the last one would count as memory of the cache
            cache.get(make_question(number), make_matches, count_best)
        used = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert cache.size_bytes * 0.5 < used < cache.size_bytes * 1.2


def test_sets_of_classes_have_the_same_name_only_where_they_hold_the_same() -> None:
    sets = [
        ANONYMOUS.permitted,
        frozenset({1}),
        frozenset[int](),
        ClassMap(b"\1\0"),
        ClassMap(b"\0\1"),
        ClassMap(b"\1\1"),
    ]
    names = [name_classes(AccessFilter(permitted=each)) for each in sets]
    assert len(set(map(repr, names))) == len(sets)
    assert names == [name_classes(AccessFilter(permitted=each)) for each in sets]
    assert name_classes(AccessFilter(permitted=frozenset(range(FEW_CLASSES + 1)))) is None
