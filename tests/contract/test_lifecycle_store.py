"""Random histories of a few URLs in a store, by feeds, runs and fetches, compared with a reference."""

from hypothesis import given, settings
from hypothesis import strategies as st

from feedmill.adapters.store.engine import SqlStore
from feedmill.adapters.store.schema import metadata
from feedmill.core.documents.urlstate import ApplyContext
from feedmill.model.access import AclOrigin
from feedmill.model.document import Origin
from feedmill.model.provenance import Provenance, ProvenanceKind
from feedmill.ports import Lane
from feedmill.services.feeds.feeding import Admission, ChangeBatch, SliceLimits, take_slice
from tests.contract.feedharness import FeedHarness
from tests.lifecyclemodel import OPEN, RULES, URLS, Batch, Reference, batches, expected
from tests.thorough import count_examples

SHOWN_AS = {AclOrigin.ELEMENT: "acl", AclOrigin.METADATA: "metadata"}


def empty(store: SqlStore) -> None:
    """Removes everything from a store."""
    with store.writer.begin() as connection:
        for table in reversed(metadata.sorted_tables):
            connection.exec_driver_sql(f"DELETE FROM {table.name}")


def bring(harness: FeedHarness, batch: Batch) -> None:
    """Applies a batch as the role does that brings it."""
    way, source, kind, changes, blocks = batch
    rules = RULES if blocks else OPEN
    harness.admission = Admission(rules=rules)
    if way is ProvenanceKind.FEED:
        harness.push(*changes, datasource=source, kind=kind)
        return
    taken = take_slice(iter(changes), harness.blobs, SliceLimits()).slice
    with harness.store.writing() as unit:
        context = ApplyContext(provenance=Provenance(kind=way, datasource=source), now=harness.clock(), rules=rules)
        written = ChangeBatch(unit, context, Lane.BULK)
        written.load(change.url for change, _ in taken if change.url is not None)
        for change, content in taken:
            written.apply(change, content)
        written.finish()


def shown(harness: FeedHarness, url: str) -> tuple[object, object]:
    document, acl = harness.live().get(url), harness.acls(url).get(url)
    doc = None
    if document is not None:
        text = None if document.content is None else harness.blobs.read(document.content).decode()
        doc = (document.datasource, document.origin is Origin.CONTENT, document.metadata, text, document.secure)
    return doc, None if acl is None else (acl.acl, SHOWN_AS[acl.origin], acl.datasource)


def test_store_after_any_history_agrees_with_the_reference(store: SqlStore) -> None:
    @settings(max_examples=count_examples(40), deadline=None)
    @given(history=st.lists(batches(), max_size=6))
    def live_through(history: list[Batch]) -> None:
        empty(store)
        harness, reference = FeedHarness(store=store), Reference()
        for batch in history:
            for change in batch[3]:
                if getattr(change, "content", None) is not None:
                    change.content.stream.seek(0)  # type: ignore[union-attr]
            bring(harness, batch)
            reference.feed(*batch)
        assert {url: shown(harness, url) for url in URLS} == {url: expected(reference, url) for url in URLS}

    live_through()
