"""The alarm: queues that do not move are found by whoever asks, from what the store says."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from feedhouse import FeedHouse, SilentBell, open_house, put, url

from feedmill.bootstrap.context import utc_now
from feedmill.model.errors import DiskFull
from feedmill.model.queue import QueueName
from feedmill.ports import LinkWork, Stage
from feedmill.services.facts import ADMISSION_CURSOR
from feedmill.services.failurenote import FailureNote, tell_fault
from feedmill.services.feeds.feeder import Feeder, FeederLane
from feedmill.services.feeds.readprogress import ReadProgress
from feedmill.services.indexing.rebuilding import request_rebuild
from feedmill.services.queues import QueueWatch, tell_stuck

LATER = timedelta(seconds=61)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[FeedHouse]:
    made = open_house(tmp_path)
    made.now = utc_now() - timedelta(hours=1)
    yield made
    made.store.close()


def watch(house: FeedHouse, *, later: timedelta = LATER, started_at: datetime | None = None) -> QueueWatch:
    return QueueWatch(store=house.store, clock=lambda: utc_now() + later, stuck_seconds=60, started_at=lambda: started_at)


def stuck_names(house: FeedHouse, *, later: timedelta = LATER) -> list[str]:
    return [stuck.name.value for stuck in watch(house, later=later).find_stuck()]


def note_progress(house: FeedHouse, name: QueueName, *, reached: int = 0) -> None:
    with house.store.writing() as unit:
        unit.queues.note_progress(name, reached=reached)


def shown(house: FeedHouse, name: QueueName) -> dict[str, object]:
    return next(queue for queue in watch(house).tell() if queue["name"] == name.value)


def test_find_stuck_with_nothing_waiting_finds_none(house: FeedHouse) -> None:
    assert stuck_names(house) == []
    assert [(queue["name"], queue["waiting"], queue["stuck"]) for queue in watch(house).tell()] == [
        (each.value, 0, False) for each in QueueName
    ]
    assert set(watch(house).tell_oldest().values()) == {0.0}


def test_documents_that_wait_in_a_queue_that_does_not_move_are_told_with_the_first_of_them(house: FeedHouse) -> None:
    feed = house.push(put("a"), put("b", None))
    assert stuck_names(house, later=timedelta()) == []
    assert stuck_names(house) == ["extract", "index"]
    told = shown(house, QueueName.EXTRACT)
    assert (told["waiting"], told["stuck"], told["document"]) == (1, True, url("a"))
    assert isinstance(told["oldest_seconds"], float)
    assert 60 < told["oldest_seconds"] < 120
    assert watch(house).find_problems() == ["queue extract has not moved for 61 seconds", "queue index has not moved for 61 seconds"]
    found = watch(house).find_for(house.feed(feed.id))
    assert found is not None
    assert found.name is QueueName.EXTRACT
    assert found.document == url("a")
    told_stuck = tell_stuck(found)
    assert told_stuck is not None
    assert told_stuck.keys() == {"queue", "since", "document", "reason"}


def test_queue_that_moves_is_not_stuck_whatever_waits_in_it(house: FeedHouse) -> None:
    house.push(put("a"), put("b", None))
    with house.store.writing() as unit:
        unit.queues.note_failure(QueueName.INDEX, "the disk is full", url("b"))
    assert (shown(house, QueueName.INDEX)["reason"], shown(house, QueueName.INDEX)["document"]) == ("the disk is full", url("b"))
    moving = QueueWatch(store=house.store, clock=lambda: utc_now() + timedelta(seconds=59), stuck_seconds=60)
    note_progress(house, QueueName.INDEX)
    note_progress(house, QueueName.EXTRACT)
    assert moving.find_stuck() == []
    assert shown(house, QueueName.INDEX)["reason"] is not None
    with house.store.reading() as unit:
        assert {queue.name: queue.reason for queue in unit.queues.list()}[QueueName.INDEX] is None


def test_server_that_just_started_has_no_stuck_queue(house: FeedHouse) -> None:
    house.push(put("a"))
    assert watch(house, started_at=utc_now() + timedelta(seconds=30)).find_stuck() == []
    assert watch(house, started_at=utc_now()).find_stuck() != []


def test_document_that_is_passed_on_waits_anew_and_one_that_is_changed_again_does_not(house: FeedHouse) -> None:
    house.push(put("a"))
    with house.store.reading() as unit:
        (mark,) = unit.marks.list(Stage.EXTRACT, 1)
        since = {queue.name: queue.oldest_at for queue in unit.queues.list()}
    house.push(put("a", "other words"))
    with house.store.reading() as unit:
        assert {queue.name: queue.oldest_at for queue in unit.queues.list()}[QueueName.EXTRACT] == since[QueueName.EXTRACT]
        (mark,) = unit.marks.list(Stage.EXTRACT, 1)
    with house.store.writing() as unit:
        unit.marks.advance([mark])
    with house.store.reading() as unit:
        passed = {queue.name: queue.oldest_at for queue in unit.queues.list()}
    assert passed[QueueName.EXTRACT] is None
    assert (passed[QueueName.INDEX] or utc_now()) > (since[QueueName.EXTRACT] or utc_now())


def test_links_wait_while_the_index_moves(house: FeedHouse) -> None:
    with house.store.writing() as unit:
        unit.links.queue(LinkWork.READ, [7])
    assert stuck_names(house) == ["links"]
    later = QueueWatch(store=house.store, clock=lambda: utc_now() + timedelta(seconds=59), stuck_seconds=60)
    note_progress(house, QueueName.INDEX)
    assert later.find_stuck() == []


def test_feed_that_fails_again_and_again_makes_its_queue_stuck_though_others_move(house: FeedHouse) -> None:
    failing = house.receive([put("a")], datasource="failing")
    behind = house.receive([put("b")], datasource="failing")
    house.faults[failing] = DiskFull("no room on the disk")
    feeder = Feeder(FeederLane(owner="one"), house.tools, SilentBell())
    feeder.turn()
    assert stuck_names(house) == ["feeds-quick"]
    other = house.push(put("c"), datasource="other")
    waiting = house.receive([put("d")], datasource="other")
    # the head that fails is told, whoever moves beside it, and keeps the feeds of its source alone
    later = QueueWatch(store=house.store, clock=lambda: utc_now() + timedelta(seconds=30), stuck_seconds=1)
    with house.store.writing() as unit:
        unit.queues.begin(QueueName.FEEDS_QUICK)
    (stuck,) = [each for each in later.find_stuck() if each.name is QueueName.FEEDS_QUICK]
    assert (stuck.reason, stuck.document) == ("no room on the disk", f"feed {failing} of failing")
    assert other.phase.is_past_feeder
    just_now = QueueWatch(store=house.store, clock=utc_now, stuck_seconds=1800)
    (stuck,) = [each for each in just_now.find_stuck() if each.name is QueueName.FEEDS_QUICK]
    assert (stuck.is_whole, stuck.datasources) == (False, frozenset({"failing"}))
    assert just_now.find_for(house.feed(behind)) is not None
    assert just_now.find_for(house.feed(waiting)) is None
    assert just_now.find_for(other) is None
    del house.faults[failing]
    house.run(failing)
    with house.store.reading() as unit:
        heads = {queue.name: queue.heads for queue in unit.queues.list()}[QueueName.FEEDS_QUICK]
    assert [head.failure for head in heads] == [None, None]


def test_feed_whose_checkpoint_moves_is_not_stuck(house: FeedHouse) -> None:
    feed_id = house.receive([put("a")])
    assert stuck_names(house, later=timedelta()) == ["feeds-quick"]
    with house.store.writing() as unit:
        unit.feeds.save(house.feed(feed_id))
    assert stuck_names(house, later=timedelta()) == []
    assert stuck_names(house) == ["feeds-quick"]


def test_reading_a_feed_for_long_is_progress_but_not_reading_it_again(house: FeedHouse, tmp_path: Path) -> None:
    feed_id = house.receive([put("a")])
    (tmp_path / "feed").write_bytes(bytes(1000))

    def read_all() -> None:
        progress = ReadProgress(house.store, feed_id)
        with progress.watch((tmp_path / "feed").open) as stream:  # type: ignore[arg-type]
            while stream.read(100):
                progress.noted_at -= 10

    def moved_at() -> datetime:
        with house.store.reading() as unit:
            return {queue.name: queue.heads for queue in unit.queues.list()}[QueueName.FEEDS_QUICK][0].since

    before = moved_at()
    read_all()
    once = moved_at()
    assert once > before
    read_all()
    assert moved_at() == once


def test_rebuild_that_begins_again_and_again_does_not_move(house: FeedHouse) -> None:
    request_rebuild(house.store)
    assert stuck_names(house) == ["rebuild"]
    note_progress(house, QueueName.REBUILD, reached=100)

    def moved_at() -> datetime | None:
        with house.store.reading() as unit:
            return {queue.name: queue.moved_at for queue in unit.queues.list()}[QueueName.REBUILD]

    before = moved_at()
    note_progress(house, QueueName.REBUILD, reached=100)
    assert moved_at() == before
    note_progress(house, QueueName.REBUILD, reached=101)
    assert moved_at() != before


def test_sweep_that_rests_between_its_rounds_waits_for_nobody(house: FeedHouse) -> None:
    with house.store.writing() as unit:
        unit.queues.begin(QueueName.ADMISSION)
        unit.facts.put(ADMISSION_CURSOR, "digest:2:0")
    assert stuck_names(house) == []
    with house.store.writing() as unit:
        unit.facts.put(ADMISSION_CURSOR, "digest:2:17")
    assert stuck_names(house) == ["admission"]


def test_failure_is_noted_once_and_again_after_progress_was_followed_by_another(house: FeedHouse) -> None:
    house.push(put("b", None))
    note = FailureNote(house.store, QueueName.INDEX)
    note.note("first")
    note.note("second", url("b"))
    told = shown(house, QueueName.INDEX)
    assert (told["reason"], told["document"]) == ("second", url("b"))
    assert tell_fault(KeyError("\n")) == "KeyError: '\\n'"
    assert tell_fault(ValueError()) == "ValueError"
