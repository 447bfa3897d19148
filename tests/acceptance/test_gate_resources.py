"""What the feed port returns about feeds, documents and data sources, and its pages."""

import json
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from feedmill.http.feeds.app import dtd_app
from feedmill.model.access import Access, Acl, Entry, Principal, Scope
from feedmill.model.document import Attributes, Document, DocumentState
from feedmill.model.feed import FeedKind, FeedState, LogEntry, LogLevel, Phase
from feedmill.model.topic import Topic
from feedmill.ports import IndexTask, Lane, Stage
from tests.acceptance.gateserver import DTD, Gate, body_of, header, run_gate, serve, status
from tests.builders.access import make_stored_acl
from tests.builders.documents import make_document, save
from tests.builders.requests import make_multipart
from tests.waiting import PATIENCE_SECONDS, wait_until

TYPE = "multipart/form-data; boundary=<<"
URL = "http://example.com/a?b=c d"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def push(gate: Gate, datasource: str, data: bytes = b"<gsafeed/>") -> str:
    answer = gate.post(make_multipart(("datasource", datasource.encode()), ("feedtype", b"full"), ("data", data)), TYPE)
    return header(answer, "x-feedmill-feed") or ""


def ask(gate: Gate, path: str, expected: int = 200, method: str = "GET") -> Any:
    answer = gate.get(path, method=method)
    assert status(answer) == expected
    assert header(answer, "content-type") == ("application/json" if expected < 400 else "application/problem+json")
    return json.loads(body_of(answer))


def test_lists_are_walked_by_the_links_to_their_next_pages(tmp_path: Path) -> None:
    with run_gate(tmp_path) as gate:
        pushed = [push(gate, name) for name in ("hr", "web2", "hr", "it", "hr")]
        for path, expected in (
            ("/api/v1/feeds?limit=2", pushed[::-1]),
            ("/api/v1/feeds?limit=1&datasource=hr", [pushed[4], pushed[2], pushed[0]]),
            ("/api/v1/datasources?limit=2&cursor=*", ["hr", "it", "web2"]),
        ):
            found = []
            while path:
                answer = gate.get(path)
                found += [each.get("id") or each["name"] for each in json.loads(body_of(answer))]
                path = (header(answer, "link") or "").removesuffix('>; rel="next"').removeprefix("<")
            assert found == expected
        for path in ("/api/v1/feeds?cursor=x", "/api/v1/datasources?cursor=Nw", "/api/v1/feeds?cursor=ImEi"):
            assert "parameter cursor" in ask(gate, path, expected=400)["detail"]


def fed_document(**changes: Any) -> Document:
    fed = {"datasource": "hr", "attributes": Attributes(last_modified=NOW, lock=True, pagerank=90)}
    return make_document(URL, **(fed | {"metadata": (("Author", "b"), ("x", "1"), ("Author", "a"))} | changes))


def test_receipt_of_a_feed_shows_counts_and_log(tmp_path: Path) -> None:
    with run_gate(tmp_path) as gate:
        feed_id = push(gate, "hr")
        with gate.store.writing() as unit:
            feed = replace(
                unit.feeds.reader.get(int(feed_id)),
                state=FeedState.COMPLETED_WITH_ERRORS,
                phase=Phase.DONE,
                records=2,
                included=1,
                errors=1,
            )
            entry = LogEntry(level=LogLevel.ERROR, reason="no url", record=2, line=7)
            unit.feeds.queue.save(replace(feed, logged=1, searchable_at=NOW), [entry])
        receipt = ask(gate, f"/api/v1/feeds/{feed_id}")
        assert receipt["id"] == feed_id
        assert (receipt["datasource"], receipt["feedtype"], receipt["state"]) == ("hr", "full", "completed with errors")
        assert (receipt["records"], receipt["included"], receipt["errors"]) == (2, 1, 1)
        assert receipt["searchable_at"] == "2026-01-02T03:04:05Z"
        assert receipt["log"] == [{"record": 2, "line": 7, "url": None, "level": "error", "reason": "no url"}]
        assert datetime.fromisoformat(receipt["received_at"]).tzinfo is not None


def test_list_of_feeds_is_newest_first_and_by_source(tmp_path: Path) -> None:
    with run_gate(tmp_path) as gate:
        ids = [push(gate, name) for name in ("hr", "it", "hr")]
        assert [feed["id"] for feed in ask(gate, "/api/v1/feeds")] == ids[::-1]
        assert [feed["id"] for feed in ask(gate, "/api/v1/feeds?datasource=hr&limit=1")] == [ids[2]]
        assert ask(gate, "/api/v1/feeds?datasource=none") == []


def test_content_of_a_feed_is_sent_as_received(tmp_path: Path) -> None:
    data = b"\xff\xfe<odd/>\x00" * 100_000
    with run_gate(tmp_path) as gate:
        answer = gate.get(f"/api/v1/feeds/{push(gate, 'hr', data)}/content")
        assert body_of(answer) == data
        assert header(answer, "x-content-type-options") == "nosniff"


def test_resent_feed_is_a_new_feed_of_the_same_bytes(tmp_path: Path) -> None:
    with run_gate(tmp_path) as gate:
        first = push(gate, "hr", b"<gsafeed><group/></gsafeed>")
        receipt = ask(gate, f"/api/v1/feeds/{first}/resend", 202, "POST")
        assert (receipt["datasource"], receipt["feedtype"], receipt["state"]) == ("hr", "full", "received")
        assert int(receipt["id"]) > int(first)
        answer = gate.get(f"/api/v1/feeds/{receipt['id']}/content")
        assert body_of(answer) == b"<gsafeed><group/></gsafeed>"
        ask(gate, "/api/v1/feeds/99/resend", 404, "POST")
        ask(gate, f"/api/v1/feeds/{first}/resend?x=1", 400, "POST")


@pytest.mark.parametrize("path", ["feeds/99", "feeds/x", "feeds/99/content", "feeds/" + "9" * 30, "documents?url=http://none/"])
def test_resource_that_is_unknown_answers_404(tmp_path: Path, path: str) -> None:
    with run_gate(tmp_path) as gate:
        assert ask(gate, f"/api/v1/{path}", 404)["code"] == "not_found"


@pytest.mark.parametrize(
    "path", ["feeds?limit=0", "feeds?limit=x", "feeds?limit=1001", "feeds?limit=0000000019", "documents", "documents?url="]
)
def test_resource_with_bad_parameters_answers_400(tmp_path: Path, path: str) -> None:
    with run_gate(tmp_path) as gate:
        problem = ask(gate, f"/api/v1/{path}", 400)
        assert (problem["code"], problem["title"], problem["status"]) == ("bad_request", "Bad request", 400)
        assert problem["type"] == "/manual/reference/errors.html#bad_request"


def test_document_in_the_index_is_searchable(tmp_path: Path) -> None:
    principal = Principal(scope=Scope.GROUP, name="eng", namespace="Default", case_sensitive=False)
    acl = Acl(entries=(Entry(access=Access.DENY, principal=principal),), inherit_from="http://example.com/")
    with run_gate(tmp_path) as gate:
        push(gate, "hr")
        save(gate.store, fed_document())
        with gate.store.writing() as unit:
            unit.access.acls.save_many([make_stored_acl(URL, acl=acl, datasource="hr")], at=NOW)
        shown = ask(gate, "/api/v1/documents?url=http://example.com/a%3Fb=c+d")
        assert shown == {
            "url": URL,
            "display_url": URL,
            "datasource": "hr",
            "state": "indexed",
            "state_code": "indexed",
            "searchable": True,
            "reason": None,
            "title": None,
            "mimetype": None,
            "last_modified": "2026-01-02T03:04:05Z",
            "metadata": {"Author": ["b", "a"], "x": ["1"]},
            "acl": {
                "inheritance_type": "leaf-node",
                "inherit_from": "http://example.com/",
                "principals": [{"scope": "group", "access": "deny", "namespace": "Default", "name": "eng", "case_sensitive": False}],
            },
            "locked": True,
            "pagerank": 90,
            "crawl_once": False,
            "crawl_immediately": False,
            "history": [],
        }


def test_document_with_a_mark_is_not_searchable_yet(tmp_path: Path) -> None:
    with run_gate(tmp_path) as gate:
        push(gate, "hr")
        number = save(gate.store, fed_document())[URL]
        with gate.store.writing() as unit:
            unit.processing.index_tasks.put_many(
                [IndexTask(document_id=number, version=1, stage=Stage.INDEX, lane=Lane.QUICK, feed_id=1, datasource="hr")]
            )
        shown = ask(gate, "/api/v1/documents?url=http://example.com/a%3Fb=c+d")
        assert (shown["searchable"], shown["state"], shown["acl"]) == (False, "waiting for the index", None)


def test_document_that_is_gone_answers_404(tmp_path: Path) -> None:
    with run_gate(tmp_path) as gate:
        push(gate, "hr")
        save(gate.store, fed_document(state=DocumentState.GONE))
        ask(gate, "/api/v1/documents?url=http://example.com/a%3Fb=c+d", 404)


def test_backlog_is_a_bare_number(tmp_path: Path) -> None:
    with run_gate(tmp_path) as gate:
        assert body_of(gate.get("/getbacklogcount")) == b"0"
        push(gate, "hr")
        assert body_of(gate.get("/getbacklogcount")) == b"1"


def test_sources_are_listed_with_their_counts(tmp_path: Path) -> None:
    with run_gate(tmp_path) as gate:
        push(gate, "hr")
        assert ask(gate, "/api/v1/datasources") == [{"name": "hr", "kind": "content", "documents": 0, "feeds": 1}]


@pytest.mark.parametrize(("query", "kind"), [("", FeedKind.DELETE_SOURCE), ("?destroy=true", FeedKind.DESTROY_SOURCE)])
def test_deleting_a_source_waits_for_its_turn(tmp_path: Path, query: str, kind: FeedKind) -> None:
    with run_gate(tmp_path) as gate:
        push(gate, "hr")
        answers: list[Any] = []
        thread = threading.Thread(target=lambda: answers.append(ask(gate, f"/api/v1/datasources/hr{query}", method="DELETE")))
        thread.start()
        removal = wait_for_feed(gate, kind)
        time.sleep(0.1)
        assert answers == []
        with gate.store.writing() as unit:
            unit.feeds.queue.save(replace(unit.feeds.reader.get(removal), state=FeedState.COMPLETED, phase=Phase.DONE))
        time.sleep(0.1)
        assert answers == []
        with gate.store.writing() as unit:
            unit.feeds.queue.save(replace(unit.feeds.reader.get(removal), searchable_at=datetime.now(UTC)))
        thread.join(PATIENCE_SECONDS)
        assert answers[0]["feed"] == str(removal)
        assert Topic.FEEDS in gate.notifier.notified


def wait_for_feed(gate: Gate, kind: FeedKind) -> int:
    wait_until(lambda: kind in [feed.kind for feed in gate.feeds()], f"a feed that is {kind}")
    return next(feed.id for feed in gate.feeds() if feed.kind is kind)


def test_deleting_an_unknown_source_answers_404(tmp_path: Path) -> None:
    with run_gate(tmp_path) as gate:
        ask(gate, "/api/v1/datasources/none", 404, "DELETE")
        assert gate.feeds() == []


def test_unknown_path_and_method_under_api_are_reported_as_json(tmp_path: Path) -> None:
    with run_gate(tmp_path) as gate:
        assert ask(gate, "/api/v1/nothing", 404)["code"] == "not_found"
        assert ask(gate, "/api/v1/feeds", 405, "PUT")["code"] == "method_not_allowed"
        allowed = header(gate.get("/api/v1/feeds", method="PUT"), "allow") or ""
        assert set(allowed.split(", ")) == {"GET", "HEAD"}


def test_unknown_path_elsewhere_is_reported_as_text(tmp_path: Path) -> None:
    with run_gate(tmp_path) as gate:
        answer = gate.get("/nothing")
        assert (status(answer), body_of(answer)) == (404, b"Not Found")


@pytest.mark.parametrize("path", ["/getdtd", "/gsafeed.dtd"])
def test_dtd_is_given_as_text(tmp_path: Path, path: str) -> None:
    with run_gate(tmp_path) as gate:
        answer = gate.get(path)
        assert body_of(answer).decode() == DTD
        assert b"<!ELEMENT acl " in body_of(answer)


def test_dtd_port_serves_the_dtd_alone(tmp_path: Path) -> None:
    with serve(dtd_app(DTD, list)) as port, run_gate(tmp_path) as gate:
        gate.port = port
        assert body_of(gate.get("/gsafeed.dtd")).decode() == DTD
        assert status(gate.get("/api/v1/feeds")) == 404


def test_push_page_is_a_form_for_the_feed_path(tmp_path: Path) -> None:
    with run_gate(tmp_path) as gate:
        page = body_of(gate.get("/push")).decode()
        assert '<form action="/xmlfeed" method="post" enctype="multipart/form-data">' in page
        assert "1,073,741,824 bytes" in page
        assert header(gate.get("/"), "location") == "/push"
