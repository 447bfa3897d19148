"""The HTTP client against real servers that are slow, endless, hostile or badly certified."""

import asyncio
import gzip
import socket
import ssl
import threading
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from feedmill.adapters.http.blocking import BlockingHttpClient
from feedmill.adapters.http.client import AsyncHttpClient, ClientOptions, allow_all
from feedmill.adapters.http.dialing import find_environment_proxy
from feedmill.adapters.http.lookup import MAX_LOOKUPS, FoundAddress, look_up
from feedmill.core.urls.targets import Target
from feedmill.model.authorization import Trust
from feedmill.model.errors import BadRequest, UpstreamFailure
from feedmill.ports.http import HttpRequest, HttpResponse, ServerAddress
from tests.rawserver import OK, Server, always, redirect, running
from tests.selfsigned import CERTIFICATE, KEY
from tests.waiting import PATIENCE_SECONDS

MAX_BYTES = 100_000
LOCAL = ClientOptions(allows_private=allow_all)
FOLLOWING = ClientOptions(allows_private=allow_all, max_redirects=5)


def packed(body: bytes, coding: str = "gzip") -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def fetch(url: str, options: ClientOptions = LOCAL, seconds: float = PATIENCE_SECONDS, **given: Any) -> HttpResponse:
    return BlockingHttpClient(options).fetch("GET", url, max_bytes=MAX_BYTES, seconds=seconds, **given).response


@pytest.fixture
def tls(tmp_path: Path) -> ssl.SSLContext:
    (tmp_path / "cert.pem").write_text(CERTIFICATE)
    (tmp_path / "key.pem").write_text(KEY)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    return context


def test_fetch_returns_status_headers_and_body() -> None:
    with running(always(b"HTTP/1.1 418 Oh\r\nX-Kind: Tea\r\nContent-Length: 3\r\n\r\npot")) as server:
        response = fetch(server.url("/a?b=c"), headers={"Accept": "text/plain"})
    assert (response.status, response.find_header("x-kind"), response.body) == (418, "Tea", b"pot")
    assert server.heads[0].startswith(b"GET /a?b=c HTTP/1.1\r\n")
    assert b"\r\naccept: text/plain\r\n" in server.heads[0].lower()


# --- time ---


@pytest.mark.parametrize("start", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n"], ids=["head", "body"])
def test_response_that_drips_ends_with_the_deadline(start: bytes) -> None:
    def drip(peer: socket.socket, _head: bytes) -> None:
        peer.sendall(start)
        while not server.is_over.wait(0.05):
            peer.sendall(b"x")

    with running(drip) as server:
        begun = time.monotonic()
        with pytest.raises(UpstreamFailure, match="not answer in time"):
            fetch(server.url(), seconds=0.5)
        assert 0.4 < time.monotonic() - begun < PATIENCE_SECONDS


def test_one_deadline_covers_all_redirects() -> None:
    def lead_on(peer: socket.socket, _head: bytes) -> None:
        server.is_over.wait(0.2)
        peer.sendall(redirect("/more"))

    with running(lead_on) as server:
        with pytest.raises(UpstreamFailure, match="in time"):
            fetch(server.url(), ClientOptions(allows_private=allow_all, max_redirects=10_000), seconds=0.7)
        assert len(server.heads) <= 5


def test_lookup_that_hangs_ends_with_the_deadline() -> None:
    async def hang(_host: str, _port: int) -> list[FoundAddress]:
        await asyncio.Event().wait()
        return []

    with pytest.raises(UpstreamFailure, match="in time"):
        fetch("http://slow.example/", ClientOptions(lookup=hang), seconds=0.2)


def test_handshake_that_hangs_ends_with_the_deadline() -> None:
    with running(lambda _peer, _head: server.is_over.wait()) as server, pytest.raises(UpstreamFailure, match="in time"):
        fetch(server.url().replace("http:", "https:"), seconds=0.2)


def test_connection_is_closed_when_the_deadline_cancels_an_exchange() -> None:
    is_closed = threading.Event()

    def wait_for_end(peer: socket.socket, _head: bytes) -> None:
        if not peer.recv(1):
            is_closed.set()

    with running(wait_for_end) as server:
        connection = BlockingHttpClient(LOCAL).open(server.address())
        with pytest.raises(UpstreamFailure, match="in time"):
            connection.send(HttpRequest(method="GET", path="/", headers=(("Host", b"x"),), max_bytes=9), 0.2)
        assert is_closed.wait(PATIENCE_SECONDS)
        connection.close()


def test_caller_that_cancels_leaves_no_connection() -> None:
    is_closed, has_begun = threading.Event(), threading.Event()

    def wait_for_end(peer: socket.socket, _head: bytes) -> None:
        has_begun.set()
        if not peer.recv(1):
            is_closed.set()

    async def cancel(url: str) -> None:
        task = asyncio.create_task(AsyncHttpClient(LOCAL).fetch("GET", url, max_bytes=9, seconds=PATIENCE_SECONDS))
        assert await asyncio.to_thread(has_begun.wait, PATIENCE_SECONDS)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with running(wait_for_end) as server:
        asyncio.run(cancel(server.url()))
        assert is_closed.wait(PATIENCE_SECONDS)


# --- size ---


def test_body_without_end_is_cut_at_the_limit() -> None:
    def pour(peer: socket.socket, _head: bytes) -> None:
        peer.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while not server.is_over.is_set():
            peer.sendall(b"x" * 65_536)

    with running(pour) as server, pytest.raises(UpstreamFailure, match="more than 100000 bytes"):
        fetch(server.url())


def test_head_without_end_is_refused() -> None:
    def pour(peer: socket.socket, _head: bytes) -> None:
        peer.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        while not server.is_over.is_set():
            peer.sendall(b"x" * 65_536)

    with running(pour) as server, pytest.raises(UpstreamFailure, match="speak HTTP"):
        fetch(server.url())


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_compressed_bomb_is_cut_at_the_limit(coding: str) -> None:
    bomb = gzip.compress(b"\0" * 50_000_000) if coding == "gzip" else zlib.compress(b"\0" * 50_000_000)
    assert len(bomb) < MAX_BYTES
    with running(always(packed(bomb, coding))) as server, pytest.raises(UpstreamFailure, match="more than 100000 bytes"):
        fetch(server.url())


def test_body_is_sent_in_chunks_where_its_headers_say_so() -> None:
    with running(always(OK)) as server:
        client, headers = BlockingHttpClient(LOCAL), {"Transfer-Encoding": "chunked"}
        client.fetch("POST", server.url(), headers=headers, body=b"text", max_bytes=MAX_BYTES, seconds=PATIENCE_SECONDS)
    assert b"Transfer-Encoding: chunked" in server.heads[0]
    assert b"Content-Length" not in server.heads[0]


def test_compressed_body_is_unpacked() -> None:
    with running(always(packed(gzip.compress(b"text")))) as server:
        assert fetch(server.url()).body == b"text"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (packed(b"no gzip"), "compressed"),
        (packed(b"x", "compress"), "compressed"),
        (packed(gzip.compress(b"text" * 9)[:-9]), "cut short"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort", "closed the connection"),
        (b"SSH-2.0-x\r\n", "speak HTTP"),
        (b"", "closed the connection"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 50, "over and over"),
    ],
    ids=["no gzip", "unknown coding", "packed and cut", "cut", "no HTTP", "nothing", "interim"],
)
def test_response_that_cannot_be_read_is_unanswered(answer: bytes, reason: str) -> None:
    with running(always(answer)) as server, pytest.raises(UpstreamFailure, match=reason):
        fetch(server.url())


# --- addresses ---


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "[::1]", "[::ffff:127.0.0.1]"])
def test_private_address_is_refused_before_a_connection(host: str) -> None:
    with running(always(OK)) as server:
        with pytest.raises(UpstreamFailure, match="private"):
            fetch(server.url(host=host), ClientOptions())
        assert server.connections == 0


def test_name_of_public_and_private_addresses_is_not_connected_to_a_private_one() -> None:
    async def name_both(_host: str, port: int) -> list[FoundAddress]:
        # no socket can be made for the first address, as on a machine without IPv6
        return [(socket.AF_INET, socket.SOCK_STREAM, 17, "", ("93.184.215.14", port)), *name_private(port)]

    def name_private(port: int) -> list[FoundAddress]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", port))]

    with running(always(OK)) as server:
        with pytest.raises(UpstreamFailure, match="private"):
            fetch(server.url(host="both.example"), ClientOptions(lookup=name_both))
        assert server.connections == 0


def test_lookup_is_made_once_so_that_a_second_answer_cannot_replace_the_checked_one() -> None:
    looked_up = []

    async def count(host: str, port: int) -> list[FoundAddress]:
        looked_up.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", port))]

    with running(always(OK)) as server:
        fetch(server.url(host="once.example"), ClientOptions(allows_private=allow_all, lookup=count))
    assert looked_up == ["once.example"]


def test_lookups_may_be_more_than_run_at_once() -> None:
    async def look_up_often() -> set[str]:
        return {str(address[0]) for _ in range(MAX_LOOKUPS + 1) for *_, address in await look_up("localhost", 80)}

    assert "127.0.0.1" in asyncio.run(look_up_often())


def test_threads_use_one_client_at_once() -> None:
    client, statuses = BlockingHttpClient(LOCAL), list[int]()

    def fetch_some(url: str) -> None:
        for _ in range(10):
            statuses.append(client.fetch("GET", url, max_bytes=9, seconds=PATIENCE_SECONDS).response.status)

    with running(always(OK)) as server:
        threads = [threading.Thread(target=fetch_some, args=(server.url(host=host),)) for host in ("localhost", "127.0.0.1") * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert statuses == [200] * 80


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_redirect_to_a_private_address_is_refused(host: str) -> None:
    def is_first(target: Target) -> bool:
        return target.path == "/first"

    with running(lambda peer, _: peer.sendall(redirect(server.url("/secret", host=host)))) as server:
        with pytest.raises(UpstreamFailure, match="private"):
            fetch(server.url("/first"), ClientOptions(allows_private=is_first, max_redirects=5))
        assert len(server.heads) == 1


def test_redirect_loop_ends() -> None:
    with running(always(redirect("/again"))) as server:
        with pytest.raises(UpstreamFailure, match="more than 5 times"):
            fetch(server.url(), FOLLOWING)
        assert len(server.heads) == 6


def test_redirect_is_a_response_where_none_are_followed() -> None:
    with running(always(redirect("/other"))) as server:
        assert fetch(server.url()).status == 302
        assert len(server.heads) == 1


def test_redirect_to_another_server_drops_the_headers_that_name_the_user() -> None:
    with running(always(OK)) as other, running(always(redirect(other.url("/there")))) as server:
        sent = {"Authorization": "Bearer secret", "Cookie": "a=b", "User-Agent": "Feedmill"}
        fetched = BlockingHttpClient(FOLLOWING).fetch("GET", server.url(), headers=sent, max_bytes=9, seconds=PATIENCE_SECONDS)
    assert (fetched.url, fetched.response.body) == (other.url("/there"), b"ok")
    assert b"secret" in server.heads[0]
    assert b"secret" not in other.heads[0]
    assert b"a=b" not in other.heads[0]
    assert b"Feedmill" in other.heads[0]


@pytest.mark.parametrize("location", ["file:///etc/passwd", "http://user:pw@host/", "http://[::1"])
def test_redirect_to_what_is_no_address_of_http_is_refused(location: str) -> None:
    with running(always(redirect(location))) as server, pytest.raises(UpstreamFailure, match="no address"):
        fetch(server.url(), FOLLOWING)


def test_url_of_another_scheme_is_refused() -> None:
    with pytest.raises(BadRequest):
        fetch("file:///etc/passwd")


# --- TLS ---


def test_certificate_that_is_not_trusted_is_refused(tls: ssl.SSLContext) -> None:
    with running(always(OK), tls) as server:
        with pytest.raises(UpstreamFailure, match="certificate is not believed"):
            fetch(server.url(host="localhost"))
        assert server.heads == []


def test_certificate_of_another_name_is_refused(tls: ssl.SSLContext, tmp_path: Path) -> None:
    trusting = ClientOptions(allows_private=allow_all, trust=Trust(ca=str(tmp_path / "cert.pem")))
    with running(always(OK), tls) as server, pytest.raises(UpstreamFailure, match="certificate is not believed"):
        fetch(server.url(host="127.0.0.1"), trusting)


def test_server_without_tls_is_refused() -> None:
    with running(always(OK), greeting=b"220 mail.example ESMTP\r\n") as server, pytest.raises(UpstreamFailure, match="TLS fails"):
        fetch(server.url().replace("http:", "https:"))


def test_redirect_from_https_to_http_is_refused(tls: ssl.SSLContext, tmp_path: Path) -> None:
    trust = Trust(ca=str(tmp_path / "cert.pem"))
    with running(always(OK)) as plain, running(always(redirect(plain.url())), tls) as server:
        with pytest.raises(UpstreamFailure, match="from https to http"):
            fetch(server.url(host="localhost"), ClientOptions(allows_private=allow_all, trust=trust, max_redirects=5))
        assert plain.heads == []


def test_connection_over_tls_is_reused_and_carries_large_bodies(tls: ssl.SSLContext, tmp_path: Path) -> None:
    def echo(peer: socket.socket, head: bytes) -> bool:
        size = int(head.lower().partition(b"content-length: ")[2].split()[0])
        body = b""
        while len(body) < size:
            body += peer.recv(65_536)
        peer.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode() + body)
        return True

    with running(echo, tls) as server:
        address = ServerAddress(
            is_tls=True, host="localhost", port=server.port, trust=Trust(ca=str(tmp_path / "cert.pem")), allows_private=True
        )
        connection = BlockingHttpClient(LOCAL).open(address)
        for number in range(3):
            body = bytes([number]) * 3_000_000
            request = HttpRequest(method="POST", path="/", headers=(("Host", b"x"),), body=body, max_bytes=3_000_000)
            assert connection.send(request, PATIENCE_SECONDS).body == body
        connection.close()
    assert server.connections == 1


# --- proxies ---


def tunnel(peer: socket.socket, head: bytes) -> None:
    host, _, port = head.split()[1].decode().rpartition(":")
    peer.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
    with socket.create_connection((host, int(port))) as there:
        back = threading.Thread(target=pump, args=(there, peer))
        back.start()
        pump(peer, there)
        back.join()


def pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65_536):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)


def use_proxy(monkeypatch: pytest.MonkeyPatch, proxy: Server, exempt: str = "") -> None:
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, f"http://me:pa%3Ass@127.0.0.1:{proxy.port}")
    monkeypatch.setenv("no_proxy", exempt)


def test_proxy_of_the_environment_is_used_only_where_it_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    through = ClientOptions(allows_private=allow_all, uses_environment_proxy=True)
    with running(always(OK)) as proxy, running(always(OK)) as server:
        use_proxy(monkeypatch, proxy)
        fetch(server.url("/a"), through)
        assert proxy.heads[0].startswith(f"GET {server.url('/a')} HTTP/1.1".encode())
        assert b"Proxy-Authorization: Basic bWU6cGE6c3M=" in proxy.heads[0]
        fetch(server.url())
        use_proxy(monkeypatch, proxy, "127.0.0.1")
        fetch(server.url(), through)
        assert (len(proxy.heads), len(server.heads)) == (1, 2)
        use_proxy(monkeypatch, proxy, f"127.0.0.1:{server.port}")
        fetch(server.url(), through)
        assert (len(proxy.heads), len(server.heads)) == (1, 3)


@pytest.mark.parametrize("exempt", ["::1", "[::1]", "[::1]:443", "server.test", "server.test:443", ".test"])
def test_server_is_exempt_by_address_name_and_port(monkeypatch: pytest.MonkeyPatch, exempt: str) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.test:3128")
    servers = [ServerAddress(host=host, port=443, is_tls=True) for host in ("::1", "server.test")]
    monkeypatch.setenv("no_proxy", "other.test")
    assert all(find_environment_proxy(server) is not None for server in servers)
    monkeypatch.setenv("no_proxy", exempt)
    assert [find_environment_proxy(server) is None for server in servers] == [":1" in exempt, "test" in exempt]


def test_proxy_opens_a_tunnel_for_tls(monkeypatch: pytest.MonkeyPatch, tls: ssl.SSLContext, tmp_path: Path) -> None:
    trust = Trust(ca=str(tmp_path / "cert.pem"))
    through = ClientOptions(allows_private=allow_all, uses_environment_proxy=True, trust=trust)
    with running(always(OK), tls) as server, running(tunnel) as proxy:
        use_proxy(monkeypatch, proxy)
        assert fetch(server.url(host="localhost"), through, headers={"Authorization": "secret"}).body == b"ok"
        assert proxy.heads[0].startswith(f"CONNECT localhost:{server.port} HTTP/1.1".encode())
        assert b"Proxy-Authorization: Basic bWU6cGE6c3M=" in proxy.heads[0]
        assert b"secret" not in proxy.heads[0]


def test_proxy_that_refuses_a_tunnel_is_unanswered(monkeypatch: pytest.MonkeyPatch) -> None:
    through = ClientOptions(allows_private=allow_all, uses_environment_proxy=True)
    with running(always(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n")) as proxy:
        use_proxy(monkeypatch, proxy)
        with pytest.raises(UpstreamFailure, match="proxy does not connect to it: 407"):
            fetch("https://id.example/", through)


def test_proxy_is_not_used_for_a_server_whose_address_must_be_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    with running(always(OK)) as proxy:
        use_proxy(monkeypatch, proxy)
        with pytest.raises(UpstreamFailure, match="private"):
            fetch(proxy.url(), ClientOptions(uses_environment_proxy=True))
        assert proxy.connections == 0


# --- reuse ---


def test_idle_connection_that_the_server_closed_is_opened_again() -> None:
    with running(always(OK)) as server:
        connection = BlockingHttpClient(LOCAL).open(server.address())
        for _ in range(3):
            request = HttpRequest(method="GET", path="/", headers=(("Host", b"x"),), max_bytes=9)
            assert connection.send(request, PATIENCE_SECONDS).status == 200
        connection.close()
    assert len(server.heads) == 3
