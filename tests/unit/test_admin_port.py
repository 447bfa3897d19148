import json
from collections.abc import Mapping
from typing import Any

import pytest
from starlette.types import ASGIApp

from feedmill.http.admin.app import Administration, admin_app
from feedmill.model.errors import Busy, NotFound
from tests.asgi import ask_app


def ask(app: ASGIApp, method: str, path: str, *, peer: str = "127.0.0.1", query: str = "", **headers: str) -> tuple[int, bytes]:
    """Asks an application as a peer of any address, which a test client cannot."""
    answer = ask_app(app, method, path, query=query, headers={"host": "localhost:8000", **headers}, host="localhost", port=8000, peer=peer)
    return answer.status, answer.body


def administration(removed: list[tuple[str, bool]], problems: list[str] | None = None) -> Administration:
    def remove(name: str, destroy: bool) -> None:
        if name == "nobody":
            raise NotFound("there is no data source 'nobody'")
        removed.append((name, destroy))

    def reindex() -> Mapping[str, Any]:
        raise Busy("the index is being built already")

    return Administration(
        read_status=lambda: {"documents": 3},
        reindex=reindex,
        remove_source=remove,
        render_metrics=lambda: b"feedmill_documents 3\n",
        find_problems=lambda: problems or [],
    )


TOKEN = {"authorization": "Bearer secret"}


def test_admin_port_with_the_token_from_this_machine_answers() -> None:
    removed: list[tuple[str, bool]] = []
    app = admin_app(administration(removed), "secret")
    assert ask(app, "GET", "/api/v1/status", **TOKEN) == (200, b'{"documents":3}')
    assert ask(app, "GET", "/metrics", **TOKEN) == (200, b"feedmill_documents 3\n")
    assert ask(app, "DELETE", "/api/v1/datasources/hr", **TOKEN)[0] == 204
    assert ask(app, "DELETE", "/api/v1/datasources/hr", query="destroy=1", **TOKEN)[0] == 204
    assert removed == [("hr", False), ("hr", True)]


@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer ", "Bearer wrong", "Basic secret", "Bearer s\u00e9cret"])
def test_admin_port_without_the_token_refuses_with_401(authorization: str) -> None:
    status, body = ask(admin_app(administration([]), "secret"), "GET", "/api/v1/status", authorization=authorization)
    assert status == 401
    assert json.loads(body)["code"] == "unauthorized"


def test_admin_port_with_an_empty_token_of_its_own_refuses_everyone() -> None:
    assert ask(admin_app(administration([]), ""), "GET", "/api/v1/status", authorization="Bearer ")[0] == 401


@pytest.mark.parametrize("path", ["/api/v1/status", "/metrics", "/healthz", "/nothing"])
def test_admin_port_from_another_machine_refuses_with_403(path: str) -> None:
    app = admin_app(administration([]), "secret")
    assert ask(app, "GET", path, peer="192.168.1.9", **TOKEN)[0] == 403


def test_admin_port_refuses_requests_of_another_sites_page_with_403() -> None:
    removed: list[tuple[str, bool]] = []
    app = admin_app(administration(removed), "secret")
    assert ask(app, "DELETE", "/api/v1/datasources/hr", origin="https://evil.example", **TOKEN)[0] == 403
    assert removed == []


def test_admin_port_answers_errors_by_their_type() -> None:
    app = admin_app(administration([]), "secret")
    status, body = ask(app, "DELETE", "/api/v1/datasources/nobody", **TOKEN)
    problem = json.loads(body)
    assert (status, problem["status"], problem["code"], problem["detail"]) == (404, 404, "not_found", "there is no data source 'nobody'")
    assert ask(app, "POST", "/api/v1/reindex", **TOKEN)[0] == 503
    assert ask(app, "GET", "/nothing", **TOKEN)[0] == 404
    assert ask(app, "GET", "/api/v1/reindex", **TOKEN)[0] == 405


@pytest.mark.parametrize("host", ["localhost/healthz?", "localhost/healthz#", "x/readyz;", "localhost:8000/healthz?x=", "/healthz?"])
def test_header_of_the_host_opens_no_path(host: str) -> None:
    app = admin_app(administration([]), "secret")
    assert ask(app, "GET", "/api/v1/status", host=host)[0] in (401, 403)


def test_health_needs_no_token_and_readiness_names_its_problems() -> None:
    assert ask(admin_app(administration([]), "secret"), "GET", "/healthz")[0] == 200
    assert ask(admin_app(administration([]), "secret"), "GET", "/readyz")[0] == 200
    status, body = ask(admin_app(administration([], ["the store is locked"]), "secret"), "GET", "/readyz")
    assert (status, json.loads(body)["problems"]) == (503, ["the store is locked"])
