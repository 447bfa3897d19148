"""Every JSON resource of every port refuses what its OpenAPI document does not declare, and its errors are problems."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp

from feedmill.core.urls.hostnames import HostNames
from feedmill.http.admin.app import admin_app
from feedmill.http.common.hostcheck import HostCheck
from feedmill.http.common.manuallink import SearchPlace, manual_route
from feedmill.http.common.openapi import build_openapi
from feedmill.http.common.requirements import ANYONE, Sender, Unmatched, build_app
from feedmill.http.common.resource import ADMIN_PORT, FEED_PORT, SEARCH_PORT
from feedmill.model.errors import Busy
from tests.asgi import Answer, ask_app
from tests.builders.administration import make_administration
from tests.contract.allports import admin_port, dtd_port, feed_port, search_port

BUILDERS = {SEARCH_PORT: search_port, FEED_PORT: feed_port, ADMIN_PORT: admin_port}
USUAL = {"url": "http://a.example.com/"}
TOKEN = {"authorization": "Bearer token"}
NAMES = {SEARCH_PORT: "search", FEED_PORT: "feed", ADMIN_PORT: "admin"}


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of an OpenAPI document."""

    port: str
    method: str
    path: str
    parameters: tuple[Mapping[str, Any], ...]

    @property
    def filled(self) -> str:
        """The path with values."""
        path = self.path
        for parameter in self.parameters:
            path = path.replace(f"{{{parameter['name']}}}", "7")
        return path

    @property
    def query(self) -> list[Mapping[str, Any]]:
        return [parameter for parameter in self.parameters if parameter["in"] == "query"]


def list_operations() -> Iterator[Operation]:
    for port in BUILDERS:
        for path, methods in build_openapi(port)["paths"].items():
            for method, operation in methods.items():
                yield Operation(port, method.upper(), path, tuple(operation["parameters"]))
        yield Operation(port, "GET", "/api/v1/openapi.json", ())


def list_senseless(schema: Mapping[str, Any]) -> list[str]:
    """Returns values that a schema excludes."""
    if schema["type"] == "array":
        return list_senseless(schema["items"])
    if schema["type"] == "integer":
        bounds = [str(schema["maximum"] + 1), str(schema["minimum"] - 1)] if "maximum" in schema else []
        return ["ten", "1.5", "0x1", "%00", "\u0663", *bounds]
    if schema["type"] == "boolean":
        return ["perhaps", "2"]
    return ["no such value"] if "enum" in schema or "pattern" in schema else []


@pytest.fixture(scope="module")
def apps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ASGIApp]:
    return {port: build(tmp_path_factory.mktemp("port")) for port, build in BUILDERS.items()}


OPERATIONS = list(list_operations())


def check_problem(answer: Answer, status: int) -> str:
    """Checks that an answer is a problem of a status, and returns its detail."""
    assert answer.status == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json
    assert set(problem) == {"type", "title", "status", "detail", "code"}
    assert problem["status"] == status
    assert problem["type"] == f"/manual/reference/errors.html#{problem['code']}"
    return str(problem["detail"])


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: f"{NAMES[one.port]} {one.method} {one.path}")
def test_operation_refuses_what_it_does_not_declare(apps: dict[str, ASGIApp], operation: Operation) -> None:
    headers = TOKEN if operation.port == ADMIN_PORT else {}
    required = [
        (each["name"], each["schema"].get("enum", [USUAL.get(each["name"], "x")])[0]) for each in operation.query if each["required"]
    ]

    def refuse(*pairs: tuple[str, str]) -> str:
        given = [pair for pair in required if pair[0] not in dict(pairs)]
        query = urlencode([*given, *pairs])
        return check_problem(ask_app(apps[operation.port], operation.method, operation.filled, query=query, headers=headers), 400)

    assert "'nosuchname' is unknown" in refuse(("nosuchname", "1"))
    for parameter in operation.query:
        name, schema = parameter["name"], parameter["schema"]
        if parameter["required"]:
            assert f" {name} is missing" in refuse((name, ""))
        for value in list_senseless(schema):
            assert f"parameter {name} is " in refuse((name, value))
        if schema["type"] != "array":
            assert f"parameter {name} is given" in refuse((name, "1"), (name, "1"))


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: f"{NAMES[one.port]} {one.method} {one.path}")
def test_operation_refuses_what_is_no_text(apps: dict[str, ASGIApp], operation: Operation) -> None:
    headers = TOKEN if operation.port == ADMIN_PORT else {}
    for parameter in operation.query:
        query = f"{parameter['name']}=caf%E9"
        answer = ask_app(apps[operation.port], operation.method, operation.filled, query=query, headers=headers)
        assert f"parameter '{parameter['name']}' is not UTF-8" in check_problem(answer, 400)


# --- errors -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: f"{NAMES[one.port]} {one.method} {one.path}")
def test_other_method_is_told_all_that_the_path_takes_in_order(apps: dict[str, ASGIApp], operation: Operation) -> None:
    headers = TOKEN if operation.port == ADMIN_PORT else {}
    answer = ask_app(apps[operation.port], "TRACE", operation.filled, headers=headers)
    check_problem(answer, 405)
    allowed = answer.headers["allow"].split(", ")
    assert allowed == sorted(allowed)
    declared = {each.method for each in OPERATIONS if (each.port, each.path) == (operation.port, operation.path)}
    assert declared <= set(allowed)
    assert ("HEAD" in allowed) is ("GET" in allowed)


@pytest.mark.parametrize("port", BUILDERS, ids=NAMES.get)
def test_errors_of_every_port_are_problems(apps: dict[str, ASGIApp], port: str) -> None:
    headers = TOKEN if port == ADMIN_PORT else {}
    app = apps[port]
    check_problem(ask_app(app, "GET", "/api/v1/nothing", headers=headers), 404)
    check_problem(ask_app(app, "PATCH", "/api/v1/openapi.json", headers=headers), 405)
    assert ask_app(app, "PATCH", "/api/v1/openapi.json", headers=headers).headers["allow"] == "GET, HEAD"
    check_problem(ask_app(app, "POST", "/api/v1/nothing", headers={**headers, "origin": "https://evil.example.org"}), 403)
    if port == FEED_PORT:
        check_problem(ask_app(app, "GET", "/api/v1/feeds", peer="192.168.1.9"), 403)
    else:
        check_problem(ask_app(app, "GET", "/api/v1/openapi.json", headers={"authorization": "Bearer wrong"}), 401)


def test_port_of_the_dtd_has_no_resources_and_says_so_as_a_problem(tmp_path: Path) -> None:
    check_problem(ask_app(dtd_port(tmp_path), "GET", "/api/v1/feeds"), 404)
    assert ask_app(dtd_port(tmp_path), "GET", "/nothing").headers["content-type"].startswith("text/plain")


def test_failure_of_the_program_is_a_problem_too(tmp_path: Path) -> None:
    # what is behind the ports here has no methods, so every read fails
    for app, path, headers in ((feed_port(tmp_path), "/api/v1/feeds", {}), (admin_port(tmp_path), "/api/v1/crawl", TOKEN)):
        failed: list[Answer] = []

        async def watch(scope: Any, receive: Any, send: Any, inner: ASGIApp = app) -> None:
            try:
                await inner(scope, receive, send)
            except AttributeError:
                return

        failed.append(ask_app(watch, "GET", path, headers=headers))
        assert check_problem(failed[0], 500) == "internal error"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/v1/users", '{"name": "ann", "pasword": "x"}'),
        ("PATCH", "/api/v1/users", '{"rolle": "viewer"}'),
        ("POST", "/api/v1/tokens", '{"label": "x", "scope": ["push"]}'),
        ("POST", "/api/v1/sessions/end", '{"user": "ann"}'),
    ],
)
def test_admin_port_refuses_members_that_it_does_not_know(apps: dict[str, ASGIApp], method: str, path: str, body: str) -> None:
    query = "name=ann" if method == "PATCH" else ""
    answer = ask_app(apps[ADMIN_PORT], method, path, query=query, body=body.encode(), headers=TOKEN)
    detail = check_problem(answer, 400)
    assert any(f"'{name}' is unknown" in detail for name in ("pasword", "rolle", "scope", "user"))


@pytest.mark.parametrize(
    ("place", "host", "leads"),
    [
        (SearchPlace(port=8080), "feeds.example.com:19900", "http://feeds.example.com:8080"),
        (SearchPlace(port=8443, speaks_tls=True), "[::1]:19900", "https://[::1]:8443"),
        (SearchPlace(port=8080, public_url="https://find.example.com/"), "127.0.0.1:19900", "https://find.example.com"),
    ],
)
def test_type_of_an_error_leads_from_other_ports_to_the_search_port(place: SearchPlace, host: str, leads: str) -> None:
    app = build_app(
        [manual_route(lambda: place, ANYONE)],
        senders=frozenset({Sender.ANYONE}),
        unmatched=Unmatched(otherwise=ANYONE),
        middleware=[],
    )
    answer = ask_app(app, "GET", "/manual/reference/errors.html", host=host)
    assert (answer.status, answer.headers["location"]) == (307, f"{leads}/manual/reference/errors.html")


def test_port_of_a_machine_without_a_search_port_says_where_the_manual_is(apps: dict[str, ASGIApp]) -> None:
    answer = ask_app(apps[ADMIN_PORT], "GET", "/manual/index.html")
    assert answer.status == 404
    assert "search port" in answer.text


def test_large_body_and_busy_server_are_problems(apps: dict[str, ASGIApp]) -> None:
    large = ask_app(apps[ADMIN_PORT], "POST", "/api/v1/users", body=b" " * 70_000, headers=TOKEN)
    assert "65536 bytes" in check_problem(large, 413)

    def fail() -> dict[str, Any]:
        raise Busy("the index is being built already")

    busy = make_administration(read_status=fail, reindex=fail)
    assert "being built" in check_problem(ask_app(admin_app(busy, "token"), "GET", "/api/v1/status", headers=TOKEN), 503)


@pytest.mark.parametrize("path", ["/api/v1/feeds", "/api/v1/documents"])
def test_unknown_host_name_is_a_problem(path: str) -> None:
    app = HostCheck(PlainTextResponse("inside"), names=lambda: HostNames.parse(["a.example.com"]), setting="gate.hosts")
    check_problem(ask_app(app, "GET", path, host="b.example.com"), 421)
