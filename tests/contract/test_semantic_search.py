"""Searches by meaning through the searcher: what is shown, what stays lexical, and what happens without the model."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from feedmill.adapters.vectors import ExactVectorSearch
from feedmill.core.documents.presentation import shown_title
from feedmill.core.ranking.vectors import pack_vectors, read_vectors
from feedmill.core.text.passages import split_ranges
from feedmill.core.text.textblob import decode_whole
from feedmill.http.search.app import search_app
from feedmill.model.access import ANONYMOUS
from feedmill.model.document import Document
from feedmill.model.results import ResultPage
from feedmill.model.search import Cursor, Match, SearchRequest, Sort
from feedmill.model.semantic import Embedding
from feedmill.model.serving import FrontEnd, Serving
from feedmill.services.authorization.circuitnote import CircuitNote
from feedmill.services.deadline import Deadline
from feedmill.services.keyvalues import SEMANTIC_CIRCUITS
from feedmill.services.overview import read_semantic_overview
from feedmill.services.searching import semanticranking
from feedmill.services.searching.semanticranking import ABSENT, SemanticLimits, SemanticRanking
from tests.builders.access import acl, identity, permit
from tests.conceptembedder import ConceptEmbedder
from tests.contract.searchharness import NOW, SearchHarness, ask, open_harness
from tests.embeddingserver import embed
from tests.waiting import wait_for

FLEET = "http://a.test/fleet"


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Site:
    """Documents with their embeddings, and searches among them."""

    def __init__(self, harness: SearchHarness, limits: SemanticLimits | None = None) -> None:
        self.harness = harness
        self.embedder = ConceptEmbedder()
        self.clock = Clock()
        note = CircuitNote(harness.store, lambda: NOW, key=SEMANTIC_CIRCUITS)
        self.harness.semantic = SemanticRanking(harness.store, self.embedder, ExactVectorSearch(), limits, self.clock, note)
        self.services = harness.services()

    def add(self, url: str, body: str, **given: Any) -> int:
        acls = {url: acl(permit(user))} if (user := given.pop("user", "")) else {}
        document = self.harness.make(url, body, **given)
        (key,) = self.harness.add([document], acls=acls)
        self.embed(key, document)
        return key

    def embed(self, key: int, document: Document) -> None:
        assert document.text is not None
        assert document.text.blob is not None
        whole = decode_whole(self.harness.blobs.read(document.text.blob))
        texts = [passage.text for passage in split_ranges(whole.text, whole.main)] or [shown_title(document) or ""]
        made = Embedding(
            document_id=key,
            version=document.version,
            model=self.embedder.model,
            digest=b"",
            dimensions=256,
            vectors=pack_vectors(read_vectors([embed(text) for text in texts])),
        )
        with self.harness.store.writing() as unit:
            unit.documents.embeddings.save_many([made])

    def search(self, query: str, user: str = "", **given: Any) -> ResultPage:
        access = self.services.filters.find_filter(identity(user)) if user else ANONYMOUS
        return self.services.searcher.search(SearchRequest(query=query, **given), access, Deadline(600.0))

    def find(self, query: str, user: str = "", **given: Any) -> list[str]:
        return [result.url for result in self.search(query, user, **given).results]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    harness = open_harness(tmp_path)
    yield Site(harness)
    harness.store.close()


def test_document_that_shares_no_word_is_found_with_its_nearest_passage(site: Site) -> None:
    filler = "table window " * 40
    site.add(FLEET, f"{filler}\n\n{'An automobile for everyone. ' * 20}\n\n{filler}", title="Fleet")
    site.add("http://a.test/food", "lunch at noon")
    page = site.search("car")
    (result,) = page.results
    assert (result.url, page.total, page.is_exact, page.warnings) == (FLEET, 1, True, ())
    assert result.snippet.text.startswith("An automobile for everyone.")
    assert result.snippet.marks == ()


def test_snippet_shows_the_words_of_the_query_where_the_document_has_some(site: Site) -> None:
    site.add(FLEET, "an automobile in the garage. " + "table " * 300 + "the window of the company")
    (result,) = site.search("company car").results
    assert "company" in result.snippet.text
    assert result.snippet.marks


def test_match_all_an_order_and_a_query_without_words_stay_lexical(site: Site) -> None:
    site.add(FLEET, "an automobile")
    assert site.find("car", match=Match.ANY) == [FLEET]
    assert site.find("car", match=Match.ALL) == []
    assert site.find("car", sort=Sort()) == []
    assert site.find("car", cursor=Cursor()) == []
    assert site.find("") == []
    assert site.find("intitle:car") == []
    assert site.embedder.queries == ["car"]


def test_total_facets_and_pages_describe_one_list(site: Site) -> None:
    kinds = {}
    for number in range(30):
        url = f"http://a.test/{number}"
        kinds[url] = "policy" if number % 3 else "note"
        site.add(url, f"{'car' if number % 2 else 'automobile'} {number}", metadata=(("kind", kinds[url]),))
    site.add("http://a.test/other", "lunch at noon")
    given: dict[str, Any] = {"facet_names": ("kind",)}
    page = site.search("car", num=100, **given)
    assert page.total == len(page.results) == 30
    assert {value.value: value.count for value in page.facets[0].values} == {"policy": 20, "note": 10}
    paged = [url for start in range(0, 30, 7) for url in site.find("car", start=start, num=7)]
    assert paged == [result.url for result in page.results]
    narrowed = site.search("car", num=100, selected=("kind:note",), **given)
    assert {result.url for result in narrowed.results} == {url for url, kind in kinds.items() if kind == "note"}
    assert narrowed.total == 10
    assert {value.value: value.count for value in narrowed.facets[0].values} == {"policy": 20, "note": 10}


def test_restrictions_hold_for_documents_near_to_the_query(site: Site) -> None:
    site.add(FLEET, "an automobile", metadata=(("kind", "policy"),))
    site.add("http://b.test/fleet", "a vehicle of the board", metadata=(("kind", "note"),))
    assert site.find("car site:a.test") == [FLEET]
    assert site.find("car inmeta:kind=note") == ["http://b.test/fleet"]
    assert site.find("car -board") == [FLEET]
    assert site.find("car", required_fields="kind:policy") == [FLEET]
    assert site.find("car", partial_fields="kind:polic") == []


def test_removed_urls_of_a_front_end_hold_for_documents_near_to_the_query(site: Site) -> None:
    site.harness.serving = Serving(frontends={"default_frontend": FrontEnd(name="default_frontend", remove_urls=("b.test/",))})
    site.add(FLEET, "an automobile")
    site.add("http://b.test/fleet", "an automobile")
    assert site.find("car") == [FLEET]


def test_document_of_another_user_is_neither_shown_nor_counted(site: Site) -> None:
    site.add(FLEET, "an automobile")
    site.add("http://a.test/ann", "an automobile of ann", user="ann")
    assert site.search("car").total == 1
    assert site.find("car") == site.find("car", "bob") == [FLEET]
    assert sorted(site.find("car", "ann")) == sorted([FLEET, "http://a.test/ann"])


def test_document_that_lost_its_permission_is_dropped_by_the_second_decision(site: Site) -> None:
    key = site.add(FLEET, "an automobile")
    guarded = replace(site.harness.make(FLEET, "an automobile"), id=key)
    site.harness.add([guarded], into_index=False, acls={FLEET: acl(permit("ann"))})
    page = site.search("car")
    assert (page.results, page.total) == ((), 0)


def test_document_that_changed_is_not_found_by_its_old_text(site: Site) -> None:
    key = site.add(FLEET, "an automobile")
    assert site.find("car") == [FLEET]
    changed = replace(site.harness.make(FLEET, "the physician"), id=key, version=2)
    site.harness.add([changed])
    with site.harness.store.writing() as unit:
        unit.processing.embedding_queue.put_many([key])
    assert site.find("car") == []
    site.embed(key, changed)
    assert (site.find("car"), site.find("doctor")) == ([], [FLEET])


def test_model_that_is_gone_means_words_alone_and_a_warning(site: Site) -> None:
    site.add(FLEET, "an automobile")
    site.add("http://a.test/car", "a car")
    site.embedder.is_gone = True
    page = site.search("car")
    assert ([result.url for result in page.results], page.total) == (["http://a.test/car"], 1)
    (warning,) = page.warnings
    assert "semantic" in warning
    site.embedder.is_gone = False
    assert sorted(site.find("car")) == ["http://a.test/car", FLEET]


def test_model_that_is_gone_stands_in_the_status_and_as_a_warning_of_a_ready_server(site: Site) -> None:
    site.add(FLEET, "an automobile")
    model, store, app = site.embedder.model, site.harness.store, search_app(site.services)

    def read_circuit() -> Any:
        overview = read_semantic_overview(store, model)
        assert overview is not None
        return overview["open_circuit"]

    assert (read_circuit(), ask(app, "/readyz").json) == (None, {"status": "ready"})
    site.embedder.is_gone = True
    for _ in range(3):
        site.search("car")
    assert read_circuit()["since"] == NOW.isoformat(timespec="seconds")
    assert read_circuit()["reason"]
    answer = ask(app, "/readyz")
    assert (answer.status, answer.json) == (200, {"status": "ready", "warnings": [ABSENT]})
    site.embedder.is_gone = False
    site.clock.now += 60.0
    assert site.find("car") == [FLEET]
    assert (read_circuit(), ask(app, "/readyz").json) == (None, {"status": "ready"})


def test_query_without_meaning_to_the_model_is_answered_by_words(site: Site) -> None:
    site.add(FLEET, "an automobile")
    site.embedder.is_blank = True
    page = site.search("automobile")
    assert ([result.url for result in page.results], page.warnings) == ([FLEET], ())
    assert site.find("car") == []


def test_vector_of_another_length_means_words_alone_and_a_warning(site: Site) -> None:
    site.add(FLEET, "an automobile")
    site.embedder.dimensions = 255
    assert "semantic" in " ".join(site.search("car").warnings)
    site.embedder.dimensions = 256
    assert site.find("car") == [FLEET]


def test_model_that_fails_again_and_again_is_left_alone_for_a_while(site: Site) -> None:
    site.add(FLEET, "an automobile")
    site.embedder.is_gone = True
    for _ in range(10):
        assert "semantic" in " ".join(site.search("car").warnings)
    assert len(site.embedder.queries) == semanticranking.CIRCUIT.open_after_failures
    site.embedder.is_gone = False
    assert site.find("car") == []
    site.clock.now += 60
    assert site.find("car") == [FLEET]
    assert site.search("car").warnings == ()


def test_list_with_documents_by_meaning_is_not_said_to_match_parts_of_the_query(site: Site) -> None:
    site.add(FLEET, "an automobile for everyone")
    assert not site.search("company car").is_loosened
    site.embedder.is_gone = True
    assert site.search("company everyone").is_loosened


def test_vector_of_a_query_is_made_once_for_all_parts_of_a_list(site: Site) -> None:
    for number in range(3):
        site.add(f"http://a.test/{number}", "an automobile")
    searcher = site.services.searcher
    search = searcher.prepare(SearchRequest(query="car", num=1), ANONYMOUS, Deadline(600.0))
    assert len({searcher.find_page(search.at(start, 1)).results[0].url for start in range(3)}) == 3
    assert site.embedder.queries == ["car"]
    site.embedder.is_gone = True
    search = searcher.prepare(SearchRequest(query="car", num=1), ANONYMOUS, Deadline(600.0))
    assert all("semantic" in " ".join(searcher.find_page(search.at(start, 1)).warnings) for start in range(3))
    assert site.embedder.queries == ["car", "car"]


def test_more_changes_than_a_search_reads_mean_words_alone_until_they_are_read(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semanticranking, "READ_AT_ONCE", 1)
    monkeypatch.setattr(semanticranking, "READ_SECONDS", 0.0)
    for number in range(3):
        site.add(f"http://a.test/{number}", "an automobile")
    page = site.search("car")
    assert (page.results, "being prepared" in " ".join(page.warnings)) == ((), True)
    assert site.harness.semantic is not None
    site.harness.semantic.load()
    monkeypatch.setattr(semanticranking, "READ_SECONDS", 60.0)
    assert len(site.find("car")) == 3


def test_follower_reads_what_changes_until_it_is_over(site: Site) -> None:
    is_over = threading.Event()
    assert site.harness.semantic is not None
    vectors = ExactVectorSearch()
    ranking = SemanticRanking(site.harness.store, site.embedder, vectors)
    thread = threading.Thread(target=ranking.follow, args=(is_over, 0.01))
    thread.start()
    for number in range(3):
        site.add(f"http://a.test/{number}", "an automobile")
        wait_for(number + 1, vectors.count)
    is_over.set()
    thread.join()


def test_documents_far_from_the_nearest_are_not_listed(site: Site) -> None:
    site.add(FLEET, "automobile")
    site.add("http://a.test/far", "automobile " + " ".join(f"word{number}" for number in range(60)))
    assert site.find("car") == [FLEET]


def test_least_similarity_of_the_settings_holds(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    strict = Site(harness, SemanticLimits(least_similarity=0.9))
    strict.add(FLEET, "automobile lunch table window")
    assert strict.find("car") == []
    assert strict.find("vehicle lunch table window") == [FLEET]
    harness.store.close()


def test_passages_for_answering_machines_hold_the_nearest_one(site: Site) -> None:
    filler = "table window " * 60
    site.add(FLEET, f"{filler}\n\n{'An automobile for everyone. ' * 20}\n\n{filler}", title="Fleet")
    site.add("http://a.test/car", "one car " + filler)
    found = site.services.retrieval.retrieve("car", 10, "", ANONYMOUS, Deadline(600.0))
    texts = {passage.url: passage.text for passage in found.passages}
    assert texts[FLEET].startswith("An automobile for everyone.")
    assert texts["http://a.test/car"].startswith("one car")
    (near,) = [passage for passage in found.passages if passage.url == FLEET]
    assert site.services.retrieval.fetch(FLEET, ANONYMOUS, Deadline(600.0)).text[near.start : near.end] == near.text
