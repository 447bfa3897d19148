"""Documents that are built beside the indexer: large ones, and those that end the process that builds them."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from feedmill.adapters.index.tantivy.entrybuilder import ProcessEntryBuilder
from feedmill.adapters.index.tantivy.reader import TantivyIndex
from feedmill.adapters.index.tantivy.segments import adopt_segments
from feedmill.adapters.index.tantivy.writer import TantivyWriter
from feedmill.model.entrybuild import BuildOutcome
from feedmill.model.query import Word
from feedmill.ports import BuiltEntries
from tests.builders.indexdocuments import make_index_document
from tests.contract.indexharness import keys
from tests.waiting import wait_until

COMMAND = (sys.executable, "-m", "feedmill.runtime.entrybuilding")


@pytest.fixture
def builder(tmp_path: Path) -> Iterator[ProcessEntryBuilder]:
    one = ProcessEntryBuilder(tmp_path / "apart", COMMAND)
    yield one
    one.cancel()


def wait_for(builder: ProcessEntryBuilder) -> BuildOutcome:
    found: list[BuildOutcome] = []

    def has_ended() -> bool:
        outcome = builder.find_outcome()
        found.extend([outcome] if outcome is not None else [])
        return bool(found)

    wait_until(has_ended, "the end of the build")
    return found[0]


def test_built_entries_replace_earlier_ones_at_once_and_merge_like_others(builder: ProcessEntryBuilder, tmp_path: Path) -> None:
    writer = TantivyWriter(tmp_path / "index", heap_bytes=15_000_000)
    index = TantivyIndex(tmp_path / "index")
    writer.put_many([make_index_document(key=number, body=f"old common{number}") for number in range(5)])
    assert index.reload_to(writer.commit())
    builder.start([make_index_document(key=number, body="new") for number in (1, 2, 7)])
    outcome = wait_for(builder)
    assert outcome.build_failures == {}
    assert index.reload_to(writer.adopt(BuiltEntries(frozenset({1, 2, 7}), outcome.payload)))
    assert sorted(keys((index, writer), Word("new"))) == [1, 2, 7]
    assert sorted(keys((index, writer), Word("old"))) == [0, 3, 4]
    for number in range(20, 40):
        writer.put_many([make_index_document(key=number, body="later")])
        writer.commit()
    writer.put_many([make_index_document(key=2, body="newest")])
    assert index.reload_to(writer.commit())
    writer.wait_for_merges()
    assert sorted(keys((index, writer), Word("new"))) == [1, 7]
    assert TantivyIndex(tmp_path / "index").count() == 26


def test_interrupted_adoption_leaves_the_index_as_it_was(builder: ProcessEntryBuilder, tmp_path: Path) -> None:
    writer = TantivyWriter(tmp_path / "index", heap_bytes=15_000_000)
    writer.put_many([make_index_document(key=1, body="old")])
    writer.commit()
    writer.close()
    builder.start([make_index_document(key=2, body="new")])
    payload = wait_for(builder).payload
    assert isinstance(payload, Path)
    meta = (tmp_path / "index" / "meta.json").read_text()
    adopt_segments(tmp_path / "index", payload)
    (tmp_path / "index" / "meta.json").write_text(meta)
    writer = TantivyWriter(tmp_path / "index", heap_bytes=15_000_000)
    writer.put_many([make_index_document(key=3, body="new")])
    writer.commit()
    index = TantivyIndex(tmp_path / "index")
    assert keys((index, writer), Word("new")) == [3]
    writer.close()


def test_document_that_fails_is_built_in_a_reduced_form_or_named(
    builder: ProcessEntryBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "FEEDMILL_FAULTS", "index.entry=raise:marked")
    builder.start([make_index_document(key=1), make_index_document(key=2, url="http://h/marked"), make_index_document(key=3, pagerank=-1)])
    outcome = wait_for(builder)
    assert outcome.payload is not None
    assert {key: (build_failure.step, build_failure.omitted) for key, build_failure in outcome.build_failures.items()} == {
        2: ("index.entry", None),
        3: ("index.entry", None),
    }


def test_document_that_kills_the_process_is_named(builder: ProcessEntryBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "FEEDMILL_FAULTS", "index.entry=kill:marked")
    builder.start([make_index_document(key=1), make_index_document(key=2, url="http://h/marked"), make_index_document(key=3)])
    outcome = wait_for(builder)
    assert (outcome.payload, outcome.ended_on) == (None, 2)
    assert outcome.reason == "the process that prepared it ended with SIGKILL"


@pytest.mark.parametrize(
    ("program", "reason"),
    [("while :; do :; done", "it took longer than 0 seconds of CPU time"), ("sleep 600", "it took longer than 3 seconds")],
    ids=["busy", "waiting"],
)
def test_build_that_takes_too_long_is_ended(tmp_path: Path, program: str, reason: str) -> None:
    """What counts first is CPU time, of which a process on a busy machine gets little."""
    builder = ProcessEntryBuilder(tmp_path / "apart", ("sh", "-c", program), least_seconds=0.05)
    builder.start([make_index_document()])
    outcome = wait_for(builder)
    assert (outcome.payload, outcome.ended_on, outcome.reason) == (None, None, reason)
    assert builder.find_outcome() is None
