"""One visit of a page in a browser: navigation, requests, dialogs, and what the page shows at its end.

1. The page itself has been fetched already; the browser gets it as the answer to its first request. All further requests are answered by
   ``PageFiles``, or refused: anything but GET, and what no text comes from (images, fonts, frames, media, beacons).
2. When a script leads to another page, that is a redirect, with the same rules: the URLs to crawl, their number, no circle.
3. The visit ends when the page is loaded and nothing has moved for a while: no request and no change of the document; at the latest when
   its time is over. Then the document is read by a script in a world of its own, which the page cannot change.
"""

import asyncio
import base64
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Final

from feedmill.adapters.crawling.rendering.browser import Browser
from feedmill.adapters.crawling.rendering.files import FileRequest, PageFiles
from feedmill.adapters.crawling.rendering.framing import Message
from feedmill.adapters.crawling.rendering.options import RenderOptions
from feedmill.core.crawling.robots import RobotsRules
from feedmill.core.urls.targets import parse_target
from feedmill.model.crawling import CrawlState, FetchedPage
from feedmill.model.errors import BadRequest, UpstreamFailure

QUIET_SECONDS: Final = 1.0
LOOK_SECONDS: Final = 0.1
MOVING_SECONDS: Final = 6.0
"""How long a document may change without any request, before it counts as one that changes for ever."""
READ_SECONDS: Final = 5.0
FILES_AT_ONCE: Final = 6
MAX_ANSWERS: Final = 10
"""A page that makes this many times its number of requests is ended."""

_FETCHED_TYPES: Final = frozenset({"Document", "Stylesheet", "Script", "XHR", "Fetch", "Other"})
_REFUSED_HEADERS: Final = frozenset({"purpose", "sec-purpose", "service-worker"})
_SENT_HEADERS: Final = frozenset({"accept", "accept-language", "authorization", "content-type", "origin", "x-requested-with"})
_DROPPED_HEADERS: Final = frozenset(
    {
        *("connection", "content-encoding", "content-length", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"),
        *("alt-svc", "clear-site-data", "nel", "refresh", "report-to", "reporting-endpoints", "service-worker-allowed", "set-cookie"),
        *("strict-transport-security", "link"),
    }
)
_WORLD: Final = "reader"
_WATCH: Final = """
(() => {
  let last = performance.now();
  new MutationObserver(() => { last = performance.now(); }).observe(document, {subtree: true, childList: true, characterData: true});
  globalThis.idleMilliseconds = () => performance.now() - last;
})()
"""
_READ: Final = """
((limit) => {
  const inert = document.implementation.createHTMLDocument("");
  const copy = (node) => {
    const made = inert.importNode(node, false);
    if (node.shadowRoot) for (const child of node.shadowRoot.childNodes) made.append(copy(child));
    for (const child of node.childNodes) made.append(copy(child));
    return made;
  };
  let root = document.documentElement;
  if (!root) return {html: "", base: document.baseURI, isCut: false};
  try { root = copy(root); } catch (error) { if (!(error instanceof RangeError)) throw error; }
  const kind = document.doctype ? "<!DOCTYPE " + document.doctype.name + ">" : "";
  const html = kind + root.outerHTML;
  return {html: html.slice(0, limit), hasBase: !!document.querySelector("base[href]"), base: document.baseURI, isCut: html.length > limit};
})
"""

FetchPage = Callable[[str, str, float], Awaitable[FetchedPage]]
"""Fetches a page to which a script leads from another page, within seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visited:
    """The result of a visit: the page that it ended at with the document that it shows, or why there is none."""

    page: FetchedPage
    files: int = 0
    refused: int = 0
    is_complete: bool = True


@dataclass(slots=True, kw_only=True)
class Visit:
    """A visit of one page in one browser."""

    browser: Browser
    options: RenderOptions
    files: PageFiles
    fetch_page: FetchPage
    page: FetchedPage
    deadline: float
    max_bytes: int
    _session: str = ""
    _target: str = ""
    _context: str = ""
    _frame: str = ""
    _result: FetchedPage | None = None
    _failure: str = ""
    _pages: list[str] = field(default_factory=list)
    _is_loaded: bool = False
    _running: set[asyncio.Task[None]] = field(default_factory=set)
    _moved_at: float = 0.0
    _requested: int = 0
    _fetched: int = 0
    _refused: int = 0
    _left_bytes: int = 0
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(FILES_AT_ONCE))
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> Visited:
        """Visits the page. Errors: UpstreamFailure."""
        tools = self.browser.tools
        self._left_bytes = self.options.max_bytes
        tools.on_event, tools.on_end = self._take_event, self._changed.set
        try:
            await self._open()
            await self._wait()
            visited = self._end(self._result) if self._result is not None else await self._read()
        finally:
            tools.on_event, tools.on_end = (lambda _method, _parameters, _session: None), (lambda: None)
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)
        await self._close()
        return visited

    # --- the tab ---

    async def _open(self) -> None:
        tools = self.browser.tools
        self._context = str((await tools.call("Target.createBrowserContext", disposeOnDetach=True))["browserContextId"])
        await tools.call("Browser.setDownloadBehavior", behavior="deny", browserContextId=self._context)
        made = await tools.call("Target.createTarget", url="about:blank", browserContextId=self._context)
        self._target = str(made["targetId"])
        attached = await tools.call("Target.attachToTarget", targetId=self._target, flatten=True)
        self._session = str(attached["sessionId"])
        # of the whole browser, so that frames, workers and popups are intercepted too
        await tools.call("Fetch.enable")
        await tools.call("Target.setDiscoverTargets", discover=True)
        await tools.call("Page.enable", self._session)
        await tools.call("Inspector.enable", self._session)
        await tools.call("Network.setBypassServiceWorker", self._session, bypass=True)
        tree = await tools.call("Page.getFrameTree", self._session)
        self._frame = str(tree["frameTree"]["frame"]["id"])
        await tools.call("Page.addScriptToEvaluateOnNewDocument", self._session, source=_WATCH, worldName=_WORLD)
        self._moved_at = time.monotonic()
        # the answer comes only when the page has been answered, which this task does not wait for
        tools.send("Page.navigate", self._session, url=parse_target(self.page.url).url)

    async def _close(self) -> None:
        tools = self.browser.tools
        try:
            await tools.call("Fetch.disable", seconds=READ_SECONDS)
            await tools.call("Target.disposeBrowserContext", browserContextId=self._context, seconds=READ_SECONDS)
        except UpstreamFailure:
            # the page has been read; a browser that does not let go of it is not used again
            tools.close()

    def _take_event(self, method: str, given: Message, session: str) -> None:
        if method == "Fetch.requestPaused":
            self._note_request(given, session)
        elif method == "Page.loadEventFired":
            self._is_loaded = True
            self._note_move()
        elif method == "Page.frameStartedLoading" and given.get("frameId") == self._frame:
            self._is_loaded = False
        elif method == "Page.frameStoppedLoading" and given.get("frameId") == self._frame:
            self._is_loaded = True
            self._note_move()
        elif method == "Page.javascriptDialogOpening":
            self.browser.tools.send("Page.handleJavaScriptDialog", session, accept=False)
        elif method == "Target.targetCreated":
            self._close_popup(given.get("targetInfo") or {})
        elif method == "Inspector.targetCrashed" and session == self._session:
            self._end_with("the page crashed the browser")
        elif method == "Target.detachedFromTarget" and given.get("sessionId") == self._session:
            self._end_with("the page closed itself")

    def _end_with(self, reason: str) -> None:
        self._failure = self._failure or reason
        self._changed.set()

    def _close_popup(self, info: Message) -> None:
        # the page's own target is announced before its number is known here; nothing else can be opened until then
        if (
            self._target
            and info.get("type") == "page"
            and info.get("browserContextId") == self._context
            and info.get("targetId") != self._target
        ):
            self.browser.tools.send("Target.closeTarget", targetId=info.get("targetId"))

    def _note_move(self) -> None:
        self._moved_at = time.monotonic()

    # --- waiting and reading ---

    async def _wait(self) -> None:
        """Waits until the page has its text, or its time is over. Errors: UpstreamFailure."""
        quiet_from = 0.0
        while self._result is None and (left := self.deadline - time.monotonic()) > 0:
            self._check()
            now = time.monotonic()
            if self._is_loaded and not self._running and now - self._moved_at >= QUIET_SECONDS:
                quiet_from = quiet_from or now
                if now - quiet_from >= MOVING_SECONDS or await self._is_idle(min(left, READ_SECONDS)):
                    return
            else:
                quiet_from = 0.0
            await self._sleep(min(left, LOOK_SECONDS))
        self._check()

    async def _sleep(self, seconds: float) -> None:
        self._changed.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return

    def _check(self) -> None:
        if self._failure or self.browser.tools.failure:
            raise UpstreamFailure(self._failure or self.browser.tools.failure)

    async def _is_idle(self, seconds: float) -> bool:
        """Returns whether the document has not changed for a while."""
        value = await self._evaluate("globalThis.idleMilliseconds ? globalThis.idleMilliseconds() : 1e9", seconds)
        return not isinstance(value, (int, float)) or value >= QUIET_SECONDS * 1_000

    async def _evaluate(self, expression: str, seconds: float) -> object:
        tools = self.browser.tools
        try:
            world = await tools.call("Page.createIsolatedWorld", self._session, frameId=self._frame, worldName=_WORLD, seconds=seconds)
            answer = await tools.call(
                "Runtime.evaluate",
                self._session,
                expression=expression,
                contextId=world["executionContextId"],
                returnByValue=True,
                timeout=int(seconds * 1_000),
                seconds=seconds,
            )
        except UpstreamFailure:
            self._check()
            if self._result is None and time.monotonic() >= self.deadline - READ_SECONDS:
                raise UpstreamFailure(f"its scripts did not end within {self.options.seconds:g} s") from None
            raise
        return answer.get("result", {}).get("value")

    async def _read(self) -> Visited:
        is_complete = time.monotonic() < self.deadline
        found = await self._evaluate(f"{_READ}({self.max_bytes})", READ_SECONDS)
        self._check()
        if not isinstance(found, dict) or not isinstance(found.get("html"), str):
            raise UpstreamFailure("the document of the page cannot be read")
        text, base = str(found["html"]), str(found.get("base", ""))
        if base.startswith(("http://", "https://")) and base != self.page.url and not found.get("hasBase"):
            text = _add_base(text, base)
        body = text.encode("utf-8", "replace")
        page = replace(
            self.page,
            body=body[: self.max_bytes],
            is_cut=bool(found.get("isCut")) or len(body) > self.max_bytes,
            headers=(*((n, v) for n, v in self.page.headers if n != "content-type"), ("content-type", "text/html; charset=utf-8")),
        )
        return replace(self._end(page), is_complete=is_complete)

    def _end(self, page: FetchedPage) -> Visited:
        return Visited(page=page, files=self._fetched, refused=self._refused)

    # --- requests ---

    def _note_request(self, given: Message, session: str) -> None:
        self._requested += 1
        self._note_move()
        if self._requested > MAX_ANSWERS * self.options.max_requests:
            self._end_with(f"it made more than {self._requested - 1} requests")
            return
        task = asyncio.create_task(self._answer(given, session))
        self._running.add(task)
        task.add_done_callback(self._finish)

    def _finish(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._note_move()
        if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, UpstreamFailure):
            self._end_with(f"a request of the page cannot be answered: {error}")
        self._changed.set()

    async def _answer(self, given: Message, session: str) -> None:
        request, kind = given.get("request") or {}, str(given.get("resourceType", ""))
        url, method, number = str(request.get("url", "")), str(request.get("method", "")), str(given.get("requestId", ""))
        headers = request.get("headers") or {}
        is_page = kind == "Document" and given.get("frameId") == self._frame
        answer: FetchedPage | None
        try:
            if is_page and method == "GET":
                answer = await self._open_page(url)
            elif self._may_fetch(kind, method, url, headers, is_frame=kind == "Document"):
                answer = await self._fetch_file(url, headers)
            else:
                answer = None
        except (BadRequest, UpstreamFailure, TimeoutError):
            answer = None
        if answer is None or not answer.http_status:
            self._refused += int(not is_page and kind in _FETCHED_TYPES and not _is_icon(url))
            # a page that is refused stays the one that is shown; a file that is refused fails as it would without a network
            reason = "Aborted" if is_page else "BlockedByClient"
            self.browser.tools.send("Fetch.failRequest", session, requestId=number, errorReason=reason)
            return
        self.browser.tools.send(
            "Fetch.fulfillRequest",
            session,
            requestId=number,
            responseCode=answer.http_status,
            responseHeaders=[{"name": name, "value": _ascii(value)} for name, value in answer.headers if name not in _DROPPED_HEADERS],
            body=base64.b64encode(answer.body).decode("ascii"),
        )

    def _may_fetch(self, kind: str, method: str, url: str, headers: Message, *, is_frame: bool) -> bool:
        if is_frame or _is_refused(headers) or kind not in _FETCHED_TYPES or method != "GET" or not url.startswith(("http://", "https://")):
            return False
        return not _is_icon(url) and self._fetched < self.options.max_requests and self._left_bytes > 0

    async def _fetch_file(self, url: str, headers: Message) -> FetchedPage | None:
        self._fetched += 1
        async with self._turns:
            sent = tuple((name, str(value)) for name, value in headers.items() if _is_sent(name, str(value)))
            request = FileRequest(url=url, page=self.page.url, headers=sent, max_bytes=max(self._left_bytes, 1), deadline=self.deadline)
            file = await self.files.fetch(request)
        self._left_bytes -= len(file.body)
        return None if file.is_cut else file

    # --- pages ---

    async def _open_page(self, url: str) -> FetchedPage | None:
        """Returns the page that the browser navigates to, None if it stays where it is."""
        url = parse_target(url).url
        if not self._pages:
            self._pages.append(url)
            return self.page
        if self._result is not None or url == self._pages[-1]:
            return None
        self._result = self._refuse_page(url)
        if self._result is None:
            self._pages.append(url)
            page = await self._fetch_following(url)
            if _find_header(page, "content-disposition").lower().startswith("attachment"):
                # a browser would save it and stay where it is
                self._pages.pop()
                return None
            if page.state is CrawlState.CRAWLED and is_html(page):
                self.page = page
                return page
            self._result = page
        self._changed.set()
        return None

    def _refuse_page(self, url: str) -> FetchedPage | None:
        """Returns the result if a page to which a script leads is not opened."""
        fetching = self.options.fetching
        if url in self._pages:
            return self._fail(CrawlState.LONG_REDIRECT_CHAIN, f"its script leads to {url} in a circle")
        if len(self._pages) > fetching.max_redirects:
            return self._fail(CrawlState.LONG_REDIRECT_CHAIN, f"its scripts redirect more than {fetching.max_redirects} times")
        if not fetching.follows(url):
            return self._fail(CrawlState.OFF_DOMAIN_REDIRECT, f"its script leads to {url}, which is not among the URLs to crawl")
        return None

    async def _fetch_following(self, url: str) -> FetchedPage:
        """Returns the page to which a script leads."""
        rules = await self.files.read_rules(FileRequest(url=url, page=self.page.url, max_bytes=1, deadline=self.deadline))
        if not rules.allows(url):
            return self._fail(*_describe_refusal(rules, url))
        page = await self.fetch_page(self.page.url, url, max(self.deadline - time.monotonic(), 0.001))
        return replace(
            page,
            is_permanent=False,
            used_access=page.used_access or self.page.used_access,
            make_public=(page.make_public or not page.used_access) and (self.page.make_public or not self.page.used_access),
        )

    def _fail(self, state: CrawlState, reason: str) -> FetchedPage:
        return replace(self.page, state=state, body=b"", reason=reason)


def is_html(page: FetchedPage) -> bool:
    """Returns whether a page is one that a browser renders."""
    kind = _find_header(page, "content-type").partition(";")[0].strip().lower()
    return kind in ("text/html", "application/xhtml+xml", "")


def _find_header(page: FetchedPage, name: str) -> str:
    return next((value for found, value in page.headers if found == name), "")


def _describe_refusal(rules: RobotsRules, url: str) -> tuple[CrawlState, str]:
    if rules.closed_reason:
        return CrawlState.ROBOTS_TXT_UNREACHABLE, f"its script leads to {url}: {rules.closed_reason}"
    return CrawlState.DISALLOWED_BY_ROBOTS_TXT, f"its script leads to {url}, which robots.txt of its site disallows"


def _is_icon(url: str) -> bool:
    return url.partition("?")[0].endswith(".ico")


def _is_refused(headers: Message) -> bool:
    """Returns whether a request is one that no text waits for: a prefetch, a service worker, an endless stream of events."""
    found = {name.lower(): str(value) for name, value in headers.items()}
    return not _REFUSED_HEADERS.isdisjoint(found) or "text/event-stream" in found.get("accept", "")


def _is_sent(name: str, value: str) -> bool:
    lowered = name.lower()
    return (lowered in _SENT_HEADERS or lowered.startswith("x-")) and value.isascii() and value.isprintable()


def _ascii(value: str) -> str:
    return "".join(character for character in value if character.isprintable())


def _add_base(text: str, base: str) -> str:
    """Returns a document whose links are relative to another URL than its own."""
    escaped = base.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    head, mark, rest = text.partition("<head>")
    return f'{head}{mark}<base href="{escaped}">{rest}' if mark else text
