"""The crawler is killed again and again: nothing is lost, nothing is fetched twice, and no server gets more than it permits.

The load is measured at the servers: when each request arrives, and how many are under way at once. A request whose client is gone counts no
more, as a server that looks at its connection knows.
"""

import os
import select
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path

import pytest

from tests.acceptance.feedverdict import open_read_only
from tests.appliance import Appliance, is_alive, running
from tests.builders.feedxml import make_feed, make_record
from tests.threadedserver import serve_in_thread
from tests.waiting import wait_for, wait_until

LOAD = 2
DELAY_SECONDS = 0.4
ANSWER_SECONDS = 0.02
WORD = "numbat"


@dataclass
class MeasuredSite:
    """A site that measures its load. ``robots`` is its robots.txt."""

    robots: bytes = b""
    moments: list[float] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    running: int = 0
    highest: int = 0
    port: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def begin(self, path: str) -> None:
        with self.lock:
            self.moments.append(time.monotonic())
            self.paths.append(path)
            self.running += 1
            self.highest = max(self.highest, self.running)

    def end(self) -> None:
        with self.lock:
            self.running -= 1

    def count(self) -> Counter[str]:
        with self.lock:
            return Counter(self.paths)


@contextmanager
def serving(site: MeasuredSite) -> Iterator[MeasuredSite]:
    """Serves a site on a free port of the loopback address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.is_client_gone(0):
                return
            site.begin(self.path)
            is_gone = self.is_client_gone(ANSWER_SECONDS)
            # The client may send its next request as soon as it has the answer.
            site.end()
            if not is_gone:
                body = site.robots if self.path == "/robots.txt" else f"<title>{WORD}</title>{WORD} {self.path}".encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain" if self.path == "/robots.txt" else "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def handle(self) -> None:
            with suppress(ConnectionError):
                super().handle()

        def is_client_gone(self, seconds: float) -> bool:
            """Waits for the end of the connection, up to a time."""
            readable, _, _ = select.select([self.connection], [], [], seconds)
            self.close_connection = bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)
            return self.close_connection

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site.port = server.server_address[1]
    with serve_in_thread(server):
        yield site


def kill_crawler(server: Appliance) -> None:
    wait_until(lambda: server.role_pids().get("crawler"), "a crawler")
    (pid,) = server.role_pids()["crawler"]
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(pid), "the end of the crawler")


def list_crawled(server: Appliance) -> set[str]:
    """Lists the URLs whose crawl is stored."""
    with closing(open_read_only(server)) as connection:
        return {url for (url,) in connection.execute("SELECT url_start || url_rest FROM crawl_entries WHERE state IN (1, 2)")}


@pytest.mark.parametrize(("kills", "pages"), [(3, 150), pytest.param(50, 3_000, marks=pytest.mark.slow)])
def test_killed_crawler_loses_nothing_and_stays_within_the_load(tmp_path: Path, kills: int, pages: int) -> None:
    busy, slow = MeasuredSite(), MeasuredSite(robots=f"User-agent: *\nCrawl-delay: {DELAY_SECONDS}\n".encode())
    settings = f'[crawl]\nallow_private = ["127.0.0.1/"]\nhost_load = {LOAD}.0\n'
    with ExitStack() as stack:
        stack.enter_context(serving(busy))
        stack.enter_context(serving(slow))
        server = stack.enter_context(running(tmp_path / "data", settings))
        urls = [busy.url(f"/{number}") for number in range(pages)] + [slow.url(f"/{number}") for number in range(3 * kills)]
        server.push(make_feed(*map(make_record, urls)), "web")
        stored: list[tuple[set[str], Counter[str]]] = []
        for number in range(1, kills + 1):
            wait_until(lambda number=number: len(busy.paths) > number * pages // (kills + 1), "requests")  # type: ignore[misc]
            kill_crawler(server)
            stored.append((list_crawled(server), busy.count()))
        wait_for(set(urls), lambda: list_crawled(server))
        wait_for(len(urls), lambda: server.search(WORD, num=1)["total"])
    assert busy.highest <= LOAD
    assert slow.highest == 1
    # the clocks of both sides are read at different moments
    assert min(later - earlier for earlier, later in pairwise(slow.moments)) >= DELAY_SECONDS - 0.01
    counts = busy.count()
    again = {
        url
        for crawled, before in stored
        for url in crawled
        if (path := url.removeprefix(busy.url(""))) in counts and counts[path] > before[path]
    }
    assert again == set()
