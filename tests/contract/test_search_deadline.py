"""A search that takes too long, whose client is gone, or whose client sends too many requests at once."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp

from feedmill.adapters.index.memory.index import MemoryIndex, MemoryVocabulary
from feedmill.http.common.searchthreads import SearchBounds
from feedmill.http.search.app import SearchSite, search_app
from feedmill.model.access import AccessFilter
from feedmill.model.facets import Facet, FacetCounts
from feedmill.model.query import Node
from feedmill.model.search import Hits
from feedmill.services.searching import timedindex
from tests.contract.searchharness import SearchHarness, ask, open_harness
from tests.waiting import PATIENCE_SECONDS, wait_for, wait_until

MANY = 2_000_000


class SlowIndex(MemoryIndex):
    """An index that says it is large, and answers some questions only once it is let go. Shape: ``slow`` is "hits", "facets" or "words"."""

    def __init__(self) -> None:
        super().__init__()
        self.slow = "hits"
        self.waits = 0
        self.answered = 0
        self.let_go = threading.Event()

    def count(self) -> int:
        return MANY

    def search(self, query: Node, access: AccessFilter, **given: Any) -> Hits:
        if self.slow == "hits":
            self._wait()
        return super().search(query, access, **given)

    def count_facets(self, query: Node, access: AccessFilter, facets: Sequence[Facet], check: Any = None) -> tuple[FacetCounts, ...]:
        if self.slow == "facets":
            self._wait()
        check()
        return super().count_facets(query, access, facets)

    @property
    def vocabulary(self) -> MemoryVocabulary:
        words = super().vocabulary
        if self.slow == "words":
            find_alike = words.find_alike

            def wait_and_find(word: str, access: AccessFilter, more_than: int) -> str | None:
                self._wait()
                return find_alike(word, access, more_than)

            words.find_alike = wait_and_find  # type: ignore[method-assign]
        return words

    def _wait(self) -> None:
        self.waits += 1
        assert self.let_go.wait(180)
        self.answered += 1


@pytest.fixture
def index() -> Iterator[SlowIndex]:
    made = SlowIndex()
    yield made
    made.let_go.set()


@pytest.fixture
def harness(tmp_path: Path, index: SlowIndex) -> Iterator[SearchHarness]:
    made = open_harness(tmp_path)
    made.index = index
    made.add([made.make(f"http://a.com/{number}", "the needle", title="in hay", metadata=(("kind", "x"),)) for number in range(3)])
    yield made
    index.let_go.set()
    made.store.close()


def bounded(harness: SearchHarness, seconds: float, at_once: int = 8) -> ASGIApp:
    return search_app(harness.services(), SearchSite(bounds=SearchBounds(deadline_seconds=seconds, at_once=at_once)))


def test_hits_that_do_not_come_in_time_leave_an_empty_answer_that_says_so(harness: SearchHarness) -> None:
    app = bounded(harness, 0.05)
    body = ask(app, "/api/v1/search", "q=needle").json
    assert (body["results"], body["exact"]) == ([], False)
    assert any("deadline" in warning for warning in body["warnings"])
    xml = ask(app, "/search", "q=needle")
    assert (xml.status, "<CT>the deadline of 0.05 seconds" in xml.text) == (200, True)
    page = ask(app, "/", "q=needle&match=all").text
    assert '<li dir="auto">The deadline of 0.05 seconds was reached' in page
    assert '<p><a class="again" href="/?q=needle&amp;match=all" rel="nofollow">Try again</a></p>' in page
    assert "<h1>The search took too long</h1>" in page
    assert "Check the spelling" not in page
    assert ask(app, "/api/v1/suggest", "q=nee").json["suggestions"] == []
    assert ask(app, "/suggest", "token=nee").json == []
    assert ask(app, "/cluster", "q=needle").json["documents"] == []


def test_facets_that_do_not_come_in_time_cost_the_facets_alone(harness: SearchHarness, index: SlowIndex) -> None:
    index.slow = "facets"
    body = ask(bounded(harness, 0.5), "/api/v1/search", "q=needle&facet=kind").json
    assert len(body["results"]) == 3
    assert [facet["values"] for facet in body["facets"]] == [[]]
    assert any("deadline" in warning for warning in body["warnings"])
    page = ask(bounded(harness, 0.5), "/", "q=needle").text
    assert page.count("<article") == 3
    assert '<li><a href="/?q=needle" rel="nofollow">Try again</a></li>' in page


def test_spelling_has_a_bound_of_its_own_and_costs_nothing_else(
    harness: SearchHarness, index: SlowIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.slow = "words"
    monkeypatch.setattr(timedindex, "SPELLING_SECONDS", 0.05)
    body = ask(bounded(harness, 600), "/api/v1/search", "q=needle").json
    assert (len(body["results"]), body["exact"], body["warnings"], body["spelling"]) == (3, True, [], None)
    assert index.waits == 1


def test_search_in_time_says_nothing_of_a_deadline(harness: SearchHarness, index: SlowIndex) -> None:
    index.let_go.set()
    body = ask(bounded(harness, 60), "/api/v1/search", "q=needle&facet=kind").json
    assert (len(body["results"]), body["exact"], body["warnings"]) == (3, True, [])
    assert body["facets"][0]["values"][0]["count"] == 3
    assert "<CT>" not in ask(bounded(harness, 60), "/search", "q=needle").text


def test_search_that_waits_for_the_engine_holds_up_no_other(harness: SearchHarness, index: SlowIndex) -> None:
    async def act() -> None:
        bounds = SearchBounds(deadline_seconds=600, processes=2, short_seconds=600)
        app = search_app(harness.services(), SearchSite(bounds=bounds))
        slow = asyncio.create_task(Caller(app, "/api/v1/search", "q=needle").call())
        await asyncio.to_thread(wait_for, 1, lambda: index.waits)
        assert await asyncio.wait_for(Caller(app, "/api/v1/documents", "url=http://a.com/1").call(), PATIENCE_SECONDS) == 200
        index.let_go.set()
        assert await asyncio.wait_for(slow, PATIENCE_SECONDS) == 200

    asyncio.run(act())


class Caller:
    """A client that sends one request and can go away."""

    def __init__(self, app: ASGIApp, path: str, query: str) -> None:
        self._app = app
        self.is_gone = asyncio.Event()
        self.sent: list[Any] = []
        self._scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [],
            "client": ("192.0.2.1", 1),
            "server": ("localhost", 80),
            "scheme": "http",
            "http_version": "1.1",
            "root_path": "",
        }

    async def call(self) -> int:
        """Sends the request; returns the status of the answer."""
        has_sent = False

        async def receive() -> dict[str, Any]:
            nonlocal has_sent
            if not has_sent:
                has_sent = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await self.is_gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            self.sent.append(message)

        await self._app(self._scope, receive, send)
        return int(self.sent[0]["status"])

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.sent[0]["headers"])


def test_search_whose_client_is_gone_ends_and_asks_the_engine_nothing_more(harness: SearchHarness, index: SlowIndex) -> None:
    async def act() -> None:
        caller = Caller(bounded(harness, 600), "/api/v1/search", "q=needle&facet=kind")
        running = asyncio.create_task(caller.call())
        await asyncio.to_thread(wait_for, 1, lambda: index.waits)
        caller.is_gone.set()
        await asyncio.wait_for(running, 180)
        index.let_go.set()
        await asyncio.to_thread(wait_for, 1, lambda: index.answered)
        assert index.waits == 1

    asyncio.run(act())


def test_client_with_too_many_searches_is_refused_until_the_engine_is_done_with_them(harness: SearchHarness, index: SlowIndex) -> None:
    async def act() -> None:
        app = bounded(harness, 0.2, at_once=1)
        assert await Caller(app, "/api/v1/search", "q=needle").call() == 200
        for path in ("/api/v1/search", "/search", "/", "/suggest"):
            refused = Caller(app, path, "q=needle")
            assert await refused.call() == 503
            assert refused.headers[b"retry-after"] == b"1"
        index.let_go.set()
        await asyncio.to_thread(wait_for, 1, lambda: index.answered)

        async def answers() -> bool:
            return await Caller(app, "/api/v1/search", "q=needle").call() == 200

        for _ in range(200):
            if await answers():
                return
        raise AssertionError("no place was given back")

    asyncio.run(act())
    wait_until(lambda: index.answered >= 2)
