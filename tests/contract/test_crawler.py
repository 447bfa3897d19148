"""The crawler on every database: what a fetch changes, host load and pauses, outages, and the end of the process."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest

from feedmill.adapters.inflight import MappedInFlight
from feedmill.adapters.store.engine import SqlStore
from feedmill.core.crawling.hostload import HostLoads, LoadException
from feedmill.core.crawling.sites import site_of
from feedmill.core.documents.urlstate import Rules
from feedmill.core.urls.patterns import PatternSet
from feedmill.model.crawling import CrawlGroup, CrawlState, FetchedPage, FetchRequest
from feedmill.model.errors import Busy
from feedmill.ports import Lane, Stage
from feedmill.services.feeds.feeding import Admission
from feedmill.services.isolation.faultpoints import injected
from feedmill.services.keyvalues import CRAWL_PAUSED
from feedmill.services.overview import read_crawl_overview
from feedmill.telemetry.metrics import render_metrics
from tests.builders.changes import delete, put
from tests.builders.crawling import mention, url_of
from tests.contract.crawlharness import CrawlHarness, Servers
from tests.contract.feedharness import FeedHarness
from tests.contract.test_crawl_updates import request


@pytest.fixture
def harness(store_of_service: SqlStore) -> CrawlHarness:
    return CrawlHarness(store=store_of_service)


# --- what a fetch changes -------------------------------------------------------------------------------------------------------


def test_crawl_of_new_urls_stores_their_pages(harness: CrawlHarness) -> None:
    headers = (("content-type", "text/html; charset=ISO-8859-1"), ("last-modified", "Sun, 01 Feb 2026 10:00:00 GMT"))
    harness.servers.put("/a", "one", headers=headers, etag='"1"')
    harness.add("/a", "/missing")
    assert sorted(harness.crawl()) == ["/a", "/missing"]
    document, entry = harness.document(), harness.entry()
    assert document is not None
    assert (harness.text(), document.datasource, document.charset) == ("one", "crawler", "iso8859-1")
    assert (document.attributes.mimetype, document.attributes.last_modified.isoformat()) == ("text/html", "2026-02-01T10:00:00+00:00")  # type: ignore[union-attr]
    assert (entry.state, entry.etag, entry.crawled_at, entry.lease_owner) == (CrawlState.CRAWLED, '"1"', harness.clock.now, "")
    assert [(record.state, record.http_status, record.size_bytes) for record in entry.history] == [(CrawlState.CRAWLED, 200, 3)]
    assert (harness.entry("/missing").state, harness.document("/missing")) == (CrawlState.NOT_FOUND, None)
    with harness.store.reading() as unit:
        assert [(source.name, source.kind, source.documents) for source in unit.feeds.sources.list()] == [("crawler", "web", 1)]
    assert read_crawl_overview(harness.store, harness.clock())["fetches"][-1] == 2
    assert b'feedmill_fetches_total{code="11"}' in render_metrics(dict, dict)


def test_crawl_hurries_for_pages_that_were_asked_for(harness: CrawlHarness) -> None:
    def lanes() -> list[Lane]:
        with harness.store.reading() as unit:
            return [task.lane for task in unit.processing.index_tasks.list(Stage.EXTRACT, 10)]

    harness.servers.put("/linked", "one")
    harness.add(mention("/linked", referrer=url_of("/other"), depth=1))
    harness.crawl()
    assert lanes() == [Lane.BULK]

    harness.servers.put("/linked", "two")
    harness.add(mention("/linked", is_request=True))
    harness.crawl()
    assert lanes() == [Lane.QUICK]


def test_crawl_again_is_conditional_and_keeps_what_is_unchanged(harness: CrawlHarness) -> None:
    harness.servers.put("/a", "one", etag='"1"')
    harness.servers.put("/b", "two")
    harness.add("/a", "/b")
    harness.crawl()
    versions = [harness.document(path).version for path in ("/a", "/b")]  # type: ignore[union-attr]
    assert harness.crawl() == []
    harness.clock.turn(days=1)
    harness.servers.put("/b", "new")
    assert sorted(harness.crawl()) == ["/a", "/b"]
    assert (harness.entry().state, harness.entry("/b").state) == (CrawlState.CRAWLED_FROM_CACHE, CrawlState.CRAWLED)
    assert (harness.text(), harness.text("/b"), harness.document().version) == ("one", "new", versions[0])  # type: ignore[union-attr]


def test_crawl_of_forced_patterns_is_unconditional(harness: CrawlHarness) -> None:
    harness.force = PatternSet(["web.test/"])
    harness.servers.put("/a", "one", etag='"1"')
    harness.add("/a")
    harness.crawl()
    harness.clock.turn(days=1)
    harness.crawl()
    assert harness.entry().history[-1].http_status == 200


def test_crawl_of_what_is_gone_deletes_and_fetches_whole_when_it_returns(harness: CrawlHarness) -> None:
    harness.servers.put("/a", "one", etag='"1"')
    harness.add("/a")
    harness.crawl()
    page = harness.servers.pages.pop(url_of("/a"))
    harness.clock.turn(days=1)
    harness.crawl()
    assert harness.document() is None
    harness.servers.pages[page.url] = page
    harness.clock.turn(days=1)
    harness.crawl()
    assert harness.text() == "one"


def test_crawl_of_a_failing_server_empties_nothing_for_a_month(harness: CrawlHarness) -> None:
    harness.servers.put("/a", "one")
    harness.add("/a")
    harness.crawl()
    harness.servers.put("/a", state=CrawlState.CONNECTION_REFUSED, reason="refused")
    for _ in range(31):
        harness.clock.turn(days=1)
        harness.crawl()
        assert harness.text() == "one"
    harness.clock.turn(days=10)
    harness.crawl()
    assert harness.document() is None
    assert harness.entry().due_at is None


def test_page_that_the_licence_evicts_is_crawled_again_when_it_is_named_and_there_is_room(harness: CrawlHarness) -> None:
    harness.admission = replace(harness.admission, max_documents=2)
    paths = ["/a", "/b", "/c"]
    for path in paths:
        harness.servers.put(path, path)
    harness.add(*paths)
    harness.crawl()
    (evicted,) = set(paths) - harness.list_live(paths)
    for _ in range(40):
        harness.clock.turn(days=1)
        assert evicted not in harness.crawl()
    harness.admission = replace(harness.admission, max_documents=0)
    harness.add(evicted)
    assert harness.crawl() == [evicted]
    assert harness.list_live(paths) == set(paths)


def test_crawl_with_adaptor_headers_replaces_metadata_and_access(harness: CrawlHarness) -> None:
    acl = (
        "x-gsa-doc-controls",
        "acl=%7B%22entries%22%3A%5B%7B%22access%22%3A%22permit%22%2C%22name%22%3A%22ann%22%2C%22scope%22%3A%22user%22%7D%5D%7D",
    )
    harness.servers.put("/a", "one", headers=(("x-gsa-external-metadata", "author=Ann,kind=x"), acl))
    harness.add("/a")
    harness.crawl()
    document = harness.document()
    assert document is not None
    assert (document.metadata, document.secure) == ((("author", "Ann"), ("kind", "x")), True)
    harness.clock.turn(days=1)
    skip = (("x-gsa-skip-updating-content", "true"), ("x-gsa-external-metadata", "kind=y"), ("x-gsa-doc-controls", "acl="))
    harness.servers.put("/a", state=CrawlState.CRAWLED_FROM_CACHE, http_status=204, headers=(*skip, ("x-gsa-serve-security", "public")))
    harness.crawl()
    document = harness.document()
    assert document is not None
    assert (document.metadata, document.secure, harness.text()) == ((("kind", "y"),), False, "one")


def test_adaptor_withdraws_lock_and_crawl_once(harness: CrawlHarness) -> None:
    def control(*lines: str, is_once: bool = True) -> None:
        harness.servers.put("/a", "one", headers=tuple(("x-gsa-doc-controls", line) for line in lines))
        harness.add(mention("/a", is_request=True, is_immediate=True, is_once=is_once))
        harness.crawl()

    control("lock=true", "crawl_once=true", is_once=False)
    control("acl=")
    document, entry = harness.document("/a"), harness.entry("/a")
    assert document is not None
    assert (document.attributes.lock, document.attributes.crawl_once, entry.is_once, entry.due_at) == (True, True, True, None)
    control("lock=false", "crawl_once=false")
    document, entry = harness.document("/a"), harness.entry("/a")
    assert document is not None
    assert (document.attributes.lock, document.attributes.crawl_once, entry.is_once) == (False, False, False)
    assert entry.due_at is not None


def test_crawl_with_credentials_or_secure_without_acl_closes_the_document(harness: CrawlHarness) -> None:
    harness.servers.put("/a", "one", used_access=True)
    harness.servers.put("/b", "two", headers=(("x-gsa-serve-security", "secure"), ("x-gsa-doc-controls", "acl=")))
    harness.add("/a", "/b")
    harness.crawl()
    assert [harness.document(path).secure for path in ("/a", "/b")] == [True, True]  # type: ignore[union-attr]


def test_server_that_says_secure_closes_what_the_rule_makes_public(harness: CrawlHarness) -> None:
    harness.admission = Admission(rules=Rules(refusal=lambda _url: None, make_public=lambda _url: True))
    for path, said in {"/a": "secure", "/b": "public"}.items():
        harness.servers.put(path, "one", used_access=True, make_public=True, headers=(("x-gsa-serve-security", said),))
    harness.add("/a", "/b")
    harness.crawl()
    assert [harness.document(path).secure for path in ("/a", "/b")] == [True, False]  # type: ignore[union-attr]


def test_crawl_of_noindex_keeps_the_document_out_of_the_index_with_its_acl(harness: CrawlHarness) -> None:
    """A folder of an adaptor is such a page: its links are followed, and the ACLs of its files inherit from its own."""
    harness.servers.put("/a", "one", etag='"1"')
    harness.add("/a")
    harness.crawl()
    harness.clock.turn(days=1)
    acl = ("x-gsa-doc-controls", "acl=" + quote('{"entries": [{"access": "permit", "scope": "user", "name": "ann"}]}'))
    for _ in range(2):
        harness.servers.put("/a", "two", etag='"2"', headers=(("x-robots-tag", "noindex"), acl))
        harness.crawl()
        document = harness.document()
        assert document is not None
        assert (document.attributes.robots, document.secure, harness.text()) == (("noindex",), True, "two")
        assert (harness.entry().state, harness.entry().failures) == (CrawlState.ROBOTS_NOINDEX, 0)
        harness.clock.turn(days=40)
    harness.servers.put("/a", "three", headers=(acl,))
    harness.crawl()
    assert (harness.document().attributes.robots, harness.entry().state) == ((), CrawlState.CRAWLED)  # type: ignore[union-attr]


def test_crawl_of_a_robots_tag_keeps_the_document_out_of_the_index(harness: CrawlHarness) -> None:
    body, headers, state = '<meta name="robots" content="noindex">', (("content-type", "text/html"),), CrawlState.DISALLOWED_BY_META_TAG
    harness.servers.put("/a", "one")
    harness.add("/a")
    harness.crawl()
    for _ in range(2):
        harness.clock.turn(days=1)
        harness.servers.put("/a", body, headers=headers, etag='"2"')
        harness.crawl()
        document, entry = harness.document(), harness.entry()
        assert document is not None
        assert (document.attributes.robots, entry.state, entry.history[-1].state) == (("noindex",), state, state)
        assert "noindex" in entry.history[-1].reason
    assert entry.history[-1].http_status == 304
    harness.clock.turn(days=2)
    harness.servers.put("/a", "open again")
    harness.crawl()
    assert (harness.document().attributes.robots, harness.entry().state) == ((), CrawlState.CRAWLED)  # type: ignore[union-attr]


def test_crawl_never_changes_what_a_content_feed_owns(harness: CrawlHarness) -> None:
    harness.servers.put("/a", "crawled")
    harness.add("/a")
    harness.crawl()
    FeedHarness(store=harness.store, blobs=harness.blobs).push(replace(put("a"), url=url_of("/a")), datasource="hr")
    harness.add(mention("/a", is_request=True))
    harness.crawl()
    document = harness.document()
    assert document is not None
    assert (document.datasource, harness.text() != "crawled") == ("hr", True)
    with harness.store.reading() as unit:
        assert unit.feeds.crawling.queue.find_many([url_of("/a")]) == {}


def test_content_that_is_fed_during_a_fetch_counts(harness: CrawlHarness) -> None:
    feeds = FeedHarness(store=harness.store, blobs=harness.blobs)
    harness.servers.put("/a", "crawled")

    def feed(requested: str) -> None:
        if requested == url_of("/a"):
            feeds.push(replace(put("a", "fed"), url=requested))

    harness.servers.on_request = feed
    harness.add("/a")
    assert harness.crawl() == ["/a"]
    assert harness.text() == "fed"
    with harness.store.reading() as unit:
        assert unit.feeds.crawling.queue.find_many([url_of("/a")]) == {}


def test_document_that_is_deleted_during_a_fetch_stays_deleted(harness: CrawlHarness) -> None:
    feeds = FeedHarness(store=harness.store, blobs=harness.blobs)
    harness.servers.put("/a", "crawled")
    harness.add("/a")
    harness.crawl()
    harness.clock.turn(days=1)
    harness.servers.put("/a", "crawled again")

    def feed(requested: str) -> None:
        if requested == url_of("/a"):
            feeds.push(replace(delete("a"), url=requested))

    harness.servers.on_request = feed
    assert harness.crawl() == ["/a"]
    assert harness.document() is None


def test_crawl_of_a_redirect_stores_the_final_url(harness: CrawlHarness) -> None:
    harness.servers.put("/a", "one", url=url_of("/b"))
    harness.servers.put("/b", "one")
    harness.add("/a")
    assert harness.crawl() == ["/a", "/b"]
    assert (harness.document(), harness.text("/b")) == (None, "one")


def test_crawl_of_what_patterns_or_robots_refuse_fetches_nothing(harness: CrawlHarness) -> None:
    harness.admission = Admission(rules=Rules(refusal=lambda url: "is not wanted" if "/x" in url else None, make_public=lambda _url: None))
    harness.servers.put("/robots.txt", "User-agent: *\nDisallow: /private\n")
    harness.servers.put("/a", "one")
    harness.add("/x", "/private/a", "/a", "/" + "l" * 3_000)
    assert harness.crawl() == ["/a"]
    assert harness.entry("/x").state is CrawlState.NOT_IN_URLS_TO_CRAWL
    assert harness.entry("/private/a").state is CrawlState.DISALLOWED_BY_ROBOTS_TXT
    assert harness.entry("/" + "l" * 3_000).state is CrawlState.URL_TOO_LONG


def test_crawl_behind_a_failing_robots_txt_fetches_and_removes_nothing(harness: CrawlHarness) -> None:
    harness.servers.put("/a", "one")
    harness.add("/a")
    harness.crawl()
    harness.servers.pages[url_of("/robots.txt")] = FetchedPage(
        state=CrawlState.HTTP_SERVER_ERROR, url=url_of("/robots.txt"), http_status=503
    )
    harness.clock.turn(days=1)
    assert harness.crawl() == []
    assert (harness.entry().state, harness.text()) == (CrawlState.ROBOTS_TXT_UNREACHABLE, "one")


@pytest.mark.parametrize("default", [0.0, 1.0])
def test_request_of_an_administrator_reads_robots_txt_again_once(harness: CrawlHarness, default: float) -> None:
    harness.loads = HostLoads(default=default)
    paths = [f"/{number}" for number in range(5)]
    for path in paths:
        harness.servers.put(path, f"page {path}")

    def recrawl() -> int:
        harness.clock.turn(minutes=1)
        harness.add(*(mention(path, is_request=True, is_immediate=True) for path in paths))
        robots: list[str] = []
        harness.servers.on_request = lambda url: robots.append(url) if url.endswith("/robots.txt") else None
        crawl_all(harness)
        return len(robots)

    harness.servers.put("/robots.txt", state=CrawlState.HTTP_SERVER_ERROR)
    assert recrawl() == 1
    assert harness.entry("/1").state is CrawlState.ROBOTS_TXT_UNREACHABLE
    harness.servers.put("/robots.txt", "")
    assert recrawl() == 1
    assert harness.text("/1") == "page /1"
    harness.servers.put("/robots.txt", "User-agent: *\nDisallow: /1\n")
    assert recrawl() == 1
    assert (harness.entry("/1").state, harness.text("/1")) == (CrawlState.DISALLOWED_BY_ROBOTS_TXT, None)
    assert harness.text("/2") == "page /2"


def test_request_of_an_administrator_reads_only_new_sitemaps(harness: CrawlHarness) -> None:
    for number in (1, 2):
        harness.servers.put(f"/{number}.txt", "")

    def ask(named: str) -> None:
        harness.servers.put("/robots.txt", named)
        harness.clock.turn(minutes=1)
        harness.add(mention("/a", is_request=True, is_immediate=True))

    crawler, first = harness.crawler(), "Sitemap: http://web.test/1.txt\n"
    ask(first)
    rounds = iter([first + "Sitemap: http://web.test/2.txt\n", first])
    harness.notifier.is_idle = False

    def is_stopped() -> bool:
        if harness.notifier.is_idle and (named := next(rounds, None)) is not None:
            ask(named)
            harness.notifier.is_idle = False
        return harness.notifier.is_idle

    crawler.work(is_stopped)
    requested = [request.url.removeprefix("http://web.test") for request in harness.servers.requests]
    assert [path for path in requested if path != "/a"] == ["/robots.txt", "/1.txt", "/robots.txt", "/2.txt", "/robots.txt"]


# --- politeness -----------------------------------------------------------------------------------------------------------------


def test_crawl_sends_no_more_requests_at_once_than_the_load(harness: CrawlHarness) -> None:
    harness.loads = HostLoads(default=3.0)
    harness.add(*(f"/{number}" for number in range(30)))
    assert len(harness.crawl()) == 30
    assert harness.servers.highest == 3


@pytest.mark.parametrize("default", [0.1, 0.0], ids=["a load below 1", "no bound"])
def test_crawl_with_a_pause_sends_one_request_a_pause_from_the_first_on(harness: CrawlHarness, default: float) -> None:
    harness.loads = HostLoads(default=default)
    harness.servers.put("/robots.txt", "User-agent: *\nCrawl-delay: 10\n")
    harness.add("/a", "/b", mention("/now", is_request=True, is_immediate=True))
    requested = []
    for _ in range(5):
        requested.append(harness.crawl(owner="one"))
        harness.clock.turn(seconds=10)
    assert [len(each) for each in requested] == [0, 1, 1, 1, 0]
    assert requested[1] == ["/now"]


def test_crawl_after_a_crash_counts_the_pause_from_its_start(harness: CrawlHarness) -> None:
    """The process that crashed may have sent its request at any time."""
    harness.servers.put("/robots.txt", "User-agent: *\nCrawl-delay: 10\n")
    harness.add("/a")
    harness.crawl()
    harness.clock.turn(seconds=20)
    now = harness.clock()
    with harness.store.writing() as unit:
        unit.feeds.crawling.queue.lease_due("one", now, now + timedelta(hours=1), capacity={}, default_capacity=9, limit=9)
    harness.clock.turn(seconds=20)
    assert harness.crawl() == []
    harness.clock.turn(seconds=9.9)
    assert harness.crawl() == []
    harness.clock.turn(seconds=0.1)
    assert harness.crawl() == ["/a"]


class HangingServers(Servers):
    """Servers that never answer."""

    async def fetch(self, request: FetchRequest) -> FetchedPage:
        self.on_request(request.url)
        never: asyncio.Future[FetchedPage] = asyncio.get_running_loop().create_future()
        return await never


def test_crawl_after_a_stop_within_a_request_keeps_the_pause(harness: CrawlHarness) -> None:
    harness.servers.put("/robots.txt", "User-agent: *\nCrawl-delay: 10\n")
    harness.add("/a")
    harness.crawl()
    harness.clock.turn(seconds=10)
    requested: list[str] = []

    def ask(url: str) -> None:
        requested.append(url)
        harness.clock.turn(seconds=9)

    servers, harness.servers = harness.servers, HangingServers(on_request=ask)
    harness.crawler().work(lambda: bool(requested))
    harness.servers = servers
    harness.clock.turn(seconds=9.9)
    assert harness.crawl() == []
    harness.clock.turn(seconds=0.1)
    assert harness.crawl() == ["/a"]


def test_crawl_leaves_a_failing_server_alone_but_for_immediate_urls(harness: CrawlHarness) -> None:
    harness.loads = HostLoads(default=1.0)
    for number in range(40):
        harness.servers.put(f"/{number}", state=CrawlState.CONNECTION_TIMED_OUT)
    harness.add(*(f"/{number}" for number in range(40)))
    harness.servers.put("/now", "one")
    assert len(harness.crawl()) < 10
    assert harness.crawl() == []
    harness.add(mention("/now", is_request=True, is_immediate=True))
    assert harness.crawl()[0] == "/now"


def test_crawl_of_a_host_waits_for_its_hours_and_leaves_the_others_their_turn(harness: CrawlHarness) -> None:
    hosts = ("one.test", "two.test", "three.test")
    harness.loads = HostLoads(default=0.0, exceptions=[LoadException(host=host, start_hour=8, end_hour=18, load=0) for host in hosts])
    harness.add(*(f"http://{host}/{number}" for host in hosts for number in range(70)))
    harness.clock.turn(seconds=1)
    harness.add("/a")
    assert harness.crawl() == ["/a"]
    harness.clock.turn(hours=5)
    assert harness.crawl() == []
    harness.clock.turn(hours=1)
    assert len(harness.crawl()) == 210


def test_crawl_of_a_host_stops_when_its_hours_end(harness: CrawlHarness) -> None:
    harness.loads = HostLoads(default=1.0, exceptions=[LoadException(host="web.test", start_hour=13, end_hour=12, load=0)])
    harness.servers.on_request = lambda url: harness.clock.turn(hours=1) if url.endswith("/0") else None
    harness.add("/0", "/1", "/2")
    assert harness.crawl() == ["/0"]
    harness.clock.turn(hours=23)
    assert sorted(harness.crawl()) == ["/1", "/2"]


def test_crawl_while_paused_fetches_nothing(harness: CrawlHarness) -> None:
    harness.add("/a")
    with harness.store.writing() as unit:
        unit.state.key_values.put(CRAWL_PAUSED, "1")
    assert harness.crawl() == []
    with harness.store.writing() as unit:
        unit.state.key_values.put(CRAWL_PAUSED, "")
    assert harness.crawl() == ["/a"]


@pytest.mark.parametrize("default", [1.0, 0.1], ids=["at once", "with pauses"])
def test_pause_gives_leased_urls_back(harness: CrawlHarness, default: float) -> None:
    """No request that has not been sent goes out after the pause; the next crawler may have the URLs at once."""
    harness.loads = HostLoads(default=default)
    harness.add("/first")
    while harness.entry("/first").crawled_at is None and not harness.entry("/first").failures:
        harness.crawl()
        harness.clock.turn(seconds=10)
    harness.add(*(f"/{number}" for number in range(20)))
    harness.clock.turn(seconds=20)

    def pause(url: str) -> None:
        if url.endswith("/robots.txt"):
            return
        with harness.store.writing() as unit:
            unit.state.key_values.put(CRAWL_PAUSED, "1")
        harness.clock.turn(seconds=1)

    harness.servers.on_request = pause
    assert len(harness.crawl()) == 1
    with harness.store.reading() as unit:
        leased = [entry.url for entry in unit.feeds.crawling.reports.list_entries() if entry.lease_owner]
    assert leased == []
    with harness.store.writing() as unit:
        unit.state.key_values.put(CRAWL_PAUSED, "")
    harness.servers.on_request = lambda _url: None
    harness.clock.turn(seconds=20)
    assert len(harness.crawl()) == (19 if default == 1 else 1)


def test_pause_reads_no_further_sitemap(harness: CrawlHarness) -> None:
    sitemaps = "".join(f"Sitemap: http://web.test/s{number}.txt\n" for number in range(5))
    harness.loads = HostLoads(default=1.0)
    harness.servers.put("/robots.txt", sitemaps)
    for number in range(5):
        harness.servers.put(f"/s{number}.txt", f"http://web.test/p{number}\n")

    def pause(url: str) -> None:
        if url.endswith(".txt") and not url.endswith("/robots.txt"):
            with harness.store.writing() as unit:
                unit.state.key_values.put(CRAWL_PAUSED, "1")
            harness.clock.turn(seconds=1)

    harness.servers.on_request = pause
    harness.add("/a")
    assert len([path for path in harness.crawl() if path.endswith(".txt")]) == 1


def test_crawl_asks_robots_txt_before_a_redirect_is_followed(harness: CrawlHarness) -> None:
    harness.servers.put("/robots.txt", "User-agent: *\nDisallow: /closed\nCrawl-delay: 2\n")
    requested: list[FetchRequest] = []
    harness.add("/a")
    harness.crawl()
    harness.clock.turn(seconds=2)
    harness.servers.on_request = lambda _url: requested.append(harness.servers.requests[-1])
    harness.crawl()
    (request,) = requested
    assert request.allows is not None
    urls = map(url_of, ("/open", "/closed", "http://other.test/closed"))
    assert (request.pause_seconds, [request.allows(url) for url in urls]) == (2.0, [True, False, True])


# --- redirects ------------------------------------------------------------------------------------------------------------------


class RedirectingServers(Servers):
    """Servers whose pages may redirect: a page whose body is ``-> URL`` redirects there, as the fetcher follows it."""

    async def fetch(self, request: FetchRequest) -> FetchedPage:
        page = await super().fetch(request)
        target = page.body.decode().removeprefix("-> ")
        if target == page.body.decode():
            return page
        if request.ends_at is not None and request.ends_at(target):
            return replace(page, url=target, body=b"", http_status=302, is_permanent=True)
        if request.enter is not None and site_of(target) != site_of(request.url):
            await request.enter(target)
            if request.allows is not None and not request.allows(target):
                return replace(page, state=CrawlState.DISALLOWED_BY_ROBOTS_TXT, url=target, body=b"")
        return replace(await self.fetch(replace(request, url=target)), url=target)


def test_redirect_target_is_requested_once(harness: CrawlHarness) -> None:
    harness.servers = RedirectingServers()
    harness.servers.put("/a", "-> http://web.test/b")
    harness.servers.put("/b", "-> http://other.test/c")
    harness.servers.put("http://other.test/c", "the page")
    harness.add("/a")
    assert sorted(harness.crawl() + harness.crawl()) == ["/a", "/b", "http://other.test/c"]
    assert [harness.text(path) for path in ("/a", "/b", "http://other.test/c")] == [None, None, "the page"]
    assert "crawled under its own URL" in harness.entry("/a").history[-1].reason


def test_redirect_that_adds_a_session_id_is_the_page_itself(harness: CrawlHarness) -> None:
    harness.servers = RedirectingServers()
    harness.servers.put("/a", "-> http://mirror.test/a;sid=1")
    harness.servers.put("http://mirror.test/a;sid=1", "the page")
    harness.servers.put("/b", "-> http://mirror.test/c;sid=1")
    harness.servers.put("/c", "another page")
    harness.add("/a", "/b")
    crawl_all(harness)
    assert [harness.text(path) for path in ("/a", "/b", "/c")] == ["the page", None, "another page"]
    with harness.store.reading() as unit:
        assert [entry.url for entry in unit.feeds.crawling.reports.list_entries()] == [url_of(path) for path in ("/a", "/b", "/c")]


def test_redirects_to_ever_new_urls_end(harness: CrawlHarness) -> None:
    harness.servers = RedirectingServers()
    for number in range(30):
        harness.servers.put(f"/{number}", f"-> {url_of(f'/{number + 1}')}")
    harness.servers.put("/x", f"-> {url_of('/y')}")
    harness.servers.put("/y", f"-> {url_of('/x')}")
    harness.servers.put("/z", f"-> {url_of('/a/b' * 4)}")
    harness.add("/0", "/x", "/z")
    crawl_all(harness)
    ended = {path: harness.entry(path).state for path in ("/0", "/9", "/10", "/x", "/y", "/z")}
    assert ended.pop("/z") is CrawlState.INFINITE_URL_SPACE
    assert set(ended.values()) == {CrawlState.LONG_REDIRECT_CHAIN}
    with harness.store.reading() as unit:
        assert len(unit.feeds.crawling.reports.list_entries()) == 14


@pytest.mark.parametrize("is_linked", [False, True])
def test_every_url_that_leads_into_a_circle_is_a_long_redirect_chain(harness: CrawlHarness, is_linked: bool) -> None:
    harness.servers = RedirectingServers()
    for path, target in (("/in", "/a"), ("/a", "/b"), ("/b", "/c"), ("/c", "/a"), ("/out", "/page")):
        harness.servers.put(path, f"-> {url_of(target)}")
    harness.servers.put("/page", "the page")
    harness.add("/in", "/out", *(("/a", "/b", "/c") if is_linked else ()))
    crawl_all(harness)
    if is_linked:
        # no entry says that this one leads into the circle
        harness.clock.turn(days=2)
        crawl_all(harness)
    states = {path: harness.entry(path).state for path in ("/in", "/a", "/b", "/c")}
    assert set(states.values()) == {CrawlState.LONG_REDIRECT_CHAIN}, states
    assert harness.entry("/a").history[-1].state is CrawlState.LONG_REDIRECT_CHAIN
    assert "circle" in harness.entry("/in").history[-1].reason
    assert [harness.entry(path).state.group for path in ("/out", "/page")] == [CrawlGroup.CRAWLED] * 2


def test_circle_of_redirects_ends_when_one_of_them_is_a_page_again(harness: CrawlHarness) -> None:
    harness.servers = RedirectingServers()
    for path, target in (("/a", "/b"), ("/b", "/a")):
        harness.servers.put(path, f"-> {url_of(target)}")
    harness.add("/a")
    crawl_all(harness)
    harness.servers.put("/b", "the page")
    for _ in range(3):
        harness.clock.turn(days=3)
        crawl_all(harness)
    assert [harness.entry(path).state.group for path in ("/a", "/b")] == [CrawlGroup.CRAWLED] * 2
    assert harness.text("/b") == "the page"


def test_document_stays_until_the_redirect_of_its_page_leads_to_another_page(harness: CrawlHarness) -> None:
    harness.servers = RedirectingServers()
    harness.servers.put("/a", "the page")
    harness.add("/a")
    crawl_all(harness)
    harness.servers.put("/a", f"-> {url_of('/b')}")
    harness.servers.put("/b", state=CrawlState.HTTP_SERVER_ERROR)
    harness.clock.turn(days=2)
    crawl_all(harness)
    assert (harness.text("/a"), harness.entry("/a").state) == ("the page", CrawlState.HTTP_SERVER_ERROR)
    harness.servers.put("/b", "the page elsewhere")
    harness.clock.turn(days=2)
    crawl_all(harness)
    assert (harness.text("/a"), harness.text("/b")) == (None, "the page elsewhere")


def test_redirects_of_fed_urls_stay_within_the_load_of_the_other_site(harness: CrawlHarness) -> None:
    harness.servers = RedirectingServers()
    harness.loads = HostLoads(default=1.0)
    pages = [f"http://site{number}.test/a" for number in range(6)]
    harness.servers.put("http://other.test/robots.txt", "User-agent: *\nDisallow: /5\n")
    for number, url in enumerate(pages):
        FeedHarness(store=harness.store, blobs=harness.blobs).push(replace(request(f"e{number}"), url=url), datasource=f"web{number}")
        harness.servers.put(url, f"-> http://other.test/{number}")
        harness.servers.put(f"http://other.test/{number}", f"page {number}")
    harness.clock.turn(minutes=1)
    harness.add(*(f"http://other.test/own{number}" for number in range(6)))
    requested = harness.crawl()
    assert harness.servers.highest == 1
    assert [harness.text(url) for url in pages] == [f"page {number}" for number in range(5)] + [None]
    assert harness.entry(pages[5]).state is CrawlState.DISALLOWED_BY_ROBOTS_TXT
    assert sum("other.test/own" in path for path in requested) == 6


def test_redirect_to_a_site_of_another_process_is_put_off(harness: CrawlHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedmill.services.crawling.crawler.MAX_WAIT_SECONDS", 0.0)
    harness.servers = RedirectingServers()
    FeedHarness(store=harness.store, blobs=harness.blobs).push(replace(request("e"), url=url_of("/a")), datasource="web")
    harness.servers.put("/a", "-> http://other.test/b")
    harness.servers.put("http://other.test/b", "the page")
    harness.clock.turn(minutes=1)
    with harness.store.writing() as unit:
        unit.feeds.crawling.sites.lease("two", "http://other.test", harness.clock(), harness.clock() + timedelta(minutes=2))
    assert harness.crawl() == ["/a"]
    assert (harness.text("/a"), harness.entry("/a").failures) == (None, 0)
    monkeypatch.undo()
    harness.clock.turn(minutes=3)
    harness.crawl()
    assert harness.text("/a") == "the page"


def test_url_that_a_feed_named_has_the_content_to_which_it_redirects(harness: CrawlHarness) -> None:
    harness.servers = RedirectingServers()
    FeedHarness(store=harness.store, blobs=harness.blobs).push(replace(request("e"), url=url_of("/a")), datasource="web")
    harness.servers.put("/a", "-> http://web.test/b")
    harness.servers.put("/b", "the page")
    harness.clock.turn(minutes=1)
    crawl_all(harness)
    assert harness.text("/a") == "the page"


# --- bodies that are too large or empty -----------------------------------------------------------------------------------------


def test_body_that_is_too_large_keeps_the_earlier_content(harness: CrawlHarness) -> None:
    """A body that never ends says nothing about the document; after a month of it the document goes, as after any other failure."""
    harness.servers.put("/a", "one")
    harness.servers.put("/new", is_cut=True)
    harness.add("/a", "/new")
    harness.crawl()
    new = harness.entry("/new")
    assert (new.state, harness.text("/new"), "limits.max_document_bytes" in new.history[-1].reason) == (CrawlState.CRAWLED, "", True)
    harness.servers.put("/a", is_cut=True)
    for _ in range(2):
        harness.clock.turn(days=1)
        harness.crawl()
    entry = harness.entry()
    assert (harness.text(), entry.state, "limits.max_document_bytes" in entry.history[-1].reason) == ("one", CrawlState.OTHER_ERROR, True)
    harness.servers.put("/a", "two")
    harness.clock.turn(days=3)
    harness.crawl()
    assert (harness.text(), harness.entry().state) == ("two", CrawlState.CRAWLED)
    harness.servers.put("/a", is_cut=True)
    for _ in range(40):
        harness.clock.turn(days=1)
        harness.crawl()
    assert (harness.document(), harness.document("/new") is not None) == (None, True)


def test_empty_page_is_an_empty_document(harness: CrawlHarness) -> None:
    described = (("x-gsa-external-metadata", "kind=x"),)
    harness.servers.put("/a", "one")
    harness.servers.put("/described", "", headers=described)
    harness.servers.put("/new", "")
    FeedHarness(store=harness.store, blobs=harness.blobs).push(replace(request("fed"), url=url_of("/fed")), datasource="web")
    harness.servers.put("/fed", "")
    harness.add("/a", "/described", "/new")
    harness.crawl()
    harness.servers.put("/a", "")
    harness.clock.turn(days=1)
    harness.crawl()
    states = {path: harness.entry(path).state for path in ("/a", "/described", "/new", "/fed")}
    assert {path for path, state in states.items() if state is CrawlState.EMPTY_DOCUMENT} == {"/a", "/new"}
    assert [harness.text(path) for path in ("/a", "/described", "/new", "/fed")] == ["one", "", None, ""]


def test_empty_body_keeps_the_content_of_a_url_that_a_feed_named(harness: CrawlHarness) -> None:
    FeedHarness(store=harness.store, blobs=harness.blobs).push(replace(request("fed"), url=url_of("/fed")), datasource="web")
    for body in ("the page", ""):
        harness.servers.put("/fed", body)
        harness.clock.turn(days=1)
        harness.crawl()
    assert (harness.entry("/fed").state, harness.text("/fed")) == (CrawlState.EMPTY_DOCUMENT, "the page")
    harness.servers.put("/fed", "", headers=(("x-gsa-external-metadata", "kind=x"),))
    harness.clock.turn(days=1)
    harness.crawl()
    assert (harness.entry("/fed").state, harness.text("/fed")) == (CrawlState.CRAWLED, "")


def test_page_for_which_there_is_no_memory_is_put_off(harness: CrawlHarness) -> None:
    harness.servers.put("/a", "one")

    def refuse(url: str) -> None:
        if url == url_of("/a"):
            raise Busy("no memory")

    harness.servers.on_request = refuse
    harness.add("/a")
    assert harness.crawl() == ["/a"]
    entry = harness.entry()
    assert (entry.state, entry.failures, entry.lease_owner) == (CrawlState.WAITING, 0, "")
    harness.servers.on_request = lambda _url: None
    harness.clock.turn(minutes=1)
    assert (harness.crawl(), harness.text()) == (["/a"], "one")


def test_page_that_is_put_off_is_fetched_again_by_the_same_crawler(harness: CrawlHarness) -> None:
    harness.servers.put("/a", "one")
    refused: list[str] = []

    def refuse_once(url: str) -> None:
        if url == url_of("/a") and not refused:
            refused.append(url)
            harness.add("/b")
            raise Busy("no memory")
        if url == url_of("/b"):
            harness.clock.turn(minutes=1)

    harness.servers.put("/b", "two")
    harness.servers.on_request = refuse_once
    harness.add("/a")
    assert (harness.crawl(), harness.text("/a"), harness.text("/b")) == (["/a", "/b", "/a"], "one", "two")


# --- sitemaps -------------------------------------------------------------------------------------------------------------------


def test_sitemaps_of_robots_txt_name_pages(harness: CrawlHarness) -> None:
    harness.servers.put("/robots.txt", "Sitemap: http://web.test/index.xml\nSitemap: http://elsewhere.test/other.xml")
    harness.servers.put("/index.xml", "<sitemapindex><sitemap><loc>http://web.test/pages.txt</loc></sitemap></sitemapindex>")
    harness.servers.put("/pages.txt", "http://web.test/b\nhttp://elsewhere.test/c\n")
    harness.servers.put("/a", "one")
    harness.servers.put("/b", "two")
    harness.add("/a")
    assert sorted(harness.crawl()) == ["/a", "/b", "/index.xml", "/pages.txt"]
    assert harness.text("/b") == "two"
    assert harness.entry("/b").referrer == url_of("/pages.txt")


def test_sitemaps_that_are_left_are_read_by_the_next_crawler(harness: CrawlHarness) -> None:
    harness.servers.put("/robots.txt", "Sitemap: http://web.test/1.txt\nSitemap: http://web.test/2.txt\nSitemap: http://web.test/3.txt")
    for number in (1, 2, 3):
        harness.servers.put(f"/{number}.txt", url_of(f"/page{number}"))
    harness.servers.put("/a", "one")
    harness.add("/a")
    requested: list[str] = []

    def is_stopped() -> bool:
        requested.extend(harness.servers.take())
        return "/2.txt" in requested

    harness.crawler().work(is_stopped)
    with harness.store.reading() as unit:
        (left,) = unit.feeds.crawling.sites.find_many(["http://web.test"]).values()
    assert left.sitemaps
    requested += harness.crawl()
    assert {"/1.txt", "/2.txt", "/3.txt", "/page1", "/page2", "/page3"} <= set(requested)
    assert [requested.count(f"/{number}.txt") <= 2 for number in (1, 2, 3)] == [True] * 3


def test_sitemap_with_a_later_change_makes_a_page_due(harness: CrawlHarness) -> None:
    harness.servers.put("/a", "one")
    harness.servers.put("/b", "two")
    harness.add("/a", "/b")
    harness.crawl()
    changed = (harness.clock.now + timedelta(minutes=1)).isoformat()
    harness.clock.turn(days=1)
    harness.servers.put("/robots.txt", "Sitemap: http://web.test/map.xml")
    harness.servers.put("/map.xml", f"<urlset><url><loc>{url_of('/b')}</loc><lastmod>{changed}</lastmod></url></urlset>")
    harness.add(mention("/new", is_request=True))
    assert "/map.xml" in harness.crawl()
    assert harness.entry("/b").crawled_at == harness.clock.now


def test_sitemaps_wait_for_the_pause_of_their_site(harness: CrawlHarness) -> None:
    harness.servers.put("/robots.txt", "User-agent: *\nCrawl-delay: 60\nSitemap: http://web.test/map.txt")
    harness.servers.put("/map.txt", url_of("/b"))
    harness.servers.put("/a", "one")
    harness.servers.put("/b", "two")
    harness.add("/a")
    rounds: list[list[str]] = []

    def is_stopped() -> bool:
        if harness.notifier.is_idle:
            harness.notifier.is_idle = False
            rounds.append(harness.servers.take())
            harness.clock.turn(seconds=61)
        return len(rounds) == 8

    harness.crawler().work(is_stopped)
    assert all(len(paths) <= 1 for paths in rounds)
    assert sorted(path for paths in rounds for path in paths) == ["/a", "/b", "/map.txt"]


def test_robots_header_of_a_page_is_stored(harness: CrawlHarness) -> None:
    harness.servers.put("/a", "one", headers=(("x-robots-tag", "nofollow, noarchive"),))
    harness.add("/a")
    harness.crawl()
    document = harness.document()
    assert document is not None
    assert document.attributes.robots == ("nofollow", "noarchive")


def test_unchanged_page_that_becomes_closed_keeps_its_robots_rules(harness: CrawlHarness) -> None:
    harness.servers.put("/a", "one", etag='"1"', headers=(("x-robots-tag", "noarchive"),))
    harness.add("/a")
    harness.crawl()
    harness.servers.put("/a", "one", etag='"1"', used_access=True)
    harness.clock.turn(days=2)
    harness.crawl()
    document = harness.document()
    assert document is not None
    assert (document.secure, document.attributes.robots) == (True, ("noarchive",))


# --- the end of the process -----------------------------------------------------------------------------------------------------


def test_crawl_after_a_crash_goes_on_with_its_leases(harness: CrawlHarness) -> None:
    for path in ("/a", "/b"):
        harness.servers.put(path, path)
    harness.add("/a", "/b")
    with harness.store.writing() as unit:
        leased = unit.feeds.crawling.queue.lease_due(
            "one", harness.clock(), harness.clock() + timedelta(hours=1), capacity={}, default_capacity=9, limit=9
        )
    assert len(leased) == 2
    assert harness.crawl(owner="two") == []
    assert sorted(harness.crawl(owner="one")) == ["/a", "/b"]
    assert (harness.text("/a"), harness.text("/b")) == ("/a", "/b")


def test_crawl_of_a_url_that_another_owner_took_changes_nothing(harness: CrawlHarness) -> None:
    harness.servers.put("/a", "one")

    def take(url: str) -> None:
        if url == url_of("/a"):
            with harness.store.writing() as unit:
                unit.feeds.crawling.queue.release("one")
                now = harness.clock()
                unit.feeds.crawling.queue.lease_due("two", now, now + timedelta(hours=1), capacity={}, default_capacity=9, limit=9)

    harness.servers.on_request = take
    harness.add("/a")
    harness.crawl()
    assert (harness.document(), harness.entry().lease_owner) == (None, "two")


# --- pages that cannot be applied -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["fetch", "apply", "class", "store"])
def test_page_for_which_a_step_fails_costs_itself_until_it_works(harness: CrawlHarness, step: str) -> None:
    paths = ["/a", "/bad", "/c"]
    for path in paths:
        harness.servers.put(path, path)
    harness.add(*paths)
    with injected(f"{step}=raise:/bad"):
        harness.crawl()
    assert [harness.text(path) for path in paths] == ["/a", None, "/c"]
    assert (harness.entry("/bad").state, harness.entry("/a").state) == (CrawlState.OTHER_ERROR, CrawlState.CRAWLED)
    assert f"step {step} failed" in harness.entry("/bad").history[-1].reason
    harness.clock.turn(days=1)
    assert "/bad" in harness.crawl()
    assert harness.text("/bad") == "/bad"


def test_page_that_ends_the_process_is_set_aside_after_two_times(harness: CrawlHarness, tmp_path: Path) -> None:
    for path in ("/a", "/bad"):
        harness.servers.put(path, path)
    harness.add("/a", "/bad")
    for _ in range(2):
        MappedInFlight(tmp_path, "crawler").begin(f"fetch {url_of('/bad')}")
        harness.in_flight = MappedInFlight(tmp_path, "crawler")
        harness.crawler()
    assert sorted(harness.crawl()) == ["/a", "/bad"]
    assert [harness.text(path) for path in ("/a", "/bad")] == ["/a", None]
    assert "the process ended 2 times" in harness.entry("/bad").history[-1].reason
    harness.clock.turn(days=1)
    harness.crawl()
    assert harness.text("/bad") == "/bad"


def test_page_that_ended_the_process_once_is_applied_after_the_others(harness: CrawlHarness, tmp_path: Path) -> None:
    paths = ["/bad", *(f"/{number}" for number in range(3))]
    for path in paths:
        harness.servers.put(path, path)
    harness.add(*paths)
    MappedInFlight(tmp_path, "crawler").begin(f"fetch {url_of('/bad')}")
    harness.in_flight = MappedInFlight(tmp_path, "crawler")
    harness.crawl()
    ids = {path: harness.document(path).id or 0 for path in paths}  # type: ignore[union-attr]
    assert max(ids, key=lambda path: ids[path]) == "/bad"


# --- duplicates -----------------------------------------------------------------------------------------------------------------


HTML = (("content-type", "text/html"),)


def canonical(url: str, text: str = "") -> str:
    return f'<html><head><link rel="canonical" href="{url}"></head><body>{text}</body>'


def crawl_all(harness: CrawlHarness) -> None:
    while harness.crawl():
        pass


def test_pages_with_the_same_bytes_are_one_document(harness: CrawlHarness) -> None:
    for path in ("/a", "/b", "http://mirror.test/a", "http://other.test/a"):
        harness.servers.put(path, "same")
    harness.add("/a")
    crawl_all(harness)
    harness.add("/b", "http://mirror.test/a", "http://other.test/a")
    crawl_all(harness)
    assert [harness.text(path) for path in ("/a", "/b", "http://mirror.test/a", "http://other.test/a")] == ["same", None, None, "same"]
    entry = harness.entry("/b")
    assert (entry.state, entry.duplicate_of, entry.history[-1].reason) == (
        CrawlState.CRAWLED,
        url_of("/a"),
        "it has the same content as http://web.test/a",
    )


def test_duplicate_becomes_a_document_when_its_original_goes_or_changes(harness: CrawlHarness) -> None:
    for path in ("/a", "/b", "/c"):
        harness.servers.put(path, "same")
    harness.add("/a", "/b", "/c")
    crawl_all(harness)
    assert [harness.text(path) for path in ("/a", "/b", "/c")] == ["same", None, None]
    harness.servers.put("/a", "other")
    harness.add(mention("/a", is_request=True))
    crawl_all(harness)
    assert [harness.text(path) for path in ("/a", "/b", "/c")].count("same") == 1
    original = next(path for path in ("/b", "/c") if harness.text(path))
    del harness.servers.pages[url_of(original)]
    harness.add(mention(original, is_request=True))
    crawl_all(harness)
    assert [harness.text(path) for path in ("/a", "/b", "/c") if path != original] == ["other", "same"]


def test_canonical_url_gets_the_document(harness: CrawlHarness) -> None:
    harness.servers.put("/a?s=1", canonical("/a", "one"), headers=HTML)
    harness.servers.put("/a", canonical("/a", "two"), headers=HTML)
    harness.servers.put("/b", "three", headers=(("link", '<http://web.test/a>; rel="canonical"'),))
    harness.add("/a?s=1", "/b")
    crawl_all(harness)
    assert (harness.document("/a?s=1"), harness.document("/b")) == (None, None)
    assert harness.text("/a") == canonical("/a", "two")
    assert harness.entry("/a").referrer in (url_of("/a?s=1"), url_of("/b"))


@pytest.mark.parametrize(
    "pages",
    [
        {"/a": "/b", "/b": "/a"},
        {"/a": "/b", "/b": "/c", "/c": "/a"},
        {"/a": "/missing"},
        {"/a": "http://elsewhere.test/a"},
        {"/a": "/no_crawl/a"},
    ],
)
def test_canonical_urls_never_make_all_pages_disappear(harness: CrawlHarness, pages: dict[str, str]) -> None:
    for path, target in pages.items():
        harness.servers.put(path, canonical(target, path), headers=HTML)
    harness.add(*pages)
    crawl_all(harness)
    assert sum(harness.document(path) is not None for path in pages) >= 1
    harness.clock.turn(days=1)
    crawl_all(harness)
    assert sum(harness.document(path) is not None for path in pages) >= 1


def test_canonical_url_that_redirects_back_counts_for_nothing(harness: CrawlHarness) -> None:
    harness.servers.put("/a", canonical("/b", "one"), headers=HTML)
    harness.servers.put("/b", canonical("/b", "one"), headers=HTML, url=url_of("/a"))
    harness.add("/a")
    crawl_all(harness)
    assert harness.document("/a") is not None


def test_pages_that_a_feed_named_or_an_adaptor_describes_are_no_duplicates(harness: CrawlHarness) -> None:
    described = (("x-gsa-external-metadata", "kind=x"),)
    harness.servers.put("/a", "same")
    harness.servers.put("/b", "same", headers=described)
    harness.servers.put("/c", "same", used_access=True)
    harness.servers.put("/d", canonical("/a"), headers=HTML, is_cut=True)
    FeedHarness(store=harness.store, blobs=harness.blobs).push(replace(request("e"), url=url_of("/e")), datasource="web")
    harness.servers.put("/e", "same")
    harness.crawl()
    with harness.store.reading() as unit:
        assert [source.name for source in unit.feeds.sources.list()] == ["web"]
    harness.add("/a", "/b", "/c", "/d")
    crawl_all(harness)
    assert [harness.document(path) is not None for path in ("/a", "/b", "/c", "/d", "/e")] == [True] * 5


def test_closed_pages_are_never_merged(harness: CrawlHarness) -> None:
    """ACLs, policies and servers decide about each URL, so a user may see the one copy and not the other."""
    harness.servers.put("/open/a", "same")
    harness.servers.put("/closed/a", "same", used_access=True)
    harness.servers.put("/closed/b", "same", used_access=True)
    harness.servers.put("/open/b", canonical("/closed/a"), headers=HTML)
    harness.add("/closed/a")
    crawl_all(harness)
    harness.add("/closed/b", "/open/a", "/open/b")
    crawl_all(harness)
    documents = {path: harness.document(path) for path in ("/open/a", "/open/b", "/closed/a", "/closed/b")}
    assert {path: None if found is None else found.secure for path, found in documents.items()} == {
        "/open/a": False,
        "/open/b": False,
        "/closed/a": True,
        "/closed/b": True,
    }


@pytest.mark.parametrize("is_unchanged", [False, True])
def test_duplicate_of_a_page_that_becomes_closed_is_a_document(harness: CrawlHarness, is_unchanged: bool) -> None:
    harness.servers.put("/a", "same", etag='"1"')
    harness.servers.put("/b", "same")
    harness.add("/a")
    crawl_all(harness)
    harness.add("/b")
    crawl_all(harness)
    assert harness.entry("/b").duplicate_of == url_of("/a")
    harness.servers.put("/a", "same", etag='"1"' if is_unchanged else '"2"', used_access=True)
    harness.add(mention("/a", is_request=True))
    crawl_all(harness)
    assert (harness.text("/b"), harness.entry("/b").duplicate_of) == ("same", "")


def test_canonical_url_that_turns_out_to_be_closed_counts_for_nothing(harness: CrawlHarness) -> None:
    harness.servers.put("/open", canonical("/closed"), headers=HTML)
    harness.servers.put("/closed", "for staff", used_access=True)
    harness.add("/open")
    crawl_all(harness)
    assert (harness.document("/open") is not None, harness.text("/closed")) == (True, "for staff")


def test_too_many_copies_are_an_infinite_url_space(harness: CrawlHarness) -> None:
    harness.add("/0")
    for number in range(60):
        harness.servers.put(f"/{number}", "same")
    crawl_all(harness)
    harness.add(*(f"/{number}" for number in range(1, 51)))
    crawl_all(harness)
    harness.add(*(f"/{number}" for number in range(51, 60)))
    crawl_all(harness)
    assert {harness.entry(f"/{number}").state for number in range(51, 60)} == {CrawlState.INFINITE_URL_SPACE}
    harness.clock.turn(days=2)
    crawl_all(harness)
    assert {harness.entry(f"/{number}").duplicate_of for number in range(1, 51)} == {url_of("/0")}


def test_copies_that_are_fetched_together_are_counted_too(harness: CrawlHarness) -> None:
    for number in range(120):
        harness.servers.put(f"/{number}", "same")
    harness.add(*(f"/{number}" for number in range(120)))
    crawl_all(harness)
    states = [harness.entry(f"/{number}").state for number in range(120)]
    assert (states.count(CrawlState.CRAWLED), states.count(CrawlState.INFINITE_URL_SPACE)) == (51, 69)
