"""What administrators do with the crawl queue, by service, command and admin port."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from typer import Exit
from typer.testing import CliRunner

from feedmill.cli.main import build_app
from feedmill.cli.queue import follow_parts
from feedmill.http.admin.app import admin_app
from feedmill.model.crawling import CrawlEntry, CrawlGroup, CrawlMention, CrawlState, CrawlUrgency, FetchRecord
from feedmill.model.document import DocumentState
from feedmill.model.errors import BadRequest, NotFound
from feedmill.model.provenance import from_fetch
from feedmill.services.crawling.requesting import CrawlRequests, DonePart
from feedmill.services.overview import read_crawl_overview
from tests.asgi import ask_app
from tests.builders.administration import make_administration
from tests.builders.changes import OPEN, put, url
from tests.contract.feedharness import FeedHarness, open_harness
from tests.contract.test_crawl_updates import bring, request
from tests.fakes import SilentNotifier

TOKEN = "a-token-of-the-tests"


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[FeedHarness]:
    made = open_harness(tmp_path)
    made.push(request("a"), request("b/1"), request("b/2", crawl_once=True), datasource="web")
    yield made
    made.store.close()


@pytest.fixture
def requests(harness: FeedHarness) -> CrawlRequests:
    return CrawlRequests(harness.store, lambda: OPEN, SilentNotifier(), harness.clock)


def fail(harness: FeedHarness, name: str) -> CrawlEntry:
    """Makes an entry one that failed and is due tomorrow."""
    with harness.store.writing() as unit:
        entry = unit.feeds.crawling.queue.find_many([url(name)])[url(name)]
        now = harness.clock()
        record = FetchRecord(at=now, state=CrawlState.HTTP_SERVER_ERROR, http_status=503, reason="HTTP status 503")
        failed = replace(
            entry,
            state=CrawlState.HTTP_SERVER_ERROR,
            urgency=CrawlUrgency.SCHEDULED,
            due_at=now + timedelta(days=1),
            failures=1,
            failed_at=now,
            history=(record,),
        )
        unit.feeds.crawling.queue.save_many([failed])
    return failed


def test_overview_counts_urls_by_site_and_group(harness: FeedHarness, requests: CrawlRequests) -> None:
    fail(harness, "a")
    counted = read_crawl_overview(harness.store, harness.clock())
    assert (counted["urls"], counted["sites"], counted["groups"]["waiting"], counted["paused"]) == (3, 1, 2, False)
    overview = requests.read_overview()
    assert (overview.due, overview.is_paused) == (2, False)
    assert overview.sites["http://docs.test"][CrawlGroup.ERROR] == 1
    assert overview.sites["http://docs.test"][CrawlGroup.WAITING] == 2


def test_recrawl_makes_what_matches_due_at_once(harness: FeedHarness, requests: CrawlRequests) -> None:
    failed = fail(harness, "b/2")
    assert requests.recrawl("docs.test/b/") == 2

    again = requests.get_life(url("b/2")).entry
    assert again.urgency is CrawlUrgency.IMMEDIATE
    assert again.due_at is not None
    assert failed.due_at is not None
    assert again.due_at < failed.due_at
    assert again.is_once
    assert requests.get_life(url("a")).entry.urgency is CrawlUrgency.NEW


@pytest.mark.parametrize("name", ["recrawl", "remove"])
def test_request_for_many_urls_is_done_in_parts(
    harness: FeedHarness, requests: CrawlRequests, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("feedmill.services.crawling.requesting.READ_AT_ONCE", 1)
    monkeypatch.setattr("feedmill.services.crawling.requesting.PAGES_OF_PART", 2)
    do_part = {"recrawl": requests.recrawl_part, "remove": requests.remove_part}[name]
    first = do_part("docs.test/", "")
    second = do_part("docs.test/", first.after)
    assert (first, second) == (DonePart(count=2, compared=2, after=url("b/1")), DonePart(count=1, compared=1))
    assert do_part("none.test/", "").count == 0


def test_request_for_many_urls_that_is_interrupted_says_how_to_continue(capsys: pytest.CaptureFixture[str]) -> None:
    def ask(after: str) -> DonePart:
        if after:
            raise KeyboardInterrupt
        return DonePart(count=2, compared=2, after=url("b/1"))

    with pytest.raises(Exit) as ended:
        follow_parts(ask, lambda: 3, "")
    assert ended.value.exit_code == 130
    assert f"2 URLs done; to continue with the others, add --after '{url('b/1')}'" in capsys.readouterr().err


def test_recrawl_of_a_known_url_means_it_alone(harness: FeedHarness, requests: CrawlRequests) -> None:
    with harness.store.writing() as unit:
        urls = ("http://site.test/", "http://site.test/a", "http://site.test/b/c", "http://site.test/b/")
        unit.feeds.crawling.queue.add_many([CrawlMention(url=url) for url in urls], harness.clock())
    texts = ("http://site.test/", "http://site.test", "http://site.test/b/", "site.test/b/", "site.test/")
    assert [requests.recrawl(text) for text in texts] == [1, 1, 1, 2, 4]
    with pytest.raises(NotFound):
        requests.remove("http://site.test/b/none")
    assert requests.remove("http://site.test") == 1
    assert requests.recrawl("http://site.test/") == 3


def test_recrawl_of_an_unknown_url_says_so(requests: CrawlRequests) -> None:
    with pytest.raises(NotFound, match=r"the crawler knows no URL that 'http://none\.test/' matches; name it"):
        requests.recrawl("http://none.test/")
    with pytest.raises(BadRequest, match="is an exception"):
        requests.recrawl("-docs.test/")


def test_removed_url_is_neither_crawled_nor_found(harness: FeedHarness, requests: CrawlRequests) -> None:
    bring(harness, from_fetch("crawler"), put("a"))

    assert requests.remove(url("a")) == 1

    assert harness.document(url("a")).state is DocumentState.GONE
    with pytest.raises(NotFound, match="the crawler does not know"):
        requests.get_life(url("a"))


def test_url_that_a_feed_owns_is_not_crawled_and_the_error_says_so(harness: FeedHarness, requests: CrawlRequests) -> None:
    harness.push(put("a"))
    with pytest.raises(NotFound, match="is not crawled: data source hr fed its content"):
        requests.get_life(url("a"))


def test_life_names_the_page_that_links(harness: FeedHarness, requests: CrawlRequests) -> None:
    with harness.store.writing() as unit:
        unit.feeds.crawling.queue.add_many([CrawlMention(url=url("c"), referrer=url("a"), depth=1)], harness.clock())
    assert requests.get_life(url("c")).referrers == (url("a"),)


def test_admin_port_shows_changes_and_pauses_the_queue(harness: FeedHarness, requests: CrawlRequests) -> None:
    administration = make_administration(
        crawling=requests,
    )
    app = admin_app(administration, TOKEN)
    headers = {"authorization": f"Bearer {TOKEN}"}

    def ask(method: str, path: str) -> tuple[int, object]:
        path, _, query = path.partition("?")
        answer = ask_app(app, method, path, query=query, headers=headers)
        return answer.status, answer.json if answer.body else None

    fail(harness, "a")
    status, shown = ask("GET", f"/api/v1/crawl/entry?url={url('a')}")
    assert status == 200
    assert isinstance(shown, dict)
    assert (shown["state"], shown["code"], shown["group"]) == ("HTTP server error", 32, "retrieval error")
    assert (shown["state_code"], shown["group_code"]) == ("http_server_error", "error")
    assert shown["history"][0] | {"at": ""} == {
        "at": "",
        "state": "HTTP server error",
        "state_code": "http_server_error",
        "code": 32,
        "http_status": 503,
        "bytes": 0,
        "seconds": 0.0,
        "reason": "HTTP status 503",
    }
    status, listed = ask("GET", "/api/v1/crawl/queue?group=error&limit=5")
    assert isinstance(listed, list)
    assert [entry["url"] for entry in listed] == [url("a")]
    assert ask("GET", "/api/v1/crawl/queue?group=lost")[0] == 400
    assert ask("GET", "/api/v1/crawl/queue?limit=0")[0] == 400
    assert ask("GET", "/api/v1/crawl/entry")[0] == 400
    assert ask("GET", "/api/v1/crawl/entry?url=http://none.test/")[0] == 404
    assert ask("POST", f"/api/v1/crawl/recrawl?url={url('a')}") == (202, {"requested": 1})
    assert ask("DELETE", f"/api/v1/crawl/queue?url={url('a')}") == (200, {"removed": 1})
    assert ask("POST", "/api/v1/crawl/recrawl?url=docs.test/&after=")[1] == {"requested": 2, "compared": 2, "after": None}
    assert ask("DELETE", f"/api/v1/crawl/queue?url={url('c')}&after=")[1] == {"removed": 0, "compared": 1, "after": None}
    assert ask("POST", "/api/v1/crawl/pause") == (204, None)
    status, overview = ask("GET", "/api/v1/crawl")
    assert isinstance(overview, dict)
    assert (overview["paused"], overview["groups"]["waiting"]) == (True, 2)
    assert ask("POST", "/api/v1/crawl/resume") == (204, None)
    assert not requests.read_overview().is_paused


def test_commands_show_and_change_the_queue(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    made = open_harness(data)
    made.push(request("a"), request("b"), datasource="web")
    fail(made, "b")
    made.store.close()

    def run(*words: str) -> str:
        done = CliRunner().invoke(build_app(), [*words, "--data", str(data)])
        assert done.exit_code == 0, done.output + repr(done.exception)
        return done.stdout

    assert "HTTP server error" in run("queue")
    overview = json.loads(run("queue", "--json", "--group", "error"))
    assert [entry["url"] for entry in overview["entries"]] == [url("b")]
    assert json.loads(run("recrawl", url("b"), "--json")) == {"requested": 1}
    assert json.loads(run("queue", "show", url("b"), "--json"))["urgency"] == "immediate"
    assert "HTTP 503" in run("queue", "show", url("b"))
    assert json.loads(run("queue", "pause", "--json")) == {"paused": True}
    assert "paused" in run("queue")
    assert "the crawler is resumed" in run("queue", "resume")
    assert json.loads(run("recrawl", "docs.test/", "--after", url("a"), "--json")) == {"requested": 1}
    assert "1 URL removed" in run("queue", "remove", url("b"))
