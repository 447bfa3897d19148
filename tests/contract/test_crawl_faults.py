"""A site of which one request in twenty fails, over simulated weeks: no page is lost, and no document is deleted.

The requests are real ones on the loopback address; only the clock of the schedule is turned.
"""

import random
import socket
import ssl
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from feedmill.adapters.crawling.fetcher import HttpFetcher
from feedmill.adapters.crawling.options import FetchOptions
from feedmill.adapters.http.lookup import FoundAddress, look_up
from feedmill.adapters.store.engine import SqlStore
from feedmill.core.crawling.hostload import HostLoads
from feedmill.model.crawling import CrawlState
from tests.contract.crawlharness import CrawlHarness
from tests.rawserver import Server, running
from tests.selfsigned import CERTIFICATE, KEY

RATE = 0.05
FETCH_SECONDS = 1.0
HTML = b"Content-Type: text/html\r\n"
CHANGED_EVERY_DAYS = 5


@dataclass
class FaultySite:
    """A site whose pages change every few days, and whose answers fail now and then, by the path and the number of the request."""

    secure_port: int
    rate: float = RATE
    day: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)

    def body_of(self, path: str) -> bytes:
        return f"<title>page</title>{path} of week {self.day // CHANGED_EVERY_DAYS}".encode()

    def answer(self, peer: socket.socket, head: bytes) -> bool:
        path = head.split()[1].decode()
        self.asked[path] += 1
        dice = random.Random(f"{path} {self.asked[path]}")
        if dice.random() < self.rate:
            fault = dice.choice(sorted(FAULTS))
            self.failed[fault] += 1
            FAULTS[fault](self, peer, path)
            return False
        if path == "/robots.txt":
            peer.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        else:
            body = self.body_of(path)
            peer.sendall(b"HTTP/1.1 200 OK\r\n" + HTML + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        return True


def stall(_site: FaultySite, peer: socket.socket, _path: str) -> None:
    peer.recv(1)


def reset(_site: FaultySite, peer: socket.socket, _path: str) -> None:
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def fail(_site: FaultySite, peer: socket.socket, _path: str) -> None:
    peer.sendall(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n\r\noops")


def cut(_site: FaultySite, peer: socket.socket, _path: str) -> None:
    peer.sendall(b"HTTP/1.1 200 OK\r\n" + HTML + b"Content-Length: 100\r\n\r\n<title>page")


def cut_in_chunks(_site: FaultySite, peer: socket.socket, _path: str) -> None:
    peer.sendall(b"HTTP/1.1 200 OK\r\n" + HTML + b"Transfer-Encoding: chunked\r\n\r\nb\r\n<title>page\r\n")


def send_without_end(_site: FaultySite, peer: socket.socket, _path: str) -> None:
    peer.sendall(b"HTTP/1.1 200 OK\r\n" + HTML + b"\r\n")
    while True:
        peer.sendall(b"endless " * 8_192)


def drip(_site: FaultySite, peer: socket.socket, _path: str) -> None:
    for byte in b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n":
        peer.sendall(bytes([byte]))
        peer.settimeout(0.2)
        try:
            if not peer.recv(1):
                return
        except TimeoutError:
            continue


def circle(_site: FaultySite, peer: socket.socket, path: str) -> None:
    peer.sendall(f"HTTP/1.1 302 Found\r\nLocation: {path}\r\nContent-Length: 0\r\n\r\n".encode())


def answer_nonsense(_site: FaultySite, peer: socket.socket, _path: str) -> None:
    peer.sendall(b"no HTTP at all\r\n\r\n")


def lead_to_bad_certificate(site: FaultySite, peer: socket.socket, path: str) -> None:
    peer.sendall(f"HTTP/1.1 302 Found\r\nLocation: https://127.0.0.1:{site.secure_port}{path}\r\nContent-Length: 0\r\n\r\n".encode())


def lead_to_unknown_name(_site: FaultySite, peer: socket.socket, path: str) -> None:
    peer.sendall(f"HTTP/1.1 302 Found\r\nLocation: http://unknown.test{path}\r\nContent-Length: 0\r\n\r\n".encode())


FAULTS: dict[str, Callable[[FaultySite, socket.socket, str], None]] = {
    fault.__name__: fault
    for fault in (
        *(stall, reset, fail, cut, cut_in_chunks, send_without_end, drip, circle, answer_nonsense),
        *(lead_to_bad_certificate, lead_to_unknown_name),
    )
}


async def look_up_here(host: str, port: int) -> list[FoundAddress]:
    """Looks names up without a name server: there is none that knows this one."""
    if host.endswith(".test"):
        raise socket.gaierror(socket.EAI_NONAME, "name unknown")
    return await look_up(host, port)


def crawl_for(store: SqlStore, folder: Path, pages: int, days: int) -> Counter[str]:
    """Crawls a faulty site every day. Returns how often each fault happened."""
    certificate = folder / "server.pem"
    certificate.write_text(CERTIFICATE + KEY)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with running(lambda _peer, _head: False, context) as secure:
        site = FaultySite(secure_port=secure.port)
        with running(site.answer) as server:
            _crawl(store, site, server, pages, days)
    return site.failed


def _crawl(store: SqlStore, site: FaultySite, server: Server, pages: int, days: int) -> None:
    options = FetchOptions(allow_private=("/",), lookup=look_up_here)
    harness = CrawlHarness(
        store=store, loads=HostLoads(default=8.0), fetch_seconds=FETCH_SECONDS, open_fetcher=lambda: HttpFetcher(options)
    )
    paths = [f"/{number}" for number in range(pages)]
    harness.add(*map(server.url, paths))
    live: set[str] = set()
    for day in range(days):
        site.day = day
        harness.clock.turn(days=1)
        harness.crawl()
        now = {path for path in paths if harness.document(server.url(path)) is not None}
        assert live <= now, "deleted"
        live = now
    site.rate = 0.0
    for _ in range(20):
        harness.clock.turn(days=2)
        harness.crawl()
    assert {harness.text(server.url(path)) for path in paths} == {site.body_of(path).decode() for path in paths}
    assert {harness.entry(server.url(path)).state.group for path in paths} == {CrawlState.CRAWLED.group}


def test_site_that_fails_now_and_then_loses_nothing(store: SqlStore, tmp_path: Path) -> None:
    assert sum(crawl_for(store, tmp_path, pages=20, days=10).values()) > 5


@pytest.mark.slow
def test_site_that_fails_for_a_year_loses_nothing(store: SqlStore, tmp_path: Path) -> None:
    assert set(crawl_for(store, tmp_path, pages=200, days=365)) == set(FAULTS)
