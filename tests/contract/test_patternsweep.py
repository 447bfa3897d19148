"""The index learns URL patterns that are added to the settings, whatever happens meanwhile."""

import itertools
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from feedmill.adapters.blobs.memory import MemoryBlobs
from feedmill.adapters.index.memory.index import MemoryIndex, MemoryWriter
from feedmill.core.query.patternsets import CompiledPatterns, list_patterns
from feedmill.model.serving import Collection, Serving
from feedmill.ports import Stage, Store
from feedmill.services import keyvalues
from feedmill.services.indexing.indexer import IndexDependencies, Indexing
from feedmill.services.indexing.rebuilding import request_rebuild
from feedmill.services.searchconfigprovider import SearchConfigProvider
from feedmill.services.sweeps import patternsweep
from tests.builders.changes import delete, put
from tests.contract.callablegenerations import CallableGenerations
from tests.contract.feedharness import BEGIN, FeedHarness, open_harness
from tests.contract.fuses import Fuse, FusedStore, Killed
from tests.fakes import SilentNotifier


@dataclass
class PatternHarness:
    """A fed store, an index, and settings that a test changes."""

    feeds: FeedHarness
    serving: Serving = field(default_factory=Serving)
    indexes: dict[str, MemoryIndex] = field(default_factory=dict)

    def start(self, store: Store | None = None) -> Indexing:
        def open_writer(name: str) -> MemoryWriter:
            return MemoryWriter(self.indexes.setdefault(name, MemoryIndex()))

        def remove(name: str) -> None:
            self.indexes.pop(name, None)

        generations = CallableGenerations(
            list=lambda: list(self.indexes), open=open_writer, read=lambda name: self.indexes[name], remove_one=remove
        )
        search_config = SearchConfigProvider(lambda _settings: self.serving)
        tools = IndexDependencies(
            store=store or self.feeds.store,
            blobs=MemoryBlobs(),
            notifier=SilentNotifier(),
            clock=lambda: BEGIN,
            search_config=search_config,
        )
        return Indexing(tools, generations)

    def change(self, *patterns: str) -> None:
        """Changes the settings as the API does, by a new generation."""
        self.serving = Serving(collections={"c": Collection(name="c", include=patterns)})
        with self.feeds.store.writing() as unit:
            unit.state.key_values.put(
                keyvalues.SETTINGS_GENERATION, str(int(unit.state.key_values.get(keyvalues.SETTINGS_GENERATION) or 0) + 1)
            )

    def push(self, *names: str) -> None:
        self.feeds.push(*(put(name) for name in names))
        with self.feeds.store.writing() as unit:
            unit.processing.index_tasks.advance(unit.processing.index_tasks.list(Stage.EXTRACT, 1000))

    def assert_obeyed(self) -> None:
        """Every document's terms are those of the patterns that mean it, at least; nothing waits."""
        with self.feeds.store.reading() as unit:
            assert sum(unit.processing.index_tasks.count().values()) == 0
            assert unit.state.key_values.get(keyvalues.PATTERNS_CURSOR) == ""
            serving = unit.state.key_values.get(keyvalues.INDEX_FOLDER) or ""
        entries = self.indexes[serving]._entries
        book = CompiledPatterns(list_patterns(self.serving))
        assert {entry.document.url for entry in entries.values()} == set(self.feeds.live())
        for entry in entries.values():
            assert set(book.terms_of(entry.document.url)) == set(entry.document.patterns) & set(book.terms_of(entry.document.url))


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PatternHarness]:
    monkeypatch.setattr(patternsweep, "DOCUMENTS_AT_ONCE", 2)
    made = PatternHarness(open_harness(tmp_path))
    yield made
    made.feeds.store.close()


def run(indexer: Indexing) -> int:
    turns = 0
    while indexer.turn():
        turns += 1
        assert turns < 200
    return turns


def test_patterns_added_while_running_are_learnt(harness: PatternHarness) -> None:
    harness.push(*"abcdef")
    indexer = harness.start()
    run(indexer)
    harness.change("contains:/a", "contains:/b")
    run(indexer)
    harness.assert_obeyed()
    harness.change("contains:/b", "contains:/c", "-contains:/d")
    run(indexer)
    harness.assert_obeyed()


def test_pattern_that_was_away_for_a_while_is_learnt_again(harness: PatternHarness) -> None:
    indexer = harness.start()
    harness.change("contains:/a")
    harness.push("a1")
    run(indexer)
    harness.change()
    harness.push("a2")
    run(indexer)
    harness.change("contains:/a")
    run(indexer)
    harness.assert_obeyed()


def test_documents_that_no_new_pattern_means_are_not_written_again(harness: PatternHarness) -> None:
    harness.push(*"abcdef")
    indexer = harness.start()
    run(indexer)
    before = harness.indexes["1-1"]._entries
    harness.change("contains:/c")
    run(indexer)
    after = harness.indexes["1-1"]._entries
    assert [key for key in after if after[key] is not before[key]] == [harness.feeds.document("http://docs.test/c").id]


def test_patterns_changed_in_the_middle_of_a_sweep_and_of_a_feed_are_learnt(harness: PatternHarness) -> None:
    harness.push(*"abcdefgh")
    indexer = harness.start()
    run(indexer)
    harness.change("contains:/a", "contains:/h")
    indexer.turn()
    harness.push("a", "i", "h")
    harness.feeds.push(delete("b"))
    indexer.turn()
    harness.change("contains:/h", "contains:/g", "contains:/i")
    run(indexer)
    harness.assert_obeyed()


def test_patterns_changed_during_a_rebuild_are_learnt(harness: PatternHarness) -> None:
    harness.push(*"abcdef")
    indexer = harness.start()
    run(indexer)
    request_rebuild(harness.feeds.store)
    indexer.turn()
    harness.change("contains:/a", "contains:/f")
    run(indexer)
    harness.assert_obeyed()


def test_indexer_killed_at_any_step_of_a_sweep_is_made_good_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patternsweep, "DOCUMENTS_AT_ONCE", 2)
    for step in itertools.count(1):
        (tmp_path / str(step)).mkdir()
        harness = PatternHarness(open_harness(tmp_path / str(step)))
        harness.push(*"abcde")
        run(harness.start())
        harness.push("a", "f")
        harness.change("contains:/a", "contains:/d", "contains:/f")
        fuse = Fuse(step)
        with suppress(Killed):
            run(harness.start(FusedStore(harness.feeds.store, fuse)))
        run(harness.start())
        harness.assert_obeyed()
        harness.feeds.store.close()
        if fuse.left is not None and fuse.left > 0:
            break
    assert step > 6
