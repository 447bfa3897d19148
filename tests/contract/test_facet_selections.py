"""Selections of facets, over every index: what they find and how facets are counted beside them, compared with a plain reference."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedmill.core.query.matching import ENOUGH
from feedmill.core.ranking.searchconfig import CompiledSearchConfig
from feedmill.core.text.analysis import fold_value
from feedmill.core.text.measures import read_number
from feedmill.core.text.typedvalues import read_day
from feedmill.model.access import AccessFilter
from feedmill.model.facets import FacetCounts, FacetValue
from feedmill.model.search import IndexDocument, SearchRequest
from feedmill.model.serving import Serving
from feedmill.services.searching.narrowing import count_facets, resolve_selections
from feedmill.services.searching.searcher import find_hits
from tests.builders.indexdocuments import make_index_document
from tests.contract.indexharness import ENGINES, Opened, open_index, put
from tests.thorough import count_examples

TODAY = date(2026, 11, 27)
TYPES = {"application/pdf": "pdf", "text/html": "html", "application/msword": "doc"}
HOSTS = ("intra.example.com", "www.example.com", "xn--mnchen-3ya.example", "[::1]")
SOURCES = ("wiki", "files", "mail")
LANGUAGES = ("de", "en", None)
TEAMS = ("Sales", "SALES", "a:b", "x..y", "Größe", "東京", "10..20", "..", 'with "quotes" & more', "a\u00a0b")
PRICES = ("5", "10", "$15", "20", "none", "30..40")
NAMES = ("@filetype", "@date", "@source", "@language", "@site", "team", "og:type", "price")


def make_corpus() -> list[IndexDocument]:
    chosen = random.Random(7)
    documents = []
    for key in range(1, 181):
        mimetype, host = chosen.choice(list(TYPES)), chosen.choice(HOSTS)
        days = chosen.choice([0, 1, 5, 20, 45, 200, 400, 800, 2_000, None])
        written = None if days is None else datetime(2026, 11, 27, 23, 59, 59, 500_000, tzinfo=UTC) - timedelta(days=days)
        metadata = [("Team", team) for team in chosen.sample(TEAMS, chosen.randrange(3))]
        metadata += [("og:type", chosen.choice(["article", "Article", "b:c"])), ("price", chosen.choice(PRICES))]
        documents.append(
            make_index_document(
                key=key,
                url=f"http://{host}:8080/{key}",
                mimetype=mimetype,
                datasource=chosen.choice(SOURCES),
                language=chosen.choice(LANGUAGES),
                last_modified=written,
                metadata=tuple(metadata),
                access_class=chosen.randrange(3),
                body=" ".join(
                    word for word in ("common", "half", "rare") if chosen.random() < {"common": 1, "half": 0.5, "rare": 0.04}[word]
                ),
            )
        )
    return documents


CORPUS = make_corpus()


@pytest.fixture(params=ENGINES, scope="module")
def corpus(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    with open_index(request.param, tmp_path_factory.mktemp("index")) as opened:
        put(opened, *CORPUS[:90])
        put(opened, *CORPUS[90:])
        yield opened


# --- the reference --------------------------------------------------------------------------------------------------------------


def values_of(document: IndexDocument, name: str) -> set[str]:
    """Returns the folded values of a document."""
    match name:
        case "@filetype":
            return {TYPES[document.mimetype]}
        case "@source":
            return {document.datasource}
        case "@language":
            return {document.language} if document.language else set()
        case "@site":
            return {document.url.removeprefix("http://").rpartition(":")[0]}
        case _:
            return {fold_value(value) for key, value in document.metadata if fold_value(key) == name}


def holds(document: IndexDocument, name: str, text: str) -> bool:
    low, dots, high = text.partition("..")
    if name == "@date":
        day = document.last_modified.date() if document.last_modified else None
        first, last = read_day(low), read_day(high if dots else low)
        return day is not None and (first is None or first <= day) and (last is None or day <= last)
    is_literal = fold_value(text) in {value for one in CORPUS for value in values_of(one, name)}
    if dots and not is_literal and (read_number(low) is not None or read_number(high) is not None):
        numbers = [number for value in values_of(document, name) if (number := read_number(value)) is not None]
        least, most = read_number(low), read_number(high)
        return any((least is None or least <= number) and (most is None or number <= most) for number in numbers)
    return fold_value(text) in values_of(document, name)


def find(words: Sequence[str], access: AccessFilter, selected: Sequence[tuple[str, str]], but: str = "") -> list[IndexDocument]:
    visible = [document for document in CORPUS if document.access_class in access.permitted]
    found = [document for document in visible if all(word in document.body.split() for word in words)]
    if len(found) < ENOUGH and len(words) > 1:
        found = [document for document in visible if any(word in document.body.split() for word in words)]
    names = {name for name, _ in selected if name != but}
    return [
        document for document in found if all(any(holds(document, name, text) for of, text in selected if of == name) for name in names)
    ]


# --- the search -----------------------------------------------------------------------------------------------------------------


def search(
    opened: Opened, words: Sequence[str], access: AccessFilter, selected: Sequence[tuple[str, str]], names: Sequence[str] = NAMES
) -> tuple[int, dict[str, FacetCounts]]:
    texts = tuple(f"{name}:{text}" for name, text in selected)
    plan = CompiledSearchConfig(Serving()).plan(SearchRequest(query=" ".join(words), selected=texts, facet_names=tuple(names)))
    assert plan.root is not None
    narrowing = resolve_selections(opened[0], plan, access)
    searched, hits, _ = find_hits(opened[0], plan.root, plan, access, narrowing)
    counted = count_facets(opened[0], searched, narrowing, access, plan.facets, TODAY)
    assert hits.is_exact
    return hits.total, {counts.facet.name: counts for counts in counted}


def written(value: FacetValue) -> str:
    return value.value if value.range is None else f"{value.range.low}..{value.range.high}"  # type: ignore[return-value]


WORDS = st.sampled_from([["common"], ["half"], ["rare"], ["half", "rare"], ["common", "half"]])
ACCESS = st.sets(st.integers(0, 2)).map(lambda classes: AccessFilter(permitted=frozenset(classes)))
SELECTION = st.one_of(
    st.tuples(st.just("@filetype"), st.sampled_from(["pdf", "html", "xls"])),
    st.tuples(st.just("@source"), st.sampled_from(SOURCES)),
    st.tuples(st.just("@language"), st.sampled_from(["de", "en", "fr"])),
    st.tuples(st.just("@site"), st.sampled_from(HOSTS)),
    st.tuples(st.just("@date"), st.sampled_from(["2026-11-27", "2025-01-01..", "..2026-01-01", "2026-11-01..2026-11-30", "2031-01-01.."])),
    st.tuples(st.just("team"), st.sampled_from([*TEAMS[:7], "nobody"])),
    st.tuples(st.just("og:type"), st.sampled_from(["article", "b:c"])),
    st.tuples(st.just("price"), st.sampled_from(["10..20", "..9", "20..", "none", "5", "30..40"])),
)


@settings(max_examples=count_examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(words=WORDS, access=ACCESS, selected=st.lists(SELECTION, max_size=4))
def test_selections_find_and_facets_count_as_the_reference(
    corpus: Opened, words: list[str], access: AccessFilter, selected: list[tuple[str, str]]
) -> None:
    total, facets = search(corpus, words, access, selected)
    assert total == len(find(words, access, selected))
    for name, counts in facets.items():
        documents = find(words, access, selected, but=name)
        if name == "@date":
            assert [value.count for value in counts.values] == [
                sum(holds(document, name, written(value)) for document in documents) for value in counts.values
            ]
            assert (sum(document.last_modified is not None for document in documents) > 0) == bool(counts.values)
        else:
            expected = Counter(value for document in documents for value in values_of(document, name))
            assert {fold_value(value.value or ""): value.count for value in counts.values} == expected


@settings(max_examples=count_examples(10), deadline=None, suppress_health_check=list(HealthCheck))
@given(words=WORDS, access=ACCESS, selected=st.lists(SELECTION, max_size=2), name=st.sampled_from(NAMES), place=st.integers(0, 20))
def test_what_a_facet_lists_is_selected_by_copying_it(
    corpus: Opened, words: list[str], access: AccessFilter, selected: list[tuple[str, str]], name: str, place: int
) -> None:
    others = [one for one in selected if one[0] != name]
    _, facets = search(corpus, words, access, others)
    values = facets[name].values
    if values:
        value = values[place % len(values)]
        # whatever else is counted
        assert search(corpus, words, access, [*others, (name, written(value))], [])[0] == value.count
        assert search(corpus, words, access, [*others, (name.upper(), written(value))])[0] == value.count


def test_days_are_chosen_by_what_the_results_hold(corpus: Opened) -> None:
    everyone = AccessFilter(permitted=frozenset({0, 1, 2}))
    _, facets = search(corpus, ["common"], everyone, [])
    ranges = [written(value) for value in facets["@date"].values]
    assert ranges == [
        "2026-11-27..2026-11-27",
        "2026-11-21..2026-11-27",
        "2026-10-29..2026-11-27",
        "2025-11-28..2026-11-27",
        "2025-01-01..2025-12-31",
        "2024-01-01..2024-12-31",
        "2021-01-01..2021-12-31",
    ]
    _, facets = search(corpus, ["common"], everyone, [("@date", "2026-11-27"), ("@filetype", "pdf")])
    assert [written(value) for value in facets["@date"].values] == ranges


def test_days_of_hidden_documents_choose_nothing(corpus: Opened) -> None:
    index, _ = corpus
    _, facets = search(corpus, ["common"], AccessFilter(permitted=frozenset()), [])
    assert all(not counts.values for counts in facets.values())
    assert index.count() == len(CORPUS)
