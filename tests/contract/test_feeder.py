from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from feedmill.model.errors import Broken, Busy
from feedmill.model.feed import Feed, FeedKind, FeedState
from feedmill.model.topic import Topic
from feedmill.services.feeds.feeder import RETRY, RETRY_AFTER_FAULT, Feeder, FeederLane
from feedmill.services.feeds.feeding import SliceLimits
from tests.builders.changes import delete, put, url
from tests.contract.feedharness import FeedHarness, ListReader, open_harness
from tests.fakes import SilentNotifier


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[FeedHarness]:
    made = open_harness(tmp_path, changes_a_slice=2)
    yield made
    made.store.close()


def applied(harness: FeedHarness) -> set[int]:
    return {feed_id for feed_id in harness.feeds if harness.feed(feed_id).phase.is_past_feeder}


def test_feeder_applies_feeds_of_a_source_in_the_order_of_acknowledgement(harness: FeedHarness) -> None:
    first = harness.receive([put("a", "1"), put("a", "2"), put("a", "3"), put("b")])
    second = harness.receive([put("a", "4"), delete("b")])
    third = harness.receive([put("c", whole=True)], kind=FeedKind.FULL)
    feeder = Feeder(FeederLane(owner="one"), harness.tools, SilentNotifier())

    order: list[int] = []
    while feeder.turn():
        order.extend(sorted(applied(harness) - set(order)))

    assert order == [first, second, third]
    assert set(harness.live()) == {url("c")}
    assert harness.feed(third).state is FeedState.COMPLETED


def test_feeder_serves_each_source_in_turn(harness: FeedHarness) -> None:
    large = harness.receive([put(f"l{number}") for number in range(40)], datasource="large")
    small = harness.receive([put("s")], datasource="small")
    feeder = Feeder(FeederLane(owner="one"), harness.tools, SilentNotifier())

    while small not in applied(harness):
        assert feeder.turn()

    assert 0 < harness.feed(large).applied < 20
    while feeder.turn():
        pass
    assert len(harness.live()) == 41


def test_feeder_takes_what_its_lane_holds_only(harness: FeedHarness) -> None:
    small = harness.receive([put("a")], datasource="small")
    large = harness.receive([put("b"), put("c")], datasource="large")
    behind = harness.receive([put("d")], datasource="large")

    quick = Feeder(FeederLane(owner="quick", max_bytes=2), harness.tools, SilentNotifier())
    while quick.turn():
        pass
    assert applied(harness) == {small}

    bulk = Feeder(FeederLane(owner="bulk", min_bytes=2), harness.tools, SilentNotifier())
    while bulk.turn():
        pass
    assert applied(harness) == {small, large}

    while quick.turn():
        pass
    assert applied(harness) == {small, large, behind}


def test_feeder_that_starts_again_goes_on_at_the_checkpoint(harness: FeedHarness) -> None:
    feed_id = harness.receive([put(f"d{number}") for number in range(9)])
    killed = Feeder(FeederLane(owner="one"), harness.tools, SilentNotifier())
    for _ in range(3):
        killed.turn()
    reached = harness.feed(feed_id).applied

    other = Feeder(FeederLane(owner="other"), harness.tools, SilentNotifier())
    assert not other.turn()
    again = Feeder(FeederLane(owner="one"), harness.tools, SilentNotifier())
    while again.turn():
        pass

    assert 0 < reached < 9
    assert harness.feed(feed_id).included == 9
    assert {document.version for document in harness.live().values()} == {1}


@pytest.mark.parametrize(("error", "rest"), [(Busy("no disk"), RETRY), (RuntimeError("a fault of ours"), RETRY_AFTER_FAULT)])
def test_feeder_lets_a_feed_that_fails_rest_while_others_go_on(harness: FeedHarness, error: Exception, rest: timedelta) -> None:
    failing = harness.receive([put("a")], datasource="failing")
    harness.receive([put("b")], datasource="other")
    attempts: list[Feed] = []

    def reader(feed: Feed) -> ListReader:
        if feed.id == failing and not attempts:
            attempts.append(feed)
            raise error
        return ListReader(made=harness.feeds[feed.id])

    feeder = Feeder(FeederLane(owner="one"), replace(harness.tools, reader=reader), SilentNotifier())
    for _ in range(6):
        feeder.turn()
    assert set(harness.live()) >= {url("b")}

    harness.now += rest
    while feeder.turn():
        pass
    assert set(harness.live()) == {url("a"), url("b")}
    assert len(attempts) == 1


def test_feeder_goes_past_any_number_of_feeds_that_fail(harness: FeedHarness) -> None:
    failing = {harness.receive([put("a")], datasource=f"failing{number}") for number in range(5)}
    harness.receive([put("b")], datasource="other")

    def reader(feed: Feed) -> ListReader:
        if feed.id in failing:
            raise Busy("no disk")
        return ListReader(made=harness.feeds[feed.id])

    feeder = Feeder(FeederLane(owner="one", at_once=2), replace(harness.tools, reader=reader), SilentNotifier())
    for _ in range(12):
        feeder.turn()
    assert set(harness.live()) == {url("b")}


def test_feeder_whose_process_is_of_no_more_use_ends(harness: FeedHarness) -> None:
    feed_id = harness.receive([put("a")])

    def reader(feed: Feed) -> ListReader:
        raise Broken("making blobs durable failed")

    feeder = Feeder(FeederLane(owner="one"), replace(harness.tools, reader=reader), SilentNotifier())
    with pytest.raises(Broken):
        feeder.work(lambda: False)
    again = Feeder(FeederLane(owner="one"), harness.tools, SilentNotifier())
    while again.turn():
        pass

    assert applied(harness) == {feed_id}


def test_feeder_wakes_extractor_and_indexer_when_it_has_applied_something(harness: FeedHarness) -> None:
    notifier = SilentNotifier()
    feeder = Feeder(FeederLane(owner="one"), harness.tools, notifier)
    assert not feeder.turn()
    assert notifier.notified == []

    harness.receive([put("a")])
    while feeder.turn():
        pass

    assert set(notifier.notified) == {Topic.EXTRACTION, Topic.INDEXING}


def test_feeder_works_until_stopped_and_lets_other_work_have_its_steps(harness: FeedHarness) -> None:
    harness.receive([put("a")])
    steps: list[int] = []
    feeder = Feeder(FeederLane(owner="one"), replace(harness.tools, limits=SliceLimits()), SilentNotifier())

    def other_steps() -> bool:
        steps.append(len(steps))
        if len(steps) == 2:
            raise Busy("the store is busy")
        return False

    feeder.work(lambda: len(steps) > 5, (other_steps,))

    assert set(harness.live()) == {url("a")}
