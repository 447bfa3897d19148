"""The indexer is killed at every one of its steps in turn: the next one brings the index to what the store has, and leaves nothing else."""

import itertools
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from feedmill.adapters.blobs.memory import MemoryBlobs
from feedmill.adapters.index.memory.index import MemoryIndex, MemoryWriter
from feedmill.adapters.store.engine import SqlStore
from feedmill.model.access import ANONYMOUS
from feedmill.model.document import Metadata
from feedmill.model.errors import DiskFull
from feedmill.model.feed import FeedState
from feedmill.model.search import IndexDocument, SearchRequest
from feedmill.ports import BuiltEntries, PreparedEntry, Stage
from feedmill.services.indexing.indexer import IndexDependencies, Indexing
from feedmill.services.indexing.rebuilding import request_rebuild
from feedmill.services.keyvalues import INDEX_FOLDER, INDEX_REBUILD
from feedmill.services.overview import read_overview
from feedmill.services.searching.searchservices import wire_search_services
from feedmill.services.searching.searchstate import REBUILDING
from tests.builders.changes import delete, put
from tests.contract.callablegenerations import CallableGenerations
from tests.contract.feedharness import BEGIN, FeedHarness, open_harness
from tests.contract.fuses import Fuse, FusedStore, Killed
from tests.fakes import SilentNotifier


@dataclass
class FusedWriter:
    """An index writer on a fuse, which burns at the first of the documents that are put between two commits: after each is as good."""

    writer: MemoryWriter
    fuse: Fuse
    holds_uncommitted: bool = False

    def prepare(self, document: IndexDocument) -> PreparedEntry:
        return self.writer.prepare(document)

    def put_prepared(self, entries: Iterable[PreparedEntry]) -> None:
        self.writer.put_prepared(entries)
        if not self.holds_uncommitted:
            self.holds_uncommitted = True
            self.fuse.burn()

    def put_many(self, documents: Iterable[IndexDocument]) -> None:
        self.writer.put_many(documents)
        self.fuse.burn()

    def adopt(self, built: BuiltEntries) -> str:
        return self.writer.adopt(built)

    def remove_many(self, keys: Iterable[int]) -> None:
        self.writer.remove_many(keys)
        self.fuse.burn()

    def commit(self) -> str:
        self.fuse.burn()
        token = self.writer.commit()
        self.holds_uncommitted = False
        self.fuse.burn_behind()
        return token

    def close(self) -> None:
        self.writer.close()


@dataclass
class IndexHarness:
    """A store, the index folders beside it, and indexers that come and go."""

    store: SqlStore
    indexes: dict[str, MemoryIndex] = field(default_factory=dict)
    served: tuple[str, ...] = ()

    def start(self, fuse: Fuse) -> Indexing:
        def open_writer(name: str) -> FusedWriter:
            return FusedWriter(MemoryWriter(self.indexes.setdefault(name, MemoryIndex())), fuse)

        def remove(name: str) -> None:
            fuse.burn_behind()
            self.indexes.pop(name, None)

        generations = CallableGenerations(
            list=lambda: list(self.indexes),
            open=open_writer,
            read=lambda name: self.indexes[name],
            remove_one=remove,
            serves=lambda name: name in self.served,
        )
        tools = IndexDependencies(store=FusedStore(self.store, fuse), blobs=MemoryBlobs(), notifier=SilentNotifier(), clock=lambda: BEGIN)
        return Indexing(tools, generations)

    def is_unsettled(self) -> bool:
        """Whether tasks are left, a rebuild is requested, or a feed is not searchable as a whole."""
        with self.store.reading() as unit:
            return (
                any(unit.processing.index_tasks.count().values())
                or bool(unit.state.key_values.get(INDEX_REBUILD))
                or bool(unit.feeds.reader.list_unsettled())
            )

    def shown(self) -> dict[int, Metadata]:
        """Returns the metadata of what the serving index shows, by key."""
        with self.store.reading() as unit:
            serving = unit.state.key_values.get(INDEX_FOLDER) or ""
        assert list(self.indexes) == [serving]
        return {key: entry.document.metadata for key, entry in self.indexes[serving]._entries.items()}


def prepare(folder: Path) -> IndexHarness:
    """Makes a harness in which some documents are indexed already, some changed since, some gone, some new."""
    folder.mkdir()
    feeds = open_harness(folder)
    harness = IndexHarness(feeds.store)
    feeds.push(*(put(name, metadata=(("rev", "1"),)) for name in "abcdef"))
    advance_all(feeds)
    indexer = harness.start(Fuse())
    while indexer.turn():
        pass
    feeds.push(delete("a"), delete("b"), put("c", metadata=(("rev", "2"),)), put("g", metadata=(("rev", "2"),)))
    feeds.push(put("d", metadata=(("rev", "3"),), whole=True), put("h", metadata=(("rev", "3"),), whole=True), datasource="other")
    advance_all(feeds)
    return harness


def advance_all(harness: FeedHarness) -> None:
    with harness.store.writing() as unit:
        unit.processing.index_tasks.advance(unit.processing.index_tasks.list(Stage.EXTRACT, 1000))


def run_to_the_end(harness: IndexHarness, fuse: Fuse, *, rebuilds: bool) -> None:
    """Indexes what waits, and then rebuilds the index if ``rebuilds``."""
    indexer = harness.start(fuse)
    while indexer.turn():
        pass
    with harness.store.reading() as unit:
        is_rebuilt = unit.state.key_values.get(INDEX_FOLDER) != "1-1"
    if rebuilds and not is_rebuilt:
        request_rebuild(harness.store)
    while indexer.turn():
        pass


def assert_brought_up(harness: IndexHarness) -> None:
    with harness.store.reading() as unit:
        live = {document.id: document.metadata for document in unit.documents.scan.list_live(after=0, limit=100)}
        assert unit.processing.index_tasks.count() == {Stage.EXTRACT: 0, Stage.INDEX: 0}
        feeds = unit.feeds.reader.list_newest(None, 10)
    assert harness.shown() == live
    assert sorted(live.values()) == [(("rev", number),) for number in "112233"]
    assert [(feed.state, feed.searchable_at is not None) for feed in feeds] == [(FeedState.COMPLETED, True)] * 3


@pytest.mark.parametrize("rebuilds", [False, True])
def test_indexer_killed_at_any_step_is_made_good_by_the_next(tmp_path: Path, rebuilds: bool) -> None:
    for step in itertools.count(1):
        harness = prepare(tmp_path / str(step))
        try:
            run_to_the_end(harness, Fuse(step, Killed), rebuilds=rebuilds)
            is_over = True
        except Killed:
            is_over = False
        run_to_the_end(harness, Fuse(), rebuilds=rebuilds)
        assert_brought_up(harness)
        harness.store.close()
        if is_over:
            break
    assert step > 4


@pytest.mark.parametrize("rebuilds", [False, True])
def test_indexer_without_disk_space_at_any_step_goes_on(tmp_path: Path, rebuilds: bool) -> None:
    for step in itertools.count(1):
        harness = prepare(tmp_path / str(step))
        if rebuilds:
            request_rebuild(harness.store)
        fuse = Fuse(step, DiskFull)
        with suppress(DiskFull):
            harness.start(fuse).work(until_settled(harness))
        if harness.is_unsettled():
            harness.start(fuse).work(until_settled(harness))
        assert_brought_up(harness)
        harness.store.close()
        if fuse.left is not None and fuse.left > 0:
            break
    assert step > 4


def until_settled(harness: IndexHarness) -> Callable[[], bool]:
    """Returns what stops an indexer that has no more to do, or that gets nowhere."""
    turns = iter(range(100))
    return lambda: next(turns, None) is None or not harness.is_unsettled()


def test_searches_after_another_schema_that_can_be_served_miss_nothing(tmp_path: Path) -> None:
    harness = prepare(tmp_path / "harness")
    services = wire_search_services(harness.store, lambda folder: harness.indexes[folder], MemoryBlobs())
    harness.indexes["0-1"] = harness.indexes.pop("1-1")
    harness.served = ("0-1",)
    with harness.store.writing() as unit:
        unit.state.key_values.put(INDEX_FOLDER, "0-1")

    def ask() -> tuple[str | None, int, tuple[str, ...]]:
        page = services.searcher.search(SearchRequest(query="inmeta:rev"), ANONYMOUS)
        return read_overview(harness.store)["index"]["folder"], page.total, page.warnings

    assert ask() == ("0-1", 4, ()), "what is deleted is not shown"
    harness.start(Fuse()).turn()
    assert ask() == ("0-1", 6, ()), "what is new is found in it too"
    indexer = harness.start(Fuse())
    indexer.turn()
    assert ask() == ("0-1", 6, ())
    assert read_overview(harness.store)["index"]["rebuilding"] == "1-1"
    indexer.turn()
    assert read_overview(harness.store)["index"]["progress"].keys() == {"written", "total", "remaining_seconds"}
    while indexer.turn():
        assert ask()[2] == ()
    assert_brought_up(harness)
    overview = read_overview(harness.store)["index"]
    assert (overview["folder"], overview["rebuilding"], overview["progress"], overview["partial"]) == ("1-1", None, None, False)


def test_searches_after_another_schema_say_that_the_index_is_partial(tmp_path: Path) -> None:
    harness = prepare(tmp_path / "harness")
    services = wire_search_services(harness.store, lambda folder: harness.indexes[folder], MemoryBlobs())

    def warnings() -> tuple[str, ...]:
        return services.searcher.search(SearchRequest(query="x"), ANONYMOUS).warnings

    with harness.store.writing() as unit:
        unit.state.key_values.put(INDEX_FOLDER, "0-1")
    indexer = harness.start(Fuse())
    assert warnings() == (REBUILDING,)
    while indexer.turn():
        pass
    assert_brought_up(harness)
    assert warnings() == ()
    request_rebuild(harness.store)
    indexer.turn()
    assert warnings() == ()


def test_index_that_is_lost_is_rebuilt_and_searches_say_that_it_is_partial(tmp_path: Path) -> None:
    harness = prepare(tmp_path / "harness")
    services = wire_search_services(harness.store, lambda folder: harness.indexes[folder], MemoryBlobs())
    harness.indexes.pop("1-1")
    indexer = harness.start(Fuse())
    page = services.searcher.search(SearchRequest(query="inmeta:rev"), ANONYMOUS)
    assert page.warnings == (REBUILDING,)
    while indexer.turn():
        pass
    assert_brought_up(harness)
    page = services.searcher.search(SearchRequest(query="inmeta:rev"), ANONYMOUS)
    assert (page.total, page.warnings) == (6, ())
    overview = read_overview(harness.store)["index"]
    assert (overview["folder"], overview["rebuilding"], overview["partial"]) == ("1-2", None, False)
