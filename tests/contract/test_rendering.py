"""Pages rendered in a real browser, against servers on this machine."""

import asyncio
import os
import re
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from feedmill.adapters.crawling.options import AccessRule, FetchOptions, HeaderRule
from feedmill.adapters.crawling.rendering.fetcher import RenderingFetcher
from feedmill.adapters.crawling.rendering.options import RenderOptions
from feedmill.adapters.http.lookup import FoundAddress
from feedmill.model.crawling import CrawlState, FetchedPage, FetchRequest
from tests.browsers import needs_chromium
from tests.rawserver import Server, running
from tests.sandboxparts import needs_namespaces
from tests.waiting import PATIENCE_SECONDS, wait_for, wait_until

pytestmark = [needs_chromium, needs_namespaces]

MAX_BYTES = 2_000_000
SECONDS = 30.0
SHORT_SECONDS = 2.0
"""For pages that use up their time. A busy machine may take longer for any page."""
T = TypeVar("T")


def answer(body: str, *headers: str, status: str = "200 OK", kind: str = "text/html; charset=utf-8") -> bytes:
    content = body.encode()
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(content)}", f"Content-Type: {kind}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def script(body: str) -> bytes:
    return answer(body, kind="text/javascript")


@dataclass
class Web:
    """A server whose pages are a table, and a fetcher that renders them."""

    server: Server
    routes: dict[str, bytes]
    loop: asyncio.AbstractEventLoop
    fetcher: RenderingFetcher
    options: RenderOptions

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE_SECONDS)

    def url(self, path: str = "/page", host: str = "web.test") -> str:
        return self.server.url(path, host)

    def render(self, path: str = "/page", host: str = "web.test", **given: Any) -> FetchedPage:
        request = FetchRequest(**{"url": self.url(path, host), "max_bytes": MAX_BYTES, "seconds": SECONDS, **given})
        return self.run(self.fetcher.fetch(request))

    def show(self, body: str, **files: bytes) -> FetchedPage:
        """Renders a page with files by their names."""
        self.routes["/page"] = answer(body)
        self.routes |= {f"/{name.replace('_', '.')}": content for name, content in files.items()}
        return self.render()

    def requested(self) -> list[str]:
        return [head.split()[1].decode() for head in self.server.heads]


async def look_up(_host: str, port: int) -> list[FoundAddress]:
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]


def options(server: Server, **given: Any) -> RenderOptions:
    fetching = FetchOptions(
        allow_private=tuple(f"http://{host}:{server.port}/" for host in ("web.test", "other.test", "closed.test", "slow.test")),
        follows=lambda url: "/outside" not in url,
        lookup=look_up,
    )
    return RenderOptions(**{"patterns": ("/",), "fetching": fetching, "seconds": SECONDS, **given})


def list_browsers() -> set[str]:
    """Returns the processes of the browsers that this process has started."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = folder.joinpath("stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid() and b"rendering.launcher" in folder.joinpath("cmdline").read_bytes():
                found.add(folder.name)
    return found


@pytest.fixture(scope="module")
def shared() -> Iterator[Web]:
    routes: dict[str, bytes] = {}

    def serve(peer: socket.socket, head: bytes) -> bool:
        peer.sendall(routes.get(head.split()[1].decode(), answer("", status="404 Not Found")))
        return True

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        with running(serve) as server:
            given = options(server)
            web = Web(server, routes, loop, RenderingFetcher(given), given)
            try:
                yield web
            finally:
                web.run(web.fetcher.close())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.fixture
def web(shared: Web) -> Web:
    shared.routes.clear()
    shared.server.heads.clear()
    return shared


@pytest.fixture
def with_options(web: Web) -> Iterator[Callable[..., Web]]:
    """Returns a function that gives the server a fetcher with other options."""
    fetchers: list[RenderingFetcher] = []

    def make(**given: Any) -> Web:
        changed = options(web.server, **given)
        fetchers.append(RenderingFetcher(changed))
        return Web(web.server, web.routes, web.loop, fetchers[-1], changed)

    yield make
    for fetcher in fetchers:
        web.run(fetcher.close())


# --- what a page shows ---


def test_text_that_a_script_fetches_is_in_the_page(web: Web) -> None:
    page = web.show(
        "<p id=x>empty</p><script>fetch('/data.json').then(r => r.json()).then(d => { x.textContent = d.text })</script>",
        data_json=answer('{"text": "from the server"}', kind="application/json"),
    )
    assert (page.state, page.http_status, page.url) == (CrawlState.CRAWLED, 200, web.url())
    assert b"from the server" in page.body
    assert ("content-type", "text/html; charset=utf-8") in page.headers
    assert page.reason.startswith("rendered with 1 files")


def test_text_of_a_module_script_and_of_later_timers_is_in_the_page(web: Web) -> None:
    page = web.show(
        "<!doctype html><title>t</title><script type=module src=/app.js></script>",
        app_js=script("import {add} from '/part.js'; add('module text'); setTimeout(() => add('late \u00e4\u65e5 text'), 500)"),
        part_js=script("export const add = (t) => { const p = document.createElement('p'); p.textContent = t; document.body.append(p) }"),
    )
    text = page.body.decode()
    assert "module text" in text
    assert "late \u00e4\u65e5 text" in text
    assert text.startswith("<!DOCTYPE html>")


def test_text_of_a_shadow_root_is_in_the_page(web: Web) -> None:
    page = web.show(
        "<x-card>own</x-card><script>customElements.define('x-card', class extends HTMLElement {"
        " connectedCallback() { this.attachShadow({mode: 'open'}).innerHTML = '<b>in the shadow</b><slot></slot>' } })</script>"
    )
    assert b"<b>in the shadow</b>" in page.body
    assert b"own" in page.body


def test_links_after_a_change_of_the_address_are_relative_to_the_new_one(web: Web) -> None:
    page = web.show("<head></head><script>history.pushState(0, '', '/app/home')</script><a href=next>n</a>")
    assert page.url == web.url()
    assert f'<base href="{web.url("/app/home")}">'.encode() in page.body


def test_validators_are_neither_sent_nor_returned(web: Web) -> None:
    web.routes["/page"] = answer("<p>x", 'ETag: "1"', "Last-Modified: Mon, 23 Nov 2026 10:00:00 GMT")
    page = web.render(etag='"1"')
    assert (page.etag, page.modified) == ("", "")
    assert b"If-None-Match" not in web.server.heads[0]


def test_other_documents_and_other_urls_are_not_rendered(web: Web, with_options: Callable[..., Web]) -> None:
    web.routes["/page"] = answer("<script>document.write('x')</script>", kind="text/plain")
    assert web.render().body == b"<script>document.write('x')</script>"
    some = with_options(patterns=("contains:/app/",))
    some.routes["/page"] = answer("<script>document.write('x')</script>")
    assert some.render().body == b"<script>document.write('x')</script>"


# --- redirects by scripts ---


@pytest.mark.parametrize(
    "body",
    [
        "<script>location.href = '/new'</script>",
        "<meta http-equiv=refresh content='0;url=/new'>",
        "<script>location.replace('/hop')</script>",
    ],
)
def test_redirect_by_a_script_leads_to_the_final_url(web: Web, body: str) -> None:
    web.routes |= {"/new": answer("<p>new page"), "/hop": answer("", "Location: /new", status="302 Found")}
    page = web.show(body)
    assert (page.state, page.url) == (CrawlState.CRAWLED, web.url("/new"))
    assert b"new page" in page.body


@pytest.mark.parametrize(
    ("target", "state"),
    [
        ("/outside", CrawlState.OFF_DOMAIN_REDIRECT),
        ("/missing", CrawlState.NOT_FOUND),
        ("/circle", CrawlState.LONG_REDIRECT_CHAIN),
    ],
)
def test_redirect_by_a_script_is_refused_as_by_the_server(web: Web, target: str, state: CrawlState) -> None:
    web.routes["/circle"] = answer("<script>location.href = '/page'</script>")
    assert web.show(f"<p>x<script>location.href = '{target}'</script>").state is state


def test_reload_is_not_done(web: Web) -> None:
    page = web.show("<p>text<script>location.reload()</script>")
    assert (page.state, b"text" in page.body) == (CrawlState.CRAWLED, True)
    assert web.requested().count("/page") == 1


def test_redirect_to_a_file_that_is_no_page_gives_that_file(web: Web) -> None:
    web.routes["/file.txt"] = answer("plain text", kind="text/plain")
    page = web.show("<script>location.href = '/file.txt'</script>")
    assert (page.url, page.body) == (web.url("/file.txt"), b"plain text")


# --- which requests are answered ---


def test_only_get_requests_for_scripts_styles_and_data_reach_servers(web: Web) -> None:
    web.show(
        "<img src=/a.png><iframe src=/frame></iframe><video src=/v.mp4></video><link rel=icon href=/i.ico><link rel=prefetch href=/p.html>"
        "<link rel=stylesheet href=/s.css><form id=f method=post action=/form></form><script>"
        "fetch('/post', {method: 'POST', body: 'x'}); fetch('/delete', {method: 'DELETE'}); navigator.sendBeacon('/beacon', 'x');"
        "new EventSource('/events'); navigator.serviceWorker && navigator.serviceWorker.register('/sw.js'); f.submit()</script>",
        s_css=answer("p {}", kind="text/css"),
    )
    assert sorted(set(web.requested()) - {"/robots.txt"}) == ["/page", "/s.css"]


def test_files_of_another_site_follow_the_rules_of_browsers(web: Web) -> None:
    web.routes |= {
        "/open": answer("may be read", "Access-Control-Allow-Origin: *"),
        "/closed": answer("is private to its site"),
        "/hop": answer("", f"Location: {web.url('/closed', 'other.test')}", status="302 Found"),
    }
    page = web.show(
        "<pre id=x></pre><script>for (const u of "
        f"['{web.url('/open', 'other.test')}', '{web.url('/closed', 'other.test')}', '/hop'])"
        " fetch(u).then(r => r.text()).then(t => { x.append(t) })</script>"
    )
    assert b"may be read" in page.body
    assert b"is private" not in page.body


def test_robots_txt_holds_for_files(web: Web) -> None:
    web.routes |= {
        "/robots.txt": answer("User-agent: *\nDisallow: /closed.js", kind="text/plain"),
        "/closed.js": script("document.write('closed')"),
        "/open.js": script("document.write('opened')"),
        "/page": answer("<script src=/closed.js></script><script src=/open.js></script>"),
    }
    page = web.render(host="closed.test")
    assert b"opened" in page.body
    assert "/closed.js" not in web.requested()
    assert "1 requests were refused" in page.reason


def test_credentials_and_headers_of_the_settings_are_for_the_page_alone(web: Web, with_options: Callable[..., Web]) -> None:
    base = options(web.server).fetching
    fetching = FetchOptions(
        allow_private=base.allow_private,
        lookup=look_up,
        access=(AccessRule(pattern="/", token="sesame"),),
        headers=(HeaderRule(pattern="/", headers=(("X-Key", "sesame"),)),),
    )
    web, running_before = with_options(fetching=fetching), list_browsers()
    page = web.show(
        f"<script src=/own.js></script><script src='{web.url('/their.js', 'other.test')}'></script>",
        own_js=script(""),
        their_js=script(""),
    )
    assert page.used_access
    secret = [head.split()[1] for head in web.server.heads if b"sesame" in head]
    assert secret == [b"/page"]
    assert list_browsers() == running_before, "the browser of a protected page renders no other page"


# --- what a hostile page cannot reach ---


def test_page_reaches_no_private_server(web: Web) -> None:
    with running(lambda peer, _head: peer.sendall(answer("secret", "Access-Control-Allow-Origin: *"))) as private:
        at, port = f"127.0.0.1:{private.port}", private.port
        redirect = answer("", f"Location: http://{at}/redirected", status="302 Found")
        page = web.show(
            f"<img src=http://{at}/img><iframe src=http://{at}/frame></iframe><link rel=stylesheet href=http://{at}/css>"
            f"<link rel=prefetch href=http://{at}/prefetch><link rel=preconnect href=http://{at}/><link rel=dns-prefetch href=http://{at}/>"
            f"<link rel=modulepreload href=http://{at}/module><link rel=manifest href=http://{at}/manifest>"
            f"<script src=http://{at}/script></script><script src=/redirect></script>"
            f"<style>@import url(http://{at}/import); p {{font-family: a}}"
            f"@font-face {{font-family: a; src: url(http://{at}/font)}}</style>"
            f"<object data=http://{at}/object></object><embed src=http://{at}/embed><audio src=http://{at}/audio autoplay></audio>"
            f"<a id=ping href='#x' ping=http://{at}/ping>p</a><svg><image href=http://{at}/svg></image></svg><p>end</p><script>"
            f"fetch('http://{at}/fetch'); fetch('http://{at}/opaque', {{mode: 'no-cors'}}); fetch('http://localhost:{port}/name');"
            f"fetch('http://private.test:{port}/dns'); fetch('http://[::1]:{port}/v6'); fetch('http://[::ffff:127.0.0.1]:{port}/mapped');"
            f"fetch('http://2130706433:{port}/number'); fetch('http://0x7f.1:{port}/hex'); fetch('http://0.0.0.0:{port}/zero');"
            f"const x = new XMLHttpRequest(); x.open('GET', 'http://{at}/xhr'); x.send();"
            f"navigator.sendBeacon('http://{at}/beacon', 'x'); new EventSource('http://{at}/events'); ping.click();"
            f"new WebSocket('ws://{at}/socket'); window.open('http://{at}/open');"
            "try { new WebTransport('https://" + at + "/transport') } catch (e) {}"
            f"try {{ new Worker('http://{at}/worker') }} catch (e) {{}}"
            f"new Worker(URL.createObjectURL(new Blob([`fetch('http://{at}/in-worker'); importScripts('http://{at}/imported')`])));"
            "try { navigator.serviceWorker.register('/sw.js') } catch (e) {}"
            f"const c = new RTCPeerConnection({{iceServers: [{{urls: 'stun:{at}'}},"
            f" {{urls: 'turn:{at}?transport=tcp', username: 'a', credential: 'b'}}]}});"
            "c.createDataChannel('d'); c.createOffer().then(o => c.setLocalDescription(o));"
            f"const f = document.createElement('form'); f.action = 'http://{at}/form'; f.target = '_blank';"
            "document.body.append(f); f.submit();"
            "</script>",
            redirect=redirect,
        )
        assert (page.state, b"end" in page.body) == (CrawlState.CRAWLED, True)
        assert (private.connections, private.heads) == (0, [])
    assert b"secret" not in page.body


def test_script_leads_to_no_private_server(web: Web) -> None:
    with running(lambda peer, _head: peer.sendall(answer("secret"))) as private:
        page = web.show(f"<script>location.href = 'http://127.0.0.1:{private.port}/'</script>")
        assert private.connections == 0
    assert page.state is not CrawlState.CRAWLED
    assert page.body == b""


def test_script_leads_to_no_other_scheme(web: Web) -> None:
    targets = ["file:///etc/passwd", "chrome://version", "view-source:http://web.test/", "data:text/html,<p>x", "about:blank"]
    opened = "".join(f"try {{ location.href = '{target}' }} catch (e) {{}}; add('{target}');" for target in targets)
    frame = "const add = (t) => { const f = document.createElement('iframe'); f.src = t; document.body.append(f) };"
    page = web.show(f"<p>text<script>{frame}{opened}</script>")
    assert b"root:" not in page.body
    assert page.url == web.url()


# --- what a hostile page costs ---


def renders_again(web: Web) -> bool:
    return b"works" in web.show("<script>document.write('works')</script>").body


@pytest.mark.parametrize(
    "body", ["<p>x<script>for (;;);</script>", "<p>x<script>const a = []; for (;;) a.push(new Uint8Array(1e7).fill(1));</script>"]
)
def test_page_that_never_ends_or_grows_costs_itself(with_options: Callable[..., Web], body: str) -> None:
    web = with_options(seconds=SHORT_SECONDS, memory_bytes=1_200_000_000)
    page = web.show(body)
    assert page.state is CrawlState.CONVERSION_ERROR
    assert re.search("did not end within 2 s|crashed the browser|more than 1200 MB", page.reason), page.reason
    wait_until(lambda: renders_again(web), "a page that is rendered in its time")


def test_endless_requests_are_bounded(with_options: Callable[..., Web]) -> None:
    web = with_options(seconds=6.0, max_requests=5)
    page = web.show("<p>x<script>let n = 0; (async () => { for (;;) await fetch('/f' + n++).catch(() => 0) })()</script>")
    assert page.state is CrawlState.CONVERSION_ERROR
    assert "requests" in page.reason
    assert len([path for path in web.requested() if path.startswith("/f")]) == 5
    assert renders_again(web)


def test_bytes_of_files_are_bounded(with_options: Callable[..., Web]) -> None:
    web = with_options(max_bytes=100_000)
    big = answer("x" * 60_000, kind="text/plain")
    page = web.show(
        "<pre id=x></pre><script>(async () => { for (const n of ['a', 'b', 'c']) "
        "{ try { x.append((await (await fetch('/' + n)).text()).length + ' ') } catch (e) { x.append('refused ') } } })()</script>",
        a=big,
        b=big,
        c=big,
    )
    assert b"60000 refused" in page.body


def test_document_that_never_rests_is_read_at_the_end_of_its_time(with_options: Callable[..., Web]) -> None:
    web = with_options(seconds=4.0)
    page = web.show("<p>text<script>let n = 0; setInterval(() => fetch('/tick' + n++), 300)</script>")
    assert (page.state, b"text" in page.body) == (CrawlState.CRAWLED, True)
    assert "before it was at rest" in page.reason


def test_dialogs_popups_and_downloads_stop_nothing(web: Web) -> None:
    web.routes["/file.zip"] = answer("zip", "Content-Disposition: attachment", kind="application/zip")
    page = web.show(
        "<script>alert(1); confirm(2); prompt(3); window.open('about:blank'); print();"
        "const a = document.createElement('a'); a.href = '/file.zip'; a.download = 'x'; document.documentElement.append(a); a.click();"
        "const b = document.createElement('a'); b.href = URL.createObjectURL(new Blob(['x'])); b.download = 'y'; b.click();"
        "onbeforeunload = () => 'stay'; document.write('the end')</script>"
    )
    assert b"the end" in page.body
    assert renders_again(web)


def test_addresses_that_crash_browsers_do_nothing(web: Web) -> None:
    targets = ["chrome://crash", "chrome://kill", "chrome://hang", "chrome://inducebrowsercrashforrealz"]
    opened = "".join(f"window.open('{target}'); location.href = '{target}';" for target in targets)
    assert b"text" in web.show(f"<p>text<script>{opened}</script>").body
    assert renders_again(web)


def test_document_that_is_too_long_is_cut(web: Web) -> None:
    web.routes["/page"] = answer("<script>document.write('x'.repeat(1e6))</script>")
    page = web.render(max_bytes=10_000)
    assert (page.is_cut, len(page.body)) == (True, 10_000)


def test_browser_that_is_not_there_is_named(with_options: Callable[..., Web]) -> None:
    web = with_options(browser="/nowhere/chromium")
    page = web.show("<p>x")
    assert page.state is CrawlState.CONVERSION_ERROR
    assert "there is no browser '/nowhere/chromium', as crawl.render.browser says" in page.reason


def test_browser_that_does_not_start_is_tried_again_later(with_options: Callable[..., Web]) -> None:
    web = with_options(browser="/bin/false")
    assert "it ended with status 1" in web.show("<p>x").reason
    assert "it is started again in" in web.show("<p>x").reason


def test_browser_without_work_is_ended_and_started_again(with_options: Callable[..., Web]) -> None:
    web, running_before = with_options(idle_seconds=0.1), list_browsers()
    assert renders_again(web)
    wait_for(running_before, list_browsers)
    assert renders_again(web)


def test_cookies_and_storage_of_a_page_are_gone_for_the_next(web: Web) -> None:
    read = "x.textContent = document.cookie + localStorage.a"
    body = f"<pre id=x></pre><script>{read}; document.cookie = 'c=1'; localStorage.a = 'stored'</script>"
    assert b"undefined" in web.show(body).body
    again = web.show(body)
    assert b"undefined</pre>" in again.body
    assert b"c=1</pre>" not in again.body
