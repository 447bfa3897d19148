"""The fetcher of the crawler against servers that redirect, cut, stall, compress and lie."""

import asyncio
import errno
import gzip
import socket
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import brotli
import pytest
import zstandard

from bench import crawl, crawlsite
from feedmill.adapters.crawling.fetcher import HttpFetcher
from feedmill.adapters.crawling.options import FetchOptions, HeaderRule, ProxyRule
from feedmill.adapters.http.connection import AsyncConnection
from feedmill.adapters.http.lookup import FoundAddress
from feedmill.model.crawling import CrawlState, FetchedPage, FetchRequest
from feedmill.model.errors import Busy
from feedmill.ports.http import ServerAddress
from tests.rawserver import OK, always, redirect, running
from tests.waiting import PATIENCE_SECONDS

MAX_BYTES = 100_000
LOCAL = FetchOptions(allow_private=("/",))


def fetch(url: str, options: FetchOptions = LOCAL, **given: Any) -> FetchedPage:
    return fetch_many([url], options, **given)[0]


def fetch_many(urls: list[str], options: FetchOptions = LOCAL, **given: Any) -> list[FetchedPage]:
    async def run() -> list[FetchedPage]:
        fetcher = HttpFetcher(options)
        request = FetchRequest(**{"url": "", "max_bytes": MAX_BYTES, "seconds": PATIENCE_SECONDS, **given})
        try:
            return [await fetcher.fetch(replace(request, url=url)) for url in urls]
        finally:
            await fetcher.close()

    return asyncio.run(run())


def answer(status: str = "200 OK", body: bytes = b"", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def by_path(answers: dict[str, bytes]) -> Callable[[socket.socket, bytes], bool]:
    def handle(peer: socket.socket, head: bytes) -> bool:
        peer.sendall(answers.get(head.split()[1].decode(), answer("404 Not Found")))
        return True

    return handle


# --- documents ---


def test_page_has_body_headers_and_validators() -> None:
    sent = answer(
        "200 OK", b"text", "X-Gsa-Doc-Controls: a", "x-gsa-doc-controls: b", 'ETag: "1"', "Last-Modified: Mon, 23 Nov 2026 10:00:00 GMT"
    )
    with running(always(sent)) as server:
        page = fetch(server.url("/a"))
    assert (page.state, page.http_status, page.body, page.url) == (CrawlState.CRAWLED, 200, b"text", server.url("/a"))
    assert [value for name, value in page.headers if name == "x-gsa-doc-controls"] == ["a", "b"]
    assert (page.etag, page.modified) == ('"1"', "Mon, 23 Nov 2026 10:00:00 GMT")
    assert not page.used_access


def test_url_is_requested_percent_encoded_and_stored_as_fed() -> None:
    with running(always(OK)) as server:
        page = fetch(server.url("/doc/ümlaut/日本 x.txt"))
    assert server.heads[0].startswith(b"GET /doc/%C3%BCmlaut/%E6%97%A5%E6%9C%AC%20x.txt HTTP/1.1\r\n")
    assert page.url == server.url("/doc/ümlaut/日本 x.txt")


def test_connection_is_used_again() -> None:
    def serve(peer: socket.socket, _head: bytes) -> bool:
        peer.sendall(OK)
        return True

    with running(serve) as server:
        pages = fetch_many([server.url(f"/{number}") for number in range(5)])
    assert [page.body for page in pages] == [b"ok"] * 5
    assert server.connections == 1


def test_idle_connection_on_which_the_server_complained_is_not_used() -> None:
    def complain(peer: socket.socket, _head: bytes) -> bool:
        peer.sendall(OK + b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
        return True

    with running(complain) as server:
        pages = fetch_many([server.url()] * 3)
    assert [page.state for page in pages] == [CrawlState.CRAWLED] * 3


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda data: zlib.compress(data)[2:-4]),
        ("br", brotli.compress),
        ("zstd", zstandard.compress),
        ("gzip, br", lambda data: brotli.compress(gzip.compress(data))),
        ("gzip", lambda data: gzip.compress(data[:100]) + gzip.compress(data[100:])),
    ],
    ids=["gzip", "zlib", "raw deflate", "br", "zstd", "two", "members"],
)
def test_codings_are_undone_within_the_limit(coding: str, pack: Callable[[bytes], bytes]) -> None:
    text = b"some text " * 900
    packed, bomb = pack(text), pack(b"\0" * 30_000_000)
    with running(
        by_path(
            {
                "/text": answer("200 OK", packed, f"Content-Encoding: {coding}"),
                "/bomb": answer("200 OK", bomb, f"Content-Encoding: {coding}", "Content-Type: text/plain"),
                "/cut": answer("200 OK", packed[:-6], f"Content-Encoding: {coding}"),
                "/garbage": answer("200 OK", b"garbage", f"Content-Encoding: {coding}"),
            }
        )
    ) as server:
        whole, large, cut, garbage = fetch_many([server.url(path) for path in ("/text", "/bomb", "/cut", "/garbage")])
    assert (whole.state, whole.body, whole.is_cut) == (CrawlState.CRAWLED, text, False)
    assert (large.is_cut, len(large.body)) == (True, MAX_BYTES)
    assert cut.state in (CrawlState.CONNECTION_CLOSED, CrawlState.OTHER_ERROR)
    assert garbage.state in (CrawlState.CONNECTION_CLOSED, CrawlState.OTHER_ERROR)
    assert (cut.body, garbage.body) == (b"", b"")


@pytest.mark.parametrize(("kind", "stored"), [("text/html; charset=utf-8", MAX_BYTES), ("video/mp4", 0)])
@pytest.mark.parametrize("is_announced", [True, False])
def test_large_body_is_cut_if_it_is_text(kind: str, stored: int, is_announced: bool) -> None:
    length = "Content-Length: 300000\r\n" if is_announced else ""
    with running(always(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{length}\r\n".encode() + b"x" * 300_000)) as server:
        page = fetch(server.url())
    assert (page.state, page.is_cut, len(page.body)) == (CrawlState.CRAWLED, True, stored)


@pytest.mark.parametrize("length", ["", "Content-Length: 400000\r\n"], ids=["unknown", "announced"])
@pytest.mark.parametrize("coding", ["", "Content-Encoding: gzip\r\n"], ids=["plain", "packed"])
def test_large_body_waits_for_memory_outside_of_its_time(length: str, coding: str) -> None:
    """The memory is that of the body, and of what it becomes without its codings; the wait is longer than the fetch may take."""
    body = b"x" * 400_000
    reserved: list[int] = []

    async def reserve(size_bytes: int) -> None:
        reserved.append(size_bytes)
        await asyncio.sleep(2.5)

    with running(always(f"HTTP/1.1 200 OK\r\n{length}{coding}\r\n".encode() + body)) as server:
        page = fetch(server.url(), max_bytes=1_000_000, seconds=2.0, reserve=reserve)
    assert reserved[0] == (400_000 if length else 1_000_000) + (1_000_000 if coding else 0)
    assert (page.state, len(page.body)) == ((CrawlState.OTHER_ERROR, 0) if coding else (CrawlState.CRAWLED, 400_000))


def test_connection_is_made_outside_of_an_event_loop() -> None:
    """The blocking client makes it before its loop runs."""
    AsyncConnection(ServerAddress(is_tls=False, host="127.0.0.1", port=9)).close()


def test_small_body_that_grows_waits_for_memory() -> None:
    reserved: list[int] = []

    async def reserve(size_bytes: int) -> None:
        reserved.append(size_bytes)

    sizes = {"/small": 900_000, "/large": 3_000_000}
    pages = {path: answer("200 OK", gzip.compress(b"x" * size), "Content-Encoding: gzip") for path, size in sizes.items()}
    with running(by_path(pages)) as server:
        small, large = fetch_many([server.url("/small"), server.url("/large")], max_bytes=5_000_000, reserve=reserve)
    assert (len(small.body), len(large.body), reserved) == (900_000, 3_000_000, [5_000_000])


def test_fetch_without_memory_ends_busy() -> None:
    async def reserve(_size_bytes: int) -> None:
        raise Busy("no memory")

    with running(always(b"HTTP/1.1 200 OK\r\nContent-Length: 400000\r\n\r\n" + b"x" * 400_000)) as server, pytest.raises(Busy):
        fetch(server.url(), max_bytes=1_000_000, reserve=reserve)


# --- conditional requests ---


def test_validators_are_sent_and_304_means_unchanged() -> None:
    with running(always(b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n")) as server:
        page = fetch(server.url(), etag='"1"', modified="Mon, 23 Nov 2026 10:00:00 GMT")
    assert page.state is CrawlState.CRAWLED_FROM_CACHE
    assert b'If-None-Match: "1"\r\n' in server.heads[0]
    assert b"If-Modified-Since: Mon, 23 Nov 2026 10:00:00 GMT\r\n" in server.heads[0]


def test_304_without_validators_is_an_error() -> None:
    with running(always(b"HTTP/1.1 304 Not Modified\r\n\r\n")) as server:
        assert fetch(server.url()).state is CrawlState.OTHER_ERROR


@pytest.mark.parametrize(("header", "state"), [("X-Gsa-Skip-Updating-Content: true", 2), ("X-Other: true", 1)])
def test_204_keeps_the_content_if_the_adaptor_says_so(header: str, state: int) -> None:
    with running(always(f"HTTP/1.1 204 No Content\r\n{header}\r\n\r\n".encode())) as server:
        assert fetch(server.url()).state == state


def test_redirect_gets_no_validators_and_returns_none() -> None:
    with running(by_path({"/a": redirect("/b"), "/b": answer("200 OK", b"text", "ETag: 2")})) as server:
        page = fetch(server.url("/a"), etag="1")
    assert (page.url, page.body, page.etag) == (server.url("/b"), b"text", "")
    assert b"If-None-Match" in server.heads[0]
    assert b"If-None-Match" not in server.heads[1]


# --- redirects ---


@pytest.mark.parametrize(
    ("statuses", "is_permanent"), [(("301", "308"), True), (("301", "302"), False), (("303",), False), (("307",), False)]
)
def test_redirects_are_followed(statuses: tuple[str, ...], is_permanent: bool) -> None:
    answers = {f"/{place}": redirect(f"/{place + 1}", f"{status} Moved") for place, status in enumerate(statuses)}
    with running(by_path(answers | {f"/{len(statuses)}": answer("200 OK", b"end")})) as server:
        page = fetch(server.url("/0"))
    assert (page.state, page.body, page.is_permanent) == (CrawlState.CRAWLED, b"end", is_permanent)


@pytest.mark.parametrize("sets_cookie", [False, True])
def test_redirect_to_what_is_crawled_as_its_own_entry_ends_the_fetch(sets_cookie: bool) -> None:
    """A page that sets a cookie may be fetched again through the page to which it leads."""
    cookie = ["Set-Cookie: a=1"] if sets_cookie else []
    answers = {"/a": answer("301 Moved", b"", "Location: /b", *cookie), "/b": answer("200 OK", b"the page")}
    options = replace(LOCAL, cookies=("/",))
    with running(by_path(answers)) as server:
        page = fetch(server.url("/a"), options, ends_at=lambda _url: True)
        expected = (200, b"the page", 2) if sets_cookie else (301, b"", 1)
        assert (page.state, page.url, page.is_permanent) == (CrawlState.CRAWLED, server.url("/b"), True)
        assert (page.http_status, page.body, len(server.heads)) == expected


def test_redirect_to_another_site_waits_for_its_host_load() -> None:
    """So does each further redirect there; the wait does not count as time of the fetch."""
    entered: list[str] = []

    async def enter(url: str) -> None:
        entered.append(url)
        await asyncio.sleep(1.2)

    answers = {"/b": redirect("/c"), "/c": answer("200 OK", b"the page")}
    with running(by_path(answers)) as other, running(always(redirect(other.url("/b")))) as server:
        page = fetch(server.url("/a"), seconds=2.0, enter=enter, pause_seconds=60.0)
        assert (page.body, entered) == (b"the page", [other.url("/b"), other.url("/c")])


def test_location_in_utf8_is_followed() -> None:
    with running(by_path({"/a": redirect("/ü b"), "/%C3%BC%20b": answer("200 OK", b"end")})) as server:
        assert fetch(server.url("/a")).body == b"end"


@pytest.mark.parametrize(
    ("location", "state"),
    [
        ("", CrawlState.REDIRECT_WITHOUT_LOCATION),
        ("/a", CrawlState.LONG_REDIRECT_CHAIN),
        ("http://elsewhere.example/", CrawlState.OFF_DOMAIN_REDIRECT),
        ("file:///etc/passwd", CrawlState.OFF_DOMAIN_REDIRECT),
        ("http://user:pw@host/", CrawlState.OTHER_ERROR),
    ],
)
def test_redirect_that_is_not_followed(location: str, state: CrawlState) -> None:
    here = replace(LOCAL, follows=lambda url: "elsewhere" not in url)
    with running(always(redirect(location))) as server:
        page = fetch(server.url("/a"), here)
    assert (page.state, page.http_status) == (state, 302)
    assert page.reason
    assert len(server.heads) == 1


def test_redirect_that_robots_txt_disallows_is_not_followed() -> None:
    with running(always(redirect("/closed"))) as server:
        page = fetch(server.url("/a"), allows=lambda url: not url.endswith("/closed"))
    assert (page.state, len(server.heads)) == (CrawlState.DISALLOWED_BY_ROBOTS_TXT, 1)
    assert f"{server.url('/closed')}, which robots.txt" in page.reason


def test_requests_of_one_fetch_are_as_far_apart_as_the_pause() -> None:
    """Redirects to the same server, and a request that is sent once more because the connection was closed."""
    moments: list[float] = []

    def serve(peer: socket.socket, head: bytes) -> bool:
        moments.append(time.monotonic())
        if len(moments) == 2:
            return False
        peer.sendall(redirect("/b") if head.startswith(b"GET /a ") else OK)
        return True

    with running(serve) as server:
        page = fetch(server.url("/a"), pause_seconds=0.2)
    assert (page.state, len(moments)) == (CrawlState.CRAWLED, 3)
    assert all(later - earlier >= 0.2 for earlier, later in pairwise(moments))


def test_long_chain_ends() -> None:
    def lead_on(peer: socket.socket, head: bytes) -> bool:
        peer.sendall(redirect(head.split()[1].decode() + "x"))
        return True

    with running(lead_on) as server:
        page = fetch(server.url("/"), replace(LOCAL, max_redirects=4))
    assert page.state is CrawlState.LONG_REDIRECT_CHAIN
    assert len(server.heads) == 5


# --- private addresses ---


def test_private_address_is_dialled_only_where_the_settings_open_it() -> None:
    with running(by_path({"/a": redirect("/b"), "/b": OK})) as server:
        closed = fetch(server.url("/a"), FetchOptions())
        after_redirect = fetch(server.url("/a"), FetchOptions(allow_private=(f"{server.url('/a')}$",)))
        heads = len(server.heads)
        opened = fetch(server.url("/a"), FetchOptions(allow_private=(server.url("/"),)))
    assert closed.state is after_redirect.state is CrawlState.CONNECTION_FAILED
    assert "allow_private" in after_redirect.reason
    assert heads == 1
    assert opened.state is CrawlState.CRAWLED


def test_file_of_a_site_may_use_what_its_page_may_but_not_its_redirects() -> None:
    with running(by_path({"/robots.txt": OK, "/moved.txt": redirect("/robots.txt")})) as server:
        options = FetchOptions(allow_private=(server.url("/page"),), follows=lambda url: False)
        page = server.url("/page/1")
        read = fetch(server.url("/robots.txt"), options, needed_for=page)
        moved = fetch(server.url("/moved.txt"), options, needed_for=page)
        other = fetch(server.url("/robots.txt", host="localhost"), options, needed_for=page)
        open_everywhere = fetch(server.url("/moved.txt"), replace(options, allow_private=("/",)), needed_for=page)
    assert read.state is open_everywhere.state is CrawlState.CRAWLED
    assert moved.state is other.state is CrawlState.CONNECTION_FAILED


# --- states ---


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("404 x", CrawlState.NOT_FOUND),
        ("410 x", CrawlState.NOT_FOUND),
        ("401 x", CrawlState.AUTHENTICATION_FAILED),
        ("403 x", CrawlState.HTTP_CLIENT_ERROR),
        ("429 x", CrawlState.HTTP_CLIENT_ERROR),
        ("500 x", CrawlState.HTTP_SERVER_ERROR),
        ("503 x", CrawlState.HTTP_SERVER_ERROR),
        ("206 x", CrawlState.OTHER_ERROR),
    ],
)
def test_statuses(status: str, state: CrawlState) -> None:
    with running(always(answer(status, b"text"))) as server:
        page = fetch(server.url())
    assert (page.state, page.http_status, page.body) == (state, int(status[:3]), b"")
    assert status[:3] in page.reason


@pytest.mark.parametrize(
    ("sent", "state"),
    [
        (b"", CrawlState.CONNECTION_CLOSED),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort", CrawlState.CONNECTION_CLOSED),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n", CrawlState.CONNECTION_CLOSED),
        (b"SSH-2.0-x\r\n", CrawlState.HTTP_0_ERROR),
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", CrawlState.HTTP_0_ERROR),
    ],
    ids=["nothing", "short", "mid-chunk", "no HTTP", "bad length"],
)
def test_partial_and_invalid_responses_are_no_documents(sent: bytes, state: CrawlState) -> None:
    with running(always(sent)) as server:
        page = fetch(server.url())
    assert (page.state, page.body) == (state, b"")


def test_refused_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert fetch(f"http://127.0.0.1:{port}/").state is CrawlState.CONNECTION_REFUSED


def test_reset_connection() -> None:
    def reset(peer: socket.socket, _head: bytes) -> None:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    with running(reset) as server:
        assert fetch(server.url()).state is CrawlState.CONNECTION_RESET


def test_server_that_stalls_times_out() -> None:
    def stall(peer: socket.socket, _head: bytes) -> None:
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab")
        server.is_over.wait()

    with running(stall) as server:
        assert fetch(server.url(), seconds=0.3).state is CrawlState.CONNECTION_TIMED_OUT


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (socket.gaierror(socket.EAI_NONAME, "x"), CrawlState.PERMANENT_DNS_FAILURE),
        (socket.gaierror(socket.EAI_AGAIN, "x"), CrawlState.TEMPORARY_DNS_FAILURE),
        (OSError(errno.EHOSTUNREACH, "x"), CrawlState.NO_ROUTE_TO_HOST),
        (OSError(errno.ENETUNREACH, "x"), CrawlState.NO_ROUTE_TO_HOST),
        (OSError(errno.EMFILE, "x"), CrawlState.CONNECTION_FAILED),
    ],
)
def test_network_errors(error: OSError, state: CrawlState) -> None:
    async def fail(_host: str, _port: int) -> list[FoundAddress]:
        raise error

    assert fetch("http://a.example/", FetchOptions(lookup=fail)).state is state


def test_bad_certificate_fails_the_connection() -> None:
    with running(always(OK), greeting=b"220 mail.example ESMTP\r\n") as server:
        page = fetch(server.url().replace("http:", "https:"))
    assert page.state is CrawlState.CONNECTION_FAILED
    assert "TLS" in page.reason


@pytest.mark.parametrize(
    ("url", "state"),
    [
        ("smb://server/share/a.txt", CrawlState.UNHANDLED_PROTOCOL),
        ("googledb://a/b", CrawlState.UNHANDLED_PROTOCOL),
        ("no url", CrawlState.UNHANDLED_PROTOCOL),
        ("http://a@b/", CrawlState.OTHER_ERROR),
        ("http://example.com/" + "x" * 9_000, CrawlState.URL_TOO_LONG),
    ],
)
def test_url_that_nothing_fetches(url: str, state: CrawlState) -> None:
    page = fetch(url)
    assert (page.state, page.url) == (state, url)
    assert page.reason


@pytest.mark.parametrize(
    ("text", "seconds"), [("120", 120), ("Mon, 23 Nov 2026 10:01:00 GMT", 60), ("x", None), ("99999999", 604_800), ("-5", None)]
)
def test_retry_after(text: str, seconds: int | None) -> None:
    now = replace(LOCAL, clock=lambda: datetime(2026, 11, 23, 10, tzinfo=UTC))
    with running(always(answer("503 Busy", b"", f"Retry-After: {text}"))) as server:
        assert fetch(server.url(), now).retry_after_seconds == seconds


# --- headers and proxies ---


def test_headers_of_matching_rules_are_sent() -> None:
    with running(always(redirect("/b"))) as server:
        rules = (
            HeaderRule(pattern=server.url("/a"), headers=(("X-Key", "secret"),)),
            HeaderRule(pattern="/", headers=(("Accept", "text/html"),)),
        )
        fetch(server.url("/a"), replace(LOCAL, headers=rules, user_agent="gsa-crawler (Enterprise; id; a@b.c)"))
    first, second = server.heads[:2]
    assert b"User-Agent: gsa-crawler (Enterprise; id; a@b.c)\r\n" in first
    assert b"X-Key: secret\r\n" in first
    assert b"X-Key" not in second
    assert (first.count(b"Accept:"), first.count(b"text/html")) == (1, 1)


def test_proxy_of_a_pattern_is_used_and_names_that_only_it_knows_pass() -> None:
    async def know_nothing(host: str, port: int) -> list[FoundAddress]:
        if host != "127.0.0.1":
            raise socket.gaierror(socket.EAI_NONAME, "x")
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (host, port))]

    with running(always(OK)) as proxy:
        rule = ProxyRule(pattern="outside.example/", host="127.0.0.1", port=proxy.port, user="me", password="pa:ss")
        options = FetchOptions(proxies=(rule,), lookup=know_nothing)
        outside = fetch("http://outside.example/a", options)
        direct = fetch("http://other.example/a", options)
        inside = fetch("http://127.0.0.1/a", replace(options, proxies=(replace(rule, pattern="/"),)))
    assert outside.body == b"ok"
    assert proxy.heads[0].startswith(b"GET http://outside.example/a HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic bWU6cGE6c3M=" in proxy.heads[0]
    assert direct.state is CrawlState.PERMANENT_DNS_FAILURE
    assert inside.state is CrawlState.CONNECTION_FAILED
    assert len(proxy.heads) == 1
    assert "pa:ss" not in repr(rule)


# --- the site of the benchmarks ---


def test_every_page_of_the_benchmark_is_reached_by_links() -> None:
    pages, known, waiting = 500, {0}, [0]
    while waiting:
        number = waiting.pop()
        if crawlsite.kind_of(number, 1) in (crawlsite.Kind.PAGE, crawlsite.Kind.SLOW):
            fresh = set(crawlsite.list_links(number, pages, 1)) - known
            known |= fresh
            waiting += fresh
    assert known == set(range(pages))


def test_pages_of_the_benchmark_are_fetched(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FEEDMILL_SCRAPY", raising=False)
    with crawlsite.serving(30, 1) as site:
        crawl.measure_fetching(site, 30)
    assert capsys.readouterr().out.count("pages/s") == 1
