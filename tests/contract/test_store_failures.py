"""Failures of documents and interruptions of items in a store; one suite for every database."""

from dataclasses import replace

from feedmill.adapters.store.engine import SqlStore
from feedmill.model.failure import Failure
from feedmill.model.feed import LogEntry, LogLevel
from feedmill.services.isolation.batches import FailedItem
from feedmill.services.isolation.recording import FailureRecorder
from tests.builders.documents import make_document
from tests.builders.feeds import add_feed
from tests.builders.times import NOW, minutes

FAILURE = Failure(document_id=1, version=1, step="index.entry", reason="KeyError", at=NOW, program="1")


def test_failures_are_found_counted_and_removed(store: SqlStore) -> None:
    other = replace(FAILURE, document_id=2**40, step="links.read", reason="nul\0", program="2", is_found=True)
    with store.writing() as unit:
        unit.processing.failures.put_many([])
        unit.processing.failures.put_many([FAILURE, other])
    with store.reading() as unit:
        shown = replace(other, reason="nul\N{SYMBOL FOR NULL}")
        assert unit.processing.failures.find_many([1, 2, 2**40]) == {1: FAILURE, 2**40: shown}
        assert unit.processing.failures.count() == {"index.entry": 1, "links.read": 1}
        assert unit.processing.failures.list_of_others("1", after=0, limit=10) == [shown]
        assert unit.processing.failures.list_of_others("3", after=1, limit=10) == [shown]
        assert unit.processing.failures.list_of_others("3", after=0, limit=1) == [FAILURE]
    with store.writing() as unit:
        unit.processing.failures.remove_many([])
        unit.processing.failures.remove_many([1, 7])
        assert list(unit.processing.failures.find_many([1, 2**40])) == [2**40]


def test_failures_of_the_same_version_count_attempts(store: SqlStore) -> None:
    with store.writing() as unit:
        unit.processing.failures.put_many([FAILURE])
        unit.processing.failures.put_many([replace(FAILURE, step="index.put", at=NOW + minutes(1))])
        assert unit.processing.failures.find_many([1])[1] == replace(FAILURE, step="index.put", at=NOW + minutes(1), attempts=2)
        unit.processing.failures.put_many([replace(FAILURE, version=2)])
        assert unit.processing.failures.find_many([1])[1] == replace(FAILURE, version=2)


def test_interruptions_are_counted_by_key(store: SqlStore) -> None:
    with store.writing() as unit:
        assert [unit.processing.interruptions.add(key, NOW) for key in ("a", "b", "a")] == [1, 1, 2]
        assert unit.processing.interruptions.list_counts() == {"a": 2, "b": 1}
        unit.processing.interruptions.remove(["a", "c"])
        assert unit.processing.interruptions.list_counts() == {"b": 1}


def test_late_log_stands_behind_the_feeders_and_survives_its_saves(store: SqlStore) -> None:
    feed = add_feed(store)
    entry = LogEntry(level=LogLevel.WARNING, reason="late", url="http://h/a")
    with store.writing() as unit:
        unit.feeds.log.log_late(feed.id, [entry, entry])
        unit.feeds.log.log_late(feed.id + 1, [entry])
        unit.feeds.log.log_late(feed.id, [])
    own = LogEntry(level=LogLevel.ERROR, reason="own", record=1)
    with store.writing() as unit:
        unit.feeds.queue.save(replace(feed, logged=1), [own])
        unit.feeds.log.log_late(feed.id, [replace(entry, reason="later")])
        assert [each.reason for each in unit.feeds.log.list_log(feed.id, 10)] == ["own", "late", "late", "later"]
        assert (unit.feeds.reader.get(feed.id).logged, unit.feeds.reader.get(feed.id).late_logged) == (1, 3)


def test_late_log_is_bounded(store: SqlStore) -> None:
    feed = add_feed(store)
    with store.writing() as unit:
        for _ in range(3):
            unit.feeds.log.log_late(feed.id, [LogEntry(level=LogLevel.WARNING, reason="late")] * 600)
        assert len(unit.feeds.log.list_log(feed.id, 10_000)) == 1_000
        assert len(unit.feeds.log.list_log(feed.id, 10)) == 10


def test_recorder_reports_a_failure_once_and_names_feed_document_and_step(store: SqlStore) -> None:
    feed = add_feed(store)
    steps: list[str] = []
    recorder = FailureRecorder(lambda: NOW, "1", steps.append)
    with store.writing() as unit:
        key = unit.documents.writer.save_many([make_document("http://h/a", feed_id=feed.id)])["http://h/a"]
        document = unit.documents.reader.find_by_id([key])[key]
        failed = FailedItem(document, "index.entry", "step index.entry failed: KeyError")
        recorder.record(unit, [failed])
        recorder.record(unit, [failed])
        assert unit.processing.failures.find_many([key])[key].attempts == 2
        entry = LogEntry(
            level=LogLevel.WARNING, url="http://h/a", reason="step index.entry failed: KeyError; the document is not searchable"
        )
        assert unit.feeds.log.list_log(feed.id, 10) == [entry]
    assert steps == ["index.entry"]
