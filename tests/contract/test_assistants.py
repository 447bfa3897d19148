"""``/mcp``: the tools of assistants by the protocol, the user for whom they act, and what they do not tell."""

import json
import logging
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from feedmill.core.access.principals import read_identity
from feedmill.http.common.searchthreads import SearchBounds
from feedmill.http.search.app import SearchSite, search_app
from feedmill.http.search.mcpserver import MAX_BODY_BYTES
from feedmill.model.access import AccessFilter
from feedmill.model.document import Attributes
from feedmill.model.errors import Busy, FeedmillError
from feedmill.model.identity import ANONYMOUS_IDENTITY, Identity
from tests.asgi import Answer
from tests.builders.access import ANN, FOR_ANN
from tests.contract.searchharness import ask, open_harness
from tests.contract.signinharness import ADMIN_TOKEN, open_signin_harness

PATH = "/mcp"
BOB = read_identity("bob", "Default", ["staff"])
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
MODERN = {"mcp-protocol-version": "2026-07-28"}
EVIL = "https://evil.example.org"


class World:
    """A port with an open document and one for ann, as one user."""

    def __init__(self, folder: Path, **site: Any) -> None:
        self.harness = open_harness(folder)
        made = self.harness.make
        documents = [
            made("http://a.com/open", "The merger is public.", title="Open", navigation="Home", metadata=(("kind", "a"), ("kind", "b"))),
            made("http://a.com/hers", "The merger is secret.", attributes=Attributes(display_url="http://show.com/hers")),
        ]
        self.harness.add(documents, acls={"http://a.com/hers": FOR_ANN})
        self.site = site

    def post(self, who: Identity, message: Any, **headers: str) -> Answer:
        services = self.harness.services()

        def identify(_request: object) -> AccessFilter:
            return services.filters.find_filter(who)

        body = message if isinstance(message, str) else json.dumps(message)
        return ask(search_app(services, SearchSite(identify=identify, **self.site)), PATH, "", "POST", body, **(HEADERS | headers))

    def call(self, who: Identity, tool: str, **arguments: Any) -> Any:
        answer = self.post(who, make_call(tool, **arguments))
        assert answer.status == 200, answer.text
        return answer.json["result"]


def make_call(tool: str, **arguments: Any) -> dict[str, Any]:
    return make_request("tools/call", {"name": tool, "arguments": arguments})


def make_request(method: str, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, **({} if params is None else {"params": params})}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


# --- the tools --------------------------------------------------------------------------------------------------------------------


def test_there_are_exactly_search_and_fetch(world: World) -> None:
    tools = world.post(BOB, make_request("tools/list", {})).json["result"]["tools"]
    assert [(tool["name"], tool["inputSchema"]["required"]) for tool in tools] == [("search", ["query"]), ("fetch", ["id"])]
    assert all(tool["annotations"]["readOnlyHint"] and tool["outputSchema"]["type"] == "object" for tool in tools)


def test_results_are_json_in_one_text_and_structured_content(world: World) -> None:
    for result in (world.call(ANN, "search", query="merger"), world.call(ANN, "fetch", id="http://a.com/open")):
        [content] = result["content"]
        assert content["type"] == "text"
        assert json.loads(content["text"]) == result["structuredContent"]
        assert result["isError"] is False


def test_search_returns_id_title_and_the_url_to_cite(world: World) -> None:
    results = world.call(ANN, "search", query="merger")["structuredContent"]["results"]
    assert sorted(results, key=lambda result: str(result["id"])) == [
        {"id": "http://a.com/hers", "title": "hers", "url": "http://show.com/hers"},
        {"id": "http://a.com/open", "title": "Open", "url": "http://a.com/open"},
    ]


def test_fetch_returns_the_whole_text_and_the_metadata(world: World) -> None:
    assert world.call(BOB, "fetch", id="http://a.com/open")["structuredContent"] == {
        "id": "http://a.com/open",
        "title": "Open",
        "text": "The merger is public.\nHome",
        "url": "http://a.com/open",
        "metadata": {"kind": ["a", "b"]},
    }


def test_fetch_document_without_a_title_has_the_name_of_its_file(world: World) -> None:
    assert world.call(ANN, "fetch", id="http://a.com/hers")["structuredContent"]["title"] == "hers"


def test_search_lists_ten_and_more_where_there_are(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.harness.add([world.harness.make(f"http://b.com/{number}", "many words") for number in range(30)])
    assert len(world.call(BOB, "search", query="many words")["structuredContent"]["results"]) == 20


def test_text_of_half_characters_is_sent_whole(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.harness.add([world.harness.make("http://b.com/1", "text", title="a\ud800b")])
    assert world.call(BOB, "fetch", id="http://b.com/1")["structuredContent"]["title"] == "a?b"


# --- users ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", [ANONYMOUS_IDENTITY, BOB], ids=["signed out", "bob"])
def test_hidden_and_unknown_documents_answer_alike(world: World, who: Identity) -> None:
    results = world.call(who, "search", query="merger")["structuredContent"]["results"]
    assert [result["id"] for result in results] == ["http://a.com/open"]
    assert world.call(who, "search", query="secret")["structuredContent"]["results"] == []
    hidden, unknown = world.call(who, "fetch", id="http://a.com/hers"), world.call(who, "fetch", id="http://a.com/none")
    assert hidden["isError"] is True
    assert json.dumps(hidden).replace("hers", "none") == json.dumps(unknown)
    assert world.call(ANN, "fetch", id="http://a.com/hers")["structuredContent"]["text"] == "The merger is secret."


def test_token_names_the_user_and_each_call_is_audited(tmp_path: Path) -> None:
    harness = open_signin_harness(tmp_path)
    harness.search.add([harness.search.make("http://a.com/1", "The merger is public.")])
    app = search_app(harness.search.services(), SearchSite(signin=harness.site, auditing=harness.signing.auditing))

    def post(message: Any, **headers: str) -> Answer:
        return ask(app, PATH, "", "POST", json.dumps(message), **(HEADERS | headers))

    admin = {"authorization": f"Bearer {ADMIN_TOKEN}"}
    post(make_call("search", query="merger secretword"), **admin)
    post(make_call("fetch", id="http://a.com/1"))
    post(make_call("fetch", id="http://a.com/2"))
    post(make_request("tools/list", {}), **admin)
    events = [entry.event for entry in harness.signing.auditing.iter_entries(kind="assistant.")]
    assert [(event.kind.value, event.actor, dict(event.details)) for event in events] == [
        ("assistant.search", "admin.token", {"results": 1}),
        ("assistant.fetch", "", {"url": "http://a.com/1", "found": True}),
        ("assistant.fetch", "", {"url": "http://a.com/2", "found": False}),
    ]
    for method in ("POST", "GET", "DELETE"):
        refused = ask(app, PATH, "", method, "{}", authorization="Bearer wrong", **HEADERS)
        assert refused.status == 401
        assert refused.headers["www-authenticate"].startswith("Bearer ")


# --- other sites ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "HEAD"])
def test_requests_of_other_sites_are_refused_unless_they_are_named(tmp_path: Path, method: str) -> None:
    harness = open_harness(tmp_path)
    app = search_app(harness.services(), SearchSite(allow_origins=("https://www.example.com",)))
    for origin in (EVIL, "null", "https://www.example.com.evil.org"):
        assert ask(app, PATH, "", method, "{}", origin=origin, **HEADERS).status == 403
    for origin in ("https://www.example.com", "http://search.example.com"):
        assert ask(app, PATH, "", method, "{}", origin=origin, **HEADERS).status == (400 if method == "POST" else 405)


def test_reads_of_other_routes_are_not_refused_for_their_origin(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    assert ask(search_app(harness.services()), "/api/v1/search", "q=x", origin=EVIL).status == 200


# --- the protocol -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE"])
def test_there_are_no_streams_and_no_sessions(tmp_path: Path, method: str) -> None:
    answer = ask(search_app(open_harness(tmp_path).services()), PATH, "", method, **HEADERS)
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


def test_initialization_names_no_session(world: World) -> None:
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    answer = world.post(BOB, make_request("initialize", client))
    assert answer.json["result"]["protocolVersion"] == "2025-06-18"
    assert "mcp-session-id" not in answer.headers
    assert world.post(BOB, {"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202


@pytest.mark.parametrize("version", [{}, MODERN], ids=["handshake", "modern"])
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ("", 400, -32700),
        ("{", 400, -32700),
        ("[" * 60_000, 400, -32700),
        ("[]", 400, None),
        ("null", 400, None),
        ('{"jsonrpc": "2.0"}', 400, None),
        ("x" * (MAX_BODY_BYTES + 1), 413, None),
    ],
)
def test_malformed_messages_get_the_errors_of_the_protocol(
    world: World, version: dict[str, str], body: str, status: int, code: int | None
) -> None:
    answer = world.post(BOB, body, **version)
    assert answer.status == status
    if status == 400:
        assert answer.json["error"]["code"] == code or code is None


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (make_request("nothing", {}), -32601),
        (make_request("resources/list", {}), -32601),
        (make_request("tools/call", {}), -32602),
        (make_request("tools/call", {"name": "delete", "arguments": {}}), -32602),
        (make_request("tools/call", {"name": "search", "arguments": "merger"}), -32602),
    ],
)
def test_messages_that_mean_nothing_get_the_errors_of_the_protocol(world: World, message: Any, code: int) -> None:
    assert world.post(BOB, message).json["error"]["code"] == code


@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("search", {}, "argument query is missing"),
        ("search", {"query": " "}, "argument query is missing"),
        ("search", {"query": 3}, "argument query is missing"),
        ("search", {"query": "x", "num": 3}, "argument 'num' is unknown"),
        ("search", {"query": "x" * 20_000}, "argument query is longer"),
        ("fetch", {"id": None}, "argument id is missing"),
        ("fetch", {"id": ["x"]}, "argument id is missing"),
    ],
)
def test_wrong_arguments_are_answers_that_the_assistant_reads(world: World, tool: str, arguments: dict[str, Any], named: str) -> None:
    result = world.call(BOB, tool, **arguments)
    assert result["isError"] is True
    assert named in result["content"][0]["text"]


@pytest.mark.parametrize("failure", [FeedmillError("secret path"), Busy("secret path"), ValueError("secret path")])
def test_failures_are_answers_without_detail(world: World, failure: Exception) -> None:
    services = world.harness.services()

    def fail(*_arguments: object) -> AccessFilter:
        raise failure

    app = search_app(services, SearchSite(identify=fail))
    answer = ask(app, PATH, "", "POST", json.dumps(make_call("search", query="merger")), **HEADERS)
    assert answer.json["result"]["isError"] is True
    assert "secret" not in answer.text


def test_calls_run_within_the_deadline_and_the_bounds_of_searches(tmp_path: Path) -> None:
    world = World(tmp_path)
    services = world.harness.services()
    names: list[str] = []

    def identify(_request: object) -> AccessFilter:
        names.append(threading.current_thread().name)
        return services.filters.find_filter(BOB)

    class Full:
        """Places of which none is free."""

        def take(self, _owner: str, _most: int) -> bool:
            return False

        def give_back(self, _owner: str) -> None:
            raise AssertionError

    body = json.dumps(make_call("search", query="merger"))
    ask(search_app(services, SearchSite(identify=identify)), PATH, "", "POST", body, **HEADERS)
    assert [name.startswith("search") for name in names] == [True]
    bounds = SearchBounds(deadline_seconds=0.1, places=Full())
    answer = ask(search_app(services, SearchSite(identify=identify, bounds=bounds)), PATH, "", "POST", body, **HEADERS)
    assert "searches_per_client" in answer.json["result"]["content"][0]["text"]


def test_process_loads_the_protocol_only_when_an_assistant_comes() -> None:
    loads = "import sys, feedmill.runtime.servingroles; print(sorted({'mcp', 'mcp_types', 'httpx2', 'jsonschema'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", loads], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_library_of_the_protocol_logs_nothing_of_a_usual_request(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        world.call(BOB, "search", query="merger")
    assert [record for record in caplog.records if record.name.startswith("mcp")] == []
