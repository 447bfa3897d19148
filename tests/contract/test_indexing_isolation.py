"""A document that cannot be indexed costs itself: the others are found, and the store says why it is not."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from feedmill.adapters.index.memory.index import MemoryIndex, MemoryWriter
from feedmill.adapters.inflight import MappedInFlight
from feedmill.adapters.store.sqlite import open_sqlite
from feedmill.model.access import AccessClass
from feedmill.model.entrybuild import BuildOutcome
from feedmill.model.errors import Corrupt, DiskFull, FeedmillError
from feedmill.model.failure import Failure
from feedmill.model.queue import QueueName
from feedmill.model.search import IndexDocument
from feedmill.ports import PreparedEntry, Stage
from feedmill.services import keyvalues
from feedmill.services.feeds import feedrun
from feedmill.services.indexing import indexer as indexer_module
from feedmill.services.indexing import rebuilding
from feedmill.services.indexing.indexer import IndexDependencies, Indexing
from feedmill.services.indexing.preparing import iter_reduced
from feedmill.services.indexing.rebuilding import request_rebuild
from feedmill.services.isolation.faultpoints import injected
from feedmill.services.isolation.recording import FailureRecorder
from tests.builders.access import STAFF
from tests.builders.changes import put, url
from tests.builders.indexdocuments import make_index_document
from tests.childprocess import is_killed
from tests.contract.callablegenerations import CallableGenerations
from tests.contract.databases import DAMAGES, damage
from tests.contract.feedharness import BEGIN, FeedHarness, open_harness
from tests.fakes import SilentNotifier


class PickyWriter(MemoryWriter):
    """Fails to prepare some documents, in all forms that hold a word, and to commit others."""

    def __init__(self, index: MemoryIndex, harness: "Harness") -> None:
        super().__init__(index)
        self._harness = harness

    def prepare(self, document: IndexDocument) -> PreparedEntry:
        held = [document.url, *(value for _, value in document.metadata), "values" if document.has_values else ""]
        if document.url in self._harness.picky and self._harness.refused in held:
            raise KeyError("\n")
        return super().prepare(document)

    def put_prepared(self, entries: Iterable[PreparedEntry]) -> None:
        taken = list(entries)
        self._harness.uncommitted += [entry.entry.url for entry in taken if isinstance(entry.entry, IndexDocument)]
        super().put_prepared(taken)

    def commit(self) -> str:
        held, self._harness.uncommitted = self._harness.uncommitted, []
        self._harness.commits.append(len(held))
        if self._harness.fault is not None:
            raise self._harness.fault
        if self._harness.poison in held:
            raise Corrupt("a worker of the engine died")
        return super().commit()


class InlineBuilder:
    """Builds at once, but for the documents that end its process."""

    def __init__(self) -> None:
        self.started: list[list[str]] = []
        self.deadly = ""
        self.is_slow = False
        self._documents: list[IndexDocument] = []

    def start(self, documents: Sequence[IndexDocument]) -> None:
        self._documents = list(documents)
        self.started.append([document.url for document in documents])

    def find_outcome(self) -> BuildOutcome | None:
        if self.is_slow:
            return None
        documents, self._documents = self._documents, []
        if not documents:
            return None
        deadly = [document.key for document in documents if document.url == self.deadly]
        return BuildOutcome(ended_on=deadly[0], reason="it died") if deadly else BuildOutcome(payload=documents)

    def cancel(self) -> None:
        self._documents = []


@dataclass
class Harness:
    """A fed store and indexers that come and go."""

    feeds: FeedHarness
    folder: Path
    indexes: dict[str, MemoryIndex] = field(default_factory=dict)
    picky: set[str] = field(default_factory=set)
    refused: str = ""
    poison: str = ""
    fault: FeedmillError | None = None
    commits: list[int] = field(default_factory=list)
    uncommitted: list[str] = field(default_factory=list)
    builder: InlineBuilder = field(default_factory=InlineBuilder)

    def start(self, program: str = "1", *, apart: bool = False) -> Indexing:
        generations = CallableGenerations(
            list=lambda: list(self.indexes),
            open=lambda name: PickyWriter(self.indexes.setdefault(name, MemoryIndex()), self),
            read=lambda name: self.indexes[name],
            remove_one=self.remove,
        )
        tools = IndexDependencies(
            store=self.feeds.store,
            blobs=self.feeds.blobs,
            notifier=SilentNotifier(),
            clock=lambda: BEGIN,
            rest=0.0,
            in_flight=MappedInFlight(self.folder, "indexer"),
            builder=self.builder if apart else None,
            recorder=FailureRecorder(lambda: BEGIN, program),
        )
        return Indexing(tools, generations)

    def remove(self, name: str) -> None:
        self.indexes.pop(name, None)

    def push(self, *names: str, **given: object) -> int:
        feed = self.feeds.push(*(put(name, metadata=(("rev", name),), **given) for name in names))  # type: ignore[arg-type]
        self.extract()
        return feed.id

    def extract(self, limit: int = 1000) -> bool:
        """Passes on what waits for extraction; whether anything did."""
        with self.feeds.store.writing() as unit:
            tasks = unit.processing.index_tasks.list(Stage.EXTRACT, limit)
            unit.processing.index_tasks.advance(tasks)
        return bool(tasks)

    def shown(self) -> dict[str, IndexDocument]:
        with self.feeds.store.reading() as unit:
            index = self.indexes[unit.state.key_values.get(keyvalues.INDEX_FOLDER) or ""]
        return {entry.document.url.rpartition("/")[2]: entry.document for entry in index._entries.values()}

    def failure(self, name: str) -> Failure | None:
        key = self.feeds.document(url(name)).id or 0
        with self.feeds.store.reading() as unit:
            return unit.processing.failures.find_many([key]).get(key)

    def count_marks(self) -> int:
        with self.feeds.store.reading() as unit:
            return sum(unit.processing.index_tasks.count().values())


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(open_harness(tmp_path), tmp_path / "inflight")


def run(harness: Harness, indexer: Indexing) -> None:
    """Takes turns until there is nothing more to do, minding what the engine raises as the loop of the role does."""
    for _ in range(500):
        try:
            if not indexer.turn() and not harness.extract():
                return
        except FeedmillError as error:
            indexer._handle_error(error)
    raise AssertionError("the indexer does not come to an end")


def test_document_without_any_form_is_set_aside_and_the_rest_is_found(harness: Harness) -> None:
    feed = harness.push(*"abc")
    harness.picky, harness.refused = {url("b")}, url("b")
    run(harness, harness.start())
    assert sorted(harness.shown()) == ["a", "c"]
    assert harness.count_marks() == 0
    failure = harness.failure("b")
    assert failure is not None
    assert (failure.step, failure.reason, failure.is_found) == ("index.entry", "step index.entry failed: KeyError: '\\n'", False)
    assert [(entry.url, entry.level.value) for entry in harness.feeds.log(feed)] == [(url("b"), "warning")]
    assert harness.feeds.feed(feed).searchable_at is not None


@pytest.mark.parametrize(("column", "value"), DAMAGES)
def test_row_that_cannot_be_read_costs_its_document_alone(harness: Harness, column: str, value: str) -> None:
    feed = harness.push(*"abc")
    damage(harness.folder.parent, url("b"), column, value)
    run(harness, harness.start())
    assert sorted(harness.shown()) == ["a", "c"]
    assert harness.count_marks() == 0
    failure = harness.failure("b")
    assert failure is not None
    assert failure.reason.startswith(f"step index.row failed: {column} cannot be read: ")
    assert [(entry.url, entry.reason.partition(":")[0]) for entry in harness.feeds.log(feed)] == [(url("b"), "step index.row failed")]
    request_rebuild(harness.feeds.store)
    run(harness, harness.start())
    assert (sorted(harness.shown()), harness.count_marks()) == (["a", "c"], 0)
    harness.push("b", "c", whole=True)
    run(harness, harness.start())
    assert (sorted(harness.shown()), harness.failure("b")) == (["a", "b", "c"], None)


def test_document_whose_row_is_damaged_while_it_is_found_is_set_aside_by_a_rebuild(harness: Harness) -> None:
    harness.push(*"abc")
    run(harness, harness.start())
    damage(harness.folder.parent, url("b"), "metadata", "[")
    request_rebuild(harness.feeds.store)
    run(harness, harness.start())
    assert sorted(harness.shown()) == ["a", "c"]
    failure = harness.failure("b")
    assert failure is not None
    assert failure.step == "index.row"


@pytest.mark.parametrize(("refused", "omitted", "left"), [("values", "its numbers and dates", (("rev", "b"),)), ("b", "its metadata", ())])
def test_document_is_written_without_what_fails(harness: Harness, refused: str, omitted: str, left: tuple[tuple[str, str], ...]) -> None:
    harness.push(*"abc")
    harness.picky, harness.refused = {url("b")}, refused
    run(harness, harness.start())
    failure = harness.failure("b")
    assert failure is not None
    assert failure.reason.endswith(f"it is indexed without {omitted}")
    assert failure.is_found
    assert harness.shown()["b"].metadata == left


def test_new_version_that_can_be_indexed_clears_the_failure(harness: Harness) -> None:
    harness.push("a")
    harness.picky, harness.refused = {url("a")}, url("a")
    run(harness, harness.start())
    harness.picky = set()
    harness.push("a", whole=True)
    run(harness, harness.start())
    assert sorted(harness.shown()) == ["a"]
    assert harness.failure("a") is None


def test_other_program_tries_again_the_same_one_does_not(harness: Harness) -> None:
    harness.push("a")
    harness.picky, harness.refused = {url("a")}, url("a")
    run(harness, harness.start())
    harness.picky = set()
    run(harness, harness.start())
    assert harness.shown() == {}
    run(harness, harness.start(program="2"))
    assert sorted(harness.shown()) == ["a"]
    assert harness.failure("a") is None


def test_rebuild_tries_again(harness: Harness) -> None:
    harness.push(*"ab")
    harness.picky, harness.refused = {url("a")}, url("a")
    indexer = harness.start()
    run(harness, indexer)
    request_rebuild(harness.feeds.store)
    run(harness, indexer)
    assert sorted(harness.shown()) == ["b"]
    harness.picky = set()
    request_rebuild(harness.feeds.store)
    run(harness, indexer)
    assert sorted(harness.shown()) == ["a", "b"]
    assert harness.failure("a") is None


def test_newer_state_that_a_task_wrote_is_not_replaced_by_a_rebuild(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    harness.push(*"abc")
    indexer = harness.start()
    run(harness, indexer)
    request_rebuild(harness.feeds.store)
    # each turn copies one document: the second one copies "a"
    monkeypatch.setattr(rebuilding, "SLICE_SECONDS", -1.0)
    indexer.turn()
    indexer.turn()
    harness.push("c", acl=STAFF, whole=True)
    run(harness, indexer)
    assert harness.shown()["c"].access_class != AccessClass.PUBLIC


def test_document_that_fails_in_a_rebuild_is_written_by_its_mark(harness: Harness) -> None:
    harness.push(*"ab")
    indexer = harness.start()
    run(harness, indexer)
    request_rebuild(harness.feeds.store)
    with injected(f"index.rebuild=raise:{url('a')}"):
        run(harness, indexer)
    assert sorted(harness.shown()) == ["a", "b"]
    assert len(harness.indexes) == 1


@pytest.mark.parametrize("step", ["index.rebuild", "index.text", "index.links"])
def test_rebuild_ends_though_several_documents_kill_the_indexer(harness: Harness, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each costs a bounded number of restarts: one that is known is left to its index task before anything is done for it again."""
    monkeypatch.setattr(rebuilding, "DOCUMENTS_AT_ONCE", 2)
    harness.push(*(f"{name}{number}" for number in range(5) for name in ("marked", "good", "better", "best")))
    run(harness, harness.start())
    request_rebuild(harness.feeds.store)
    deaths = count_deaths(harness, f"{step}=kill:marked")
    with harness.feeds.store.reading() as unit:
        assert not unit.state.key_values.get(keyvalues.INDEX_REBUILD)
        failures = {failure.step for failure in unit.processing.failures.find_many(list(range(1, 30))).values()}
    assert deaths >= 4
    assert failures == (set() if step == "index.rebuild" else {step})


@pytest.mark.parametrize("step", ["index.text", "index.links"])
def test_documents_that_kill_the_indexer_are_met_one_by_one_in_small_batches_too(
    harness: Harness, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer_module, "BATCH", 3)
    harness.push(*(f"{name}{number}" for number in range(4) for name in ("good", "better", "best", "finest", "marked")))
    assert 4 <= count_deaths(harness, f"{step}=kill:marked") < 20
    assert harness.count_marks() == 0


def count_deaths(harness: Harness, faults: str) -> int:
    """Starts the indexer again and again until it has nothing to do; returns how often it was killed."""
    with injected(faults):
        for deaths in range(40):
            if not is_killed(lambda: live_as_indexer(harness)):
                return deaths
    raise AssertionError("the indexer does not come to an end")


def live_as_indexer(harness: Harness) -> None:
    """Is one life of the indexer's process, which has been at work for a while."""
    own = replace(harness, feeds=replace(harness.feeds, store=open_sqlite(harness.folder.parent / "store.sqlite")))
    indexer = own.start()
    indexer._attempts._begun_at_seconds -= 100
    run(own, indexer)


def test_tightened_document_that_fails_is_taken_out(harness: Harness) -> None:
    harness.push(*"ab")
    indexer = harness.start()
    run(harness, indexer)
    assert harness.shown()["a"].access_class == AccessClass.PUBLIC
    harness.picky, harness.refused = {url("a")}, url("a")
    harness.push("a", acl=STAFF, whole=True)
    run(harness, indexer)
    assert sorted(harness.shown()) == ["b"]


def test_engine_that_refuses_one_document_gets_the_others(harness: Harness) -> None:
    harness.push(*"abcdefgh")
    harness.poison = url("f")
    run(harness, harness.start())
    assert sorted(harness.shown()) == list("abcdegh")
    failure = harness.failure("f")
    assert failure is not None
    assert failure.step == "index.commit"
    assert harness.count_marks() == 0


@pytest.mark.parametrize("fault", [Corrupt("the folder is damaged"), DiskFull("no room")])
def test_engine_that_refuses_everything_blames_no_document(harness: Harness, fault: FeedmillError) -> None:
    harness.push(*"abcd")
    harness.fault = fault
    indexer = harness.start()
    for _ in range(20):
        try:
            indexer.turn()
        except FeedmillError as error:
            indexer._handle_error(error)
    assert harness.count_marks() == 4
    harness.fault = None
    run(harness, indexer)
    assert sorted(harness.shown()) == list("abcd")
    assert [harness.failure(name) for name in "abcd"] == [None] * 4


def test_document_that_ended_the_indexer_goes_apart_with_its_feed(harness: Harness) -> None:
    harness.push(*"abc")
    harness.push("later")
    key = harness.feeds.document(url("b")).id
    MappedInFlight(harness.folder, "indexer").begin(f"index.entry document:{key}")
    harness.builder.deadly = url("b")
    run_isolated_build(harness, harness.start(apart=True))
    assert harness.builder.started == [[url("a"), url("b"), url("c")], [url("a"), url("c")]]
    assert sorted(harness.shown()) == ["a", "c", "later"]
    failure = harness.failure("b")
    assert failure is not None
    assert failure.reason == "step index.entry failed: it died"
    with harness.feeds.store.reading() as unit:
        assert unit.processing.interruptions.list_counts() == {}


def test_document_whose_commit_ended_the_indexer_goes_apart(harness: Harness) -> None:
    harness.push(*"ab")
    key = harness.feeds.document(url("a")).id
    MappedInFlight(harness.folder, "indexer").begin(f"index.commit document:{key}")
    run_isolated_build(harness, harness.start(apart=True))
    assert harness.builder.started == [[url("a")]]
    assert sorted(harness.shown()) == ["a", "b"]
    with harness.feeds.store.reading() as unit:
        assert unit.processing.interruptions.list_counts() == {}


def test_queue_moves_while_a_document_is_built_apart(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer_module, "BUILDING_NOTED_SECONDS", 0.0)
    harness.push("a")
    key = harness.feeds.document(url("a")).id
    MappedInFlight(harness.folder, "indexer").begin(f"index.entry document:{key}")
    harness.builder.is_slow = True
    indexer = harness.start(apart=True)
    indexer.turn()
    moments = set()
    for _ in range(5):
        indexer.turn()
        with harness.feeds.store.reading() as unit:
            (index,) = (queue for queue in unit.processing.queues.list() if queue.name is QueueName.INDEX)
        moments.add(index.moved_at)
    assert (index.waiting, len(moments)) == (1, 5)
    harness.builder.is_slow = False
    run_isolated_build(harness, indexer)
    assert sorted(harness.shown()) == ["a"]


def test_change_while_a_document_is_built_apart_wins(harness: Harness) -> None:
    harness.push("a")
    key = harness.feeds.document(url("a")).id
    MappedInFlight(harness.folder, "indexer").begin(f"index.entry document:{key}")
    indexer = harness.start(apart=True)
    indexer.turn()
    indexer.turn()
    assert harness.builder.started == [[url("a")]]
    harness.push("a", acl=STAFF, whole=True)
    run_isolated_build(harness, indexer)
    shown = harness.shown()["a"]
    assert shown.access_class == harness.feeds.document(url("a")).access_class != AccessClass.PUBLIC
    assert harness.count_marks() == 0


def test_document_before_one_that_was_built_apart_is_indexed_too(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feedrun, "SMALL_FEED_RECORDS", 0)
    harness.feeds.push(put("early"), put("large"))
    with harness.feeds.store.writing() as unit:
        _, large = unit.processing.index_tasks.list(Stage.EXTRACT, 2)
        unit.processing.index_tasks.advance([large])
    MappedInFlight(harness.folder, "indexer").begin(f"index.entry document:{large.document_id}")
    indexer = harness.start(apart=True)
    while "large" not in harness.shown():
        indexer.turn()
    harness.extract()
    run_isolated_build(harness, indexer)
    assert sorted(harness.shown()) == ["early", "large"]


def test_texts_that_come_while_others_are_uncommitted_are_written_at_once(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feedrun, "SMALL_FEED_RECORDS", 0)
    monkeypatch.setattr(indexer_module, "BATCH", 2)
    monkeypatch.setattr(indexer_module, "COMMIT_SECONDS", 3_600.0)
    harness.feeds.push(*map(put, "abcdefghi"))
    indexer = harness.start()
    for extracted in (5, 7):
        harness.extract(extracted - len(harness.uncommitted))
        # the last turn finds nothing, and the next one is that of a notification about further texts
        while indexer.turn():
            pass
        assert harness.uncommitted == list(map(url, "abcdefghi"[:extracted]))


def test_document_that_was_extracted_last_is_committed_with_those_behind_it(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feedrun, "SMALL_FEED_RECORDS", 0)
    monkeypatch.setattr(indexer_module, "BATCH", 2)
    monkeypatch.setattr(indexer_module, "COMMIT_SECONDS", 3_600.0)
    harness.feeds.push(*map(put, "abcdefg"))
    with harness.feeds.store.writing() as unit:
        _, *others = unit.processing.index_tasks.list(Stage.EXTRACT, 100)
        unit.processing.index_tasks.advance(others)
    indexer = harness.start()
    while indexer.turn():
        pass
    run(harness, indexer)
    assert harness.commits == [7]


def run_isolated_build(harness: Harness, indexer: Indexing) -> None:
    for _ in range(500):
        indexer.turn()
        if not harness.count_marks():
            return
    raise AssertionError("the indexer does not come to an end")


def test_reduced_forms_keep_access_and_patterns() -> None:
    whole = make_index_document(access_class=7, patterns=("p",), body="b", title="t", metadata=(("a", "b"),))
    forms = list(iter_reduced(whole))
    assert {(form.access_class, form.patterns, form.url, form.key) for form, _ in forms} == {(7, ("p",), whole.url, whole.key)}
    assert forms[0] == (whole, "")
    assert (forms[-1][0].body, forms[-1][0].title, forms[-1][0].metadata) == ("", "", ())
