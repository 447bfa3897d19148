"""The store's documents, events and ACLs; one suite for every database."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedmill.adapters.store.engine import SqlStore
from feedmill.core.urls.digests import digest_of_url
from feedmill.model.access import Acl, AclOrigin, InheritanceType, Scope
from feedmill.model.document import Attachment, Attributes, AuthMethod, BlobRef, Document, DocumentState, EventKind, Origin, Text
from tests.builders.access import deny, make_stored_acl, permit
from tests.builders.documents import make_document, make_event, save
from tests.builders.times import NOW, minutes
from tests.thorough import count_examples

LONG_URL = "http://long.test/" + "x" * 8000
RICH = make_document(
    "http://a.test/😀?q=ü",
    origin=Origin.WEB,
    version=2**40,
    feed_id=2**40,
    seen_feed_id=2**41,
    attributes=Attributes(
        display_url="http://show.test/",
        mimetype="text/html",
        last_modified=datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        lock=True,
        authmethod=AuthMethod.NTLM,
        server_secures=False,
        pagerank=68,
        feedrank=1,
        scoring="web",
        crawl_immediately=True,
        crawl_once=True,
        attachments=(Attachment(start=2, size_bytes=2**40, mimetype="text/html", name="b 😀"), Attachment(start=2**41, size_bytes=0)),
    ),
    metadata=(("Name", "value"), ("name", "\0 😀 \ud800"), ("Name", "value")),
    secure=True,
    content=BlobRef("p/x/1/2"),
    content_bytes=2**40,
    charset="iso-8859-1",
    text=Text(
        source=BlobRef("p/x/1/2"),
        blob=BlobRef("f/y/3"),
        title="A \0 title 😀",
        mimetype="text/html",
        language="de",
        metadata=(("a", "b"),),
        robots=frozenset({"noindex", "nofollow"}),
        reason="cut",
    ),
    events=3,
)

TEXT = st.text(st.characters(), max_size=20)


def live(store: SqlStore, **given: int | str | None) -> list[str]:
    with store.reading() as unit:
        return [document.url for document in unit.documents.scan.list_live(after=0, limit=100, **given)]  # type: ignore[arg-type]


# --- documents ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("document", [RICH, make_document(LONG_URL), make_document("http://a.test/", text=Text(source=BlobRef("x")))])
def test_save_many_with_any_document_returns_it(store: SqlStore, document: Document) -> None:
    ids = save(store, document)
    saved = replace(document, id=ids[document.url])
    with store.reading() as unit:
        assert unit.documents.reader.find_many([document.url, "http://none.test/"]) == {document.url: saved}
        assert unit.documents.reader.find_by_id([saved.id or 0, 999]) == {saved.id: saved}


def test_find_urls_by_digest_finds_what_begins_so(store: SqlStore) -> None:
    save(store, make_document("http://a.test/"), make_document("http://b.test/"))
    with store.reading() as unit:
        assert unit.documents.reader.find_urls_by_digest(digest_of_url("http://a.test/")[:9]) == ["http://a.test/"]
        assert unit.documents.reader.find_urls_by_digest(digest_of_url("http://none.test/")[:9]) == []
        assert len(unit.documents.reader.find_urls_by_digest(b"")) == 2


def test_find_class_knows_the_classes_of_live_documents_alone(store: SqlStore) -> None:
    gone = make_document("http://gone.test/", state=DocumentState.GONE)
    guarded = replace(make_document("http://guarded.test/"), secure=True, access_class=7)
    save(store, make_document("http://open.test/"), gone, guarded)
    with store.reading() as unit:
        find = unit.documents.reader.find_class
        assert [find(f"http://{name}.test/") for name in ("open", "gone", "guarded")] == [0, None, 7]
        assert [find(f"http://none.test/{number}") for number in range(40)] == [None] * 40


def test_save_many_with_known_url_replaces_all_but_its_id(store: SqlStore) -> None:
    first = save(store, make_document("http://a/"), make_document("http://b/"))
    again = replace(RICH, url="http://a/")
    assert save(store, again) == {"http://a/": first["http://a/"]}
    assert save(store, replace(again, id=first["http://a/"], version=9)) == {"http://a/": first["http://a/"]}
    with store.reading() as unit:
        assert unit.documents.reader.find_many(["http://a/"])["http://a/"] == replace(again, id=first["http://a/"], version=9)
        assert unit.documents.scan.count_live() == 2


def test_save_many_with_same_url_twice_keeps_the_last(store: SqlStore) -> None:
    ids = save(store, make_document("http://a/"), make_document("http://a/", version=2))
    with store.reading() as unit:
        assert unit.documents.reader.find_by_id([ids["http://a/"]])[ids["http://a/"]].version == 2


def test_save_many_with_urls_alike_keeps_them_apart(store: SqlStore) -> None:
    urls = [
        LONG_URL + "a",
        LONG_URL + "b",
        "http://a/",
        "http://A/",
        "http://a",
        "http://a/ ",
        "http://a/%20",
        "http://\u00e9/",
        "http://e\u0301/",
    ]
    assert len(set(save(store, *[make_document(url) for url in urls]).values())) == len(urls)
    with store.reading() as unit:
        assert set(unit.documents.reader.find_many(urls)) == set(urls)


def test_documents_with_thousands_at_once_are_saved_and_found(store: SqlStore) -> None:
    urls = [f"http://a.test/{number}" for number in range(1200)]
    ids = save(store, *[make_document(url) for url in urls])
    with store.reading() as unit:
        assert len(unit.documents.reader.find_many(urls)) == len(unit.documents.reader.find_by_id(list(ids.values()))) == 1200
        assert unit.documents.reader.find_many([]) == {}
        assert unit.documents.reader.find_by_id([]) == {}
    assert save(store) == {}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=count_examples(25))
@given(metadata=st.lists(st.tuples(TEXT, TEXT), max_size=4), title=st.none() | TEXT)
def test_save_many_with_any_text_in_json_returns_it(store: SqlStore, metadata: list[tuple[str, str]], title: str | None) -> None:
    document = make_document("http://a/", metadata=tuple(metadata), text=Text(source=BlobRef("x"), title=title, metadata=tuple(metadata)))
    ids = save(store, document)
    with store.reading() as unit:
        assert unit.documents.reader.find_many(["http://a/"])["http://a/"] == replace(document, id=ids["http://a/"])


def test_save_texts_with_changed_content_keeps_the_text_out(store: SqlStore) -> None:
    urls = ["http://a/", "http://b/", "http://c/"]
    ids = save(store, *[make_document(url, content=BlobRef(url)) for url in urls[:2]], make_document(urls[2]))
    with store.writing() as unit:
        unit.documents.writer.save_texts([], at=NOW)
        unit.documents.writer.save_texts(
            [
                (ids["http://a/"], Text(source=BlobRef("http://a/"), title="😀 \0")),
                (ids["http://b/"], Text(source=BlobRef("older"))),
                (ids["http://c/"], Text(source=BlobRef("older"))),
            ],
            at=NOW,
        )
    with store.reading() as unit:
        found = unit.documents.reader.find_many(urls)
    assert [found[url].text for url in urls] == [Text(source=BlobRef("http://a/"), title="😀 \0"), None, None]


def test_list_live_with_bounds_lists_those_by_id(store: SqlStore) -> None:
    save(
        store,
        make_document("http://1/", datasource="a", seen_feed_id=7),
        make_document("http://2/", datasource="a", seen_feed_id=8),
        make_document("http://3/", datasource="b", seen_feed_id=8),
        make_document("http://4/", datasource="a", state=DocumentState.GONE),
    )
    assert live(store) == ["http://1/", "http://2/", "http://3/"]
    assert live(store, datasource="a") == ["http://1/", "http://2/"]
    assert live(store, unseen_by=8) == ["http://1/"]
    assert live(store, datasource="a", unseen_by=7) == ["http://2/"]
    with store.reading() as unit:
        first = unit.documents.scan.list_live(after=0, limit=1)
        rest = unit.documents.scan.list_live(after=first[0].id or 0, limit=1)
        assert [document.url for document in first + rest] == ["http://1/", "http://2/"]
        assert unit.documents.scan.count_live() == 3


def test_list_for_eviction_with_all_reasons_orders_by_lock_then_rank_then_age(store: SqlStore) -> None:
    save(
        store,
        make_document("http://locked/", attributes=Attributes(lock=True, pagerank=68)),
        make_document("http://new/", updated_at=NOW + minutes(1)),
        make_document("http://old/", updated_at=NOW - minutes(1)),
        make_document("http://high/", attributes=Attributes(pagerank=97), updated_at=NOW - minutes(9)),
        make_document("http://low/", attributes=Attributes(pagerank=95), updated_at=NOW + minutes(9)),
        make_document("http://gone/", state=DocumentState.GONE, attributes=Attributes(pagerank=68)),
    )
    with store.reading() as unit:
        order = [document.url for document in unit.documents.scan.list_for_eviction(10)]
        assert order == ["http://low/", "http://old/", "http://new/", "http://high/", "http://locked/"]
        assert [document.url for document in unit.documents.scan.list_for_eviction(2)] == order[:2]


# --- events ---------------------------------------------------------------------------------------------------------------------


def test_add_events_with_more_than_twenty_keeps_the_last(store: SqlStore) -> None:
    with store.writing() as unit:
        unit.documents.writer.add_events([])
        for number in range(27):
            unit.documents.writer.add_events(
                [(5, number, make_event(f"number {number}", line=number)), (6, number % 3, make_event("other"))]
            )
    with store.reading() as unit:
        assert [event.detail for event in unit.documents.reader.list_events(5)] == [f"number {number}" for number in range(7, 27)]
        assert len(unit.documents.reader.list_events(6)) == 3
        assert unit.documents.reader.list_events(7) == []


def test_add_events_with_full_event_returns_it(store: SqlStore) -> None:
    event = make_event("why 😀", kind=EventKind.SWEPT, at=NOW, feed_id=2**40, line=2**40)
    odd = make_event("\0 and \ud800")
    with store.writing() as unit:
        unit.documents.writer.add_events([(1, 2**31 - 1, event), (2, 0, odd)])
    with store.reading() as unit:
        assert unit.documents.reader.list_events(1) == [event]
        assert unit.documents.reader.list_events(2) == [replace(odd, detail="␀ and ?")]


def test_forget_old_with_old_documents_removes_them_and_old_events(store: SqlStore) -> None:
    gone = {"state": DocumentState.GONE, "updated_at": NOW - minutes(10)}
    ids = save(
        store,
        *[make_document(f"http://gone/{number}", **gone) for number in range(3)],
        make_document("http://lately/", state=DocumentState.GONE),
        make_document("http://live/", updated_at=NOW - minutes(10)),
    )
    with store.writing() as unit:
        old, new = make_event("old", at=NOW - minutes(9)), make_event("new")
        unit.documents.writer.add_events(
            [(document_id, number, event) for document_id in ids.values() for number, event in enumerate([old, new])]
        )
        reached = unit.documents.upkeep.forget_old(NOW - minutes(5), after=0, limit=2)
        assert reached == sorted(ids.values())[1]
        assert unit.documents.upkeep.forget_old(NOW - minutes(5), after=reached, limit=100) == max(ids.values())
        assert unit.documents.upkeep.forget_old(NOW - minutes(5), after=max(ids.values()), limit=100) is None
    with store.reading() as unit:
        assert set(unit.documents.reader.find_many(list(ids))) == {"http://lately/", "http://live/"}
        assert [event.detail for event in unit.documents.reader.list_events(ids["http://live/"])] == ["new"]
        assert unit.documents.reader.list_events(ids["http://gone/0"]) == []


# --- acls -----------------------------------------------------------------------------------------------------------------------


def test_acls_with_every_field_are_stored_and_replaced_and_removed(store: SqlStore) -> None:
    entries = (
        permit("D\\jö 😀 \0", namespace="N", fold=True),
        deny("g", scope=Scope.GROUP, unqualified=True),
    )
    acl = Acl(entries=entries, inheritance_type=InheritanceType.AND_BOTH_PERMIT, inherit_from=LONG_URL)
    saved = make_stored_acl(LONG_URL + "/a", acl=acl, origin=AclOrigin.METADATA, datasource="x", feed_id=2**40, seen_feed_id=2**41)
    plain = make_stored_acl("http://plain/")
    with store.writing() as unit:
        unit.access.acls.save_many([], at=NOW)
        unit.access.acls.save_many([saved, plain], at=NOW)
    with store.reading() as unit:
        assert unit.access.acls.find_many([saved.url, plain.url, "http://none/"]) == {saved.url: saved, plain.url: plain}
    replaced = make_stored_acl(saved.url)
    with store.writing() as unit:
        unit.access.acls.save_many([replaced], at=NOW)
        unit.access.acls.remove_many([plain.url, "http://none/"], at=NOW)
        unit.access.acls.remove_many([], at=NOW)
        assert unit.access.acls.find_many([saved.url, plain.url]) == {saved.url: replaced}


def test_acl_with_parent_that_no_database_takes_keeps_a_parent_that_is_none(store: SqlStore) -> None:
    with store.writing() as unit:
        unit.access.acls.save_many([make_stored_acl("http://a/", acl=Acl(inherit_from="http://b/\0"))], at=NOW)
        assert unit.access.acls.find_many(["http://a/"])["http://a/"].acl.inherit_from == "http://b/␀"


def test_list_of_source_with_bounds_lists_those(store: SqlStore) -> None:
    with store.writing() as unit:
        unit.access.acls.save_many([make_stored_acl(f"http://a/{number}", seen_feed_id=number % 2) for number in range(6)], at=NOW)
        unit.access.acls.save_many([make_stored_acl("http://b/", datasource="other")], at=NOW)
        assert {acl.url for acl in unit.access.acls.list_of_source("src", limit=10)} == {f"http://a/{number}" for number in range(6)}
        assert {acl.url for acl in unit.access.acls.list_of_source("src", limit=10, unseen_by=1)} == {
            "http://a/0",
            "http://a/2",
            "http://a/4",
        }
        assert len(unit.access.acls.list_of_source("src", limit=2)) == 2
        assert unit.access.acls.list_of_source("none", limit=2) == []


def test_list_changed_has_deleted_documents_and_moves_on_in_steps(store: SqlStore) -> None:
    states = {"1": NOW + minutes(0), "2": NOW + minutes(2), "3": NOW + minutes(0), "4": NOW + minutes(3), "5": NOW + minutes(0)}
    documents = [make_document(f"http://a.test/{name}", updated_at=at) for name, at in states.items()]
    ids = save(store, *documents[:3], replace(documents[3], state=DocumentState.GONE, datasource="other"), documents[4])
    with store.reading() as unit:
        scan = unit.documents.scan
        found = scan.list_changed(NOW + minutes(2), after=0, limit=9, within=9)
        assert [(one.url[-1], one.state) for one in found.documents] == [("2", DocumentState.LIVE), ("4", DocumentState.GONE)]
        assert found.reached == ids["http://a.test/5"]
        assert scan.list_changed(NOW + minutes(2), after=ids["http://a.test/5"], limit=9, within=9).reached is None
        assert scan.list_changed(NOW + minutes(2), after=0, limit=1, within=9).reached == ids["http://a.test/2"]
        assert scan.list_changed(NOW + minutes(2), after=0, limit=9, within=1).reached == ids["http://a.test/1"]
        assert [one.url[-1] for one in scan.list_changed(NOW + minutes(0), after=0, limit=9, within=9, datasource="other").documents] == [
            "4"
        ]
