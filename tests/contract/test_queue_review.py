"""The crawl queue after the settings have changed, on a real store."""

from collections.abc import Sequence
from dataclasses import replace

from feedmill.core.documents.admission import build_rules
from feedmill.model.crawling import CrawlState, CrawlUrgency
from feedmill.services.crawling.reviewing import QueueReview
from tests.builders.changes import put, url
from tests.contract.feedharness import FeedHarness
from tests.contract.test_crawl_updates import entries, request


def make_review(
    harness: FeedHarness, *, follow: Sequence[str] = ("/",), do_not_follow: Sequence[str] = (), start: Sequence[str] = ()
) -> QueueReview:
    rules = build_rules(follow, do_not_follow, [], [])
    return QueueReview(harness.store, rules, start, repr((follow, do_not_follow)), harness.clock)


def review(harness: FeedHarness, *, follow: Sequence[str] = ("/",), do_not_follow: Sequence[str] = (), start: Sequence[str] = ()) -> int:
    """Reviews the queue to its end. Returns the number of steps."""
    made = make_review(harness, follow=follow, do_not_follow=do_not_follow, start=start)
    return sum(1 for _ in iter(made.step, False))


def set_state(harness: FeedHarness, name: str, state: CrawlState) -> None:
    with harness.store.writing() as unit:
        unit.feeds.crawling.queue.save_many([replace(entries(harness)[name], state=state, due_at=None)])


def test_start_urls_become_known_unless_they_are_fed(harness: FeedHarness) -> None:
    harness.push(put("fed"))
    review(harness, start=["# a comment", "", f" {url('a')} ", url("fed")])
    assert list(entries(harness)) == ["a"]


def test_start_url_that_was_crawled_is_left_as_it_is(harness: FeedHarness) -> None:
    review(harness, start=[url("a")])
    set_state(harness, "a", CrawlState.CRAWLED)
    review(harness, start=[url("a"), url("b")])
    assert {name: entry.due_at is not None for name, entry in entries(harness).items()} == {"a": False, "b": True}


def test_url_comes_back_when_its_pattern_is_taken_back(harness: FeedHarness) -> None:
    harness.push(request("a"), request("b"), request("c"), datasource="web")
    set_state(harness, "a", CrawlState.IN_URLS_NOT_TO_CRAWL)
    set_state(harness, "b", CrawlState.NOT_IN_URLS_TO_CRAWL)
    set_state(harness, "c", CrawlState.DISALLOWED_BY_ROBOTS_TXT)

    review(harness, do_not_follow=[url("b")])

    due = {name: entry.due_at is not None for name, entry in entries(harness).items()}
    assert due == {"a": True, "b": False, "c": False}


def test_document_that_was_named_without_a_crawler_becomes_known(harness: FeedHarness) -> None:
    harness.push(request("a", crawl_immediately=True), datasource="web")
    harness.push(put("fed"))
    with harness.store.writing() as unit:
        unit.feeds.crawling.queue.remove_many([url("a")])

    review(harness)

    assert {name: entry.urgency for name, entry in entries(harness).items()} == {"a": CrawlUrgency.IMMEDIATE}


def test_review_with_the_same_settings_looks_at_nothing(harness: FeedHarness) -> None:
    harness.push(request("a"), datasource="web")
    assert review(harness) > 0
    assert review(harness) == 0
    assert review(harness, do_not_follow=["x/"]) > 0


def test_review_that_is_interrupted_does_not_count_for_the_rules_before_it(harness: FeedHarness) -> None:
    harness.push(request("a"), datasource="web")
    review(harness)
    make_review(harness, do_not_follow=[url("a")]).step()
    set_state(harness, "a", CrawlState.IN_URLS_NOT_TO_CRAWL)

    assert review(harness) > 0

    assert entries(harness)["a"].due_at is not None
