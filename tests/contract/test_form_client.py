"""The client for seedlists behind a login form, against a server of sessions on real HTTP."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import pytest

from feedmill.adapters.crawling.formclient import FormClient
from feedmill.adapters.crawling.options import FormLogin
from feedmill.adapters.http.client import ClientOptions, allow_all
from feedmill.model.errors import UpstreamFailure
from tests.waiting import PATIENCE_SECONDS

PAGE = (
    b'<html><form method="post" action="j_security_check"><input name="j_username"><input type="password" name="j_password"></form></html>'
)


@dataclass
class Portal:
    """A server with form login. ``sessions`` are the cookies that count; ``redirects``: it leads to the login page, else it shows it."""

    port: int = 0
    password: str = "secret"
    sessions: set[str] = field(default_factory=set)
    logins: list[dict[str, list[str]]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    redirects: bool = True
    sets_cookies: bool = False

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def answer(self, handler: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        path = handler.path
        self.paths.append(f"{handler.command} {path}")
        if handler.command == "POST":
            given = parse_qs(handler.rfile.read(int(handler.headers["Content-Length"])).decode())
            self.logins.append(given)
            if given.get("j_password") != [self.password] or given.get("j_username") != ["crawler"]:
                return 302, {"Location": "/app/login?failed"} | ({"Set-Cookie": "JSESSIONID=1"} if self.sets_cookies else {}), b""
            token = f"t{len(self.logins)}=="
            self.sessions.add(f"LtpaToken2={token}")
            return 302, {"Location": "/app/home", "Set-Cookie": f"LtpaToken2={token}; Path=/; HttpOnly"}, b""
        if path.startswith("/app/login"):
            return 200, {"Content-Type": "text/html"}, PAGE
        if handler.headers["Cookie"] not in self.sessions:
            return (302, {"Location": "/app/login"}, b"") if self.redirects else (200, {"Content-Type": "text/html"}, PAGE)
        if path == "/app/moved":
            return 301, {"Location": "/app/list"}, b""
        return 200, {"Content-Type": "application/atom+xml"}, b"<feed/>"


@pytest.fixture
def portal() -> Iterator[Portal]:
    portal = Portal()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = portal.answer(self)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        portal.port = server.server_port
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield portal
        server.shutdown()
        thread.join()


@pytest.fixture
def open_client(portal: Portal) -> Iterator[Any]:
    clients: list[FormClient] = []

    def make(login: str, **given: Any) -> FormClient:
        form = FormLogin(login_url=portal.url(login), **given)
        clients.append(FormClient("crawler", "secret", form, ClientOptions(allows_private=allow_all, max_redirects=5)))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


def fetch(client: FormClient, url: str, max_bytes: int = 1_000) -> bytes:
    return client.fetch(url, headers={}, max_bytes=max_bytes, seconds=PATIENCE_SECONDS).response.body


@pytest.mark.parametrize("login", ["/app/j_security_check", "/app/login"])
@pytest.mark.parametrize("redirects", [True, False])
def test_one_login_serves_all_requests(portal: Portal, open_client: Any, login: str, redirects: bool) -> None:
    portal.redirects = redirects
    client = open_client(login)
    assert [fetch(client, portal.url(path)) for path in ("/app/list", "/app/moved", "/files/x")] == [b"<feed/>"] * 3
    assert portal.logins == [{"j_username": ["crawler"], "j_password": ["secret"]}]
    assert client.fetch(portal.url("/app/moved"), headers={}, max_bytes=100, seconds=PATIENCE_SECONDS).url == portal.url("/app/list")


@pytest.mark.parametrize("login", ["/app/j_security_check", "/app/login"])
@pytest.mark.parametrize("redirects", [True, False])
def test_session_that_is_over_is_renewed_once(portal: Portal, open_client: Any, login: str, redirects: bool) -> None:
    portal.redirects = redirects
    client = open_client(login)
    fetch(client, portal.url("/app/list"))
    portal.sessions.clear()
    assert fetch(client, portal.url("/app/list")) == b"<feed/>"
    assert len(portal.logins) == 2


@pytest.mark.parametrize("login", ["/app/j_security_check", "/app/login"])
def test_wrong_password_is_an_error_and_is_not_repeated(portal: Portal, open_client: Any, login: str) -> None:
    portal.password = "other"
    client = open_client(login)
    for _ in range(3):
        with pytest.raises(UpstreamFailure):
            fetch(client, portal.url("/app/list"))
    assert len(portal.logins) == 1


def test_login_that_changes_nothing_is_not_repeated(portal: Portal, open_client: Any) -> None:
    portal.password, portal.sets_cookies = "other", True
    client = open_client("/app/j_security_check")
    for _ in range(3):
        with pytest.raises(UpstreamFailure):
            fetch(client, portal.url("/app/list"))
    assert len(portal.logins) == 2


def test_longer_response_is_an_error(portal: Portal, open_client: Any) -> None:
    with pytest.raises(UpstreamFailure, match="more than 3 bytes"):
        fetch(open_client("/app/j_security_check"), portal.url("/app/list"), max_bytes=3)
