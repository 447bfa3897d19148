"""The extractor service with failing parts: documents wait, and none counts as extracted before its text is stored."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import pytest

from feedmill.adapters.blobs.memory import MemoryBlobs
from feedmill.core.crawling.dates import DateLocation, DateRules
from feedmill.core.documents.presentation import shown_date
from feedmill.model.document import BlobRef
from feedmill.model.errors import Broken, Busy, DiskFull, FeedmillError
from feedmill.model.extraction import Answer, Task
from feedmill.ports import Stage
from feedmill.services.indexing.extracting import Extracting
from tests.builders.changes import put, url
from tests.contract.feedharness import FeedHarness, open_harness
from tests.fakes import SilentNotifier


@dataclass
class InstantExtractor:
    """Answers each task with its own bytes; first fails as often as configured."""

    failures: int = 0
    tasks: list[Task] = field(default_factory=list)

    def submit(self, task: Task, *, quick: bool) -> None:
        self.tasks.append(task)

    def collect(self, timeout_seconds: float) -> list[Answer]:
        if self.failures:
            self.failures -= 1
            raise Busy("no worker can be started")
        answers = [Answer(key=task.key, mimetype="text/plain", body=b"{}\n" + (task.data or b"")) for task in self.tasks]
        self.tasks.clear()
        return answers

    def capacity(self, *, quick: bool) -> int:
        return 10

    def close(self) -> None:
        self.tasks.clear()


class TroubledBlobs(MemoryBlobs):
    """Raises the configured exceptions, put by put or sync by sync."""

    def __init__(self) -> None:
        super().__init__()
        self.puts: list[FeedmillError] = []
        self.syncs: list[FeedmillError] = []

    def put(self, stream: BinaryIO, size_bytes: int) -> BlobRef:
        if self.puts:
            raise self.puts.pop()
        return super().put(stream, size_bytes)

    def sync(self) -> None:
        if self.syncs:
            raise self.syncs.pop()


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[FeedHarness]:
    made = open_harness(tmp_path)
    made.blobs = TroubledBlobs()
    yield made
    made.store.close()


def extracting(harness: FeedHarness, extractor: InstantExtractor) -> Extracting:
    return Extracting(harness.store, harness.blobs, extractor, SilentNotifier(), harness.clock)


def count_marks(harness: FeedHarness) -> dict[Stage, int]:
    with harness.store.reading() as unit:
        return unit.processing.index_tasks.count()


def work_until_extracted(harness: FeedHarness, service: Extracting) -> None:
    turns = iter(range(50))
    service.work(lambda: count_marks(harness)[Stage.EXTRACT] == 0 or next(turns, None) is None)
    assert count_marks(harness)[Stage.EXTRACT] == 0


def assert_texts_stored(harness: FeedHarness, *names: str) -> None:
    for name in names:
        text = harness.document(url(name)).text
        assert text is not None
        assert text.blob is not None
        assert text.reason is None
        assert harness.blobs.read(text.blob) == b"{}\nbody of " + name.encode()


@pytest.mark.parametrize("trouble", ["puts", "syncs"])
def test_extracting_without_disk_space_for_texts_stores_them_later(harness: FeedHarness, trouble: str) -> None:
    harness.push(put("a", "body of a"), put("b", "body of b"))
    getattr(harness.blobs, trouble).extend([DiskFull("no room"), DiskFull("no room")])

    work_until_extracted(harness, extracting(harness, InstantExtractor()))

    assert_texts_stored(harness, "a", "b")
    assert count_marks(harness)[Stage.INDEX] == 2


def test_extracting_without_workers_lets_documents_wait(harness: FeedHarness) -> None:
    harness.push(put("a", "body of a"))

    work_until_extracted(harness, extracting(harness, InstantExtractor(failures=3)))

    assert_texts_stored(harness, "a")


def test_extracting_whose_process_is_of_no_more_use_ends_and_a_new_one_goes_on(harness: FeedHarness) -> None:
    harness.push(put("a", "body of a"))
    assert isinstance(harness.blobs, TroubledBlobs)
    harness.blobs.syncs.append(Broken("making blobs durable failed"))

    with pytest.raises(Broken):
        extracting(harness, InstantExtractor()).work(lambda: False)
    work_until_extracted(harness, extracting(harness, InstantExtractor()))

    assert_texts_stored(harness, "a")


def test_date_of_a_document_is_found_by_the_rules(harness: FeedHarness) -> None:
    harness.push(put("a", "\n\nMinutes of 31 May 2024"), put("b", "\n\nno date"))
    dates = DateRules([("docs.test/", DateLocation.BODY, "")])
    made = Extracting(harness.store, harness.blobs, InstantExtractor(), SilentNotifier(), harness.clock, dates=dates)
    while made.turn():
        pass

    assert {name: shown_date(harness.document(url(name))) for name in "ab"} == {"a": datetime(2024, 5, 31, tzinfo=UTC), "b": None}
