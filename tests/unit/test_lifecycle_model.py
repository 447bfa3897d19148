"""Random histories of a few URLs, applied by the code and by a reference."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from feedmill.core.documents.lifecycle import PUBLIC_NOW, apply, gone, secured
from feedmill.core.documents.urlstate import ApplyContext, ReceiptCount, UrlState
from feedmill.model.access import AclOrigin
from feedmill.model.change import Change, PutDocument
from feedmill.model.document import BlobRef
from feedmill.model.feed import FeedKind
from feedmill.model.provenance import Provenance, ProvenanceKind
from tests.lifecyclemodel import NOW, OPEN, RULES, URLS, Batch, Reference, batches, expected, text_of
from tests.thorough import count_examples


@dataclass
class CodeUnderTest:
    """The states as the code makes them, and a full feed's sweep as the store does it: by the feed that last named a thing."""

    states: dict[str, UrlState] = field(default_factory=lambda: {url: UrlState(url=url) for url in URLS})
    counts: dict[ReceiptCount, int] = field(default_factory=dict)
    warned: int = 0

    def feed(self, feed_id: int, way: ProvenanceKind, source: str, kind: FeedKind, changes: Sequence[Change], blocks: bool) -> None:
        brought = Provenance(kind=way, datasource=source, feed_id=feed_id if way is ProvenanceKind.FEED else None)
        context = ApplyContext(provenance=brought, now=NOW, rules=RULES if blocks else OPEN)
        self.counts = dict.fromkeys(ReceiptCount, 0)
        for change in changes:
            assert change.url is not None
            ref = BlobRef(text_of(change)) if isinstance(change, PutDocument) and change.content is not None else None
            before = self.states[change.url]
            outcome = apply(change, before, context, ref)
            assert outcome.state.url == change.url
            assert_history(before, outcome.state)
            self.states[change.url] = outcome.state
            self.counts[outcome.counted] += 1
            self.warned += any(entry.reason == PUBLIC_NOW for entry in outcome.log)
        if kind is FeedKind.FULL and (
            self.counts[ReceiptCount.INCLUDED] or self.counts[ReceiptCount.ACL] or not self.counts[ReceiptCount.ERROR]
        ):
            self.sweep(feed_id, source)

    def sweep(self, feed_id: int, source: str) -> None:
        for url, state in self.states.items():
            document, acl = state.live, state.acl
            if document is not None and document.datasource == source and document.seen_feed_id != feed_id:
                state = replace(state, document=gone(document, feed_id, NOW))
            if acl is not None and acl.datasource == source and acl.seen_feed_id != feed_id:
                left = state.live
                state = replace(state, acl=None, document=state.document if left is None else secured(left, False, RULES))
            self.states[url] = state


def assert_history(before: UrlState, after: UrlState) -> None:
    """A version never goes back, and grows with every change of what a search could show."""
    if before.document is None or after.document is None:
        assert after.document is not None or before.document is None
        return
    was, now = before.document, after.document
    assert now.version - was.version in (0, 1)
    if (was.state, was.metadata, was.content, was.secure, was.datasource) != (
        now.state,
        now.metadata,
        now.content,
        now.secure,
        now.datasource,
    ):
        assert now.version > was.version


@settings(max_examples=count_examples(400))
@given(history=st.lists(batches(), max_size=8))
def test_apply_of_any_history_agrees_with_the_reference(history: list[Batch]) -> None:
    reference, applied = Reference(), CodeUnderTest()
    for feed_id, (way, source, kind, changes, blocks) in enumerate(history, start=1):
        reference.feed(way, source, kind, changes, blocks)
        applied.feed(feed_id, way, source, kind, changes, blocks)

        assert applied.counts == {
            ReceiptCount.INCLUDED: reference.included,
            ReceiptCount.ERROR: reference.errors,
            ReceiptCount.ACL: reference.good_acls,
        }
        assert applied.warned == reference.warned
        for url, state in applied.states.items():
            assert shown(state) == expected(reference, url)


def shown(state: UrlState) -> tuple[object, object]:
    document, acl = state.live, state.acl
    doc = None
    if document is not None:
        is_fed = document.origin.value == "content"
        doc = (document.datasource, is_fed, document.metadata, document.content, document.secure)
    came_as = {AclOrigin.ELEMENT: "acl", AclOrigin.METADATA: "metadata"}
    return doc, None if acl is None else (acl.acl, came_as[acl.origin], acl.datasource)
