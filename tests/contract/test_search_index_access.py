"""Who may see what, in each index: sets of few classes and of many, and classes that came later."""

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from feedmill.adapters.index.memory.index import MemoryIndex, MemoryWriter
from feedmill.adapters.index.tantivy import accessfilter, classfacets, reader
from feedmill.adapters.index.tantivy.reader import TantivyIndex, TantivyWriter
from feedmill.adapters.index.tantivy.schema import SAMPLES, sample_of
from feedmill.core.ranking.facets import read_facet_range
from feedmill.model.access import ANONYMOUS, AccessClass, AccessFilter, ClassMap
from feedmill.model.facets import Facet, FacetType
from feedmill.model.query import MatchAll, Node, Word
from feedmill.model.search import Hits, Sort
from feedmill.ports import SearchIndex
from tests.builders.indexdocuments import make_index_document
from tests.contract.indexharness import Opened, put

CLASSES = 1_500
DOCUMENTS = 3_000
NEWEST = CLASSES - 100


@pytest.fixture(scope="module", params=["tantivy", "memory"])
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SearchIndex]:
    """Returns an index of documents whose class is their key modulo ``CLASSES``; the last hundred classes came later."""
    opened: tuple[SearchIndex, MemoryWriter | TantivyWriter]
    if request.param == "memory":
        memory = MemoryIndex()
        opened = memory, MemoryWriter(memory)
    else:
        folder = tmp_path_factory.mktemp("root") / "index"
        opened = TantivyIndex(folder), TantivyWriter(folder, heap_bytes=15_000_000)
    made, writer = opened
    documents = [
        make_index_document(
            key=key,
            access_class=key % CLASSES,
            body="word " * (key % 7 + 1),
            metadata=(("kind", str(key % 2)), ("rank", str(key % 7))),
            url=f"http://host{key % 3}/{key}",
            last_modified=datetime(2020 + key % 4, 1 + key % 12, 1, tzinfo=UTC),
        )
        for key in range(1, DOCUMENTS + 1)
    ]
    writer.put_many(documents)
    assert made.reload_to(writer.commit())
    yield made
    writer.close()


@pytest.fixture
def index(filled: SearchIndex, monkeypatch: pytest.MonkeyPatch) -> SearchIndex:
    """Returns that index, which caches no answers, since the same query runs in two ways."""
    monkeypatch.setattr(reader, "name_classes", lambda _access: None)
    return filled


def class_map(share: float) -> ClassMap:
    """Returns a set of so many of the classes that are known; the public one is always in it."""
    chance = random.Random(share)
    return ClassMap(b"\1" + bytes(chance.random() < share for _ in range(NEWEST)))


def find(index: SearchIndex, permitted: ClassMap, query: Node, start: int = 0, num: int = DOCUMENTS, sort: Sort | None = None) -> Hits:
    return index.search(query, AccessFilter(permitted=permitted), start=start, num=num, sort=sort)


@pytest.mark.parametrize("cost_of_a_term", [0.0, 1_000.0])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.1, 0.5, 0.95, 1.0])
def test_classes_of_a_set_are_found_and_no_others(
    index: SearchIndex, share: float, cost_of_a_term: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accessfilter, "COST_OF_A_TERM", cost_of_a_term)
    permitted = class_map(share)
    expected = {key for key in range(1, DOCUMENTS + 1) if key % CLASSES in permitted}
    for query in (Word("word"), MatchAll()):
        found = find(index, permitted, query)
        assert {hit.key for hit in found.hits} == expected
        assert (found.total, found.is_exact) == (len(expected), True)
    assert {hit.key for hit in find(index, permitted, Word("word"), sort=Sort()).hits} == expected
    assert {hit.key for hit in find(index, permitted, Word("word"), sort=Sort(name="kind")).hits} == expected
    (counts,) = index.count_facets(Word("word"), AccessFilter(permitted=permitted), [Facet(name="kind", label="Kind")])
    assert sum(value.count for value in counts.values) == len(expected)


RANGES = tuple(read_facet_range(text, FacetType.INTEGER) for text in ("..2", "2..3", "5.."))
KIND, RANK = Facet(name="kind"), Facet(name="rank", type=FacetType.INTEGER, ranges=RANGES)
SITE, DAYS = Facet(name="@site"), Facet(name="@date", type=FacetType.DATE, as_of=date(2023, 12, 5))


@pytest.mark.parametrize("share", [0.01, 0.5, 0.95])
def test_facets_of_thousands_of_classes_are_counted_exactly_where_that_is_cheap(
    index: SearchIndex, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    permitted = AccessFilter(permitted=class_map(share))
    expected = index.count_facets(Word("word"), permitted, [KIND, RANK, SITE, DAYS])
    monkeypatch.setattr(accessfilter, "COST_OF_A_TERM", 1_000.0)
    assert index.count_facets(Word("word"), permitted, [KIND, RANK, SITE, DAYS]) == expected


@pytest.mark.parametrize("share", [0.3, 0.95])
def test_facets_of_long_lists_are_estimated_by_a_part_of_them(index: SearchIndex, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    permitted = AccessFilter(permitted=class_map(share))
    expected = index.count_facets(Word("word"), permitted, [KIND, RANK, SITE])
    monkeypatch.setattr(accessfilter, "COST_OF_A_TERM", 1_000.0)
    for name, value in (("WHOLE", 100), ("PILOT", 1_000), ("DRAWN", 400)):
        monkeypatch.setattr(classfacets, name, value)
    found = index.count_facets(Word("word"), permitted, [KIND, RANK, SITE])
    for exact, estimated in zip(expected, found, strict=True):
        counts = {(value.value, value.range): value.count for value in estimated.values}
        assert exact.is_exact
        assert estimated.is_exact is isinstance(index, MemoryIndex)
        assert counts == {(value.value, value.range): pytest.approx(value.count, rel=0.25) for value in exact.values}


def test_facets_never_show_a_value_of_hidden_documents_alone(index: SearchIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    permitted = AccessFilter(permitted=ClassMap(bytes(number % 2 for number in range(NEWEST))))
    expected = sum(key % CLASSES in permitted.permitted for key in range(1, DOCUMENTS + 1))
    for cost in (0.0, 1_000.0):
        monkeypatch.setattr(accessfilter, "COST_OF_A_TERM", cost)
        (counts,) = index.count_facets(Word("word"), permitted, [KIND])
        assert [(value.value, value.count) for value in counts.values] == [("1", expected)]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_pages_of_a_large_set_follow_one_another(index: SearchIndex, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accessfilter, "COST_OF_A_TERM", 1_000.0)
    permitted = class_map(share)
    whole = [hit.key for hit in find(index, permitted, Word("word")).hits]
    pages = [hit.key for start in range(0, 1_200, 300) for hit in find(index, permitted, Word("word"), start, 300).hits]
    assert sorted(pages) == sorted(whole[:1_200])
    assert len(set(pages)) == len(pages)


def test_totals_are_exact_to_a_thousand_and_estimated_beyond(index: SearchIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accessfilter, "COST_OF_A_TERM", 1_000.0)
    for share in (0.25, 0.8):
        permitted = class_map(share)
        expected = sum(key % CLASSES in permitted for key in range(1, DOCUMENTS + 1))
        found = find(index, permitted, Word("word"), num=10)
        assert len(found.hits) == 10
        if found.is_exact:
            assert found.total == expected
        else:
            assert found.total > 1_000 < expected
            assert abs(found.total - expected) < expected * 0.2


def test_total_is_estimated_where_all_matches_are_in_one_half_of_the_samples(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accessfilter, "COST_OF_A_TERM", 1_000.0)
    keys = [key for key in range(1, 6_000) if sample_of(key) >= SAMPLES // 2][:2_500]
    put(opened, *(make_index_document(key=key, access_class=2 + key % CLASSES, body="word") for key in keys))
    found = find(opened[0], ClassMap(b"\0\0" + bytes([1]) * CLASSES), Word("word"), num=10)
    assert found.total == len(keys)


def test_empty_set_finds_nothing(index: SearchIndex) -> None:
    for permitted in (ClassMap(b""), ClassMap(b"\0"), ClassMap(bytes(NEWEST))):
        assert find(index, permitted, MatchAll()).total == 0
        assert find(index, permitted, Word("word"), sort=Sort()).total == 0


def test_index_of_public_documents_alone_hides_what_becomes_secure(opened: Opened) -> None:
    documents = [
        make_index_document(key=key, access_class=int(AccessClass.PUBLIC), body="word", metadata=(("kind", "a"),)) for key in range(20)
    ]
    permitted = AccessFilter(permitted=ClassMap(b"\1" + bytes(CLASSES)))
    for hidden in (0, 1, 15, 20):
        put(opened, *(replace(each, access_class=2) for each in documents[:hidden]), *documents[hidden:])
        for access in (ANONYMOUS, permitted):
            for query in (Word("word"), MatchAll()):
                found = opened[0].search(query, access, start=0, num=50)
                assert {hit.key for hit in found.hits} == set(range(hidden, 20))
                assert (found.total, found.is_exact) == (20 - hidden, True)
            assert opened[0].vocabulary.count("word", access) == 20 - hidden
            (counts,) = opened[0].count_facets(Word("word"), access, [KIND])
            assert sum(value.count for value in counts.values) == 20 - hidden
        no_access = AccessFilter(permitted=frozenset())
        assert opened[0].search(MatchAll(), no_access, start=0, num=50).total == 0


def test_index_of_public_documents_alone_shows_none_of_them_without_that_class(opened: Opened) -> None:
    put(opened, *(make_index_document(key=key, access_class=int(AccessClass.PUBLIC), body="word") for key in range(5)))
    for access in (AccessFilter(permitted=frozenset({2})), AccessFilter(permitted=ClassMap(b"\0\1\1")), ANONYMOUS.only_secure()):
        assert opened[0].search(Word("word"), access, start=0, num=50).total == 0


def test_the_same_query_is_answered_again_for_each_user_and_each_commit(opened: Opened) -> None:
    documents = [make_index_document(key=key, access_class=key % 3, body="word", metadata=(("kind", "a"),)) for key in range(30)]
    current_users = [ANONYMOUS, *(AccessFilter(permitted=frozenset(each)) for each in ({1}, {0, 2}, {0, 1, 2}))]
    current_users += [AccessFilter(permitted=ClassMap(table)) for table in (b"\1\0\1", b"\0\1\0", b"\1\1\1")]
    for gone in (0, 3, 12):
        put(opened, *documents)
        opened[1].remove_many(range(gone))
        assert opened[0].reload_to(opened[1].commit())
        for _ in range(2):
            for access in current_users:
                expected = {key for key in range(gone, 30) if key % 3 in access.permitted}
                pages = [opened[0].search(Word("word"), access, start=start, num=7) for start in range(0, 35, 7)]
                assert [len(page.hits) for page in pages] == [max(min(len(expected) - start, 7), 0) for start in range(0, 35, 7)]
                assert {hit.key for page in pages for hit in page.hits} == expected
                assert {page.total for page in pages} == {len(expected)}
                (counts,) = opened[0].count_facets(Word("word"), access, [KIND])
                assert sum(value.count for value in counts.values) == len(expected)
