"""Where the repaired copy of a feed goes."""

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

import pytest

from feedmill.model.change import Change, PutDocument
from feedmill.model.errors import BadFeed, DiskFull
from feedmill.services.feeds.reading import FeedReader
from tests.feedreaders import gsafeed_reader
from tests.golden.feedtext import content_of, feed_of, only, record_of


@dataclass
class MemoryFile:
    files: "MemoryFiles"
    name: str
    data: bytes = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self.files.is_full:
            raise DiskFull("the disk is full")
        self.data += data

    def commit(self) -> int:
        self.files.stored[self.name] = self.data
        return len(self.data)

    def discard(self) -> None:
        self.files.discarded += 1


@dataclass
class MemoryFiles:
    stored: dict[str, bytes] = field(default_factory=dict)
    discarded: int = 0
    is_full: bool = False

    def create(self) -> MemoryFile:
        return MemoryFile(self, f"copy-{len(self.stored)}")

    def open(self, name: str) -> BinaryIO:
        return io.BytesIO(self.stored[name])

    def remove(self, name: str) -> None:
        del self.stored[name]

    def list(self) -> Iterator[tuple[str, int, float]]:
        yield from ((name, len(data), 0.0) for name, data in self.stored.items())


def reader_of(data: bytes, files: MemoryFiles) -> FeedReader[Change]:
    return gsafeed_reader(lambda: io.BytesIO(data), files=files)


def test_scan_of_good_feed_keeps_no_copy() -> None:
    files = MemoryFiles()
    report = reader_of(feed_of(record_of()), files).scan()
    assert (report.repaired, report.repaired_file, files.stored) == (False, None, {})


def test_scan_of_repairable_feed_keeps_a_copy_that_reads_strictly() -> None:
    files = MemoryFiles()
    report = reader_of(feed_of(record_of("<content>a & b</content>")), files).scan()
    assert report.repaired_file is not None
    again = reader_of(files.stored[report.repaired_file], files)
    assert not again.scan().repaired
    assert content_of(only(again.changes(), PutDocument)) == b"a & b"


def test_scan_of_feed_beyond_repair_discards_the_copy() -> None:
    files = MemoryFiles()
    with pytest.raises(BadFeed):
        reader_of(feed_of("& <record>"), files).scan()
    assert (files.stored, files.discarded) == ({}, 1)


def test_scan_on_full_disk_discards_the_copy_and_says_so() -> None:
    files = MemoryFiles(is_full=True)
    with pytest.raises(DiskFull):
        reader_of(feed_of("&"), files).scan()
    assert (files.stored, files.discarded) == ({}, 1)
