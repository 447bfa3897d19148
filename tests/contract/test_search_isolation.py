"""A document that fails in any step of an answer costs its place on the page, never the page; what cannot be decided about is not shown."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from feedmill.adapters.clustering import find_clusters
from feedmill.http.search.app import SearchSite, search_app
from feedmill.model.access import ANONYMOUS
from feedmill.model.errors import NotFound
from feedmill.model.results import ResultPage
from feedmill.model.search import SearchRequest
from feedmill.services.isolation.faultpoints import injected
from feedmill.services.searching.cachedcopy import CachedCopies
from feedmill.services.searching.clustering import cluster_results
from feedmill.services.searching.suggesting import SuggestionRequest, suggest
from tests.builders.access import ANN, FOR_ANN
from tests.contract.databases import DAMAGES, damage
from tests.contract.searchharness import SearchHarness, ask, open_harness

MARKED = (3, 77, 199)


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path)
    made.add([made.make(url_of(number), f"needle words {number}", title=f"Needle {number}") for number in range(200)])
    yield made
    made.store.close()


def url_of(number: int) -> str:
    return f"http://a.com/{'marked' if number in MARKED else 'good'}{number}"


def search(harness: SearchHarness, num: int = 1000) -> ResultPage:
    return harness.services().searcher.search(SearchRequest(query="needle", num=num), ANONYMOUS)


def test_result_that_cannot_be_made_is_left_out_with_a_warning(harness: SearchHarness) -> None:
    with injected("result=raise:marked"):
        page = search(harness)
    assert (len(page.results), page.total) == (197, 197)
    assert not [result.url for result in page.results if "marked" in result.url]
    assert page.warnings == ("3 results are left out, since they could not be shown",)
    with injected("result=raise:marked77"):
        assert search(harness).warnings == ("one result is left out, since it could not be shown",)
    assert search(harness).warnings == ()


@pytest.mark.parametrize(("column", "value"), DAMAGES)
def test_result_whose_row_cannot_be_read_is_left_out_with_a_warning(
    harness: SearchHarness, tmp_path: Path, column: str, value: str
) -> None:
    damage(tmp_path, url_of(77), column, value)
    page = search(harness)
    assert (len(page.results), page.total) == (199, 199)
    assert url_of(77) not in {result.url for result in page.results}
    assert page.warnings == ("one result is left out, since it could not be shown",)
    with pytest.raises(NotFound):
        harness.services().documents.get_document(url_of(77), ANONYMOUS)


@pytest.mark.parametrize("step", ["snippet", "title"])
def test_result_whose_snippet_or_marks_cannot_be_made_is_shown_without(harness: SearchHarness, step: str) -> None:
    with injected(f"{step}=raise:marked"):
        page = search(harness)
    assert (len(page.results), page.total, page.warnings) == (200, 200, ())
    bare = [result for result in page.results if (not result.snippet.text if step == "snippet" else not result.title_marks)]
    assert {result.url for result in bare} == {url_of(number) for number in MARKED}


def test_document_that_cannot_be_decided_is_not_shown(harness: SearchHarness) -> None:
    with injected("decision=raise:marked"):
        page = search(harness)
    assert (len(page.results), page.total) == (197, 197)
    assert page.warnings == ()
    harness.add([harness.make("http://a.com/markedsecret", "hidden needle")], acls={"http://a.com/markedsecret": FOR_ANN})
    ann = harness.services().filters.find_filter(ANN)
    with injected("decision=raise:marked"):
        assert harness.services().searcher.search(SearchRequest(query="hidden"), ann).results == ()
    assert len(harness.services().searcher.search(SearchRequest(query="hidden"), ann).results) == 1


def test_answers_of_the_port_have_the_warning(harness: SearchHarness) -> None:
    services = harness.services()
    app = search_app(services, SearchSite(copies=CachedCopies(services.documents, harness.blobs, services.states)))
    with injected("result=raise:marked"):
        answer = ask(app, "/api/v1/search", [("q", "needle"), ("num", "1000")])
        assert (answer.status, "3 results are left out" in answer.text) == (200, True)
        assert ask(app, "/search", [("q", "needle"), ("num", "100")]).status == 200
        assert "left out" in ask(app, "/", [("q", "needle"), ("num", "100"), ("start", "0")]).text


def test_cached_copy_that_cannot_be_made_is_an_error_of_its_own(harness: SearchHarness) -> None:
    services = harness.services()
    app = search_app(services, SearchSite(copies=CachedCopies(services.documents, harness.blobs, services.states)))
    with injected("copy=raise:marked"):
        answer = ask(app, "/cache", [("url", url_of(3))])
        assert (answer.status, "cannot be shown" in answer.text) == (404, True)
        assert ask(app, "/cache", [("url", url_of(4))]).status == 200


def test_suggestions_come_from_titles_that_do_not_fail(harness: SearchHarness) -> None:
    harness.add([harness.make("http://b.com/marked", title="zebra marked"), harness.make("http://b.com/good", title="zebra good")])
    services = harness.services()
    with injected("suggest=raise:marked"):
        found = suggest(services.states, services.documents, services.maker.read_text, SuggestionRequest(text="zeb", limit=10), ANONYMOUS)
        assert ("zebra good" in found, "zebra marked" in found) == (True, False)
    assert set(
        suggest(services.states, services.documents, services.maker.read_text, SuggestionRequest(text="zeb", limit=10), ANONYMOUS)
    ) >= {
        "zebra good",
        "zebra marked",
    }


def test_clusters_are_made_of_results_that_do_not_fail(harness: SearchHarness) -> None:
    names = ["marked1", "good1", "good2"]
    harness.add([harness.make(f"http://c.com/{name}", "gearbox engine clutch", title="Gearbox engine clutch") for name in names])
    with injected("cluster=raise:marked"):
        found = cluster_results(harness.services().searcher, SearchRequest(query="gearbox"), ANONYMOUS, find_clusters)
    assert {result.url for result in found.results} == {"http://c.com/good1", "http://c.com/good2"}
    assert all(place < 2 for cluster in found.clusters for place in cluster.places)
