"""Authorization by other servers, over real HTTP: what they permit is permitted, whatever else they do permits nothing."""

import base64
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from feedmill.model.access import ANONYMOUS, Scope
from feedmill.model.authorization import AuthorizationRule, Mechanism, Trust
from feedmill.model.identity import Identity, Subject
from tests.contract.lateharness import BOB, LOGIN, URLS, Now, binding, files, head, saml, say, select
from tests.decisionpoint import DecisionPoint, running_point
from tests.selfsigned import CERTIFICATE, KEY
from tests.watching import watch

# --- policy decision points -----------------------------------------------------------------------------------------------------


def test_decision_point_shows_what_it_permits_and_nothing_else(point: DecisionPoint) -> None:
    point.permit("ann", *URLS[:3], "http://elsewhere.example/")
    point.permit("bob", *URLS)
    point.decisions["ann", URLS[1]] = "Deny"
    late = binding(saml(point, batch=2))
    assert select(late, [*URLS, URLS[0], "http://elsewhere.example/"]) == {URLS[0], URLS[2]}
    assert sorted(map(len, point.batches)) == [1, 2, 2]
    assert point.queried == URLS
    command, path, headers = point.requests[0]
    assert (command, path, headers["content-type"]) == ("POST", "/authz?x=1", "text/xml; charset=utf-8")
    assert headers["soapaction"] == "http://www.oasis-open.org/committees/security"
    assert point.credentials[0] == {"name": "ann", "namespace": "Default", "domain": "corp"}


def test_search_says_that_it_waits_for_a_decision_point(point: DecisionPoint) -> None:
    point.permit("ann", *URLS)
    late = binding(saml(point))
    assert watch(lambda: select(late, URLS)) == (set(URLS), ["waits", "goes on"])
    assert watch(lambda: select(late, URLS)) == (set(URLS), [])


def test_password_is_forwarded_to_a_decision_point_only_if_configured(point: DecisionPoint) -> None:
    select(binding(saml(point)), URLS, login=LOGIN)
    select(binding(saml(point, forwards_password=True)), URLS, login=replace(LOGIN, namespaces=("hr",)))
    assert not any("password" in credential for credential in point.credentials)
    select(binding(saml(point, forwards_password=True)), URLS, login=LOGIN)
    assert point.credentials[-1]["password"] == "pa:ss"


def test_anonymous_users_and_users_outside_the_namespace_cause_no_request(point: DecisionPoint) -> None:
    late = binding(saml(point))
    assert late.allow(ANONYMOUS, lambda: frozenset({1}), None).late is None
    assert select(binding(saml(point, namespace="hr")), URLS) == set()
    assert select(late, URLS, Identity(users=(Subject(scope=Scope.USER, name="a\x00b"),))) == set()
    assert point.requests == []


def test_decisions_are_remembered_for_the_user_for_a_while(point: DecisionPoint) -> None:
    clock = Now()
    point.permit("ann", URLS[0])
    point.decisions["ann", URLS[1]] = "Deny"
    late = binding(saml(point), clock=clock, cache_seconds=60.0)
    assert select(late, URLS[:3]) == {URLS[0]}
    point.permit("ann", URLS[1], URLS[2])
    assert select(late, URLS[:3]) == {URLS[0], URLS[2]}
    assert point.batches == [URLS[:3], [URLS[2]]]
    assert select(late, URLS[:1], BOB) == set()
    clock.seconds += 61.0
    assert select(late, URLS[:3]) == set(URLS[:3])


def test_remembered_decisions_keep_to_their_number(point: DecisionPoint) -> None:
    point.permit("ann", *URLS)
    late = binding(saml(point), cache_entries=2)
    assert select(late, URLS) == set(URLS)
    assert select(late, URLS[3:]) == set(URLS[3:])
    assert len(point.batches) == 1
    assert select(late, URLS[:1]) == set(URLS[:1])
    assert len(point.batches) == 2


def _drip(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    for _ in range(9_000):  # three minutes
        handler.wfile.write(b"<")
        handler.wfile.flush()
        time.sleep(0.02)


def _pour(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    for _ in range(2_000):
        handler.wfile.write(b"<a/>" * 16_384)


MISBEHAVIOURS: dict[str, tuple[Callable[[BaseHTTPRequestHandler], object], str]] = {
    "drips": (_drip, "in time"),
    "pours": (_pour, "more than"),
    "hangs-up": (lambda handler: handler.connection.close(), ""),
    "redirects": (say("HTTP/1.1 302 Found", "Location: /permit"), "status 302"),
    "fails": (say("HTTP/1.1 500 Oh"), "status 500"),
    "no-http": (lambda handler: handler.wfile.write(b"220 mail ready\r\n"), "does not speak HTTP"),
    "endless-head": (lambda handler: handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000), "does not speak HTTP"),
    "empty": (say("HTTP/1.1 200 OK"), "not XML"),
}


@pytest.mark.parametrize("name", MISBEHAVIOURS)
def test_decision_point_that_misbehaves_permits_nothing_in_time_and_is_logged(point: DecisionPoint, name: str) -> None:
    point.misbehave, reason = MISBEHAVIOURS[name]
    point.permit("ann", *URLS)
    late, begun = binding(saml(point, seconds=0.5 if name == "drips" else 60.0)), time.monotonic()
    with capture_logs() as logs:
        assert select(late, URLS) == set()
    assert time.monotonic() - begun < 50
    failures = [entry for entry in logs if entry["event"] == "authorization_failed"]
    assert [(entry["rule"], entry["documents"]) for entry in failures] == [("pdp", 5)]
    assert reason in failures[0]["reason"]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_decision_point_that_never_says_a_word_is_given_up(point: DecisionPoint, scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, capture_logs() as logs:
        endpoint = f"{scheme}://127.0.0.1:{silent.getsockname()[1]}/"
        begun = time.monotonic()
        assert select(binding(saml(point, endpoint=endpoint, seconds=0.4)), URLS) == set()
        assert time.monotonic() - begun < 50
    assert [entry["reason"] for entry in logs] == ["it does not answer in time"]


def test_decision_point_that_is_slow_is_waited_for_no_longer_than_the_search_may_take(point: DecisionPoint) -> None:
    point.permit("ann", *URLS)
    point.delay_seconds = 60.0
    begun = time.monotonic()
    assert select(binding(saml(point, batch=1, parallel=1), seconds=0.5), URLS) == set()
    assert time.monotonic() - begun < 50


SPOILS: dict[str, Callable[[bytes], bytes]] = {
    "entity": lambda body: b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]>' + body,
    "cut": lambda body: body[:-30],
    "other-user": lambda body: body.replace(b"<a:NameID>ann<", b"<a:NameID>bob<"),
    "other-ids": lambda body: body.replace(b'InResponseTo="_', b'InResponseTo="x'),
    "other-documents": lambda body: body.replace(b"http://wiki.example/", b"http://wiki.example/a/"),
    "expired": lambda body: body.replace(b"<a:AuthzD", b'<a:Conditions NotOnOrAfter="2001-01-01T00:00:00Z"/><a:AuthzD'),
    "swapped": lambda body: body.replace(b"/0", b"/#").replace(b"/1", b"/0").replace(b"/#", b"/1"),
}


@pytest.mark.parametrize("name", SPOILS)
def test_answer_that_is_spoilt_permits_nothing(point: DecisionPoint, name: str) -> None:
    point.permit("ann", *URLS[:2])
    assert select(binding(saml(point)), URLS[:2]) == set(URLS[:2])
    point.spoil = SPOILS[name]
    with capture_logs() as logs:
        assert select(binding(saml(point)), URLS[:2]) == set()
    assert [entry["log_level"] for entry in logs] == ["warning"]
    assert "ann" not in str(logs)


def test_decision_point_is_believed_by_its_certificate(tmp_path: Path) -> None:
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    certificate.write_text(CERTIFICATE)
    key.write_text(KEY)
    with running_point((certificate, key)) as point, capture_logs() as logs:
        point.permit("ann", *URLS)
        trusted = Trust(ca=str(certificate))
        endpoint = f"https://localhost:{point.port}/"
        assert select(binding(saml(point, endpoint=endpoint, trust=trusted)), URLS) == set(URLS)
        assert select(binding(saml(point, endpoint=endpoint)), URLS) == set()
        assert select(binding(saml(point, endpoint=f"https://127.0.0.1:{point.port}/", trust=trusted)), URLS) == set()
        assert select(binding(saml(point)), URLS) == set()
    reasons = [entry["reason"] for entry in logs]
    assert "certificate is not believed" in reasons[0]
    assert "certificate is not believed" in reasons[1]
    assert len(reasons) == 3


def test_server_without_a_listener_permits_nothing(point: DecisionPoint) -> None:
    with capture_logs() as logs:
        assert select(binding(saml(point, endpoint="http://127.0.0.1:1/")), URLS) == set()
        assert select(binding(saml(point, endpoint="http://nowhere.invalid/")), URLS) == set()
    assert "cannot be reached" in logs[0]["reason"]
    assert len(logs) == 2


def test_dead_server_does_not_delay_the_request_to_another(point: DecisionPoint) -> None:
    other = "http://other.example/1"
    point.permit("ann", *URLS)
    with running_point() as dead:
        # it answers only after the other one got its request: requests in sequence would get no answer from either
        dead.delay_seconds = 100.0

        def release(body: bytes) -> bytes:
            dead.released.set()
            return body

        point.spoil = release
        stuck = saml(dead, patterns=("other.example/",))
        assert select(binding(stuck, saml(point)), [*URLS, other]) == set(URLS)


# --- requests as the user -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("uses_get", [False, True], ids=["head", "get"])
def test_server_of_documents_gets_the_users_login(point: DecisionPoint, uses_get: bool) -> None:
    point.passwords["ann"] = "pa:ss"
    urls = files(point, {"/a": {"ann"}, "/b": {"bob"}, "/c": {"ann", "bob"}, "/gone": set()})
    del point.files["/gone"]
    assert select(binding(head(point, uses_get=uses_get)), urls, login=LOGIN) == {urls[0], urls[2]}
    assert {command for command, _, _ in point.requests} == {"GET" if uses_get else "HEAD"}
    assert point.requests[0][2]["authorization"] == "Basic " + base64.b64encode(b"ann:pa:ss").decode()


def test_connection_is_reused_for_documents_of_one_server(point: DecisionPoint) -> None:
    point.passwords["ann"] = "pa:ss"
    urls = files(point, {f"/{number}": {"ann"} for number in range(20)})
    assert select(binding(head(point, parallel=2)), urls, login=LOGIN) == set(urls)
    assert len(point.peers) == 2


def test_header_names_the_user_to_a_server(point: DecisionPoint) -> None:
    urls = files(point, {"/a": {"ann@corp"}, "/b": {"ann"}})
    assert select(binding(head(point, forwards_password=False, user_header="X-User")), urls) == {urls[0]}
    assert not any("authorization" in headers for _, _, headers in point.requests)


def test_server_gets_no_request_of_a_user_that_it_cannot_know(point: DecisionPoint) -> None:
    urls = files(point, {"/a": {""}})
    late = binding(head(point))
    assert select(late, urls) == set()
    assert select(late, urls, login=replace(LOGIN, namespaces=())) == set()
    assert point.requests == []


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}@evil.example/",
        "http://127.0.0.1:{port}\\@evil.example/a",
        "http://evil.example/?http://127.0.0.1:{port}/",
        "http://evil.example#http://127.0.0.1:{port}/",
        "http://127.0.0.1.evil.example:{port}/",
        "ftp://127.0.0.1:{port}/",
    ],
)
def test_password_goes_nowhere_but_to_the_hosts_of_the_patterns(point: DecisionPoint, url: str) -> None:
    authorizer = head(point)
    assert authorizer.matches(f"http://127.0.0.1:{point.port}/a")
    assert not authorizer.matches(url.format(port=point.port))


def test_private_address_is_dialled_only_where_it_is_allowed(point: DecisionPoint) -> None:
    point.passwords["ann"] = "pa:ss"
    urls = files(point, {"/a": {"ann"}})
    with capture_logs() as logs:
        assert select(binding(head(point, allow_private=())), urls, login=LOGIN) == set()
    assert "is private" in logs[0]["reason"]
    assert point.requests == []


@pytest.mark.parametrize("line", ["302 Found", "204 No Content", "404 Not Found", "500 Oh", "407 Proxy"])
def test_server_that_neither_serves_nor_refuses_permits_nothing(point: DecisionPoint, line: str) -> None:
    point.misbehave = say(f"HTTP/1.1 {line}", "Location: /permit")
    urls = files(point, {"/a": {"ann"}})
    assert select(binding(head(point)), urls, login=LOGIN) == set()
    assert [path for _, path, _ in point.requests] == ["/a"]


def test_first_mechanism_that_decides_decides(point: DecisionPoint) -> None:
    point.passwords["ann"] = "pa:ss"
    urls = files(point, {"/denied": {"ann"}, "/open": {"ann"}, "/permitted": set()})
    point.decisions = {("ann", urls[0]): "Deny", ("ann", urls[2]): "Permit"}
    late = binding(saml(point, patterns=("/",)), head(point))
    assert select(late, urls, login=LOGIN) == {urls[1], urls[2]}
    assert [path for command, path, _ in point.requests if command == "HEAD"] == ["/open"]


def test_authorizer_that_raises_permits_nothing_and_is_logged() -> None:
    class Broken:
        rule = AuthorizationRule(label="broken", mechanism=Mechanism.SAML, patterns=())

        def matches(self, url: str) -> bool:
            return True

        def split(self, urls: object) -> list[list[str]]:
            return [list(URLS)]

        def server_of(self, urls: object) -> str:
            return "broken.example"

        def decide(self, *_: object) -> Any:
            raise ZeroDivisionError

    with capture_logs() as logs:
        assert select(binding(Broken()), URLS) == set()
    assert [entry["event"] for entry in logs] == ["authorization_broken"]
