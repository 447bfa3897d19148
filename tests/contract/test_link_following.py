"""Links of fed and crawled documents in the crawl queue, on a real store."""

import io
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from feedmill.adapters.index.memory.index import MemoryIndex, MemoryWriter
from feedmill.core.crawling.linkrules import LinkRules
from feedmill.core.documents.urlstate import ApplyContext
from feedmill.core.text.textblob import encode_text
from feedmill.model.crawling import CrawlEntry
from feedmill.model.document import Attributes, Document, Origin, Text
from feedmill.model.extraction import Link
from feedmill.model.provenance import from_fetch
from feedmill.ports import Lane, LinkWork, Store
from feedmill.services.crawling.linkfollowing import FollowLimits, LinkFollowing
from feedmill.services.feeds.feeding import ChangeBatch, SliceLimits, take_slice
from feedmill.services.indexing.indexer import IndexDependencies, Indexing
from tests.builders.access import STAFF
from tests.builders.changes import OPEN, put, url
from tests.contract.callablegenerations import CallableGenerations
from tests.contract.feedharness import BEGIN, FeedHarness, open_harness
from tests.contract.fuses import Fuse, FusedStore, Killed
from tests.fakes import SilentNotifier

RULES = LinkRules(follow=["docs.test/"])


def follow(harness: FeedHarness, document: Document, links: Sequence[str], *, rules: LinkRules = RULES, **limits: int) -> int:
    following = LinkFollowing(harness.store, rules, harness.clock, FollowLimits(**limits))
    return following.follow([(document, links)])


def entries(harness: FeedHarness) -> dict[str, CrawlEntry]:
    with harness.store.reading() as unit:
        return {entry.url: entry for entry in unit.feeds.crawling.reports.list_entries(limit=10_000)}


def fetch(harness: FeedHarness, name: str, *, robots: str = "") -> Document:
    taken = take_slice(iter([put(name)]), harness.blobs, SliceLimits()).slice
    with harness.store.writing() as unit:
        batch = ChangeBatch(unit, ApplyContext(provenance=from_fetch("crawler"), now=harness.clock(), rules=OPEN), Lane.BULK)
        batch.load([url(name)])
        batch.apply(*taken[0])
        batch.finish()
    document = harness.document(url(name))
    assert document.content is not None
    return replace(document, text=Text(source=document.content, robots=frozenset(robots.split())))


def test_links_of_a_fed_document_are_queued_with_their_page(harness: FeedHarness) -> None:
    harness.push(put("page"), put("fed"))

    assert follow(harness, harness.document(url("page")), [url("a"), url("fed"), url("a"), url("page"), "http://other.test/"]) == 1

    entry = entries(harness)[url("a")]
    assert (entry.referrer, entry.depth, entry.due_at is not None) == (url("page"), 1, True)


def test_links_of_a_crawled_page_are_one_deeper_and_stay_on_its_host(harness: FeedHarness) -> None:
    anywhere = LinkRules(follow=["/"])
    page = fetch(harness, "page")
    follow(harness, page, [url("a"), "http://other.test/"], rules=anywhere)
    follow(harness, fetch(harness, "a"), [url("b")], rules=anywhere)

    assert {each.url: each.depth for each in entries(harness).values()} == {url("a"): 1, url("b"): 2}


@pytest.mark.parametrize("robots", ["nofollow", "noindex nofollow"])
def test_links_of_a_page_that_says_nofollow_are_not_queued(harness: FeedHarness, robots: str) -> None:
    assert follow(harness, fetch(harness, "page", robots=robots), [url("a")]) == 0
    assert follow(harness, fetch(harness, "other", robots="noindex"), [url("a")]) == 1


def test_known_url_is_left_as_it_is(harness: FeedHarness) -> None:
    page = fetch(harness, "page")
    follow(harness, page, [url("a")])
    crawled = replace(entries(harness)[url("a")], due_at=None, crawled_at=harness.clock())
    with harness.store.writing() as unit:
        unit.feeds.crawling.queue.save_many([crawled])

    assert follow(harness, page, [url("a")]) == 0
    assert entries(harness)[url("a")].due_at is None


def test_links_are_not_followed_at_the_licence_limit(harness: FeedHarness) -> None:
    page = fetch(harness, "page")
    assert follow(harness, page, [url("a")], max_documents=1) == 0
    assert follow(harness, page, [url("a")], max_documents=2) == 1


def test_links_are_added_up_to_the_number_of_urls(harness: FeedHarness) -> None:
    page = fetch(harness, "page")
    assert follow(harness, page, [url(str(number)) for number in range(10)], max_urls=4) == 4
    assert follow(harness, page, [url("more")], max_urls=4) == 0


def test_links_are_followed_up_to_a_depth_and_two_years_of_a_calendar(harness: FeedHarness) -> None:
    harness.push(put("page"))
    page = harness.document(url("page"))
    assert follow(harness, page, [url("a")], max_depth=1) == 1
    deeper = replace(page, url=url("a"), origin=Origin.WEB)
    assert follow(harness, deeper, [url("b")], max_depth=1) == 0
    assert follow(harness, deeper, [url("b")], max_depth=2) == 1
    month = replace(page, url=url("2098/01/"), origin=Origin.WEB)
    assert follow(harness, month, [url("2098/02/"), url("c")]) == 1


def test_page_with_very_many_links_is_added_in_parts(harness: FeedHarness) -> None:
    assert follow(harness, fetch(harness, "page"), [url(str(number)) for number in range(2_500)]) == 2_500


def extract(harness: FeedHarness, name: str, links: Sequence[str]) -> None:
    document = harness.document(url(name))
    assert document.id is not None
    assert document.content is not None
    data = encode_text("body", [Link(url(link), "text") for link in links])
    text = Text(source=document.content, blob=harness.blobs.put(io.BytesIO(data), len(data)))
    with harness.store.writing() as unit:
        unit.documents.writer.save_texts([(document.id, text)], at=BEGIN)
        waiting = unit.processing.index_tasks.find_many([document.id])
        unit.processing.index_tasks.advance(list(waiting.values()))


def start_indexer(harness: FeedHarness, index: MemoryIndex, store: Store | None = None, rules: LinkRules = RULES) -> Indexing:
    generations = CallableGenerations(
        list=lambda: ["1-1"], open=lambda _: MemoryWriter(index), read=lambda _: index, remove_one=lambda _: None
    )
    used = store or harness.store
    tools = IndexDependencies(
        store=used,
        blobs=harness.blobs,
        notifier=SilentNotifier(),
        clock=lambda: BEGIN,
        rest=0.0,
        following=LinkFollowing(used, rules, harness.clock, FollowLimits()),
    )
    return Indexing(tools, generations)


def is_waiting(harness: FeedHarness) -> bool:
    with harness.store.reading() as unit:
        queues = unit.processing
        return any(queues.index_tasks.count().values()) or any(queues.link_queue.list_queued(work, 1) for work in LinkWork)


def settle(harness: FeedHarness, indexing: Indexing) -> None:
    while indexing.turn() or is_waiting(harness):
        pass


def test_indexer_follows_links_of_documents_that_only_some_may_see(harness: FeedHarness) -> None:
    harness.push(put("secret", acl=STAFF, attributes=Attributes(links=(url("ref"),))))
    extract(harness, "secret", ["a"])
    indexing = start_indexer(harness, MemoryIndex())
    settle(harness, indexing)
    indexing.close()

    assert sorted(entries(harness)) == [url("a"), url("ref")]


def test_links_of_a_crawled_page_are_queued_before_its_entry_is_committed(harness: FeedHarness) -> None:
    index = MemoryIndex()
    fetch(harness, "page")
    extract(harness, "page", ["a", "b"])
    fetch(harness, "waits")  # not extracted, so the indexer expects more and does not commit
    indexing = start_indexer(harness, index)
    indexing.turn()

    assert (sorted(entries(harness)), index.count()) == ([url("a"), url("b")], 0)
    extract(harness, "waits", [])
    settle(harness, indexing)
    assert (sorted(entries(harness)), index.count()) == ([url("a"), url("b")], 2)


def test_links_that_cannot_be_queued_early_are_queued_when_they_are_read(harness: FeedHarness) -> None:
    class FailingOnce(LinkRules):
        failures = 1

        def find_target(self, link: str, *, crawled_page: str = "") -> str | None:
            if self.failures:
                self.failures -= 1
                raise ValueError("a fault of the rules")
            return super().find_target(link, crawled_page=crawled_page)

    fetch(harness, "page")
    extract(harness, "page", ["a"])
    index = MemoryIndex()
    indexing = start_indexer(harness, index, rules=FailingOnce(follow=["docs.test/"]))
    indexing.turn()
    assert entries(harness) == {}
    settle(harness, indexing)
    assert (sorted(entries(harness)), index.count()) == ([url("a")], 1)


def test_pages_of_a_crawl_are_committed_together(harness: FeedHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedmill.services.indexing.indexer.COMMIT_SECONDS", 3_600.0)
    index = MemoryIndex()
    indexing = start_indexer(harness, index)

    def turn_with(name: str) -> int:
        fetch(harness, name)
        extract(harness, name, [])
        while indexing.turn():
            pass
        return index.count()

    assert (turn_with("first"), turn_with("second"), turn_with("third")) == (1, 1, 1)
    # a feed waits for its commit
    harness.push(put("fed"))
    extract(harness, "fed", [])
    settle(harness, indexing)
    assert index.count() == 4
    assert turn_with("fourth") == 4
    monkeypatch.setattr("feedmill.services.indexing.indexer.COMMIT_SECONDS", 0.0)
    settle(harness, indexing)
    assert index.count() == 5


def test_links_are_queued_whenever_the_indexer_is_killed(tmp_path: Path) -> None:
    for step in count(1):
        folder = tmp_path / str(step)
        folder.mkdir()
        harness = open_harness(folder)
        for name in ("page", "other"):
            fetch(harness, name)
        extract(harness, "page", ["a", "b"])
        extract(harness, "other", ["b", "c"])
        index = MemoryIndex()
        try:
            settle(harness, start_indexer(harness, index, FusedStore(harness.store, Fuse(step, Killed))))
            is_over = True
        except Killed:
            is_over = False
        settle(harness, start_indexer(harness, index))
        found = sorted(entries(harness)), index.count()
        harness.store.close()
        assert found == ([url("a"), url("b"), url("c")], 2), step
        if is_over:
            break
    assert step > 6
