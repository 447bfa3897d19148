"""A document that the user may not see causes exactly the queries to the store that a missing document causes."""

import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from feedmill.adapters.index.memory.index import MemoryIndex, MemoryVocabulary
from feedmill.core.urls.digests import digest_of_url
from feedmill.http.search.app import SearchSite, search_app
from feedmill.model.access import AccessFilter
from feedmill.model.errors import NotFound
from feedmill.model.facets import Facet, FacetCounts
from feedmill.model.query import Node
from feedmill.model.search import Hits, SearchRequest
from feedmill.model.serving import DEFAULT_FRONTEND, FrontEnd, Serving
from feedmill.ports import UnitOfWork
from feedmill.services.deadline import Deadline
from feedmill.services.searching.cachedcopy import CachedCopies
from feedmill.services.searching.searchservices import SearchServices
from tests.builders.access import ANN, FOR_ANN, acl, permit
from tests.contract.searchharness import SearchHarness, ask, open_harness

FOR_BOB = acl(permit("bob"))


@pytest.fixture
def harness(tmp_path: Path) -> SearchHarness:
    made = open_harness(tmp_path)
    documents = [made.make(f"http://{kind}.test/{number}", "text") for kind in ("open", "hidden", "hers") for number in range(5)]
    acls = {f"http://{kind}.test/{number}": acl for kind, acl in (("hidden", FOR_BOB), ("hers", FOR_ANN)) for number in range(5)}
    made.add(documents, acls=acls)
    return made


def list_statements(harness: SearchHarness, act: Callable[[SearchServices], object]) -> list[str]:
    """Returns the queries that reach the database, without their values."""
    seen: list[str] = []
    reading = harness.store.reading

    @contextmanager
    def traced() -> Any:
        with reading() as unit:
            connection = find_connection(unit)
            connection.set_trace_callback(seen.append)
            try:
                yield unit
            finally:
                connection.set_trace_callback(None)

    services = harness.services()
    services.filters.find_filter(ANN)
    harness.store.reading = traced  # type: ignore[method-assign]
    try:
        with suppress(NotFound):
            act(services)
    finally:
        harness.store.reading = reading  # type: ignore[method-assign]
    return [re.sub("x'[0-9a-f]*'", "?", text) for text in seen]


def find_connection(unit: UnitOfWork) -> sqlite3.Connection:
    """Returns the driver's connection of a unit of work."""
    connection = unit.documents.reader._connection.connection.driver_connection  # type: ignore[attr-defined]
    assert isinstance(connection, sqlite3.Connection)
    return connection


def test_get_document_asks_the_same_for_both(harness: SearchHarness) -> None:
    def get(url: str) -> list[str]:
        return list_statements(harness, lambda services: services.documents.get_document(url, services.filters.find_filter(ANN)))

    hidden = get("http://hidden.test/1")
    assert hidden == get("http://none.test/1")
    assert any("documents" in text for text in hidden)


def test_fetch_asks_the_same_for_both(harness: SearchHarness) -> None:
    def fetch(url: str) -> list[str]:
        return list_statements(harness, lambda services: services.retrieval.fetch(url, services.filters.find_filter(ANN), Deadline()))

    assert fetch("http://hidden.test/1") == fetch("http://none.test/1")


def test_cached_copies_ask_the_same_for_both(harness: SearchHarness) -> None:
    def copy(url: str) -> list[str]:
        def act(services: SearchServices) -> object:
            copies = CachedCopies(services.documents, harness.blobs, services.states)
            return copies.get([url], SearchRequest(query=""), services.filters.find_filter(ANN), digest_of_url(url)[:9])

        return list_statements(harness, act)

    assert copy("http://hidden.test/1") == copy("http://none.test/1")


class RecordingIndex(MemoryIndex):
    """An index that records its queries."""

    def __init__(self, index: MemoryIndex) -> None:
        self.__dict__ = index.__dict__
        self.queries: list[str] = []

    def search(self, query: Node, access: AccessFilter, **given: Any) -> Hits:
        self.queries.append(f"search {query} {given}")
        return super().search(query, access, **given)

    def count_facets(self, query: Node, access: AccessFilter, facets: Sequence[Facet], check: Any = None) -> tuple[FacetCounts, ...]:
        self.queries.append(f"facets {query}")
        return super().count_facets(query, access, facets)

    @property
    def vocabulary(self) -> MemoryVocabulary:
        self.queries.append("vocabulary")
        return super().vocabulary


@pytest.mark.parametrize(
    "query", ["info:{}", "-info:{} text", "related:{}", "cache:{}", "text OR info:{}", "related:{} text", "info:{} text"]
)
@pytest.mark.parametrize("url", ["http://{}.test/1", "{}.test/1", "https://{}.test/1"])
@pytest.mark.parametrize("path", ["/search", "/api/v1/search"])
def test_queries_for_a_url_ask_the_same_for_both(harness: SearchHarness, path: str, url: str, query: str) -> None:
    harness.index = index = RecordingIndex(harness.index)
    harness.serving = Serving(frontends={DEFAULT_FRONTEND: FrontEnd(name=DEFAULT_FRONTEND, facets=(Facet(name="kind", label="Kind"),))})

    def search(host: str) -> tuple[list[str], list[str]]:
        index.queries.clear()

        def act(services: SearchServices) -> object:
            site = SearchSite(
                identify=lambda _request: services.filters.find_filter(ANN),
                copies=CachedCopies(services.documents, harness.blobs, services.states),
            )
            # the JSON API has no access=, it shows what the user may see
            more = {"facet": "kind"} if path.startswith("/api/") else {"access": "a"}
            named = urlencode({"q": query.format(url.format(host)), **more})
            return ask(search_app(services, site), path, named).status

        statements = list_statements(harness, act)
        return statements, [text.replace(host, "HOST") for text in index.queries]

    hidden, unknown = search("hidden"), search("none")
    assert hidden[0]
    assert hidden == unknown
    assert "cache:" in query or not any("Info(" in text for text in unknown[1])


def test_query_for_a_url_of_a_visible_document_finds_it(harness: SearchHarness) -> None:
    services = harness.services()
    for url in ("http://hers.test/1", "hers.test/1", "http://open.test/2"):
        page = services.searcher.search(SearchRequest(query=f"info:{url}"), services.filters.find_filter(ANN))
        assert [result.url.removeprefix("http://") for result in page.results] == [url.removeprefix("http://")]
    without = services.searcher.search(SearchRequest(query="text -info:http://hers.test/1"), services.filters.find_filter(ANN))
    assert without.total == 9


def test_what_the_user_may_see_is_found(harness: SearchHarness) -> None:
    services = harness.services()
    for url in ("http://open.test/1", "http://hers.test/1"):
        assert services.documents.get_document(url, services.filters.find_filter(ANN)).document.url == url
