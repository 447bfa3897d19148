from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from feedhouse import FeedHouse, ListReader, SilentBell, delete, open_house, put, url

from feedmill.model.errors import Broken, Busy
from feedmill.model.feed import Feed, FeedKind, FeedState
from feedmill.services.feeds.feeder import RETRY, RETRY_AFTER_FAULT, Feeder, FeederLane
from feedmill.services.feeds.feeding import SliceLimits


@pytest.fixture
def house(tmp_path: Path) -> Iterator[FeedHouse]:
    made = open_house(tmp_path, changes_a_slice=2)
    yield made
    made.store.close()


def applied(house: FeedHouse) -> set[int]:
    return {feed_id for feed_id in house.feeds if house.feed(feed_id).phase.is_past_feeder}


def test_feeder_applies_feeds_of_a_source_in_the_order_of_acknowledgement(house: FeedHouse) -> None:
    first = house.receive([put("a", "1"), put("a", "2"), put("a", "3"), put("b")])
    second = house.receive([put("a", "4"), delete("b")])
    third = house.receive([put("c", whole=True)], kind=FeedKind.FULL)
    feeder = Feeder(FeederLane(owner="one"), house.tools, SilentBell())

    order: list[int] = []
    while feeder.turn():
        order.extend(sorted(applied(house) - set(order)))

    assert order == [first, second, third]
    assert set(house.live()) == {url("c")}
    assert house.feed(third).state is FeedState.COMPLETED


def test_feeder_gives_each_source_its_turn(house: FeedHouse) -> None:
    large = house.receive([put(f"l{number}") for number in range(40)], datasource="large")
    small = house.receive([put("s")], datasource="small")
    feeder = Feeder(FeederLane(owner="one"), house.tools, SilentBell())

    while small not in applied(house):
        assert feeder.turn()

    assert 0 < house.feed(large).applied < 20
    while feeder.turn():
        pass
    assert len(house.live()) == 41


def test_feeder_takes_what_its_lane_holds_only(house: FeedHouse) -> None:
    small = house.receive([put("a")], datasource="small")
    large = house.receive([put("b"), put("c")], datasource="large")
    behind = house.receive([put("d")], datasource="large")

    quick = Feeder(FeederLane(owner="quick", max_bytes=2), house.tools, SilentBell())
    while quick.turn():
        pass
    assert applied(house) == {small}

    bulk = Feeder(FeederLane(owner="bulk", min_bytes=2), house.tools, SilentBell())
    while bulk.turn():
        pass
    assert applied(house) == {small, large}

    while quick.turn():
        pass
    assert applied(house) == {small, large, behind}


def test_feeder_that_starts_again_goes_on_at_the_checkpoint(house: FeedHouse) -> None:
    feed_id = house.receive([put(f"d{number}") for number in range(9)])
    killed = Feeder(FeederLane(owner="one"), house.tools, SilentBell())
    for _ in range(3):
        killed.turn()
    reached = house.feed(feed_id).applied

    other = Feeder(FeederLane(owner="other"), house.tools, SilentBell())
    assert not other.turn()
    again = Feeder(FeederLane(owner="one"), house.tools, SilentBell())
    while again.turn():
        pass

    assert 0 < reached < 9
    assert house.feed(feed_id).included == 9
    assert {document.version for document in house.live().values()} == {1}


@pytest.mark.parametrize(("error", "rest"), [(Busy("no disk"), RETRY), (RuntimeError("a fault of ours"), RETRY_AFTER_FAULT)])
def test_feeder_lets_a_feed_that_fails_rest_while_others_go_on(house: FeedHouse, error: Exception, rest: timedelta) -> None:
    failing = house.receive([put("a")], datasource="failing")
    house.receive([put("b")], datasource="other")
    attempts: list[Feed] = []

    def reader(feed: Feed) -> ListReader:
        if feed.id == failing and not attempts:
            attempts.append(feed)
            raise error
        return ListReader(made=house.feeds[feed.id])

    feeder = Feeder(FeederLane(owner="one"), replace(house.tools, reader=reader), SilentBell())
    for _ in range(6):
        feeder.turn()
    assert set(house.live()) >= {url("b")}

    house.now += rest
    while feeder.turn():
        pass
    assert set(house.live()) == {url("a"), url("b")}
    assert len(attempts) == 1


def test_feeder_goes_past_any_number_of_feeds_that_fail(house: FeedHouse) -> None:
    failing = {house.receive([put("a")], datasource=f"failing{number}") for number in range(5)}
    house.receive([put("b")], datasource="other")

    def reader(feed: Feed) -> ListReader:
        if feed.id in failing:
            raise Busy("no disk")
        return ListReader(made=house.feeds[feed.id])

    feeder = Feeder(FeederLane(owner="one", at_once=2), replace(house.tools, reader=reader), SilentBell())
    for _ in range(12):
        feeder.turn()
    assert set(house.live()) == {url("b")}


def test_feeder_whose_process_is_of_no_more_use_ends(house: FeedHouse) -> None:
    feed_id = house.receive([put("a")])

    def reader(feed: Feed) -> ListReader:
        raise Broken("making blobs durable failed")

    feeder = Feeder(FeederLane(owner="one"), replace(house.tools, reader=reader), SilentBell())
    with pytest.raises(Broken):
        feeder.work(lambda: False)
    again = Feeder(FeederLane(owner="one"), house.tools, SilentBell())
    while again.turn():
        pass

    assert applied(house) == {feed_id}


def test_feeder_wakes_extractor_and_indexer_when_it_has_applied_something(house: FeedHouse) -> None:
    bell = SilentBell()
    feeder = Feeder(FeederLane(owner="one"), house.tools, bell)
    assert not feeder.turn()
    assert bell.rung == []

    house.receive([put("a")])
    while feeder.turn():
        pass

    assert set(bell.rung) == {"extractor", "indexer"}


def test_feeder_works_until_stopped_and_lets_other_work_have_its_steps(house: FeedHouse) -> None:
    house.receive([put("a")])
    steps: list[int] = []
    feeder = Feeder(FeederLane(owner="one"), replace(house.tools, limits=SliceLimits()), SilentBell())

    def aside() -> bool:
        steps.append(len(steps))
        if len(steps) == 2:
            raise Busy("the store is busy")
        return False

    feeder.work(lambda: len(steps) > 5, (aside,))

    assert set(house.live()) == {url("a")}
