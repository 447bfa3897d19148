"""Changes that no feed brings, in a store."""

from feedmill.core.documents.urlstate import ApplyContext
from feedmill.model.change import Change
from feedmill.model.document import EventKind, Origin
from feedmill.model.feed import FeedKind
from feedmill.model.provenance import Provenance, from_fetch, from_run
from feedmill.ports import Lane
from feedmill.services.feeds.feeding import ChangeBatch, SliceLimits, take_slice
from tests.builders.access import STAFF
from tests.builders.changes import OPEN, delete, put, url
from tests.contract.feedharness import FeedHarness


def bring(harness: FeedHarness, provenance: Provenance, *changes: Change) -> None:
    taken = take_slice(iter(changes), harness.blobs, SliceLimits()).slice
    with harness.store.writing() as unit:
        batch = ChangeBatch(unit, ApplyContext(provenance=provenance, now=harness.clock(), rules=OPEN), Lane.BULK)
        batch.load(change.url for change, _ in taken if change.url is not None)
        for change, content in taken:
            batch.apply(change, content)
        batch.finish()


def test_fetched_document_is_stored_without_a_feed(harness: FeedHarness) -> None:
    bring(harness, from_fetch("crawler"), put("a", acl=STAFF))

    document, acl = harness.document(url("a")), harness.acls(url("a"))[url("a")]
    assert (document.feed_id, document.seen_feed_id, document.origin) == (None, None, Origin.WEB)
    assert (acl.feed_id, acl.seen_feed_id, acl.datasource) == (None, None, "crawler")
    assert [(event.kind, event.feed_id) for event in harness.events(url("a"))] == [(EventKind.FETCHED, None)]
    with harness.store.reading() as unit:
        assert document.id is not None
        assert unit.processing.index_tasks.find_many([document.id])[document.id].datasource == "crawler"


def test_fetch_leaves_a_fed_document_and_deletes_none(harness: FeedHarness) -> None:
    harness.push(put("a", "fed"))
    before = harness.document(url("a"))

    bring(harness, from_fetch("crawler"), put("a", "fetched"), delete("a"))

    assert harness.document(url("a")) == before


def test_full_feed_removes_what_a_run_of_its_source_listed_and_it_does_not_name(harness: FeedHarness) -> None:
    bring(harness, from_run("hr"), put("a"), put("b"))
    bring(harness, from_run("wiki"), put("c"))

    harness.push(put("b", whole=True), kind=FeedKind.FULL)

    assert set(harness.live()) == {url("b"), url("c")}
