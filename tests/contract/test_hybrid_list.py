"""The list of words and meaning, over every index: one list for all pages, and nothing in it that the user may not see."""

import random
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedmill.adapters.store.engine import SqlStore
from feedmill.adapters.vectors import ExactVectorSearch
from feedmill.core.query.patternsets import CompiledPatterns, list_patterns
from feedmill.core.ranking.searchconfig import CompiledSearchConfig
from feedmill.core.ranking.vectors import pack_vectors, read_vectors
from feedmill.model.access import AccessFilter
from feedmill.model.query import Among, And, Node, Not, Or, Word
from feedmill.model.search import IndexDocument, Match, SearchRequest
from feedmill.model.semantic import EmbeddingChange
from feedmill.model.serving import FrontEnd, Serving
from feedmill.services.deadline import Deadline
from feedmill.services.searching import hybridlist
from feedmill.services.searching.hybridlist import HybridList, find_hybrid_list
from feedmill.services.searching.narrowing import Narrowing, resolve_selections
from feedmill.services.searching.searcher import find_hits
from feedmill.services.searching.searchstate import PlannedSearch, SearchState
from feedmill.services.searching.semanticranking import SemanticRanking
from tests.builders.indexdocuments import make_index_document
from tests.conceptembedder import ConceptEmbedder
from tests.contract.indexharness import ENGINES, Opened, keys, open_index, put
from tests.embeddingserver import embed
from tests.migratedstore import open_migrated
from tests.thorough import count_examples

WORDS = ("car", "automobile", "vehicle", "doctor", "physician", "holiday", "vacation", "salary", "wages", "table", "window")
HOSTS = ("a.test", "b.test")
CLASSES = 4
SERVING = Serving(frontends={"default_frontend": FrontEnd(name="default_frontend", remove_urls=("b.test/removed/",))})


def make_corpus() -> list[IndexDocument]:
    chosen, patterns = random.Random(11), CompiledPatterns(list_patterns(SERVING))
    documents = []
    for key in range(1, 161):
        path, host = "removed" if key % 9 == 0 else "page", chosen.choice(HOSTS)
        documents.append(
            make_index_document(
                key=key,
                url=f"http://{host}/{path}/{key}",
                title="",
                body=" ".join(chosen.choices(WORDS, k=3)),
                access_class=chosen.randrange(CLASSES),
                metadata=(("kind", chosen.choice(("policy", "note"))),),
                patterns=patterns.terms_of(f"http://{host}/{path}/{key}"),
            )
        )
    return documents


CORPUS = {document.key: document for document in make_corpus()}


class Corpus:
    """An index of the corpus, and the semantic ranking of its documents."""

    def __init__(self, opened: Opened, store: SqlStore) -> None:
        self.index = opened[0]
        self.ranking = SemanticRanking(store, ConceptEmbedder(), vectors := ExactVectorSearch())
        self.config = CompiledSearchConfig(SERVING)
        vectors.apply(
            [
                EmbeddingChange(
                    number=key,
                    document_id=key,
                    access_class=document.access_class,
                    dimensions=256,
                    vectors=pack_vectors(read_vectors([embed(document.body)])),
                )
                for key, document in CORPUS.items()
            ]
        )

    def plan(self, request: SearchRequest, classes: frozenset[int]) -> tuple[PlannedSearch, Narrowing]:
        access = AccessFilter(permitted=classes)
        state = SearchState(index=self.index, config=self.config)
        search = PlannedSearch(plan=self.config.plan(request), state=state, access=access, deadline=Deadline(600.0), begun=0.0)
        return search, resolve_selections(self.index, search.plan, access)

    def list(self, request: SearchRequest, classes: frozenset[int]) -> HybridList | None:
        search, narrowing = self.plan(request, classes)
        root = search.plan.root
        assert root is not None
        searched = find_hits(self.index, root, search.plan, search.access, narrowing).searched
        return find_hybrid_list(self.ranking, self.index, root, searched, search, narrowing)


@pytest.fixture(scope="module", params=ENGINES)
def corpus(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    folder = tmp_path_factory.mktemp("hybrid")
    store = open_migrated(folder / "store.sqlite")
    with open_index(request.param, folder / "index") as opened:
        put(opened, *CORPUS.values())
        yield Corpus(opened, store)
    store.close()


QUERIES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
RESTRICTIONS = st.sampled_from(("", " site:a.test", " inmeta:kind=policy", " -table", " +window", " -inmeta:kind"))
PERMITTED = st.frozensets(st.integers(0, CLASSES - 1), min_size=1)


def holds(document: IndexDocument, restriction: str) -> bool:
    match restriction.strip():
        case "site:a.test":
            return document.url.startswith("http://a.test/")
        case "inmeta:kind=policy":
            return ("kind", "policy") in document.metadata
        case "-table":
            return "table" not in document.body.split()
        case "+window":
            return "window" in document.body.split()
        case "-inmeta:kind":
            return False
    return True


@settings(max_examples=count_examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(query=QUERIES, restriction=RESTRICTIONS, classes=PERMITTED, match=st.sampled_from((Match.ANY, Match.AUTO)), size=st.integers(1, 60))
def test_pages_are_one_list_of_permitted_documents(
    corpus: Corpus, query: str, restriction: str, classes: frozenset[int], match: Match, size: int
) -> None:
    request = SearchRequest(query=query + restriction, match=match)
    hybrid = corpus.list(request, classes)
    if hybrid is None:
        return
    access = AccessFilter(permitted=classes)
    total = hybrid.list_hits(access, 0, 0).total
    listed = [hit.key for start in range(0, total + size, size) for hit in hybrid.list_hits(access, start, size).hits]
    assert len(listed) == len(set(listed)) == total
    assert listed == [hit.key for hit in hybrid.list_hits(access, 0, 1_000).hits]
    for document in (CORPUS[key] for key in listed):
        assert document.access_class in classes
        assert holds(document, restriction) or (restriction == " +window" and document.key not in hybrid.near)
        assert not document.patterns


def test_list_goes_on_below_the_fused_part(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hybridlist, "DEPTH", 10)
    classes = frozenset(range(CLASSES))
    hybrid = corpus.list(SearchRequest(query="car table window", match=Match.ANY), classes)
    assert hybrid is not None
    access = AccessFilter(permitted=classes)
    whole = hybrid.list_hits(access, 0, 1_000)
    paged = [hit.key for start in range(0, whole.total, 7) for hit in hybrid.list_hits(access, start, 7).hits]
    assert paged == [hit.key for hit in whole.hits]
    assert len(set(paged)) == whole.total > 20
    scores = [hit.score for hit in whole.hits]
    assert scores == sorted(scores, reverse=True)


def test_document_near_to_the_query_stands_beside_those_with_its_words(corpus: Corpus) -> None:
    hybrid = corpus.list(SearchRequest(query="automobile", explains=True), frozenset(range(CLASSES)))
    assert hybrid is not None
    hits = {hit.key: hit for hit in hybrid.list_hits(AccessFilter(permitted=frozenset(range(CLASSES))), 0, 1_000).hits}
    unworded = {key for key in hits if "automobile" not in CORPUS[key].body}
    assert unworded
    assert all({"car", "vehicle"} & set(CORPUS[key].body.split()) for key in unworded)
    assert {dict(hits[key].parts).keys() >= {"similarity"} for key in unworded} == {True}
    assert {hits[key].passage for key in unworded} == {0}


@pytest.mark.parametrize(
    "request_",
    [
        SearchRequest(query="car", match=Match.ALL),
        SearchRequest(query="site:a.test"),
        SearchRequest(query="-car"),
        SearchRequest(query="ca*"),
    ],
    ids=lambda request: request.query,
)
def test_search_without_optional_words_has_no_semantic_part(corpus: Corpus, request_: SearchRequest) -> None:
    assert corpus.list(request_, frozenset({0})) is None


def found(opened: Opened, query: Node) -> list[int]:
    return sorted(keys(opened, query))


def test_among_finds_documents_by_their_numbers(opened: Opened) -> None:
    put(opened, *(make_index_document(key=key, body="word" if key % 2 else "other") for key in (1, 2, 3, 2**40)))
    assert found(opened, Among((1, 2**40, 99))) == [1, 2**40]
    assert found(opened, And((Word("word"), Among((1, 2))))) == [1]
    assert found(opened, Or((Word("word"), Among((2,))))) == [1, 2, 3]
    assert found(opened, And((Word("word"), Not(Among((1,)))))) == [3]
    assert found(opened, Among(())) == []
