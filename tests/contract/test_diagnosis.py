"""Why searches find a URL or do not, on a real store."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from feedmill.core.documents.admission import build_rules
from feedmill.model.crawling import CrawlState, FetchRecord
from feedmill.services.inspection import diagnose_url, inspect_url
from tests.builders.changes import OPEN, delete, put, put_acl, url
from tests.contract.feedharness import BEGIN, FeedHarness, open_harness
from tests.contract.test_crawl_updates import entries, request


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[FeedHarness]:
    made = open_harness(tmp_path)
    yield made
    made.store.close()


def set_fetched(harness: FeedHarness, name: str, state: CrawlState, status: int, reason: str = "") -> None:
    record = FetchRecord(at=BEGIN, state=state, http_status=status, reason=reason)
    with harness.store.writing() as unit:
        entry = replace(entries(harness)[name], state=state, history=(record,), due_at=BEGIN + timedelta(days=1))
        unit.feeds.crawling.queue.save_many([entry])


def test_url_that_nothing_named_is_never_received(harness: FeedHarness) -> None:
    found = diagnose_url(harness.store, OPEN, url("none"))
    assert (found.state, found.searchable) == ("never received", False)
    assert found.causes == ("no feed, link, sitemap or start URL named this URL",)


def test_url_that_a_pattern_refuses_names_the_pattern(harness: FeedHarness) -> None:
    found = diagnose_url(harness.store, build_rules(["/"], ["docs.test/a"], [], []), url("a"))
    assert found.causes == ("the url matches the do-not-follow pattern 'docs.test/a'",)


def test_url_that_waits_for_the_crawler_says_so(harness: FeedHarness) -> None:
    harness.push(request("a"), datasource="web")
    found = diagnose_url(harness.store, OPEN, url("a"))
    assert (found.state, found.causes) == ("known, not crawled", ("it was named for crawling and has not been crawled",))


@pytest.mark.parametrize(
    ("state", "status", "reason", "said"),
    [
        (
            CrawlState.HTTP_SERVER_ERROR,
            503,
            "",
            "HTTP server error: HTTP status 503; it is fetched again at 2026-03-02 12:00 UTC",
        ),
        (CrawlState.DISALLOWED_BY_ROBOTS_TXT, 0, "Disallow: /", "disallowed by robots.txt: Disallow: /"),
    ],
)
def test_url_whose_crawl_failed_names_robots_txt_or_the_status(
    harness: FeedHarness, state: CrawlState, status: int, reason: str, said: str
) -> None:
    harness.push(request("a"), datasource="web")
    set_fetched(harness, "a", state, status, reason)

    assert diagnose_url(harness.store, OPEN, url("a")).causes == (said,)
    assert inspect_url(harness.store, url("a")).status.reason == said


def test_deleted_url_says_when(harness: FeedHarness) -> None:
    harness.push(put("a"))
    harness.push(delete("a"))
    found = diagnose_url(harness.store, OPEN, url("a"))
    assert found.state == "gone"
    assert found.causes[0].startswith("deleted at 2026-03-01 12:00 UTC")


def test_url_with_an_acl_alone_says_so(harness: FeedHarness) -> None:
    harness.push(put_acl("a"))
    assert "it has an acl and no document" in diagnose_url(harness.store, OPEN, url("a")).causes
