"""A document that cannot be indexed costs itself: the others are found, and the store says why it is not."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from feedhouse import BEGIN, STAFF, FeedHouse, SilentBell, open_house, put, url
from indexhouse import DOCUMENT
from storevalues import DAMAGES, damage

from feedmill.adapters.index.memory import MemoryIndex, MemoryWriter
from feedmill.adapters.inflight import MappedInFlight
from feedmill.core.reducedforms import iter_forms
from feedmill.model.access import AccessClass
from feedmill.model.entrybuild import BuildOutcome
from feedmill.model.errors import Corrupt, DiskFull, FeedmillError
from feedmill.model.failure import Failure
from feedmill.model.search import IndexDocument
from feedmill.ports import PreparedEntry, Stage
from feedmill.services import facts
from feedmill.services.indexing.indexer import IndexFolders, Indexing, IndexTools
from feedmill.services.indexing.rebuilding import request_rebuild
from feedmill.services.isolation.faultpoints import injected
from feedmill.services.isolation.recording import FailureRecorder


class PickyWriter(MemoryWriter):
    """Fails to prepare some documents, in all forms that hold a word, and to commit others."""

    def __init__(self, index: MemoryIndex, house: "House") -> None:
        super().__init__(index)
        self._house = house

    def prepare(self, document: IndexDocument) -> PreparedEntry:
        held = [document.url, *(value for _, value in document.metadata), "values" if document.has_values else ""]
        if document.url in self._house.picky and self._house.refused in held:
            raise KeyError("\n")
        return super().prepare(document)

    def put_prepared(self, entries: Iterable[PreparedEntry]) -> None:
        taken = list(entries)
        self._house.uncommitted += [entry.entry.url for entry in taken if isinstance(entry.entry, IndexDocument)]
        super().put_prepared(taken)

    def commit(self) -> str:
        held, self._house.uncommitted = self._house.uncommitted, []
        self._house.commits.append(len(held))
        if self._house.fault is not None:
            raise self._house.fault
        if self._house.poison in held:
            raise Corrupt("a worker of the engine died")
        return super().commit()


class InlineBuilder:
    """Builds at once, but for the documents that end its process."""

    def __init__(self) -> None:
        self.started: list[list[str]] = []
        self.deadly = ""
        self._documents: list[IndexDocument] = []

    def start(self, documents: Sequence[IndexDocument]) -> None:
        self._documents = list(documents)
        self.started.append([document.url for document in documents])

    def find_outcome(self) -> BuildOutcome | None:
        documents, self._documents = self._documents, []
        if not documents:
            return None
        deadly = [document.key for document in documents if document.url == self.deadly]
        return BuildOutcome(ended_on=deadly[0], reason="it died") if deadly else BuildOutcome(payload=documents)

    def cancel(self) -> None:
        self._documents = []


@dataclass
class House:
    """A fed store and indexers that come and go."""

    feeds: FeedHouse
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
        folders = IndexFolders(
            list=lambda: list(self.indexes),
            open=lambda name: PickyWriter(self.indexes.setdefault(name, MemoryIndex()), self),
            read=lambda name: self.indexes[name],
            remove=self.remove,
        )
        tools = IndexTools(
            store=self.feeds.store,
            blobs=self.feeds.blobs,
            bell=SilentBell(),
            clock=lambda: BEGIN,
            rest=0.0,
            in_flight=MappedInFlight(self.folder, "indexer"),
            builder=self.builder if apart else None,
            recorder=FailureRecorder(lambda: BEGIN, program),
        )
        return Indexing(tools, folders, schema="1")

    def remove(self, name: str) -> None:
        self.indexes.pop(name, None)

    def push(self, *names: str, **given: object) -> int:
        feed = self.feeds.push(*(put(name, metadata=(("rev", name),), **given) for name in names))  # type: ignore[arg-type]
        self.extract()
        return feed.id

    def extract(self) -> bool:
        """Passes on what waits for extraction; whether anything did."""
        with self.feeds.store.writing() as unit:
            marks = unit.marks.list(Stage.EXTRACT, 1000)
            unit.marks.advance(marks)
        return bool(marks)

    def shown(self) -> dict[str, IndexDocument]:
        with self.feeds.store.reading() as unit:
            index = self.indexes[unit.facts.get(facts.INDEX_FOLDER) or ""]
        return {entry.document.url.rpartition("/")[2]: entry.document for entry in index._entries.values()}

    def failure(self, name: str) -> Failure | None:
        key = self.feeds.document(url(name)).id or 0
        with self.feeds.store.reading() as unit:
            return unit.failures.find_many([key]).get(key)

    def count_marks(self) -> int:
        with self.feeds.store.reading() as unit:
            return sum(unit.marks.count().values())


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(open_house(tmp_path), tmp_path / "inflight")


def run(house: House, indexer: Indexing) -> None:
    """Takes turns until there is nothing more to do, minding what the engine raises as the loop of the role does."""
    for _ in range(500):
        try:
            if not indexer.turn() and not house.extract():
                return
        except FeedmillError as error:
            indexer._heed(error)
    raise AssertionError("the indexer does not come to an end")


def test_document_without_any_form_is_set_aside_and_the_rest_is_found(house: House) -> None:
    feed = house.push(*"abc")
    house.picky, house.refused = {url("b")}, url("b")
    run(house, house.start())
    assert sorted(house.shown()) == ["a", "c"]
    assert house.count_marks() == 0
    failure = house.failure("b")
    assert failure is not None
    assert (failure.step, failure.reason, failure.is_found) == ("index.entry", "step index.entry failed: KeyError: '\\n'", False)
    assert [(entry.url, entry.level.value) for entry in house.feeds.log(feed)] == [(url("b"), "warning")]
    assert house.feeds.feed(feed).searchable_at is not None


@pytest.mark.parametrize(("column", "value"), DAMAGES)
def test_row_that_cannot_be_read_costs_its_document_alone(house: House, column: str, value: str) -> None:
    feed = house.push(*"abc")
    damage(house.folder.parent, url("b"), column, value)
    run(house, house.start())
    assert sorted(house.shown()) == ["a", "c"]
    assert house.count_marks() == 0
    failure = house.failure("b")
    assert failure is not None
    assert failure.reason.startswith(f"step index.row failed: {column} cannot be read: ")
    assert [(entry.url, entry.reason.partition(":")[0]) for entry in house.feeds.log(feed)] == [(url("b"), "step index.row failed")]
    request_rebuild(house.feeds.store)
    run(house, house.start())
    assert (sorted(house.shown()), house.count_marks()) == (["a", "c"], 0)
    house.push("b", "c", whole=True)
    run(house, house.start())
    assert (sorted(house.shown()), house.failure("b")) == (["a", "b", "c"], None)


def test_document_whose_row_is_damaged_while_it_is_found_is_set_aside_by_a_rebuild(house: House) -> None:
    house.push(*"abc")
    run(house, house.start())
    damage(house.folder.parent, url("b"), "metadata", "[")
    request_rebuild(house.feeds.store)
    run(house, house.start())
    assert sorted(house.shown()) == ["a", "c"]
    failure = house.failure("b")
    assert failure is not None
    assert failure.step == "index.row"


@pytest.mark.parametrize(("refused", "lacks", "left"), [("values", "its numbers and dates", (("rev", "b"),)), ("b", "its metadata", ())])
def test_document_is_written_without_what_fails(house: House, refused: str, lacks: str, left: tuple[tuple[str, str], ...]) -> None:
    house.push(*"abc")
    house.picky, house.refused = {url("b")}, refused
    run(house, house.start())
    failure = house.failure("b")
    assert failure is not None
    assert failure.reason.endswith(f"it is indexed without {lacks}")
    assert failure.is_found
    assert house.shown()["b"].metadata == left


def test_new_version_that_can_be_indexed_clears_the_failure(house: House) -> None:
    house.push("a")
    house.picky, house.refused = {url("a")}, url("a")
    run(house, house.start())
    house.picky = set()
    house.push("a", whole=True)
    run(house, house.start())
    assert sorted(house.shown()) == ["a"]
    assert house.failure("a") is None


def test_other_program_tries_again_the_same_one_does_not(house: House) -> None:
    house.push("a")
    house.picky, house.refused = {url("a")}, url("a")
    run(house, house.start())
    house.picky = set()
    run(house, house.start())
    assert house.shown() == {}
    run(house, house.start(program="2"))
    assert sorted(house.shown()) == ["a"]
    assert house.failure("a") is None


def test_rebuild_tries_again(house: House) -> None:
    house.push(*"ab")
    house.picky, house.refused = {url("a")}, url("a")
    indexer = house.start()
    run(house, indexer)
    request_rebuild(house.feeds.store)
    run(house, indexer)
    assert sorted(house.shown()) == ["b"]
    house.picky = set()
    request_rebuild(house.feeds.store)
    run(house, indexer)
    assert sorted(house.shown()) == ["a", "b"]
    assert house.failure("a") is None


def test_document_that_fails_in_a_rebuild_is_written_by_its_mark(house: House) -> None:
    house.push(*"ab")
    indexer = house.start()
    run(house, indexer)
    request_rebuild(house.feeds.store)
    with injected(f"index.rebuild=raise:{url('a')}"):
        run(house, indexer)
    assert sorted(house.shown()) == ["a", "b"]
    assert len(house.indexes) == 1


def test_tightened_document_that_fails_is_taken_out(house: House) -> None:
    house.push(*"ab")
    indexer = house.start()
    run(house, indexer)
    assert house.shown()["a"].access_class == AccessClass.PUBLIC
    house.picky, house.refused = {url("a")}, url("a")
    house.push("a", acl=STAFF, whole=True)
    run(house, indexer)
    assert sorted(house.shown()) == ["b"]


def test_engine_that_refuses_one_document_gets_the_others(house: House) -> None:
    house.push(*"abcdefgh")
    house.poison = url("f")
    run(house, house.start())
    assert sorted(house.shown()) == list("abcdegh")
    failure = house.failure("f")
    assert failure is not None
    assert failure.step == "index.commit"
    assert house.count_marks() == 0


@pytest.mark.parametrize("fault", [Corrupt("the folder is damaged"), DiskFull("no room")])
def test_engine_that_refuses_everything_blames_nobody(house: House, fault: FeedmillError) -> None:
    house.push(*"abcd")
    house.fault = fault
    indexer = house.start()
    for _ in range(20):
        try:
            indexer.turn()
        except FeedmillError as error:
            indexer._heed(error)
    assert house.count_marks() == 4
    house.fault = None
    run(house, indexer)
    assert sorted(house.shown()) == list("abcd")
    assert [house.failure(name) for name in "abcd"] == [None] * 4


def test_document_that_ended_the_indexer_goes_apart_with_its_feed(house: House) -> None:
    house.push(*"abc")
    house.push("later")
    key = house.feeds.document(url("b")).id
    MappedInFlight(house.folder, "indexer").begin(f"index.entry document:{key}")
    house.builder.deadly = url("b")
    run_apart(house, house.start(apart=True))
    assert house.builder.started == [[url("a"), url("b"), url("c")], [url("a"), url("c")]]
    assert sorted(house.shown()) == ["a", "c", "later"]
    failure = house.failure("b")
    assert failure is not None
    assert failure.reason == "step index.entry failed: it died"
    with house.feeds.store.reading() as unit:
        assert unit.interruptions.list() == {}


def test_document_whose_commit_ended_the_indexer_goes_apart(house: House) -> None:
    house.push(*"ab")
    key = house.feeds.document(url("a")).id
    MappedInFlight(house.folder, "indexer").begin(f"index.commit document:{key}")
    run_apart(house, house.start(apart=True))
    assert house.builder.started == [[url("a")]]
    assert sorted(house.shown()) == ["a", "b"]
    with house.feeds.store.reading() as unit:
        assert unit.interruptions.list() == {}


def test_change_while_a_document_is_built_apart_wins(house: House) -> None:
    house.push("a")
    key = house.feeds.document(url("a")).id
    MappedInFlight(house.folder, "indexer").begin(f"index.entry document:{key}")
    indexer = house.start(apart=True)
    indexer.turn()
    indexer.turn()
    assert house.builder.started == [[url("a")]]
    house.push("a", acl=STAFF, whole=True)
    run_apart(house, indexer)
    shown = house.shown()["a"]
    assert shown.access_class == house.feeds.document(url("a")).access_class != AccessClass.PUBLIC
    assert house.count_marks() == 0


def run_apart(house: House, indexer: Indexing) -> None:
    for _ in range(500):
        indexer.turn()
        if not house.count_marks():
            return
    raise AssertionError("the indexer does not come to an end")


def test_reduced_forms_keep_access_and_patterns() -> None:
    whole = replace(DOCUMENT, access_class=7, patterns=("p",), body="b", title="t", metadata=(("a", "b"),))
    forms = list(iter_forms(whole))
    assert {(form.access_class, form.patterns, form.url, form.key) for form, _ in forms} == {(7, ("p",), whole.url, whole.key)}
    assert forms[0] == (whole, "")
    assert (forms[-1][0].body, forms[-1][0].title, forms[-1][0].metadata) == ("", "", ())
