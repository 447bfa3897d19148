"""The ownership tables of docs/explanation/ownership.md, for each way in which a change comes."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from feedmill.core.documents.lifecycle import apply
from feedmill.core.documents.urlstate import ApplyContext, Outcome, ReceiptCount, UrlState
from feedmill.model.access import AclOrigin, StoredAcl
from feedmill.model.change import AclChange, Change, Delete, PutAcl, PutDocument, RequestCrawl, SourcePosition
from feedmill.model.document import Attributes, AuthMethod, BlobRef, DocumentState, EventKind, Origin
from feedmill.model.provenance import MAINTENANCE, Provenance, from_feed, from_fetch, from_run
from tests.builders.access import STAFF
from tests.builders.changes import OPEN, make_content

URL = "http://docs.test/a"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PLACE = SourcePosition(record=1)
FEED, RUN, FETCH = from_feed(9, "hr"), from_run("hr"), from_fetch("crawler")


def put(text: str | None = "new", **given: object) -> PutDocument:
    content = None if text is None else make_content(text)
    return replace(PutDocument(place=PLACE, url=URL, attributes=Attributes(mimetype="text/new"), content=content), **given)  # type: ignore[arg-type]


def crawl(**given: object) -> RequestCrawl:
    return replace(RequestCrawl(place=PLACE, url=URL, attributes=Attributes(mimetype="text/old", pagerank=90)), **given)  # type: ignore[arg-type]


DELETE = Delete(place=PLACE, url=URL)
NOTHING = UrlState(url=URL)


def do(state: UrlState, change: Change, provenance: Provenance) -> Outcome:
    ref = BlobRef("new") if isinstance(change, PutDocument) and change.content is not None else None
    return apply(change, state, ApplyContext(provenance=provenance, now=NOW, rules=OPEN), ref)


def states() -> dict[str, UrlState]:
    """Returns what a URL can have before a change."""
    return {
        "nothing": NOTHING,
        "own": do(NOTHING, put(), from_feed(1, "hr")).state,
        "other": do(NOTHING, put(), from_feed(1, "wiki")).state,
        "run": do(NOTHING, put(), from_run("wiki")).state,
        "named": do(NOTHING, crawl(), from_feed(1, "web")).state,
    }


PUT_TABLE = [
    (FEED, "nothing", "hr", Origin.CONTENT, EventKind.FED),
    (FEED, "own", "hr", Origin.CONTENT, EventKind.REPLACED),
    (FEED, "other", "hr", Origin.CONTENT, EventKind.TAKEN_OVER),
    (FEED, "run", "hr", Origin.CONTENT, EventKind.TAKEN_OVER),
    (FEED, "named", "hr", Origin.CONTENT, EventKind.TAKEN_OVER),
    (RUN, "nothing", "hr", Origin.CONTENT, EventKind.FED),
    (RUN, "own", "hr", Origin.CONTENT, EventKind.REPLACED),
    (RUN, "other", "hr", Origin.CONTENT, EventKind.TAKEN_OVER),
    (RUN, "run", "hr", Origin.CONTENT, EventKind.TAKEN_OVER),
    (RUN, "named", "hr", Origin.CONTENT, EventKind.TAKEN_OVER),
    (FETCH, "nothing", "crawler", Origin.WEB, EventKind.FETCHED),
    (FETCH, "own", "hr", Origin.CONTENT, None),
    (FETCH, "other", "wiki", Origin.CONTENT, None),
    (FETCH, "run", "wiki", Origin.CONTENT, None),
    (FETCH, "named", "web", Origin.WEB, EventKind.FETCHED),
]


@pytest.mark.parametrize(("provenance", "before", "owner", "origin", "event"), PUT_TABLE)
def test_put_decides_the_owner_by_its_provenance(
    provenance: Provenance, before: str, owner: str, origin: Origin, event: EventKind | None
) -> None:
    state = states()[before]

    outcome = do(state, put(), provenance)

    document = outcome.state.live
    assert document is not None
    assert (document.datasource, document.origin, outcome.counted) == (owner, origin, ReceiptCount.INCLUDED)
    assert [each.kind for each in outcome.events] == ([] if event is None else [event])
    assert (outcome.state == state) is (event is None)
    if event is not None:
        assert document.content == "new"
        assert {document.feed_id, *(each.feed_id for each in outcome.events)} == {provenance.feed_id}


@pytest.mark.parametrize(
    ("provenance", "deleted"),
    [(FEED, {"own", "named"}), (RUN, {"own", "named"}), (FETCH, {"named"}), (from_fetch("hr"), {"named"})],
)
def test_delete_works_by_its_provenance(provenance: Provenance, deleted: set[str]) -> None:
    ended = {name for name, state in states().items() if state.live is not None and do(state, DELETE, provenance).state.live is None}

    assert ended == deleted


@pytest.mark.parametrize("change", [crawl(), PutAcl(place=SourcePosition(record=0), url=URL, acl=STAFF)])
def test_fetch_brings_documents_and_deletions_only(change: Change) -> None:
    outcome = do(NOTHING, change, FETCH)

    assert (outcome.counted, outcome.state.live, outcome.state.acl) == (ReceiptCount.ERROR, None, None)
    assert [entry.reason for entry in outcome.log] == ["this change cannot come from a fetch"]


@pytest.mark.parametrize("change", [put(), crawl(), DELETE, PutAcl(place=PLACE, url=URL, acl=STAFF)])
def test_maintenance_brings_no_change(change: Change) -> None:
    before = states()["own"]

    assert do(before, change, MAINTENANCE).state.live == before.live


# --- what a fetch leaves --------------------------------------------------------------------------------------------------------


def test_fetch_keeps_what_the_naming_feed_said() -> None:
    named = do(NOTHING, crawl(metadata=(("dept", "hr"), ("lang", "de"))), from_feed(1, "web")).state

    document = do(named, put(metadata=(("lang", "en"),)), FETCH).state.live

    assert document is not None
    assert document.metadata == (("dept", "hr"), ("lang", "en"))
    assert document.attributes == Attributes(mimetype="text/new", pagerank=90)
    assert document.seen_feed_id == 1


def test_fetch_of_an_unchanged_document_keeps_its_content() -> None:
    fetched = do(states()["named"], put(), FETCH).state

    document = do(fetched, put(None), FETCH).state.live

    assert document is not None
    assert document.content == "new"


def test_fetch_of_a_deleted_url_makes_a_document_of_the_crawler() -> None:
    deleted = do(states()["own"], DELETE, FEED).state

    document = do(deleted, put(), FETCH).state.live

    assert document is not None
    assert (document.datasource, document.origin, document.seen_feed_id) == ("crawler", Origin.WEB, None)


def test_fetched_acl_belongs_to_the_source_that_named_the_url() -> None:
    guarded = do(states()["named"], put(acl=AclChange(element=STAFF)), FETCH).state

    assert guarded.acl == StoredAcl(url=URL, acl=STAFF, origin=AclOrigin.ELEMENT, datasource="web", feed_id=None, seen_feed_id=None)
    assert guarded.live is not None
    assert guarded.live.secure
    assert do(guarded, put(), FETCH).state.acl == guarded.acl
    gone = do(guarded, DELETE, FETCH).state
    assert (gone.acl, gone.live) == (None, None)


def test_fetch_without_a_document_leaves_an_acl_alone() -> None:
    only_acl = do(NOTHING, PutAcl(place=PLACE, url=URL, acl=STAFF), from_feed(1, "crawler")).state

    assert do(only_acl, DELETE, FETCH).state == only_acl


def test_authmethod_stays_in_force_over_a_fetch() -> None:
    named = do(NOTHING, crawl(attributes=Attributes(authmethod=AuthMethod.NTLM)), from_feed(1, "web")).state

    document = do(named, put(), FETCH).state.live

    assert document is not None
    assert document.secure


# --- runs beside full feeds -----------------------------------------------------------------------------------------------------


def test_run_leaves_a_document_to_the_full_feed_that_named_it() -> None:
    state = do(states()["own"], put(), RUN).state

    assert state.live is not None
    assert (state.live.feed_id, state.live.seen_feed_id) == (None, 1)


def test_run_that_takes_a_document_over_was_named_by_no_feed() -> None:
    state = do(states()["other"], put(), RUN).state

    assert state.live is not None
    assert state.live.seen_feed_id is None
    assert state.live.state is DocumentState.LIVE
