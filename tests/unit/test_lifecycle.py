from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.access.classes import class_of, is_secure
from feedmill.core.documents.lifecycle import apply, gone
from feedmill.core.documents.urlstate import ApplyContext, Outcome, ReceiptCount, Rules, UrlState
from feedmill.model.access import AccessClass, Acl, AclOrigin, Scope
from feedmill.model.change import (
    AclChange,
    Change,
    Delete,
    InvalidRecord,
    Note,
    PutAcl,
    PutDocument,
    RequestCrawl,
    SourcePosition,
    UpdateDocument,
)
from feedmill.model.document import Attributes, AuthMethod, BlobRef, DocumentState, EventKind, Metadata, Origin, Text
from feedmill.model.feed import LogLevel
from feedmill.model.provenance import from_feed, from_fetch
from tests.builders.access import STAFF, acl, permit
from tests.builders.changes import OPEN, make_content

URL = "http://docs.test/a"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CLOSED = replace(OPEN, refusal=lambda url: f"'{url}' matches the do-not-follow pattern 'docs.test/'")
BOARD = acl(permit("board", scope=Scope.GROUP))
EMPTY = UrlState(url=URL)
PLACE = SourcePosition(record=1, line=7)


def by(datasource: str = "hr", feed_id: int = 1, rules: Rules = OPEN) -> ApplyContext:
    return ApplyContext(provenance=from_feed(feed_id, datasource), now=NOW + timedelta(minutes=feed_id), rules=rules)


def put(
    *,
    metadata: Metadata | None = None,
    content: str | None = None,
    acl: AclChange | None = None,
    attributes: Attributes | None = None,
    whole: bool = False,
) -> PutDocument:
    return PutDocument(
        place=PLACE,
        url=URL,
        attributes=attributes or Attributes(),
        metadata=metadata,
        content=None if content is None else make_content(content),
        acl=acl or AclChange(),
        whole=whole,
    )


def crawl(metadata: Metadata | None = None, acl: AclChange | None = None) -> RequestCrawl:
    return RequestCrawl(place=PLACE, url=URL, attributes=Attributes(), metadata=metadata, acl=acl or AclChange())


def put_acl(acl: Acl | None) -> PutAcl:
    return PutAcl(place=SourcePosition(record=0, line=3), url=URL, acl=acl)


def faulty(record: int = 1) -> InvalidRecord:
    return InvalidRecord(place=SourcePosition(record=record, line=9), url=URL, reason="no host")


DELETE = Delete(place=PLACE, url=URL)


def do(state: UrlState, change: Change, context: ApplyContext) -> Outcome:
    """Applies a change; a content is stored under its own text."""
    ref = None
    if isinstance(change, PutDocument) and change.content is not None:
        ref = BlobRef(change.content.stream.read().decode())
        change.content.stream.seek(0)
    return apply(change, state, context, ref)


def after(*steps: tuple[Change, ApplyContext]) -> UrlState:
    state = EMPTY
    for change, context in steps:
        state = do(state, change, context).state
    return state


def levels(outcome: Outcome) -> list[LogLevel]:
    return [entry.level for entry in outcome.log]


FED = after((put(metadata=(("k", "old"),), content="body"), by()))
NAMED = after((crawl(metadata=(("k", "web"),)), by("web")))


# --- putting --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metadata", "content", "whole", "next_metadata", "next_content"),
    [
        ((("k", "new"),), None, False, (("k", "new"),), "body"),
        (None, "other", False, (("k", "old"),), "other"),
        ((("n", "1"),), "other", False, (("n", "1"),), "other"),
        (None, None, False, (("k", "old"),), "body"),
        ((), None, False, (), "body"),
        ((("k", "new"),), "other", True, (("k", "new"),), "other"),
        (None, "other", True, (), "other"),
        (None, None, True, (), None),
    ],
)
def test_put_on_fed_document_keeps_what_an_incremental_record_leaves_out(
    metadata: Metadata | None, content: str | None, whole: bool, next_metadata: Metadata, next_content: str | None
) -> None:
    outcome = do(FED, put(metadata=metadata, content=content, whole=whole), by(feed_id=2))

    document = outcome.state.live
    assert document is not None
    assert (document.metadata, document.content) == (next_metadata, next_content)
    assert document.content_bytes == len(next_content or "")
    assert (document.version, document.feed_id, document.seen_feed_id) == (2, 2, 2)
    assert outcome.counted is ReceiptCount.INCLUDED


@pytest.mark.parametrize(("metadata", "remaining"), [((("k", "v"),), (("k", "v"),)), (None, ())])
def test_put_without_content_on_unknown_url_makes_document_without_content(metadata: Metadata | None, remaining: Metadata) -> None:
    outcome = do(EMPTY, put(metadata=metadata), by())

    document = outcome.state.live
    assert document is not None
    assert (document.metadata, document.content, document.origin, document.datasource) == (remaining, None, Origin.CONTENT, "hr")
    assert not document.awaits_extraction


@pytest.mark.parametrize(
    ("metadata", "content", "whole"), [((("k", "v"),), None, False), (None, "other", False), (None, None, False), (None, "other", True)]
)
def test_put_by_another_source_makes_it_the_owner(metadata: Metadata | None, content: str | None, whole: bool) -> None:
    outcome = do(FED, put(metadata=metadata, content=content, whole=whole), by("wiki", 2))

    assert outcome.state.live is not None
    assert outcome.state.live.datasource == "wiki"
    assert [event.kind for event in outcome.events] == [EventKind.TAKEN_OVER]


@pytest.mark.parametrize("change", ["put", "name"])
@pytest.mark.parametrize("origin", ["content", "web"])
def test_takeover_that_ends_the_protection_retains_nothing_of_the_earlier_owner(change: str, origin: str) -> None:
    rules = replace(OPEN, secure_sources=frozenset({"hr"}))
    first = put(metadata=(("salary", "100"),), content="body") if origin == "content" else crawl(metadata=(("salary", "100"),))
    before = after((first, by(rules=rules)))
    outcome = do(before, put(metadata=None) if change == "put" else crawl(metadata=None), by("wiki", 2, rules))

    assert outcome.state.live is not None
    if (change, origin) == ("name", "content"):
        assert outcome.state == before
        return
    assert (outcome.state.live.datasource, outcome.state.live.secure) == ("wiki", False)
    assert (outcome.state.live.content, outcome.state.live.metadata) == (None, ())


def test_takeover_that_protects_too_retains_the_content() -> None:
    rules = replace(OPEN, secure_sources=frozenset({"hr", "wiki"}))
    before = after((put(metadata=(("k", "v"),), content="body"), by(rules=rules)))
    outcome = do(before, put(metadata=None), by("wiki", 2, rules))
    assert before.live is not None
    assert outcome.state.live is not None
    assert (outcome.state.live.content, outcome.state.live.metadata) == (before.live.content, before.live.metadata)


def test_update_of_another_source_is_an_error_and_opens_nothing() -> None:
    rules = replace(OPEN, secure_sources=frozenset({"hr"}))
    before = after((put(metadata=(("k", "old"),), content="body"), by(rules=rules)))
    update = UpdateDocument(place=PLACE, url=URL, attributes=Attributes(title="t"), stated=frozenset({"title"}))

    outcome = do(before, update, by("wiki", 2, rules))

    assert outcome.counted is ReceiptCount.ERROR
    assert [entry.reason for entry in outcome.log] == ["data source hr owns this document, so that it is not updated"]
    assert outcome.state == before
    assert before.live is not None
    assert before.live.secure


def test_put_of_metadata_alone_keeps_the_extracted_text() -> None:
    assert FED.document is not None
    text = Text(source=BlobRef("body"), title="t")
    extracted = replace(FED, document=replace(FED.document, text=text))

    remaining = do(extracted, put(metadata=(("k", "new"),)), by(feed_id=2)).state.live
    fresh = do(extracted, put(content="other"), by(feed_id=2)).state.live

    assert remaining is not None
    assert remaining.text == text
    assert fresh is not None
    assert fresh.awaits_extraction


def test_put_of_metadata_alone_changes_only_the_attributes_that_it_sets() -> None:
    dated = Attributes(display_url="http://shown.test/", mimetype="application/pdf", last_modified=NOW, lock=True, pagerank=98)
    before = after((put(content="body", attributes=dated), by()))

    remaining = do(before, put(metadata=(("k", "v"),), attributes=Attributes(mimetype="text/plain", pagerank=70)), by(feed_id=2)).state.live
    stated = do(before, put(content="other", attributes=Attributes(mimetype="text/plain")), by(feed_id=2)).state.live

    assert remaining is not None
    assert remaining.attributes == replace(dated, pagerank=70)
    assert stated is not None
    assert stated.attributes == Attributes(mimetype="text/plain")


def test_put_without_authmethod_keeps_the_one_last_given_for_the_url() -> None:
    before = after((put(content="body", attributes=Attributes(authmethod=AuthMethod.NTLM)), by()))
    deleted = do(before, DELETE, by(feed_id=2)).state

    changes: list[Change] = [put(content="x"), put(content="x", whole=True), put(metadata=()), crawl()]
    for state, change in product((before, deleted), changes):
        document = do(state, change, by("other", 3)).state.live
        if document is not None and document.feed_id == 3:
            assert document.attributes.authmethod is AuthMethod.NTLM
            assert document.secure

    opened = do(before, put(content="x", attributes=Attributes(authmethod=AuthMethod.NONE)), by(feed_id=3))
    assert opened.state.live is not None
    assert not opened.state.live.secure
    assert levels(opened) == [LogLevel.WARNING]


# --- naming for the crawler -----------------------------------------------------------------------------------------------------


def test_what_the_server_says_of_its_security_stays_until_it_or_a_content_feed_says_otherwise() -> None:
    fetching = ApplyContext(provenance=from_fetch("crawler"), now=NOW, rules=replace(OPEN, make_public=lambda _url: True))
    before = after((put(content="body", attributes=Attributes(server_secures=True)), fetching))
    for change, context in ((put(content="more"), fetching), (crawl(), by(rules=fetching.rules)), (put(content="fed"), by())):
        document = do(before, change, context).state.document
        assert document is not None
        assert document.secure
    for change, context in (
        (put(content="more", attributes=Attributes(server_secures=False)), fetching),
        (put(content="fed", attributes=Attributes(authmethod=AuthMethod.NONE)), by()),
    ):
        document = do(before, change, context).state.document
        assert document is not None
        assert not document.secure


def test_crawl_request_on_unknown_url_makes_document_without_content() -> None:
    document = NAMED.live

    assert document is not None
    assert (document.origin, document.datasource, document.metadata, document.content) == (Origin.WEB, "web", (("k", "web"),), None)


def test_crawl_request_on_fed_document_changes_nothing_but_the_log() -> None:
    outcome = do(FED, crawl(metadata=(("k", "web"),), acl=AclChange(element=STAFF)), by("web", 2))

    assert outcome.state == FED
    assert outcome.counted is ReceiptCount.INCLUDED
    assert levels(outcome) == [LogLevel.NOTICE]


def test_crawl_request_counts_once_the_content_feed_has_deleted_the_url() -> None:
    state = after((put(content="body"), by()), (DELETE, by(feed_id=2)), (crawl(), by("web", 3)))

    assert state.live is not None
    assert (state.live.origin, state.live.datasource, state.live.version) == (Origin.WEB, "web", 3)


@pytest.mark.parametrize("whole", [True, False])
def test_put_on_named_url_takes_it_over_whole(whole: bool) -> None:
    state = do(NAMED, put(content="body", whole=whole), by(feed_id=2)).state

    assert state.live is not None
    assert (state.live.origin, state.live.datasource, state.live.metadata) == (Origin.CONTENT, "hr", ())
    assert do(state, DELETE, by(feed_id=3)).state.live is None


@pytest.mark.parametrize(("metadata", "remaining"), [(None, (("k", "web"),)), ((("k", "new"),), (("k", "new"),)), ((), ())])
def test_crawl_request_repeated_replaces_metadata_only_when_it_has_some(metadata: Metadata | None, remaining: Metadata) -> None:
    state = do(NAMED, crawl(metadata=metadata), by("intranet", 2)).state

    assert state.live is not None
    assert (state.live.metadata, state.live.datasource) == (remaining, "intranet")


# --- deleting -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "datasource", "is_gone"),
    [(FED, "hr", True), (FED, "wiki", False), (FED, "web", False), (NAMED, "web", True), (NAMED, "hr", True), (EMPTY, "hr", True)],
)
def test_delete_works_for_the_owner_and_where_no_content_feed_owns(state: UrlState, datasource: str, is_gone: bool) -> None:
    outcome = do(state, DELETE, by(datasource, 2))

    assert (outcome.state.live is None) is is_gone
    assert outcome.counted is ReceiptCount.INCLUDED
    assert LogLevel.ERROR not in levels(outcome)


def test_delete_keeps_nothing_of_the_document_but_its_history() -> None:
    document = do(FED, DELETE, by(feed_id=2)).state.document

    assert document is not None
    assert (document.state, document.metadata, document.content, document.content_bytes) == (DocumentState.GONE, (), None, 0)
    assert document.version == 2


@pytest.mark.parametrize(("writer", "deleter", "remains"), [("hr", "hr", False), ("wiki", "hr", True), ("hr", "wiki", True)])
def test_delete_of_a_url_with_an_acl_alone_works_for_its_writer(writer: str, deleter: str, remains: bool) -> None:
    outcome = do(after((put_acl(STAFF), by(writer))), DELETE, by(deleter, 2))

    assert (outcome.state.acl is not None) is remains
    assert outcome.counted is ReceiptCount.INCLUDED


def test_delete_takes_along_the_acl_of_the_same_source_only() -> None:
    own = after((put(content="body", acl=AclChange(element=STAFF)), by()))
    foreign = after((put(content="body"), by()), (put_acl(STAFF), by("policy", 2)))

    assert do(own, DELETE, by(feed_id=3)).state.acl is None
    remaining = do(foreign, DELETE, by(feed_id=3)).state
    assert remaining.live is None
    assert remaining.acl is not None


def test_delete_that_is_not_the_sources_to_make_names_its_acl() -> None:
    before = after((put(content="body"), by("wiki")), (put_acl(STAFF), by("hr", 2)))

    outcome = do(before, DELETE, by("hr", 3))

    assert outcome.state.acl is not None
    assert outcome.state.acl.seen_feed_id == 3


# --- patterns and errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [put(content="x"), put(metadata=()), put(content="x", whole=True), crawl()])
@pytest.mark.parametrize("state", [FED, NAMED, EMPTY])
def test_refused_url_is_an_error_and_its_document_goes(state: UrlState, change: PutDocument | RequestCrawl) -> None:
    outcome = do(state, change, by("other", 2, CLOSED))

    assert outcome.state.live is None
    assert outcome.counted is ReceiptCount.ERROR
    assert [event.kind for event in outcome.events] == [EventKind.BLOCKED]
    assert "'docs.test/'" in outcome.events[0].detail
    assert [(entry.level, entry.line, entry.url) for entry in outcome.log] == [(LogLevel.ERROR, 7, URL)]


def test_refused_url_can_be_deleted_and_given_an_acl() -> None:
    assert do(FED, DELETE, by(feed_id=2, rules=CLOSED)).counted is ReceiptCount.INCLUDED
    assert do(EMPTY, put_acl(STAFF), by(rules=CLOSED)).state.acl is not None


def test_refused_url_keeps_an_acl_without_document_and_names_it() -> None:
    state = do(after((put_acl(STAFF), by())), put(content="x"), by(feed_id=2, rules=CLOSED)).state

    assert state.acl is not None
    assert state.acl.seen_feed_id == 2


def test_faulty_record_keeps_what_its_url_had_and_names_it() -> None:
    before = after((put(content="body", acl=AclChange(element=STAFF)), by()))

    outcome = do(before, faulty(), by(feed_id=2))

    assert before.document is not None
    assert before.acl is not None
    assert outcome.state.document == replace(before.document, seen_feed_id=2)
    assert outcome.state.acl == replace(before.acl, seen_feed_id=2)
    assert outcome.counted is ReceiptCount.ERROR


def test_faulty_record_of_another_source_names_nothing() -> None:
    assert do(FED, faulty(), by("wiki", 2)).state == FED


def test_faulty_record_of_unknown_url_leaves_a_history_without_document() -> None:
    state = do(EMPTY, faulty(), by()).state

    assert state.live is None
    assert state.document is not None
    assert do(state, put(content="x"), by(feed_id=2)).state.live is not None


def test_faulty_acl_of_a_group_names_the_acl_but_no_document() -> None:
    before = after((put(content="body", acl=AclChange(element=STAFF)), by()))

    outcome = do(before, faulty(record=0), by(feed_id=2))

    assert outcome.counted is ReceiptCount.ERROR
    assert outcome.state.document == before.document
    assert outcome.state.acl is not None
    assert outcome.state.acl.seen_feed_id == 2


def test_faulty_record_without_url_is_counted_and_logged() -> None:
    outcome = apply(replace(faulty(), url=None), UrlState(url=""), by())

    assert outcome.counted is ReceiptCount.ERROR
    assert outcome.log[0].url is None


def test_notes_of_a_change_are_logged_before_what_becomes_of_it() -> None:
    noted = replace(put(content="x"), notes=(Note(level=LogLevel.WARNING, reason="unreadable date"),))

    outcome = do(EMPTY, noted, by(rules=CLOSED))

    assert outcome.log[0].reason == "unreadable date"
    assert levels(outcome) == [LogLevel.WARNING, LogLevel.ERROR]


# --- access ---------------------------------------------------------------------------------------------------------------------

AS_ELEMENT = after((put(content="body", acl=AclChange(element=STAFF)), by()))
AS_METADATA = after((put(content="body", metadata=(), acl=AclChange(legacy=STAFF)), by()))
SOME = (("k", "v"),)


@pytest.mark.parametrize(
    ("before", "metadata", "overwrite", "remains"),
    [
        (AS_METADATA, None, None, True),
        (AS_METADATA, None, True, True),
        (AS_METADATA, SOME, None, False),
        (AS_METADATA, SOME, True, False),
        (AS_METADATA, SOME, False, True),
        (AS_ELEMENT, None, None, True),
        (AS_ELEMENT, None, True, True),
        (AS_ELEMENT, SOME, None, True),
        (AS_ELEMENT, SOME, True, False),
        (AS_ELEMENT, SOME, False, True),
    ],
)
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("content", ["other", None])
def test_acl_without_a_new_one_goes_only_by_metadata(
    before: UrlState, metadata: Metadata | None, overwrite: bool | None, remains: bool, whole: bool, content: str | None
) -> None:
    outcome = do(before, put(content=content, metadata=metadata, acl=AclChange(overwrite=overwrite), whole=whole), by(feed_id=2))

    assert (outcome.state.acl is not None) is remains
    assert outcome.state.live is not None
    assert outcome.state.live.secure is remains
    assert levels(outcome) == ([] if remains else [LogLevel.NOTICE, LogLevel.WARNING])
    if outcome.state.acl is not None:
        assert outcome.state.acl.seen_feed_id == 2


@pytest.mark.parametrize("before", [EMPTY, FED, AS_ELEMENT, AS_METADATA])
@pytest.mark.parametrize("overwrite", [True, False, None])
def test_acl_that_is_given_replaces_whatever_there_was(before: UrlState, overwrite: bool | None) -> None:
    element = do(before, put(metadata=SOME, acl=AclChange(element=BOARD, legacy=STAFF, overwrite=overwrite)), by("wiki", 2)).state
    legacy = do(before, put(metadata=SOME, acl=AclChange(legacy=BOARD, overwrite=overwrite)), by("wiki", 2)).state

    for state, origin in ((element, AclOrigin.ELEMENT), (legacy, AclOrigin.METADATA)):
        assert state.acl is not None
        assert (state.acl.acl, state.acl.origin, state.acl.datasource) == (BOARD, origin, "wiki")
        assert state.live is not None
        assert state.live.secure


def test_acl_of_a_group_changes_neither_owner_nor_order_of_updates() -> None:
    outcome = do(FED, put_acl(STAFF), by("policy", 2))

    assert outcome.counted is ReceiptCount.ACL
    assert outcome.state.live is not None
    assert FED.live is not None
    assert (outcome.state.live.datasource, outcome.state.live.updated_at) == ("hr", FED.live.updated_at)
    assert outcome.state.live.seen_feed_id == 1
    assert (outcome.state.live.secure, outcome.state.live.version) == (True, 2)
    assert outcome.state.acl is not None
    assert outcome.state.acl.datasource == "policy"


def test_acl_of_a_group_stands_for_a_url_without_document() -> None:
    outcome = do(EMPTY, put_acl(STAFF), by())

    assert outcome.state.document is None
    assert outcome.state.acl is not None
    assert outcome.events == ()


@pytest.mark.parametrize(("remover", "remains"), [("policy", False), ("hr", True)])
def test_acl_removal_works_for_its_writer_and_warns_of_a_public_document(remover: str, remains: bool) -> None:
    before = after((put(content="body"), by()), (put_acl(STAFF), by("policy", 2)))

    outcome = do(before, put_acl(None), by(remover, 3))

    assert (outcome.state.acl is not None) is remains
    assert levels(outcome) == [LogLevel.NOTICE if remains else LogLevel.WARNING]


def test_acl_removed_where_another_rule_protects_warns_of_nothing() -> None:
    rules = replace(OPEN, secure_sources=frozenset({"hr"}))

    outcome = do(AS_METADATA, put(metadata=SOME), by(feed_id=2, rules=rules))

    assert outcome.state.acl is None
    assert levels(outcome) == [LogLevel.NOTICE]


def test_acl_without_document_lost_to_metadata_warns_of_the_public_document() -> None:
    before = after((put_acl(STAFF), by()))

    outcome = do(before, put(metadata=SOME, acl=AclChange(overwrite=True)), by(feed_id=2))

    assert LogLevel.WARNING in levels(outcome)


def test_acl_left_by_a_deleted_document_protects_the_next_one() -> None:
    before = after((put(content="body"), by()), (put_acl(STAFF), by("policy", 2)), (DELETE, by(feed_id=3)))

    state = do(before, put(content="body"), by(feed_id=4)).state

    assert state.live is not None
    assert state.live.secure
    assert state.acl == before.acl
    assert state.acl is not None


@pytest.mark.parametrize(
    ("has_acl", "source_secure", "make_public", "authmethod", "secure"),
    [
        (True, False, True, AuthMethod.NONE, True),
        (True, False, None, None, True),
        (False, True, True, None, True),
        (False, True, None, AuthMethod.NONE, True),
        (False, False, False, None, True),
        (False, False, False, AuthMethod.NONE, True),
        (False, False, True, AuthMethod.HTTPBASIC, False),
        (False, False, None, AuthMethod.NEGOTIATE, True),
        (False, False, None, AuthMethod.NONE, False),
        (False, False, None, None, False),
    ],
)
def test_is_secure_takes_the_first_rule_that_says_anything(
    has_acl: bool, source_secure: bool, make_public: bool | None, authmethod: AuthMethod | None, secure: bool
) -> None:
    assert is_secure(has_acl=has_acl, authmethod=authmethod, source_secure=source_secure, make_public=make_public) is secure


@pytest.mark.parametrize("make_public", [True, None])
def test_server_that_says_secure_prevails_over_every_rule_that_opens(make_public: bool | None) -> None:
    opened = {"has_acl": False, "authmethod": AuthMethod.NONE, "source_secure": False, "make_public": make_public}
    assert is_secure(**opened, server_secures=True)  # type: ignore[arg-type]
    assert not is_secure(**opened, server_secures=False)  # type: ignore[arg-type]


@given(has_acl=st.booleans(), source_secure=st.booleans(), make_public=st.sampled_from([True, False, None]))
def test_is_secure_with_more_protection_never_opens(has_acl: bool, source_secure: bool, make_public: bool | None) -> None:
    for authmethod in (*AuthMethod, None):
        if is_secure(has_acl=has_acl, authmethod=authmethod, source_secure=source_secure, make_public=make_public):
            assert is_secure(has_acl=True, authmethod=authmethod, source_secure=source_secure, make_public=make_public)
            assert is_secure(has_acl=has_acl, authmethod=authmethod, source_secure=True, make_public=make_public)


def test_class_of_secure_document_is_closed() -> None:
    assert FED.document is not None
    assert class_of(FED.document) is AccessClass.PUBLIC
    assert class_of(replace(FED.document, secure=True)) is AccessClass.CLOSED


def test_gone_keeps_what_later_feeds_of_the_url_build_on() -> None:
    assert FED.document is not None
    remaining = gone(FED.document, 5, NOW)

    assert (remaining.url, remaining.events, remaining.attributes, remaining.feed_id) == (
        URL,
        FED.document.events,
        FED.document.attributes,
        5,
    )
