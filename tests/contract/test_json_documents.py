"""Documents as JSON, from the feed port to a search."""

import base64
import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from feedmill.core.urls.validation import MAX_URL_CHARACTERS
from feedmill.http.feeds.gateconfig import GateConfig
from tests.asgi import Answer, ask_app
from tests.contract.dataloadharness import HOST, DataloadHarness, open_dataload
from tests.waiting import wait_until

PATH = "/api/v1/documents"
ACL = {
    "inheritance_type": "child-overrides",
    "inherit_from": f"{HOST}/parent",
    "principals": [
        {"scope": "group", "access": "permit", "namespace": "ad", "name": "eng", "case_sensitive": False},
        {"scope": "user", "access": "deny", "namespace": "Default", "name": "ann", "case_sensitive": True},
    ],
}


@dataclass(frozen=True, slots=True)
class Source:
    """A data source of its own, with its own URLs, on a server that all tests share."""

    harness: DataloadHarness
    name: str

    def item(self, name: str, content: str | None = None, **members: Any) -> dict[str, Any]:
        return {"url": self.url(name), **({} if content is None else {"content": content}), **members}

    def url(self, name: str) -> str:
        return f"{HOST}/{self.name}/{name}"

    def send(self, method: str, body: bytes | Any, headers: dict[str, str] | None = None, **query: str) -> Answer:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"datasource": self.name, **query}
        headers = {"content-type": "application/json", **(headers or {})}
        return ask_app(self.harness.app, method, PATH, query=urlencode(given), body=data, headers=headers)

    def finish(self, answer: Answer) -> dict[str, Any]:
        """Waits until a feed is applied and searchable, and returns its receipt."""
        assert answer.status == 202, answer.text
        address = answer.headers["location"]
        assert address == f"/api/v1/feeds/{answer.headers['x-feedmill-feed']}" == f"/api/v1/feeds/{answer.json['id']}"
        found: dict[str, Any] = {}

        def is_over() -> bool:
            found.update(ask_app(self.harness.app, "GET", address).json)
            return found["finished_at"] is not None and (found["searchable_at"] is not None or found["state"] == "failed in error")

        wait_until(is_over, lambda: f"the end of the feed, and saw last {found}")
        return found

    def push(self, *items: Any, **query: str) -> dict[str, Any]:
        return self.finish(self.send("POST", list(items), None, **query))

    def document(self, name: str) -> dict[str, Any]:
        return self.harness.document(f"{self.name}/{name}")

    def find(self, query: str) -> list[str]:
        return sorted(name.removeprefix(f"{self.name}/") for name in self.harness.find(query) if name.startswith(f"{self.name}/"))

    def feeds(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = ask_app(self.harness.app, "GET", "/api/v1/feeds", query=f"datasource={self.name}").json
        return found


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DataloadHarness]:
    with open_dataload(tmp_path_factory.mktemp("json"), ()) as made:
        yield made


@pytest.fixture
def source(harness: DataloadHarness, request: pytest.FixtureRequest) -> Source:
    return Source(harness, f"s{zlib.crc32(request.node.name.encode())}")


def errors_of(receipt: dict[str, Any]) -> dict[int, str]:
    return {entry["record"]: entry["reason"] for entry in receipt["log"] if entry["level"] == "error"}


def test_members_of_an_object_are_those_of_the_document(source: Source) -> None:
    members: dict[str, Any] = {
        "mimetype": "text/html",
        "title": "A title of its own",
        "display_url": "http://shown.example.com/a",
        "last_modified": "2024-05-31T12:00:00Z",
        "metadata": {"dept": "sales", "tag": ["x", "ÿ"], "pages": 12, "final": True},
        "acl": ACL,
        "pagerank": 98,
    }
    receipt = source.push(source.item("a", "<title>other</title>apples", **members))
    assert (receipt["state"], receipt["records"], receipt["included"], receipt["feedtype"]) == ("completed", 1, 1, "incremental")
    shown = source.document("a")
    assert {name: shown[name] for name in members if name != "metadata"} == {name: members[name] for name in members if name != "metadata"}
    assert shown["metadata"] == {"dept": ["sales"], "tag": ["x", "ÿ"], "pages": ["12"], "final": ["true"]}
    assert shown["searchable"]


def test_document_as_it_is_shown_can_be_pushed_again(source: Source) -> None:
    source.push(source.item("a", "apples", metadata={"a": ["b"]}, acl=ACL))
    shown = source.document("a")
    names = ("url", "display_url", "title", "mimetype", "last_modified", "metadata", "acl", "pagerank")
    source.push({name: shown[name] for name in names} | {"content": "pears"})
    assert {name: source.document("a")[name] for name in names} == {name: shown[name] for name in names}


def test_content_is_text_or_base64(source: Source) -> None:
    page = "<html><head><meta charset='iso-8859-1'></head><body>café crème</body></html>".encode("latin-1")
    encoded = base64.b64encode(page).decode()
    source.push(source.item("text", "naïve apples"), source.item("page", content_base64=encoded, mimetype="text/html"))
    assert (source.find("naïve"), source.find("crème")) == (["text"], ["page"])


def test_incremental_changes_parts_and_deletes(source: Source) -> None:
    source.push(source.item("a", "apples", metadata={"dept": "x"}), source.item("b", "pears"))
    source.push(source.item("a", metadata={"dept": "y"}), source.item("b", action="delete"))
    assert (source.find("apples"), source.find("pears")) == (["a"], [])
    assert source.document("a")["metadata"] == {"dept": ["y"]}


def test_full_replaces_what_the_source_had(source: Source) -> None:
    source.push(source.item("a", "apples"), source.item("b", "pears"))
    receipt = source.push(source.item("b", "pears"), feedtype="full")
    assert (receipt["feedtype"], source.find("apples"), source.find("pears")) == ("full", [], ["b"])
    assert source.push(feedtype="full")["records"] == 0
    assert source.find("pears") == []


def test_bad_item_costs_itself_alone_and_names_its_member(source: Source) -> None:
    bad: dict[str, Any] = {
        "both": source.item("a", "x", content_base64="eA=="),
        '"colour" is unknown': source.item("a", "x", colour="red"),
        '"content" is a number': source.item("a") | {"content": 5},
        "not base64": source.item("a", content_base64="!!"),
        '"pagerank"': source.item("a", "x", pagerank="98"),
        "from 68 to 100": source.item("a", "x", pagerank=True),
        '"last_modified"': source.item("a", "x", last_modified="soon"),
        '"action" is "remove"': source.item("a", "x", action="remove"),
        '"metadata" is an array': source.item("a", "x", metadata=["b"]),
        '"metadata.b" is an object': source.item("a", "x", metadata={"b": {}}),
        '"acl.owner" is unknown': source.item("a", "x", acl={"owner": "ann"}),
        '"acl.inheritance_type" is "sideways" and none of': source.item("a", "x", acl={"inheritance_type": "sideways"}),
        '"acl.principals.name" is missing': source.item("a", "x", acl={"principals": [{"scope": "user", "access": "permit"}]}),
        'access of principal "ann" is missing': source.item("a", "x", acl={"principals": [{"scope": "user", "name": "ann"}]}),
        "case_sensitive": source.item(
            "a", "x", acl={"principals": [{"scope": "user", "access": "permit", "name": "b", "case_sensitive": 1}]}
        ),
        "is an array and not an object": ["a"],
        "is null and not an object": None,
        "surrogate": source.item("a", "x", title="\ud800"),
        "U+0000": source.item("a", "x", display_url="a\x00"),
        '"url" is a number': {"url": 5, "content": "x"},
        "URL": {"content": "x"},
        "longer than 1000": source.item("a", "x", title="t" * 1001),
    }
    receipt = source.push(source.item("good", "apples"), *bad.values(), source.item("late", "pears"))
    assert (receipt["state"], receipt["included"], receipt["errors"]) == ("completed with errors", 2, len(bad))
    found = errors_of(receipt)
    assert [part for number, part in enumerate(bad, 2) if part.lower() not in found[number].lower()] == []
    assert (source.find("apples"), source.find("pears"), source.document("a")) == (["good"], ["late"], {})


def test_number_that_cannot_be_stored_costs_its_item_alone(source: Source) -> None:
    bad = {"more than 1000 digits": "9" * 5_000, "1e999 is too large": "1e999", "NaN is no JSON value": "NaN"}
    items = [json.dumps(source.item("a", "x", metadata={"b": "NUMBER"})).replace('"NUMBER"', number) for number in bad.values()]
    receipt = source.finish(source.send("POST", f"[{','.join([*items, json.dumps(source.item('b', 'pears'))])}]".encode()))
    found = errors_of(receipt)
    assert [part for number, part in enumerate(bad, 1) if part not in found[number]] == []
    assert (receipt["included"], source.find("pears"), source.document("a")) == (1, ["b"], {})


def test_line_that_is_no_json_is_named_with_its_column(source: Source) -> None:
    receipt = source.finish(source.send("POST", b'{"url": "\xc3\xbc"}\n  {"url": nope}\n', {"content-type": "application/x-ndjson"}))
    assert errors_of(receipt)[2] == "the item is no JSON: Expecting value, line 2, column 11"


def test_blank_title_is_none(source: Source) -> None:
    source.push(source.item("a", "<title>its own</title>apples", mimetype="text/html", title="  "))
    assert source.document("a")["title"] == "its own"


def test_full_feed_keeps_the_documents_whose_items_are_in_error(source: Source) -> None:
    source.push(source.item("a", "apples"), source.item("b", "pears"))
    receipt = source.push(source.item("a", "plums", colour="red"), source.item("c", "figs"), feedtype="full")
    assert list(errors_of(receipt)) == [1]
    assert (source.find("apples"), source.find("pears"), source.find("figs")) == (["a"], [], ["c"])


def test_lines_stand_alone(source: Source) -> None:
    lines = [
        json.dumps(source.item("a", "apples")),
        '{"url": "cut',
        "",
        '{"url": "x", "url": "y"}',
        json.dumps(source.item("b", "pears")),
        "\xff",
    ]
    answer = source.send("POST", "\r\n".join(lines).encode("latin-1"), {"content-type": "application/x-ndjson; charset=utf-8"})
    receipt = source.finish(answer)
    assert (receipt["records"], receipt["included"], sorted(errors_of(receipt))) == (5, 2, [2, 3, 5])
    assert "twice" in errors_of(receipt)[3]
    assert [entry["line"] for entry in receipt["log"]] == [2, 4, 6]
    assert (source.find("apples"), source.find("pears")) == (["a"], ["b"])


@pytest.mark.parametrize("body", [b"", b"{}", b"null", b"[", b"[{}", b'[{"url": nope}]', b"[{}] []", b"<gsafeed/>"])
def test_body_that_is_no_array_is_refused_whole(source: Source, body: bytes) -> None:
    answer = source.send("POST", body, feedtype="full")
    assert (answer.status, answer.json["code"]) == (400, "bad_request")
    assert source.feeds() == []


def test_one_document_is_put_and_deleted_at_its_address(source: Source) -> None:
    url = source.url("ä b?c=1")
    receipt = source.finish(source.send("PUT", {"content": "apples", "title": "T"}, url=url))
    assert (receipt["records"], receipt["errors"], source.find("apples")) == (1, 0, ["ä b?c=1"])
    assert ask_app(source.harness.app, "GET", f"/api/v1/feeds/{receipt['id']}/content").json == [
        {"url": url, "content": "apples", "title": "T"}
    ]
    source.finish(source.send("DELETE", b"", url=url))
    assert source.find("apples") == []


def test_put_with_a_url_within_is_an_error_of_its_item(source: Source) -> None:
    receipt = source.finish(source.send("PUT", source.item("b", "apples"), url=f"{HOST}/a"))
    assert errors_of(receipt) == {1: 'the member "url" is given twice'}


@pytest.mark.parametrize(
    ("method", "query", "part"),
    [
        ("POST", {"limit": "5"}, "'limit' is unknown"),
        ("POST", {"feedtype": "metadata-and-url"}, "incremental, full"),
        ("POST", {"feedtype": ""}, "feedtype"),
        ("POST", {"datasource": ""}, "datasource"),
        ("POST", {"datasource": "no name"}, "datasource"),
        ("POST", {"url": "http://a.example.com/"}, "'url' is unknown"),
        ("PUT", {}, "url is missing"),
        ("PUT", {"url": "http://a.example.com/", "feedtype": "full"}, "'feedtype' is unknown"),
        ("DELETE", {"url": " "}, "url is missing"),
        ("PUT", {"url": "http://a.example.com/" + "x" * MAX_URL_CHARACTERS}, "longer than"),
        ("PUT", {"url": "nosuch"}, "parameter url: the url needs a scheme and a host"),
        ("DELETE", {"url": "http://a.example.com/\x00"}, "parameter url: the url holds the character U+0000"),
    ],
)
def test_senseless_parameter_is_named(source: Source, method: str, query: dict[str, str], part: str) -> None:
    answer = source.send(method, [] if method == "POST" else {}, None, **query)
    assert (answer.status, part in answer.json["detail"]) == (400, True), answer.text


def test_parameter_is_given_once(source: Source) -> None:
    answer = ask_app(source.harness.app, "POST", PATH, query="datasource=a&datasource=b", body=b"[]")
    assert (answer.status, "given twice" in answer.text) == (400, True)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_page_of_another_site_cannot_push(source: Source, method: str) -> None:
    answer = source.send(method, [], {"origin": "http://evil.example.com"}, url=f"{HOST}/a")
    assert answer.status == 403


def test_body_beyond_the_limit_is_refused_and_a_compressed_one_is_read(tmp_path: Path) -> None:
    config = GateConfig(max_feed_bytes=2_000)
    with open_dataload(tmp_path, (), config) as harness:
        source = Source(harness, "small")
        assert source.send("POST", [source.item("a", "x" * 3_000)]).status == 413
        # by its length alone, before any of it came
        assert source.send("POST", b"", {"content-length": "70000"}).status == 413
        packed = gzip.compress(json.dumps([source.item("a", "apples")]).encode())
        source.finish(source.send("POST", packed, {"content-encoding": "gzip"}))
        assert source.send("POST", gzip.compress(b"[" + b" " * 50_000 + b"]"), {"content-encoding": "gzip"}).status == 413
        assert source.find("apples") == ["a"]


def test_web_source_requests_crawls(source: Source) -> None:
    source.push(source.item("a", title="T"), datasource="web")
    assert source.document("a")["state"] == "known, not crawled"


def test_large_content_goes_through_the_spool(source: Source) -> None:
    text = "apples " * 100_000
    source.push(source.item("a", text), source.item("b", content_base64=base64.b64encode(text.encode()).decode(), mimetype="text/plain"))
    assert sorted(source.find("apples")) == ["a", "b"]
