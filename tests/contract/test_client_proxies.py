"""Both kinds of the client behind a proxy, which is a real one."""

import asyncio
import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from feedmill_client import AsyncClient, BadRequest, Client, Denied, Options, Retries, Unreachable
from tests.contract.test_client_hostile import ONCE, RECEIPT, SUGGESTIONS, TOKEN, answer, in_turn, read_body
from tests.eitherclient import KINDS, QUICK, Either
from tests.rawserver import Server, running
from tests.selfsigned import CERTIFICATE, KEY
from tests.smallproxy import SmallProxy

NAME = "search.example.com"
PROOF = "Basic " + b64encode(b"ann:pass word").decode()
VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@contextmanager
def tls_server(folder: Path) -> Iterator[tuple[Server, str]]:
    """Runs a server with TLS. Yields it and the file of its certificate."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    certificate.write_text(CERTIFICATE)
    key.write_text(KEY)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with running(in_turn(answer(SUGGESTIONS)), context) as server:
        yield server, str(certificate)


@KINDS
def test_proxy_reads_requests_to_a_server_without_tls(kind: str) -> None:
    with running(in_turn(answer(SUGGESTIONS))) as server, SmallProxy(proof=PROOF).running() as proxy:
        given = {"token": TOKEN, "proxy": f"http://ann:pass%20word@127.0.0.1:{proxy.port}", "options": ONCE}
        with Either(kind, "Client", search=server.url(""), **given) as client:
            assert client.suggest("x") == ["xylophone"]
        [read], [passed] = proxy.heads, server.heads
        assert read.startswith(f"GET {server.url('/api/v1/suggest?q=x')}".encode())
        assert f"\r\nProxy-Authorization: {PROOF}\r\n".encode() in read
        assert passed.startswith(b"GET /api/v1/suggest?q=x")
        assert f"\r\nHost: 127.0.0.1:{server.port}\r\n".encode() in passed
        assert f"\r\nAuthorization: Bearer {TOKEN}\r\n".encode() in passed


@KINDS
def test_proxy_sees_only_host_and_port_of_a_server_with_tls(kind: str, tmp_path: Path) -> None:
    with tls_server(tmp_path) as (server, certificate), SmallProxy(names={NAME: server.port}, proof=PROOF).running() as proxy:
        options = replace(ONCE, proxy=f"http://ann:pass%20word@127.0.0.1:{proxy.port}")
        with Either(kind, "Client", search=f"https://{NAME}", certificate=certificate, token=TOKEN, options=options) as client:
            assert [client.suggest("x"), client.suggest("x")] == [["xylophone"]] * 2
        [read] = proxy.heads
        assert read.startswith(f"CONNECT {NAME}:443 HTTP/1.1\r\nHost: {NAME}:443\r\n".encode())
        assert f"\r\nProxy-Authorization: {PROOF}\r\n".encode() in read
        assert TOKEN.encode() not in read
        assert [head.startswith(b"GET /api/v1/suggest?q=x") for head in server.heads] == [True, True]
        assert all(b"Proxy-Authorization" not in head for head in server.heads)


@KINDS
def test_certificate_is_checked_behind_a_proxy(kind: str, tmp_path: Path) -> None:
    with (
        tls_server(tmp_path) as (server, _),
        SmallProxy(names={NAME: server.port}).running() as proxy,
        Either(kind, "Client", search=f"https://{NAME}", proxy=proxy.url(""), options=QUICK) as client,
    ):
        with pytest.raises(Unreachable, match="certificate is not trusted") as raised:
            client.suggest("x")
        assert (raised.value.is_permanent, server.heads) == (True, [])


@KINDS
def test_environment_names_the_proxy(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(in_turn(answer(SUGGESTIONS))) as server, SmallProxy(names={NAME: server.port}).running() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url(""))
        with Either(kind, "Client", search=f"http://{NAME}:8080", options=ONCE) as client:
            assert client.suggest("x") == ["xylophone"]
        assert proxy.heads[0].startswith(f"GET http://{NAME}:8080/api/v1/suggest".encode())
        with Either(kind, "Client", search=server.url(""), options=ONCE) as client:
            assert client.suggest("x") == ["xylophone"]
        assert len(proxy.heads) == 1


@KINDS
def test_program_that_wants_no_proxy_gets_none(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "http://127.0.0.1:1")
    with Either(kind, "Client", search="http://search.invalid", proxy="", options=ONCE) as client:
        with pytest.raises(Unreachable) as raised:
            client.suggest("x")
        assert "proxy" not in str(raised.value)


@KINDS
def test_documents_of_any_number_go_through_a_proxy(kind: str) -> None:
    received: list[bytes] = []

    def take(peer: socket.socket, head: bytes) -> bool:
        received.append(read_body(peer, head))
        peer.sendall(answer(RECEIPT, "202 Accepted"))
        return True

    with (
        running(take) as server,
        SmallProxy().running() as proxy,
        Either(kind, "Client", feeds=server.url(""), proxy=proxy.url(""), options=ONCE) as client,
    ):
        documents = ({"url": f"http://a.example.com/{number}", "content": "x" * 1_000} for number in range(3_000))
        assert client.push_documents(documents, datasource="d").id == "7"
    assert received[0].endswith(b"\r\n0\r\n\r\n")


@KINDS
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_proxy_that_wants_a_password_is_named(kind: str, scheme: str) -> None:
    with SmallProxy(proof=PROOF).running() as proxy:
        url = f"http://ann:secret@127.0.0.1:{proxy.port}"
        with Either(kind, "Client", search=f"{scheme}://127.0.0.1:1", proxy=url, options=QUICK) as client:
            with pytest.raises(Denied, match=rf"the proxy http://127\.0\.0\.1:{proxy.port} wants a user and a password") as raised:
                client.suggest("x")
            assert (raised.value.status, "secret" in str(raised.value), len(proxy.heads)) == (407, False, 1)


@KINDS
def test_proxy_that_refuses_a_tunnel_is_asked_again_only_if_it_may_do_so_later(kind: str, tmp_path: Path) -> None:
    busy, never = answer(b"", "503 Service Unavailable"), answer(b"no", "403 Forbidden")
    with tls_server(tmp_path) as (server, certificate), SmallProxy({NAME: server.port}, "", [busy, busy]).running() as proxy:
        with Either(kind, "Client", search=f"https://{NAME}", proxy=proxy.url(""), certificate=certificate, options=QUICK) as client:
            assert client.suggest("x") == ["xylophone"]
        assert len(proxy.heads) == 3
    with (
        SmallProxy(refusals=[never]).running() as proxy,
        Either(kind, "Client", search=f"https://{NAME}", proxy=proxy.url(""), options=QUICK) as client,
    ):
        with pytest.raises(
            Unreachable, match=rf"the proxy http://127\.0\.0\.1:{proxy.port} refuses to connect to it with status 403"
        ) as raised:
            client.suggest("x")
        assert (raised.value.was_sent, raised.value.is_permanent, len(proxy.heads)) == (False, True, 1)


@KINDS
@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"nothing of HTTP\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nand more",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 30,
    ],
    ids=["silent", "no HTTP", "more", "closed", "interim"],
)
def test_proxy_that_does_not_answer_as_it_should_is_unreachable(kind: str, raw: bytes) -> None:
    with (
        SmallProxy(refusals=[raw]).running() as proxy,
        Either(kind, "Client", search=f"https://{NAME}", proxy=proxy.url(""), options=ONCE) as client,
    ):
        with pytest.raises(Unreachable, match=rf"{NAME} through the proxy http://127\.0\.0\.1:{proxy.port}") as raised:
            client.suggest("x")
        assert not raised.value.was_sent


@KINDS
def test_proxy_that_does_not_run_is_named(kind: str) -> None:
    with Either(kind, "Client", search=f"http://{NAME}", proxy="http://u:secret@127.0.0.1:1", options=ONCE) as client:
        with pytest.raises(
            Unreachable, match=rf"no server answers at http://{NAME} through the proxy http://127\.0\.0\.1:1; is the proxy"
        ) as raised:
            client.suggest("x")
        assert "secret" not in str(raised.value)


def test_cancelled_request_closes_its_connection_to_the_proxy() -> None:
    asked, closed = threading.Event(), threading.Event()

    def wait(peer: socket.socket, _head: bytes) -> None:
        asked.set()
        if not peer.recv(1):
            closed.set()

    async def cancel(proxy: Server) -> None:
        async with AsyncClient(search=f"https://{NAME}", proxy=proxy.url(""), options=Options(retries=Retries(attempts=1))) as client:
            asking = asyncio.create_task(client.suggest("x"))
            await asyncio.to_thread(asked.wait, 30)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking

    with running(wait) as proxy:
        asyncio.run(cancel(proxy))
        assert closed.wait(30)


@pytest.mark.parametrize("proxy", ["https://proxy.example.com", "socks5://proxy.example.com:1080", "http://", "http://a:b"])
def test_proxy_of_another_kind_is_refused_at_once(proxy: str) -> None:
    with pytest.raises(BadRequest, match="the option proxy names"):
        Client(search=f"http://{NAME}", proxy=proxy)
