"""The exact search finds what a plain product finds, among the permitted classes alone."""

from collections.abc import Set

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.adapters import vectors as module
from feedmill.adapters.vectors import ExactVectorSearch
from feedmill.core.ranking.vectors import Vectors, pack_vectors, read_vectors
from feedmill.model.access import ClassMap
from feedmill.model.semantic import EmbeddingChange

DIMENSIONS = 16


def make_vectors(count: int, seed: int, dimensions: int = DIMENSIONS) -> Vectors:
    return read_vectors(np.random.default_rng(seed).standard_normal((count, dimensions)).tolist())


def make_change(number: int, document_id: int, vectors: Vectors | None, access_class: int = 0) -> EmbeddingChange:
    if vectors is None:
        return EmbeddingChange(number=number, document_id=document_id, access_class=access_class)
    return EmbeddingChange(
        number=number, document_id=document_id, access_class=access_class, dimensions=vectors.shape[1], vectors=pack_vectors(vectors)
    )


def test_nearest_documents_are_those_of_a_plain_product() -> None:
    search, held = ExactVectorSearch(), {key: make_vectors(3, key) for key in range(500)}
    search.apply([make_change(key + 1, key, rows) for key, rows in held.items()])
    query = make_vectors(1, 10_000)
    wanted = sorted(held, key=lambda key: -float((held[key] @ query[0]).max()))[:20]
    found = search.find_nearest(query, {0}, 20)
    assert len(set(wanted) & {each.document_id for each in found}) >= 19
    for each in found:
        products = held[each.document_id] @ query[0]
        assert each.similarity == pytest.approx(float(products[each.passage]), abs=0.01)
    assert [each.similarity for each in found] == sorted((each.similarity for each in found), reverse=True)
    assert (search.count(), search.reached) == (1_500, 500)


@pytest.mark.parametrize("classes", [frozenset({3}), ClassMap(b"\0\0\0\1")])
def test_documents_of_other_classes_take_no_part(classes: Set[int]) -> None:
    search, vectors = ExactVectorSearch(), make_vectors(1, 1)
    search.apply([make_change(number, number, vectors, access_class=number) for number in range(1, 6)])
    assert [each.document_id for each in search.find_nearest(vectors, classes, 10)] == [3]


@given(st.sets(st.integers(0, 9)), st.lists(st.integers(-1, 12), min_size=1, max_size=40))
def test_only_permitted_classes_are_found_and_all_of_them(permitted: set[int], held: list[int]) -> None:
    search = ExactVectorSearch()
    search.apply([make_change(key + 1, key, make_vectors(1, key), access_class=held_class) for key, held_class in enumerate(held)])
    table = ClassMap(bytes(int(number in permitted) for number in range(10)))
    wanted = {key for key, held_class in enumerate(held) if held_class in permitted}
    for classes in (permitted, table):
        assert {each.document_id for each in search.find_nearest(make_vectors(1, 99), classes, 100)} == wanted


def test_changed_and_removed_documents_never_answer_by_old_vectors() -> None:
    search, first, second = ExactVectorSearch(), make_vectors(2, 1), make_vectors(1, 2)
    search.apply([make_change(1, 7, first)])
    search.apply([make_change(2, 7, second)])
    (found,) = search.find_nearest(first[1:], {0}, 5)
    assert found.similarity == pytest.approx(float(first[1] @ second[0]), abs=0.01)
    search.apply([make_change(3, 7, None)])
    assert search.find_nearest(second, {0}, 5) == []
    assert (search.count(), search.reached) == (0, 3)


def test_document_with_many_near_passages_leaves_place_for_others() -> None:
    search, query = ExactVectorSearch(), make_vectors(1, 1)
    search.apply([make_change(1, 1, np.repeat(query, 500, axis=0)), make_change(2, 2, make_vectors(1, 2)), make_change(3, 3, -query)])
    assert [each.document_id for each in search.find_nearest(query, {0}, 3)] == [1, 2, 3]


def test_vectors_of_another_length_take_no_part() -> None:
    search = ExactVectorSearch()
    search.apply([make_change(1, 1, make_vectors(1, 1, 8)), make_change(2, 2, make_vectors(1, 2, 4))])
    assert [each.document_id for each in search.find_nearest(make_vectors(1, 3, 4), {0}, 5)] == [2]
    assert search.find_nearest(make_vectors(1, 3, 5), {0}, 5) == []
    assert [search.has_length(length) for length in (4, 5, 8)] == [True, False, True]
    assert ExactVectorSearch().has_length(5)


def test_nobody_finds_nothing_and_no_limit_finds_nothing() -> None:
    search = ExactVectorSearch()
    search.apply([make_change(1, 1, make_vectors(1, 1))])
    assert search.find_nearest(make_vectors(1, 1), frozenset(), 5) == []
    assert search.find_nearest(make_vectors(1, 1), ClassMap(b""), 5) == []
    assert search.find_nearest(make_vectors(1, 1), {0}, 0) == []


def test_blocks_are_filled_and_garbage_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK_ROWS", 64)
    monkeypatch.setattr(module, "LEAST_GARBAGE", 50)
    search = ExactVectorSearch()
    for number in range(1, 400):
        search.apply([make_change(number, number % 40, make_vectors(5, number))])
    assert search.count() == 200
    query = make_vectors(5, 399)[4:]
    best = search.find_nearest(query, {0}, 50)
    assert (len(best), best[0].document_id, best[0].passage) == (40, 399 % 40, 4)
