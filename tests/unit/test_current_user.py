import asyncio
from collections.abc import Sequence

import pytest
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from feedmill.core.urls.networks import Networks
from feedmill.http.common.currentuser import SIGNED_OUT, AuthenticationMiddleware, CurrentUser, find_current_user
from feedmill.http.common.proxyheaders import ProxyTrust
from feedmill.model import access
from feedmill.model.identity import Identity, Subject
from feedmill.model.userrole import UserRole

PROXY = "10.0.0.1"
TRUST = ProxyTrust(trusted=Networks.parse(["10.0.0.0/8"]))


def current_user_of(headers: Sequence[tuple[str, str | bytes]], *, peer: str | None = PROXY, trust: ProxyTrust = TRUST) -> CurrentUser:
    """Returns the user that the application behind the check sees."""
    seen: list[CurrentUser] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(find_current_user(Request(scope)))

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(_message: Message) -> None: ...

    raw = [(name.encode(), value.encode() if isinstance(value, str) else value) for name, value in headers]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": raw, "client": (peer, 1) if peer else None}
    asyncio.run(AuthenticationMiddleware(app, proxy=trust)(scope, receive, send))
    return seen[0]


def user(name: str, domain: str = "", namespace: str = "Default") -> Subject:
    return Subject(scope=access.Scope.USER, name=name, domain=domain, namespace=namespace)


def group(name: str, domain: str = "", namespace: str = "Default") -> Subject:
    return Subject(scope=access.Scope.GROUP, name=name, domain=domain, namespace=namespace)


def test_current_user_named_by_a_trusted_proxy_is_signed_in_with_user_and_groups() -> None:
    current_user = current_user_of([("x-forwarded-user", "ann@corp.example.com"), ("x-forwarded-groups", r"staff|CORP\eng | |ops/b")])
    groups = (group("staff"), group("eng", "CORP"), group("b", "ops"))
    assert current_user.identity == Identity(users=(user("ann", "corp.example.com"),), groups=groups)
    assert current_user.is_signed_in
    assert current_user.role is UserRole.SEARCHER


@pytest.mark.parametrize("peer", ["192.168.1.9", "::1", "proxy.example.com", None], ids=str)
def test_current_user_named_by_an_untrusted_peer_is_signed_out(peer: str | None) -> None:
    spoofed = [("x-forwarded-user", "ann"), ("x-forwarded-for", PROXY), ("forwarded", f"for={PROXY}"), ("x-real-ip", PROXY)]
    assert current_user_of(spoofed, peer=peer) == SIGNED_OUT


def test_current_user_by_default_settings_is_signed_out() -> None:
    assert current_user_of([("x-forwarded-user", "ann")], peer="127.0.0.1", trust=ProxyTrust()) == SIGNED_OUT


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("x-forwarded-user", "")],
        [("x-forwarded-user", "  ")],
        [("x-forwarded-groups", "staff")],
        [("x-forwarded-user", "ann"), ("x-forwarded-user", "root")],
        [("x-forwarded-user", "ann"), ("X-Forwarded-User", "ann")],
        [("x-forwarded-user", "ann"), ("x-forwarded-groups", "a"), ("x-forwarded-groups", "b")],
        [("x-forwarded-user", b"\xe4nn")],
        [("x-forwarded-user", "ann"), ("x-forwarded-groups", b"\xff")],
    ],
    ids=["none", "empty", "blank", "groups alone", "twice", "twice in two cases", "groups twice", "latin-1", "groups of no charset"],
)
def test_current_user_that_the_headers_do_not_name_clearly_is_signed_out(headers: list[tuple[str, str | bytes]]) -> None:
    assert current_user_of(headers) == SIGNED_OUT


def test_current_user_headers_are_utf8_and_named_by_the_settings() -> None:
    trust = ProxyTrust(trusted=TRUST.trusted, user_header="Remote-User", groups_header="Remote-Groups", namespace="ad")
    headers = [("remote-user", "Jörg"), ("remote-groups", "Größe|日本"), ("x-forwarded-user", "root")]
    expected = Identity(users=(user("Jörg", namespace="ad"),), groups=(group("Größe", namespace="ad"), group("日本", namespace="ad")))
    assert current_user_of(headers, trust=trust).identity == expected


def test_current_user_over_a_mapped_address_is_that_of_the_ipv4_network() -> None:
    assert current_user_of([("x-forwarded-user", "ann")], peer=f"::ffff:{PROXY}").is_signed_in


def test_current_user_of_a_request_that_was_not_checked_is_signed_out() -> None:
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": [(b"x-forwarded-user", b"ann")]}
    assert find_current_user(Request(scope)) == SIGNED_OUT


@pytest.mark.parametrize(
    ("role", "allowed"), [(UserRole.SEARCHER, 1), (UserRole.VIEWER, 2), (UserRole.MANAGER, 3), (UserRole.ADMINISTRATOR, 4)]
)
def test_role_may_act_as_itself_and_those_below(role: UserRole, allowed: int) -> None:
    assert [role.may_act_as(other) for other in UserRole] == [True] * allowed + [False] * (4 - allowed)


SECRET = ProxyTrust(trusted=TRUST.trusted, secret_header="X-Proxy-Secret", secret="s3cret")
ANN = ("x-forwarded-user", "ann")


def test_current_user_beside_the_secret_is_believed() -> None:
    assert current_user_of([ANN, ("X-PROXY-SECRET", "s3cret")], trust=SECRET).is_signed_in


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("x-proxy-secret", "")],
        [("x-proxy-secret", "s3cre")],
        [("x-proxy-secret", "s3cret ")],
        [("x-proxy-secret", "S3CRET")],
        [("x-proxy-secret", b"\xff")],
        [("x-proxy-secret", "s3cret"), ("x-proxy-secret", "s3cret")],
        [("x-proxy-secret", "wrong"), ("x-proxy-secret", "s3cret")],
        [("x-proxy-secrets", "s3cret")],
    ],
    ids=str,
)
def test_current_user_without_the_secret_is_signed_out(headers: list[tuple[str, str | bytes]]) -> None:
    assert current_user_of([ANN, *headers], trust=SECRET) == SIGNED_OUT


def test_current_user_beside_the_secret_from_an_untrusted_peer_is_signed_out() -> None:
    assert current_user_of([ANN, ("x-proxy-secret", "s3cret")], trust=SECRET, peer="192.168.1.9") == SIGNED_OUT


@pytest.mark.parametrize(("header", "secret"), [("X-Proxy-Secret", ""), ("", "s3cret")])
def test_current_user_with_half_a_secret_set_is_signed_out(header: str, secret: str) -> None:
    half = ProxyTrust(trusted=TRUST.trusted, secret_header=header, secret=secret)
    for given in ("", "s3cret"):
        assert current_user_of([ANN, ("x-proxy-secret", given)], trust=half) == SIGNED_OUT


def test_a_secret_is_not_shown() -> None:
    assert "s3cret" not in repr(SECRET)
