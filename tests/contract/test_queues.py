"""The alarm: queues that do not move are found from what the store says."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from feedmill.bootstrap.context import utc_now
from feedmill.model.errors import DiskFull
from feedmill.model.queue import QueueName
from feedmill.ports import LinkWork, Stage
from feedmill.services.failurenote import FailureNote, describe_fault
from feedmill.services.feeds.feeder import Feeder, FeederLane
from feedmill.services.feeds.readprogress import ReadProgress
from feedmill.services.indexing.rebuilding import request_rebuild
from feedmill.services.keyvalues import ADMISSION_CURSOR
from feedmill.services.queues import QueueWatch, describe_stuck
from tests.builders.changes import put, url
from tests.contract.feedharness import FeedHarness, open_harness
from tests.fakes import SilentNotifier

LATER = timedelta(seconds=61)


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[FeedHarness]:
    made = open_harness(tmp_path)
    made.now = utc_now() - timedelta(hours=1)
    yield made
    made.store.close()


def watch(harness: FeedHarness, *, later: timedelta = LATER, started_at: datetime | None = None) -> QueueWatch:
    return QueueWatch(store=harness.store, clock=lambda: utc_now() + later, stuck_seconds=60, started_at=lambda: started_at)


def stuck_names(harness: FeedHarness, *, later: timedelta = LATER) -> list[str]:
    return [stuck.name.value for stuck in watch(harness, later=later).find_stuck()]


def note_progress(harness: FeedHarness, name: QueueName, *, reached: int = 0) -> None:
    with harness.store.writing() as unit:
        unit.processing.queues.note_progress(name, reached=reached)


def shown(harness: FeedHarness, name: QueueName) -> dict[str, object]:
    return next(queue for queue in watch(harness).describe() if queue["name"] == name.value)


def test_find_stuck_with_nothing_waiting_finds_none(harness: FeedHarness) -> None:
    assert stuck_names(harness) == []
    assert [(queue["name"], queue["waiting"], queue["stuck"]) for queue in watch(harness).describe()] == [
        (each.value, 0, False) for each in QueueName
    ]
    assert set(watch(harness).read_oldest().values()) == {0.0}


def test_documents_that_wait_in_a_stuck_queue_are_reported_with_the_first_of_them(harness: FeedHarness) -> None:
    feed = harness.push(put("a"), put("b", None))
    assert stuck_names(harness, later=timedelta()) == []
    assert stuck_names(harness) == ["extract", "index"]
    status = shown(harness, QueueName.EXTRACT)
    assert (status["waiting"], status["stuck"], status["document"]) == (1, True, url("a"))
    assert isinstance(status["oldest_seconds"], float)
    assert 60 < status["oldest_seconds"] < 120
    problems = [re.sub(r"\d+ seconds", "N seconds", problem) for problem in watch(harness).find_problems()]
    assert problems == ["queue extract has not moved for N seconds", "queue index has not moved for N seconds"]
    found = watch(harness).find_for(harness.feed(feed.id))
    assert found is not None
    assert found.name is QueueName.EXTRACT
    assert found.document == url("a")
    description = describe_stuck(found)
    assert description is not None
    assert description.keys() == {"queue", "queue_code", "since", "document", "reason"}


def test_queue_that_moves_is_not_stuck_whatever_waits_in_it(harness: FeedHarness) -> None:
    harness.push(put("a"), put("b", None))
    with harness.store.writing() as unit:
        unit.processing.queues.note_failure(QueueName.INDEX, "the disk is full", url("b"))
    assert (shown(harness, QueueName.INDEX)["reason"], shown(harness, QueueName.INDEX)["document"]) == ("the disk is full", url("b"))
    moving = QueueWatch(store=harness.store, clock=lambda: utc_now() + timedelta(seconds=59), stuck_seconds=60)
    note_progress(harness, QueueName.INDEX)
    note_progress(harness, QueueName.EXTRACT)
    assert moving.find_stuck() == []
    assert shown(harness, QueueName.INDEX)["reason"] is not None
    with harness.store.reading() as unit:
        assert {queue.name: queue.reason for queue in unit.processing.queues.list()}[QueueName.INDEX] is None


def test_server_that_just_started_has_no_stuck_queue(harness: FeedHarness) -> None:
    harness.push(put("a"))
    assert watch(harness, started_at=utc_now() + timedelta(seconds=30)).find_stuck() == []
    assert watch(harness, started_at=utc_now()).find_stuck() != []


def test_document_that_is_passed_on_restarts_its_wait_and_one_that_is_changed_again_does_not(harness: FeedHarness) -> None:
    harness.push(put("a"))
    with harness.store.reading() as unit:
        (mark,) = unit.processing.index_tasks.list(Stage.EXTRACT, 1)
        since = {queue.name: queue.oldest_at for queue in unit.processing.queues.list()}
    harness.push(put("a", "other words"))
    with harness.store.reading() as unit:
        assert {queue.name: queue.oldest_at for queue in unit.processing.queues.list()}[QueueName.EXTRACT] == since[QueueName.EXTRACT]
        (mark,) = unit.processing.index_tasks.list(Stage.EXTRACT, 1)
    with harness.store.writing() as unit:
        unit.processing.index_tasks.advance([mark])
    with harness.store.reading() as unit:
        passed = {queue.name: queue.oldest_at for queue in unit.processing.queues.list()}
    assert passed[QueueName.EXTRACT] is None
    assert (passed[QueueName.INDEX] or utc_now()) > (since[QueueName.EXTRACT] or utc_now())


def test_links_wait_while_the_index_moves(harness: FeedHarness) -> None:
    with harness.store.writing() as unit:
        unit.processing.link_queue.queue(LinkWork.READ, [7])
    assert stuck_names(harness) == ["links"]
    later = QueueWatch(store=harness.store, clock=lambda: utc_now() + timedelta(seconds=59), stuck_seconds=60)
    note_progress(harness, QueueName.INDEX)
    assert later.find_stuck() == []


def test_feed_that_fails_again_and_again_makes_its_queue_stuck_though_others_move(harness: FeedHarness) -> None:
    failing = harness.receive([put("a")], datasource="failing")
    behind = harness.receive([put("b")], datasource="failing")
    harness.faults[failing] = DiskFull("no room on the disk")
    feeder = Feeder(FeederLane(owner="one"), harness.tools, SilentNotifier())
    feeder.turn()
    assert stuck_names(harness) == ["feeds-quick"]
    other = harness.push(put("c"), datasource="other")
    waiting = harness.receive([put("d")], datasource="other")
    # the head that fails is reported, whatever moves beside it, and blocks only the feeds of its source
    later = QueueWatch(store=harness.store, clock=lambda: utc_now() + timedelta(seconds=30), stuck_seconds=1)
    with harness.store.writing() as unit:
        unit.processing.queues.begin(QueueName.FEEDS_QUICK)
    (stuck,) = [each for each in later.find_stuck() if each.name is QueueName.FEEDS_QUICK]
    assert (stuck.reason, stuck.document) == ("no room on the disk", f"feed {failing} of failing")
    assert other.phase.is_past_feeder
    just_now = QueueWatch(store=harness.store, clock=utc_now, stuck_seconds=1800)
    (stuck,) = [each for each in just_now.find_stuck() if each.name is QueueName.FEEDS_QUICK]
    assert (stuck.is_whole, stuck.datasources) == (False, frozenset({"failing"}))
    assert just_now.find_for(harness.feed(behind)) is not None
    assert just_now.find_for(harness.feed(waiting)) is None
    assert just_now.find_for(other) is None
    del harness.faults[failing]
    harness.run(failing)
    with harness.store.reading() as unit:
        heads = {queue.name: queue.heads for queue in unit.processing.queues.list()}[QueueName.FEEDS_QUICK]
    assert [head.failure for head in heads] == [None, None]


def test_feed_whose_checkpoint_moves_is_not_stuck(harness: FeedHarness) -> None:
    feed_id = harness.receive([put("a")])
    assert stuck_names(harness, later=timedelta()) == ["feeds-quick"]
    with harness.store.writing() as unit:
        unit.feeds.queue.save(harness.feed(feed_id))
    assert stuck_names(harness, later=timedelta()) == []
    assert stuck_names(harness) == ["feeds-quick"]


def test_reading_a_feed_for_long_is_progress_but_not_reading_it_again(harness: FeedHarness, tmp_path: Path) -> None:
    feed_id = harness.receive([put("a")])
    (tmp_path / "feed").write_bytes(bytes(1000))

    def read_all() -> None:
        progress = ReadProgress(harness.store, feed_id)
        with progress.watch((tmp_path / "feed").open) as stream:  # type: ignore[arg-type]
            while stream.read(100):
                progress.noted_at -= 10

    def moved_at() -> datetime:
        with harness.store.reading() as unit:
            return {queue.name: queue.heads for queue in unit.processing.queues.list()}[QueueName.FEEDS_QUICK][0].since

    before = moved_at()
    read_all()
    once = moved_at()
    assert once > before
    read_all()
    assert moved_at() == once


def test_rebuild_that_begins_again_and_again_does_not_move(harness: FeedHarness) -> None:
    request_rebuild(harness.store)
    assert stuck_names(harness) == ["rebuild"]
    note_progress(harness, QueueName.REBUILD, reached=100)

    def moved_at() -> datetime | None:
        with harness.store.reading() as unit:
            return {queue.name: queue.moved_at for queue in unit.processing.queues.list()}[QueueName.REBUILD]

    before = moved_at()
    note_progress(harness, QueueName.REBUILD, reached=100)
    assert moved_at() == before
    note_progress(harness, QueueName.REBUILD, reached=101)
    assert moved_at() != before


def test_sweep_that_rests_between_its_rounds_waits_for_no_document(harness: FeedHarness) -> None:
    with harness.store.writing() as unit:
        unit.processing.queues.begin(QueueName.ADMISSION)
        unit.state.key_values.put(ADMISSION_CURSOR, "digest:2:0")
    assert stuck_names(harness) == []
    with harness.store.writing() as unit:
        unit.state.key_values.put(ADMISSION_CURSOR, "digest:2:17")
    assert stuck_names(harness) == ["admission"]


def test_failure_is_noted_once_and_again_after_progress_was_followed_by_another(harness: FeedHarness) -> None:
    harness.push(put("b", None))
    note = FailureNote(harness.store, QueueName.INDEX)
    note.note("first")
    note.note("second", url("b"))
    status = shown(harness, QueueName.INDEX)
    assert (status["reason"], status["document"]) == ("second", url("b"))
    assert describe_fault(KeyError("\n")) == "KeyError: '\\n'"
    assert describe_fault(ValueError()) == "ValueError"
