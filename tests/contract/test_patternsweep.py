"""The index learns URL patterns that are added to the settings, whatever happens meanwhile."""

import itertools
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from feedhouse import BEGIN, FeedHouse, SilentBell, delete, open_house, put
from fuses import Fuse, FusedStore, Killed

from feedmill.adapters.blobs.memory import MemoryBlobs
from feedmill.adapters.index.memory import MemoryIndex, MemoryWriter
from feedmill.core.patternsets import PatternBook, list_patterns
from feedmill.model.serving import Collection, Serving
from feedmill.ports import Stage, Store
from feedmill.services import facts
from feedmill.services.indexing.indexer import IndexFolders, Indexing, IndexTools
from feedmill.services.indexing.rebuilding import request_rebuild
from feedmill.services.servingdesk import ServingDesk
from feedmill.services.sweeps import patternsweep


@dataclass
class PatternHouse:
    """A fed store, an index, and settings that a test changes."""

    feeds: FeedHouse
    serving: Serving = field(default_factory=Serving)
    indexes: dict[str, MemoryIndex] = field(default_factory=dict)

    def start(self, store: Store | None = None) -> Indexing:
        def open_writer(name: str) -> MemoryWriter:
            return MemoryWriter(self.indexes.setdefault(name, MemoryIndex()))

        def remove(name: str) -> None:
            self.indexes.pop(name, None)

        folders = IndexFolders(list=lambda: list(self.indexes), open=open_writer, read=lambda name: self.indexes[name], remove=remove)
        desk = ServingDesk(lambda _kept: self.serving)
        tools = IndexTools(store=store or self.feeds.store, blobs=MemoryBlobs(), bell=SilentBell(), clock=lambda: BEGIN, desk=desk)
        return Indexing(tools, folders, schema="1")

    def change(self, *patterns: str) -> None:
        """Changes the settings as the API does, by a new generation."""
        self.serving = Serving(collections={"c": Collection(name="c", include=patterns)})
        with self.feeds.store.writing() as unit:
            unit.facts.put(facts.SETTINGS_GENERATION, str(int(unit.facts.get(facts.SETTINGS_GENERATION) or 0) + 1))

    def push(self, *names: str) -> None:
        self.feeds.push(*(put(name) for name in names))
        with self.feeds.store.writing() as unit:
            unit.marks.advance(unit.marks.list(Stage.EXTRACT, 1000))

    def assert_obeyed(self) -> None:
        """Every document's terms are those of the patterns that mean it, at least; nothing waits."""
        with self.feeds.store.reading() as unit:
            assert sum(unit.marks.count().values()) == 0
            assert unit.facts.get(facts.PATTERNS_CURSOR) == ""
            serving = unit.facts.get(facts.INDEX_FOLDER) or ""
        entries = self.indexes[serving]._entries
        book = PatternBook(list_patterns(self.serving))
        assert {entry.document.url for entry in entries.values()} == set(self.feeds.live())
        for entry in entries.values():
            assert set(book.terms_of(entry.document.url)) == set(entry.document.patterns) & set(book.terms_of(entry.document.url))


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PatternHouse]:
    monkeypatch.setattr(patternsweep, "DOCUMENTS_AT_ONCE", 2)
    made = PatternHouse(open_house(tmp_path))
    yield made
    made.feeds.store.close()


def run(indexer: Indexing) -> int:
    turns = 0
    while indexer.turn():
        turns += 1
        assert turns < 200
    return turns


def test_patterns_added_while_running_are_learnt(house: PatternHouse) -> None:
    house.push(*"abcdef")
    indexer = house.start()
    run(indexer)
    house.change("contains:/a", "contains:/b")
    run(indexer)
    house.assert_obeyed()
    house.change("contains:/b", "contains:/c", "-contains:/d")
    run(indexer)
    house.assert_obeyed()


def test_pattern_that_was_away_for_a_while_is_learnt_anew(house: PatternHouse) -> None:
    indexer = house.start()
    house.change("contains:/a")
    house.push("a1")
    run(indexer)
    house.change()
    house.push("a2")
    run(indexer)
    house.change("contains:/a")
    run(indexer)
    house.assert_obeyed()


def test_documents_that_no_new_pattern_means_are_not_written_again(house: PatternHouse) -> None:
    house.push(*"abcdef")
    indexer = house.start()
    run(indexer)
    before = house.indexes["1-1"]._entries
    house.change("contains:/c")
    run(indexer)
    after = house.indexes["1-1"]._entries
    assert [key for key in after if after[key] is not before[key]] == [house.feeds.document("http://docs.test/c").id]


def test_patterns_changed_in_the_middle_of_a_sweep_and_of_a_feed_are_learnt(house: PatternHouse) -> None:
    house.push(*"abcdefgh")
    indexer = house.start()
    run(indexer)
    house.change("contains:/a", "contains:/h")
    indexer.turn()
    house.push("a", "i", "h")
    house.feeds.push(delete("b"))
    indexer.turn()
    house.change("contains:/h", "contains:/g", "contains:/i")
    run(indexer)
    house.assert_obeyed()


def test_patterns_changed_during_a_rebuild_are_learnt(house: PatternHouse) -> None:
    house.push(*"abcdef")
    indexer = house.start()
    run(indexer)
    request_rebuild(house.feeds.store)
    indexer.turn()
    house.change("contains:/a", "contains:/f")
    run(indexer)
    house.assert_obeyed()


def test_indexer_killed_at_any_step_of_a_sweep_is_made_good_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patternsweep, "DOCUMENTS_AT_ONCE", 2)
    for step in itertools.count(1):
        (tmp_path / str(step)).mkdir()
        house = PatternHouse(open_house(tmp_path / str(step)))
        house.push(*"abcde")
        run(house.start())
        house.push("a", "f")
        house.change("contains:/a", "contains:/d", "contains:/f")
        fuse = Fuse(step)
        with suppress(Killed):
            run(house.start(FusedStore(house.feeds.store, fuse)))
        run(house.start())
        house.assert_obeyed()
        house.feeds.store.close()
        if fuse.left is not None and fuse.left > 0:
            break
    assert step > 6
