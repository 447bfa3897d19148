"""The crawl queue after feeds, runs, fetches and sweeps have changed documents."""

from dataclasses import replace

import pytest

from feedmill.core.documents.admission import build_rules
from feedmill.core.documents.urlstate import ApplyContext
from feedmill.model.change import Change, RequestCrawl, SourcePosition
from feedmill.model.crawling import CrawlEntry, CrawlUrgency
from feedmill.model.document import Attributes
from feedmill.model.feed import FeedKind
from feedmill.model.provenance import MAINTENANCE, Provenance, from_fetch, from_run
from feedmill.ports import Lane
from feedmill.services.feeds.feeding import Admission, ChangeBatch, SliceLimits, evict_over_limit, take_slice
from tests.builders.changes import OPEN, delete, put, url
from tests.contract.feedharness import FeedHarness


def request(name: str, **attributes: object) -> RequestCrawl:
    return RequestCrawl(place=SourcePosition(record=1), url=url(name), attributes=Attributes(**attributes))  # type: ignore[arg-type]


def bring(harness: FeedHarness, provenance: Provenance, *changes: Change) -> None:
    taken = take_slice(iter(changes), harness.blobs, SliceLimits()).slice
    with harness.store.writing() as unit:
        batch = ChangeBatch(unit, ApplyContext(provenance=provenance, now=harness.clock(), rules=OPEN), Lane.BULK)
        batch.load(change.url for change, _ in taken if change.url is not None)
        for change, content in taken:
            batch.apply(change, content)
        batch.finish()


def entries(harness: FeedHarness) -> dict[str, CrawlEntry]:
    with harness.store.reading() as unit:
        return {entry.url.removeprefix(url("")): entry for entry in unit.feeds.crawling.reports.list_entries(limit=1000)}


def set_crawled(harness: FeedHarness, name: str) -> None:
    """Makes an entry one that was crawled and is not due."""
    entry = entries(harness)[name]
    with harness.store.writing() as unit:
        unit.feeds.crawling.queue.save_many([replace(entry, due_at=None, crawled_at=harness.clock(), urgency=CrawlUrgency.SCHEDULED)])


def test_web_feed_makes_urls_due_in_the_order_that_it_asks_for(harness: FeedHarness) -> None:
    harness.push(request("a", pagerank=99), request("b", crawl_immediately=True), request("c", crawl_once=True), datasource="web")

    found = entries(harness)
    assert {name: entry.urgency for name, entry in found.items()} == {
        "a": CrawlUrgency.NEW,
        "b": CrawlUrgency.IMMEDIATE,
        "c": CrawlUrgency.NEW,
    }
    assert (found["a"].pagerank, found["c"].is_once) == (99, True)
    assert all(entry.due_at is not None and entry.due_at <= harness.now for entry in found.values())


def test_web_feed_makes_a_crawled_url_due_again(harness: FeedHarness) -> None:
    harness.push(request("a"), datasource="web")
    set_crawled(harness, "a")
    assert entries(harness)["a"].due_at is None

    harness.push(request("a"), datasource="web")

    again = entries(harness)["a"]
    assert again.due_at is not None
    assert again.urgency is CrawlUrgency.NEW


def test_url_named_twice_in_a_feed_is_immediate_if_either_record_says_so(harness: FeedHarness) -> None:
    harness.push(request("a", crawl_immediately=True), request("a"), datasource="web")
    assert entries(harness)["a"].urgency is CrawlUrgency.IMMEDIATE


def test_url_named_and_deleted_in_one_feed_is_not_queued(harness: FeedHarness) -> None:
    harness.push(request("a"), delete("a"), datasource="web")
    assert entries(harness) == {}


@pytest.mark.parametrize("bringer", ["feed", "run"])
def test_content_ends_the_crawl_of_its_url(harness: FeedHarness, bringer: str) -> None:
    harness.push(request("a"), request("b"), datasource="web")

    if bringer == "feed":
        harness.push(put("a"))
    else:
        bring(harness, from_run("hr"), put("a"))

    assert list(entries(harness)) == ["b"]
    harness.push(request("a"), datasource="web")
    assert list(entries(harness)) == ["b"]


def test_deletions_end_the_crawl(harness: FeedHarness) -> None:
    harness.push(request("a"), request("b"), request("c"), datasource="metadata", kind=FeedKind.METADATA_AND_URL)
    harness.push(delete("a"), datasource="other")

    assert list(entries(harness)) == ["b", "c"]


def test_fetch_leaves_the_entry_to_the_crawler(harness: FeedHarness) -> None:
    harness.push(request("a"), request("b"), datasource="web")
    bring(harness, from_fetch("crawler"), put("a"), delete("b"))

    assert list(entries(harness)) == ["a", "b"]


def test_refused_url_is_due_so_that_the_crawler_sees_why(harness: FeedHarness) -> None:
    harness.push(request("a"), datasource="web")
    bring(harness, from_fetch("crawler"), put("a"))
    set_crawled(harness, "a")
    harness.admission = Admission(rules=build_rules(["/"], [url("a")], [], []))

    harness.push(request("a"), datasource="web")

    assert entries(harness)["a"].due_at is not None
    assert harness.live() == {}


def test_evicted_document_is_not_crawled_any_more(harness: FeedHarness) -> None:
    harness.push(request("a", pagerank=70), request("b"), datasource="web")
    with harness.store.writing() as unit:
        evict_over_limit(unit, 1, ApplyContext(provenance=MAINTENANCE, now=harness.clock(), rules=OPEN), Lane.BULK)

    assert list(entries(harness)) == ["b"]
