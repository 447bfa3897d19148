"""Texts and counts of links to documents, from feeds to the index, on a real store."""

import io
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from feedmill.adapters.index.memory.index import MemoryIndex, MemoryWriter
from feedmill.core.documents.anchors import MAX_TARGETS
from feedmill.core.documents.urlstate import ApplyContext
from feedmill.core.text.textblob import encode_text
from feedmill.model.access import ANONYMOUS, Acl
from feedmill.model.document import Attributes, Text
from feedmill.model.extraction import Link
from feedmill.model.feed import FeedState
from feedmill.model.provenance import from_fetch
from feedmill.model.query import Word
from feedmill.model.search import IndexDocument
from feedmill.ports import Lane, LinkWork, Stage, Store
from feedmill.services import keyvalues
from feedmill.services.feeds.feeding import ChangeBatch, SliceLimits, take_slice
from feedmill.services.indexing.indexer import IndexDependencies, Indexing
from feedmill.services.inspection import inspect_url
from tests.builders.access import STAFF
from tests.builders.changes import OPEN, delete, put, put_acl, url
from tests.contract.callablegenerations import CallableGenerations
from tests.contract.feedharness import BEGIN, FeedHarness, open_harness
from tests.contract.fuses import Fuse, FusedStore, Killed
from tests.fakes import SilentNotifier


class CountingWriter(MemoryWriter):
    """Writes into an index in memory and remembers which documents."""

    def __init__(self, index: MemoryIndex, written: list[int]) -> None:
        super().__init__(index)
        self._written = written

    def put_many(self, documents: Iterable[IndexDocument]) -> None:
        taken = list(documents)
        self._written += [document.key for document in taken]
        super().put_many(taken)


@dataclass
class LinkHarness:
    """A fed store whose pages hold links, and indexers that come and go."""

    feeds: FeedHarness
    indexes: dict[str, MemoryIndex] = field(default_factory=dict)
    written: list[int] = field(default_factory=list)

    def start(self, store: Store | None = None) -> Indexing:
        def remove(name: str) -> None:
            self.indexes.pop(name, None)

        generations = CallableGenerations(
            list=lambda: list(self.indexes),
            open=lambda name: CountingWriter(self.indexes.setdefault(name, MemoryIndex()), self.written),
            read=lambda name: self.indexes[name],
            remove_one=remove,
        )
        tools = IndexDependencies(
            store=store or self.feeds.store, blobs=self.feeds.blobs, notifier=SilentNotifier(), clock=lambda: BEGIN, rest=0.0
        )
        return Indexing(tools, generations)

    def push(self, pages: Mapping[str, Mapping[str, str]], *, acl: Acl | None = None, robots: tuple[str, ...] = ()) -> int:
        """Feeds pages, each with the texts of its links by their targets; returns the feed's number."""
        number = len(self.feeds.feeds) + 1
        changes = [put(name, f"{name} {links} {number}", acl=acl) for name, links in pages.items()]
        feed = self.feeds.push(*changes)
        for name, links in pages.items():
            self.extract(name, links, robots)
        return feed.id

    def fetch(self, name: str, links: Mapping[str, str]) -> int:
        """Applies a page as the crawler does; returns the document's number."""
        taken = take_slice(iter([put(name)]), self.feeds.blobs, SliceLimits()).slice
        with self.feeds.store.writing() as unit:
            batch = ChangeBatch(unit, ApplyContext(provenance=from_fetch("crawler"), now=BEGIN, rules=OPEN), Lane.BULK)
            batch.load([url(name)])
            batch.apply(*taken[0])
            batch.finish()
        self.extract(name, links)
        return self.feeds.document(url(name)).id or 0

    def extract(self, name: str, links: Mapping[str, str], robots: tuple[str, ...] = ()) -> None:
        document = self.feeds.document(url(name))
        assert document.id is not None
        assert document.content is not None
        data = encode_text("body", [Link(url(target), text) for target, text in links.items()])
        blob = self.feeds.blobs.put(io.BytesIO(data), len(data))
        with self.feeds.store.writing() as unit:
            unit.documents.writer.save_texts([(document.id, Text(source=document.content, blob=blob, robots=frozenset(robots)))], at=BEGIN)
            unit.processing.index_tasks.advance(
                [mark for mark in unit.processing.index_tasks.list(Stage.EXTRACT, 1000) if mark.document_id == document.id]
            )

    def settle(self, indexer: Indexing | None = None) -> None:
        """Runs an indexer until nothing waits, links neither."""
        indexer = indexer or self.start()
        while indexer.turn() or self.is_waiting():
            pass

    def is_waiting(self) -> bool:
        with self.feeds.store.reading() as unit:
            works = [
                any(unit.processing.index_tasks.count().values()),
                *(unit.processing.link_queue.list_queued(work, 1) for work in LinkWork),
            ]
        return any(works)

    @property
    def index(self) -> MemoryIndex:
        with self.feeds.store.reading() as unit:
            return self.indexes[unit.state.key_values.get(keyvalues.INDEX_FOLDER) or ""]

    def anchors_of(self, name: str) -> tuple[str, ...]:
        """Returns the texts of links that the index has of a document."""
        document = self.feeds.document(url(name))
        return tuple(self.index._entries[document.id or 0].document.anchors)

    def rank(self, name: str) -> int:
        return self.index._entries[self.feeds.document(url(name)).id or 0].document.link_rank

    def finds(self, word: str) -> int:
        return self.index.search(Word(word), ANONYMOUS, start=0, num=10).total


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[LinkHarness]:
    feeds = open_harness(tmp_path)
    yield LinkHarness(feeds)
    feeds.store.close()


def test_links_count_for_documents_that_were_fed_before_and_after(harness: LinkHarness) -> None:
    harness.push({"a": {}})
    harness.settle()
    harness.push({"hub": {"a": "Annual figures", "b": "Budget", "none": "x"}})
    harness.settle()
    harness.push({"b": {}})
    harness.settle()
    assert (harness.anchors_of("a"), harness.anchors_of("b"), harness.anchors_of("hub")) == (("Annual figures",), ("Budget",), ())
    assert harness.finds("figures") == harness.finds("budget") == 1
    assert harness.rank("a") > harness.rank("hub") == 0


def test_links_that_a_record_states_count_with_their_texts(harness: LinkHarness) -> None:
    stated = Attributes(links=(url("a"), url("b"), url("a")), link_texts=("Annual figures", "", "Balance"))
    harness.feeds.push(replace(put("hub", "a hub"), attributes=stated), put("a", "a"), put("b", "b"))
    for name in ("hub", "a", "b"):
        harness.extract(name, {})
    harness.settle()
    assert (harness.anchors_of("a"), harness.anchors_of("b")) == (("Annual figures Balance",), ())
    assert harness.rank("a") == harness.rank("b") > 0


def test_target_of_links_stays_searchable_while_it_is_written_again(harness: LinkHarness) -> None:
    harness.push({"a": {}})
    harness.settle()
    harness.push({"hub": {"a": "words"}})
    indexer = harness.start()
    before = harness.written.count(harness.feeds.document(url("a")).id or 0)
    standings = []
    while harness.anchors_of("a") != ("words",):
        indexer.turn()
        standings.append(inspect_url(harness.feeds.store, url("a")).status)
    assert harness.written.count(harness.feeds.document(url("a")).id or 0) == before + 1
    assert all(standing.searchable for standing in standings)


def test_links_changed_count_with_their_new_texts(harness: LinkHarness) -> None:
    harness.push({"hub": {"a": "old words", "b": "stays"}, "a": {}, "b": {}})
    harness.settle()
    harness.push({"hub": {"a": "new words"}})
    harness.settle()
    assert (harness.anchors_of("a"), harness.anchors_of("b"), harness.rank("b")) == (("new words",), (), 0)


def test_links_fed_again_alike_write_nothing_else(harness: LinkHarness) -> None:
    targets = {f"t{number}": f"text {number}" for number in range(30)}
    harness.push({"hub": targets, "other": targets, **{name: {} for name in targets}})
    harness.settle()
    assert len(harness.written) == 32 + 30, "each is written once, and each target once more"
    harness.written.clear()
    harness.push({"hub": targets})
    harness.settle()
    assert harness.written == [harness.feeds.document(url("hub")).id]


def test_crawled_page_is_written_once_with_the_texts_of_links_to_it(harness: LinkHarness) -> None:
    harness.fetch("hub", {"page": "Annual figures"})
    harness.push({"secret": {"page": "Hidden"}}, acl=STAFF)
    harness.settle()

    page = harness.fetch("page", {})
    harness.settle()

    assert harness.anchors_of("page") == ("Annual figures",)
    assert harness.written.count(page) == 1


def test_crawled_page_has_the_text_of_a_link_from_a_page_that_is_not_committed(harness: LinkHarness) -> None:
    harness.fetch("hub", {"page": "Annual figures"})
    harness.feeds.push(put("waits"))  # not extracted, so the indexer expects more and does not commit
    indexer = harness.start()
    indexer.turn()
    page = harness.fetch("page", {})
    indexer.turn()
    harness.extract("waits", {})
    harness.settle(indexer)

    assert harness.anchors_of("page") == ("Annual figures",)
    assert harness.written.count(page) == 1


def test_page_that_becomes_secret_before_it_is_committed_gives_no_texts(harness: LinkHarness) -> None:
    harness.fetch("hub", {"page": "Annual figures"})
    harness.feeds.push(put("waits"))
    indexer = harness.start()
    indexer.turn()
    harness.feeds.push(put_acl("hub", STAFF))
    harness.fetch("page", {})
    for _ in range(3):
        indexer.turn()
    harness.extract("waits", {})
    harness.settle(indexer)

    assert (harness.anchors_of("page"), harness.rank("page"), harness.finds("figures")) == ((), 0, 0)


def test_pages_that_were_read_before_count_beside_those_that_wait(harness: LinkHarness) -> None:
    harness.push({"fed": {"page": "From a feed"}})
    harness.settle()
    harness.fetch("hub", {"page": "From the crawl"})
    indexer = harness.start()
    while indexer.turn():
        pass
    harness.fetch("page", {})
    harness.settle(indexer)

    assert set(harness.anchors_of("page")) == {"From a feed", "From the crawl"}


def test_crawled_page_loses_the_texts_of_links_from_a_page_that_becomes_secret(harness: LinkHarness) -> None:
    harness.push({"hub": {"page": "Annual figures"}})
    harness.settle()
    harness.fetch("page", {})
    harness.settle()

    harness.feeds.push(put_acl("hub", STAFF))
    harness.settle()

    assert harness.anchors_of("page") == ()


def test_links_of_a_hub_are_bounded(harness: LinkHarness) -> None:
    targets = {f"t{number}": "text" for number in range(MAX_TARGETS + 20)}
    harness.push({name: {} for name in targets})
    harness.push({"hub": targets})
    harness.settle()
    assert sum(bool(harness.anchors_of(name)) for name in targets) == MAX_TARGETS


@pytest.mark.parametrize("robots", [("nofollow",), ("noindex",), ()])
def test_links_count_for_nothing_unless_they_are_public(harness: LinkHarness, robots: tuple[str, ...]) -> None:
    harness.push({"a": {}})
    harness.push({"hub": {"a": "secret words"}}, acl=None if robots else STAFF, robots=robots)
    harness.settle()
    assert (harness.anchors_of("a"), harness.rank("a"), harness.finds("secret")) == ((), 0, 0)


def test_links_of_a_page_that_becomes_secret_are_taken_back_before_its_feed_is_obeyed(harness: LinkHarness) -> None:
    harness.push({"a": {}, "b": {}, "hub": {"a": "secret words", "b": "secret too"}})
    harness.settle()
    assert harness.finds("secret") == 2
    feed = harness.feeds.push(put_acl("hub"))
    indexer = harness.start()
    states = []
    while indexer.turn() or harness.is_waiting():
        state = harness.feeds.feed(feed.id).state
        states.append(state)
        assert harness.finds("secret") == 0 or state is not FeedState.COMPLETED
    assert harness.feeds.feed(feed.id).state is FeedState.COMPLETED
    assert (harness.finds("secret"), harness.anchors_of("a"), harness.anchors_of("b"), harness.rank("a")) == (0, (), (), 0)


def test_links_of_a_page_that_is_gone_are_taken_back(harness: LinkHarness) -> None:
    harness.push({"a": {}, "hub": {"a": "words"}, "other": {"a": "others"}})
    harness.settle()
    harness.feeds.push(delete("hub"))
    harness.settle()
    assert harness.anchors_of("a") == ("others",)
    harness.feeds.push(delete("a"))
    harness.settle()
    harness.push({"a": {}})
    harness.settle()
    assert harness.anchors_of("a") == ("others",)


def test_links_of_a_secret_page_are_taken_back_from_what_is_written_already_and_not_committed(harness: LinkHarness) -> None:
    harness.push({"a": {}, "hub": {"a": "secret words"}})
    harness.settle()
    indexer = harness.start()
    harness.push({"b": {}})
    with harness.feeds.store.writing() as unit:
        # a bulk change of the target is written while others are still being extracted, so that nothing is committed yet
        document = harness.feeds.document(url("a"))
        mark = unit.processing.index_tasks.list(Stage.INDEX, 10)[0]
        unit.processing.index_tasks.remove([mark])
        unit.processing.index_tasks.put_many([replace(mark, document_id=document.id or 0, version=document.version, lane=Lane.BULK)])
    harness.feeds.push(put("waits", "not extracted"))
    indexer.turn()
    feed = harness.feeds.push(put_acl("hub"))
    for _ in range(20):
        indexer.turn()
    harness.extract("waits", {})
    harness.settle(indexer)
    assert (harness.anchors_of("a"), harness.finds("secret")) == ((), 0)
    assert harness.feeds.feed(feed.id).state is FeedState.COMPLETED


def test_links_survive_an_indexer_killed_at_any_step(tmp_path: Path) -> None:
    for step in itertools.count(1):
        folder = tmp_path / str(step)
        folder.mkdir()
        feeds = open_harness(folder)
        harness = LinkHarness(feeds)
        harness.push({"a": {}, "hub": {"a": "first", "b": "of b"}})
        harness.settle()
        harness.push({"b": {}, "other": {"a": "second", "c": "of c"}})
        feeds.push(put_acl("hub"))
        harness.push({"c": {"a": "third"}})
        try:
            harness.settle(harness.start(FusedStore(feeds.store, Fuse(step, Killed))))
            is_over = True
        except Killed:
            is_over = False
        harness.settle()
        anchors = (harness.anchors_of("a"), harness.anchors_of("b"), harness.anchors_of("c"))
        feeds.store.close()
        assert anchors == (("second", "third"), (), ("of c",)), step
        if is_over:
            break
    assert step > 4
