"""A web server in this process for the crawler: pages are functions of the request, and every request is remembered.

With TLS it requests a client certificate, and goes on without one. Among the headers of a request, ``:client`` is its common name.
"""

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.threadedserver import serve_in_thread


@dataclass(frozen=True, slots=True)
class Reply:
    """A response. Shape: headers in order, names may be repeated; ``cut`` ends the connection within the body."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    cut: bool = False


Page = Callable[[Mapping[str, str]], Reply]


def html(body: str, *headers: tuple[str, str]) -> Reply:
    """Returns a page."""
    return Reply(
        200, f"<html><head><title>page</title></head><body>{body}</body></html>".encode(), (("Content-Type", "text/html"), *headers)
    )


@dataclass
class CrawlSite:
    """The pages by path, and the requests in order: path with its query, headers with names in lower case."""

    pages: dict[str, Page | Reply] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    port: int = 0
    has_tls: bool = False

    def url(self, path: str = "/") -> str:
        return f"https://localhost:{self.port}{path}" if self.has_tls else f"http://127.0.0.1:{self.port}{path}"

    def paths(self) -> list[str]:
        return [path for path, _ in list(self.requests)]

    def count(self, path: str) -> int:
        return self.paths().count(path)

    def answer(self, path: str, headers: dict[str, str]) -> Reply:
        self.requests.append((path, headers))
        page = self.pages.get(path, Reply(404, b"Error 404: Not Found", (("Content-Type", "text/plain"),)))
        return page if isinstance(page, Reply) else page(headers)


@contextmanager
def serving(site: CrawlSite, context: ssl.SSLContext | None = None) -> Iterator[CrawlSite]:
    """Serves a site on a free port of the loopback address."""
    site.has_tls = context is not None

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = site.answer(self.path, headers | _name_client(self.connection))
            self.send_response(reply.status)
            for name, value in reply.headers:
                self.send_header(name, value)
            if reply.status not in (204, 304):
                self.send_header("Content-Length", str(len(reply.body) + 100 * reply.cut))
            self.end_headers()
            if reply.status not in (204, 304):
                self.wfile.write(reply.body)
            self.close_connection = self.close_connection or reply.cut

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if context is not None:
        context.verify_mode = ssl.CERT_OPTIONAL
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    site.port = server.server_address[1]
    with serve_in_thread(server):
        yield site


def _name_client(connection: object) -> dict[str, str]:
    found: Any = connection.getpeercert() if isinstance(connection, ssl.SSLSocket) else None
    names = [str(value) for group in (found or {}).get("subject", ()) for name, value in group if name == "commonName"]
    return {":client": names[0]} if names else {}
