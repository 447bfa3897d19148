"""The crawler of a whole server: what a web feed names is fetched, found, and fetched again after the process was killed."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.appliance import running
from tests.builders.feedxml import make_feed, make_record
from tests.waiting import wait_until


class Site(BaseHTTPRequestHandler):
    """A site of pages that name their own path."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        is_there = self.path != "/robots.txt"
        body = f"<title>page</title>wombat {self.path}".encode() if is_there else b""
        self.send_response(200 if is_there else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return


@contextmanager
def serving() -> Iterator[str]:
    """Serves the site and returns its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture
def site() -> Iterator[str]:
    with serving() as address:
        yield address


def test_url_of_a_web_feed_is_crawled_also_after_the_crawler_was_killed(site: str, tmp_path: Path) -> None:
    with running(tmp_path / "data", f'[crawl]\nallow_private = ["{site}/"]\n') as server:
        server.push(make_feed(make_record(f"{site}/one")), "web")
        wait_until(lambda: (server.document(f"{site}/one") or {}).get("searchable"), "the first page")
        (crawler,) = server.role_pids()["crawler"]
        os.kill(crawler, signal.SIGKILL)
        server.push(make_feed(make_record(f"{site}/two")), "web")
        wait_until(lambda: (server.document(f"{site}/two") or {}).get("searchable"), "the second page")
        assert server.document(f"{site}/one") is not None
