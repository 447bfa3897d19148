"""What every search index promises of counting facets."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedmill.adapters.index.memory.index import MemoryIndex, MemoryWriter
from feedmill.adapters.index.tantivy.reader import TantivyIndex, TantivyWriter
from feedmill.core.ranking.facets import MAX_VALUES_SHOWN, narrow
from feedmill.model.access import ANONYMOUS, AccessFilter
from feedmill.model.document import Metadata
from feedmill.model.facets import Facet, FacetRange, FacetType, FacetValue
from feedmill.model.query import And, MatchAll, MetaEquals, Node, Word
from feedmill.model.search import IndexDocument
from tests.builders.indexdocuments import make_index_document
from tests.contract.indexharness import BOTH, Opened, keys, put
from tests.thorough import count_examples

NO_ACCESS = AccessFilter(permitted=frozenset())


def with_metadata(*lists: Metadata) -> list[IndexDocument]:
    return [make_index_document(key=number, body="word", metadata=metadata) for number, metadata in enumerate(lists, 1)]


def ranged(name: str, kind: FacetType, *texts: str) -> Facet:
    ends = (text.partition("..") for text in texts)
    return Facet(name=name, type=kind, ranges=tuple(FacetRange(low=low, high=high) for low, _, high in ends))


def count(opened: Opened, facet: Facet, query: Node = MatchAll(), access: AccessFilter = ANONYMOUS) -> list[tuple[str, int]]:  # noqa: B008
    (counts,) = opened[0].count_facets(query, access, [facet])
    assert counts.facet == facet
    return [(shown(value), value.count) for value in counts.values]


def shown(value: FacetValue) -> str:
    return value.value if value.value is not None else f"{value.range.low}..{value.range.high}" if value.range else ""


def test_facets_nothing_written_are_empty(opened: Opened) -> None:
    assert count(opened, Facet(name="team")) == []


def test_facet_values_most_frequent_first_in_any_letter_case(opened: Opened) -> None:
    put(
        opened,
        *with_metadata(
            (("Team", "Sales"), ("team", "sales")),
            (("TEAM", "Legal  Affairs"),),
            (("team", "legal affairs"), ("team", "Ops")),
            (("team", "Legal Affairs"), ("other", "Sales")),
            (("team", " "),),
        ),
    )
    assert count(opened, Facet(name="tEAM")) == [("Legal Affairs", 3), ("Ops", 1), ("Sales", 1)]
    assert count(opened, Facet(name="none")) == []


def test_facet_counts_what_matches_and_may_be_seen(opened: Opened) -> None:
    entries = with_metadata(*[(("team", f"t{number % 3}"),) for number in range(9)])
    put(opened, *[replace(entry, access_class=entry.key % 3 == 0, body=f"word w{entry.key}") for entry in entries])
    assert count(opened, Facet(name="team")) == [("t0", 3), ("t1", 3)]
    assert count(opened, Facet(name="team"), access=BOTH) == [("t0", 3), ("t1", 3), ("t2", 3)]
    assert count(opened, Facet(name="team"), access=NO_ACCESS) == []
    assert count(opened, Facet(name="team"), Word("w4")) == [("t0", 1)]
    assert count(opened, Facet(name="team"), Word("w3")) == []


def test_facet_numbers_are_ordered_as_numbers_and_words_left_out(opened: Opened) -> None:
    put(opened, *with_metadata((("n", "10"),), (("n", "9"),), (("n", "9"), ("n", "many")), (("n", "-1.5"),)))
    assert count(opened, Facet(name="n", type=FacetType.FLOAT)) == [("-1.5", 1), ("9", 2), ("10", 1)]
    put(opened, *with_metadata((("d", "2026-02-01"),), (("d", "1 Jan 2025"),), (("d", "soon"),)))
    assert count(opened, Facet(name="d", type=FacetType.DATE)) == [("1 Jan 2025", 1), ("2026-02-01", 1)]


def test_facet_ranges_hold_both_ends_and_count_a_document_once(opened: Opened) -> None:
    put(opened, *with_metadata((("p", "10"), ("p", "$7.50")), (("p", "20"),), (("p", "30.01"),), (("p", "-5"),), (("p", "x"),)))
    prices = ranged("P", FacetType.CURRENCY, "..0", "0..10", "10..20", "20..", "100..", "0..1000")
    assert count(opened, prices) == [("..0", 1), ("0..10", 1), ("10..20", 2), ("20..", 2), ("0..1000", 3)]
    assert count(opened, ranged("none", FacetType.INTEGER, "0..10")) == []
    assert count(opened, ranged("p", FacetType.INTEGER, "10..0")) == []


def test_facet_ranges_count_alike_where_later_documents_lack_the_name(opened: Opened) -> None:
    first, second, other = with_metadata((("p", "5"),), (("p", "100"),), (("q", "x"),))
    put(opened, first)
    put(opened, other)
    put(opened, second)
    put(opened, replace(other, key=4))
    prices = ranged("p", FacetType.CURRENCY, "..10", "10..100", "100..")
    assert count(opened, prices) == [("..10", 1), ("10..100", 1), ("100..", 1)]


def test_facet_ranges_of_dates_hold_whole_days(opened: Opened) -> None:
    put(opened, *with_metadata((("d", "2026-01-31T23:59:59Z"),), (("d", "2026-02-01"),), (("d", "2025-06-01"),), (("d", "7"),)))
    days = ranged("d", FacetType.DATE, "2026-01-01..2026-01-31", "2026-02-01..", "..2025-12-31", "2026-01-01..2026-12-31")
    assert [number for _, number in count(opened, days)] == [1, 1, 1, 2]


def test_facets_several_at_once_and_replaced_documents(opened: Opened) -> None:
    put(opened, *with_metadata((("a", "x"), ("n", "1")), (("a", "y"),)))
    put(opened, *with_metadata((("a", "z"), ("n", "2"))))
    both = opened[0].count_facets(MatchAll(), ANONYMOUS, [Facet(name="a"), ranged("n", FacetType.INTEGER, "0..1", "2..")])
    assert [[(shown(value), value.count) for value in counts.values] for counts in both] == [[("y", 1), ("z", 1)], [("2..", 1)]]


def test_facet_of_many_values_has_exact_counts_of_the_best(opened: Opened) -> None:
    lists: list[Metadata] = [(("a", f"often {number % 150}"), ("a", f"once {number}")) for number in range(3_000)]
    for start in range(0, 3_000, 1_000):
        put(opened, *[replace(entry, key=start + entry.key) for entry in with_metadata(*lists[start : start + 1_000])])
    counts = count(opened, Facet(name="a"))
    assert len(counts) == MAX_VALUES_SHOWN
    assert dict(counts) == {f"often {number}": len(range(number, 3_000, 150)) for number in range(150) if f"often {number}" in dict(counts)}


@pytest.mark.parametrize("kind", [FacetType.STRING, FacetType.INTEGER])
@pytest.mark.parametrize("spelt", ["once", "variously", "tied"])
def test_facet_of_hundreds_of_values_has_exact_counts_of_the_best(opened: Opened, spelt: str, kind: FacetType) -> None:
    often = MAX_VALUES_SHOWN - 5 if spelt == "tied" else MAX_VALUES_SHOWN + 50
    texts = [f"v{value}" if kind is FacetType.STRING else f"{value}" for value in range(4 * MAX_VALUES_SHOWN)]
    lists: list[Metadata] = [(("team", text),) for text in [*texts, *texts[:often]]]
    if spelt == "variously":
        # one spelling alone is not among the best, all of them together are
        lists += [(("team", text),) for text in ("Word", "word", "WORD")]
    put(opened, *with_metadata(*lists))
    found = count(opened, Facet(name="team", type=kind))
    assert len(found) == MAX_VALUES_SHOWN
    assert ("WORD", 3) in found or spelt != "variously" or kind is not FacetType.STRING
    assert found == count((_count_in_memory(lists), opened[1]), Facet(name="team", type=kind))


def _count_in_memory(lists: Sequence[Metadata]) -> MemoryIndex:
    """Returns the index in memory, which counts everything, with the same documents."""
    memory = MemoryIndex()
    writer = MemoryWriter(memory)
    writer.put_many(with_metadata(*lists))
    assert memory.reload_to(writer.commit())
    return memory


@pytest.mark.parametrize("name", ["", "a.b", "n\x00l", "ü" * 300, "\ud800"], ids=["empty", "dot", "nul", "long", "surrogate"])
def test_facet_odd_names_and_values_are_counted(opened: Opened, name: str) -> None:
    put(opened, *with_metadata(((name, "v\ud800\x00"), (name, "x" * 600))))
    assert len(count(opened, Facet(name=name))) == 1


VALUES = st.sampled_from(["a", "A", "b", "1", "2.5", "-3", "1,000", "2026-01-01", "1 Feb 2026", "c d", "$4"])
PAIRS = st.tuples(st.sampled_from(["x", "X", "y"]), VALUES)
FACETS = st.sampled_from(
    [
        Facet(name="x"),
        Facet(name="y", type=FacetType.FLOAT),
        ranged("x", FacetType.FLOAT, "..0", "0..2.5", "1..", "2.5..1000"),
        ranged("x", FacetType.DATE, "2026-01-01..2026-01-01", "2026-01-01.."),
    ]
)


@settings(max_examples=count_examples(25), suppress_health_check=list(HealthCheck))
@given(lists=st.lists(st.lists(PAIRS, max_size=4), max_size=12), facets=st.lists(FACETS, max_size=4))
def test_facets_count_alike_and_narrowing_finds_what_was_counted(
    tmp_path_factory: pytest.TempPathFactory, lists: Sequence[Sequence[tuple[str, str]]], facets: Sequence[Facet]
) -> None:
    folder = tmp_path_factory.mktemp("facets") / "index"
    memory = MemoryIndex()
    engine: Opened = (TantivyIndex(folder), TantivyWriter(folder, heap_bytes=15_000_000))
    entries = with_metadata(*[tuple(pairs) for pairs in lists])
    for pair in (engine, (memory, MemoryWriter(memory))):
        put(pair, *entries[::2])
        put(pair, *entries[1::2])
    counted = engine[0].count_facets(MatchAll(), ANONYMOUS, facets)
    assert counted == memory.count_facets(MatchAll(), ANONYMOUS, facets)
    for counts in counted:
        for value in counts.values:
            root = And((Word("word"), narrow(counts.facet, value)))
            assert engine[0].search(root, ANONYMOUS, start=0, num=1).total == value.count
    engine[1].close()


def test_metadata_is_found_and_counted_only_where_it_may_be(opened: Opened) -> None:
    fielded, worded, counted = ("code", "alpha"), ("note", "beta"), ("team", "gamma")
    put(
        opened,
        make_index_document(
            key=1, body="word", metadata=(fielded, counted), text_metadata=(worded, counted), facet_metadata=(counted,), sort_metadata=()
        ),
    )
    assert keys(opened, MetaEquals("code", "alpha")) == keys(opened, Word("beta")) == keys(opened, Word("gamma")) == [1]
    assert keys(opened, Word("alpha")) == keys(opened, MetaEquals("note", "beta")) == []
    assert count(opened, Facet(name="team")) == [("gamma", 1)]
    assert count(opened, Facet(name="code")) == count(opened, Facet(name="note")) == []
