"""A site of the kit's own, which the server under test crawls: its pages belong to the cases, and it records what is fetched."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from feedmill.conformance.counterparts.script import Script
from feedmill.conformance.counterparts.server import Answer, Request, serving
from feedmill.model.errors import BadRequest

CLOSED: Final = "/closed/"
"""The folder that robots.txt closes."""

_ROBOTS: Final = f"User-agent: *\nDisallow: {CLOSED}\n".encode()
_MAX_PORT: Final = 65_535


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What the site answers for a path. With ``last_modified``, an HTTP date, a conditional request for it is answered with 304."""

    status: int = 200
    body: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    mimetype: str = "text/html; charset=utf-8"
    last_modified: str = ""


@dataclass(slots=True)
class CrawledSite:
    """Implements ``Counterpart``. Several threads may use it. ``url`` is its beginning without a slash."""

    url: str = ""
    server_header: str = "Kit"
    _pages: dict[str, Page] = field(default_factory=dict)
    _requests: list[Request] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, request: Request) -> Answer:
        """Returns a page, and remembers the request."""
        with self._lock:
            self._requests.append(request)
            page = self._pages.get(request.path)
        if request.path == "/robots.txt":
            return Answer(headers=(("Content-Type", "text/plain"),), body=_ROBOTS)
        if page is None:
            return Answer(status=404, body=b"there is no such page")
        headers = (*page.headers, *((("Last-Modified", page.last_modified),) if page.last_modified else ()))
        if page.last_modified and request.headers.get("if-modified-since") == page.last_modified:
            return Answer(status=304, headers=headers)
        return Answer(status=page.status, headers=(*headers, ("Content-Type", page.mimetype)), body=page.body.encode())

    def put(self, path: str, page: Page) -> None:
        """Adds or replaces a page."""
        with self._lock:
            self._pages[path] = page

    def list_requests(self, path: str) -> list[Request]:
        """Lists the requests for a path, in their order."""
        with self._lock:
            return [request for request in self._requests if request.path == path]


@contextmanager
def serving_site(url: str) -> Iterator[CrawledSite]:
    """Serves a site at the host and port of a URL; port 0 is any free one. Errors: BadRequest."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port
    except ValueError as exc:
        raise BadRequest(f"'{url}' is no address for the site of the kit: {exc}") from exc
    if parts.scheme != "http" or not host or port is None or port > _MAX_PORT or parts.path not in ("", "/"):
        raise BadRequest(f"'{url}' is no address for the site of the kit; give http://HOST:PORT")
    site = CrawledSite()
    try:
        with serving(site, Script(), folder=Path(), port=port, bind=host) as server:
            site.url = f"http://{parts.netloc.rpartition(':')[0]}:{server.server_address[1]}"
            yield site
    except OSError as exc:
        raise BadRequest(f"the site of the kit cannot listen at {host}:{port}: {exc.strerror or exc}") from exc
