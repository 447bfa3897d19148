"""Renders pages: starts browsers when they are needed, restarts them, and ends them when nothing needs them.

A page that hangs, floods or crashes a browser costs itself: that browser is ended, and the next page gets another one. A page that was
fetched with credentials gets a browser of its own.
"""

import asyncio
import time
from dataclasses import replace
from typing import Final

from feedmill.adapters.crawling.rendering.browser import Browser
from feedmill.adapters.crawling.rendering.files import PageFiles
from feedmill.adapters.crawling.rendering.options import RenderOptions
from feedmill.adapters.crawling.rendering.programs import find_browser
from feedmill.adapters.crawling.rendering.visit import FetchPage, Visit, Visited
from feedmill.model.crawling import CrawlState, FetchedPage
from feedmill.model.errors import UpstreamFailure
from feedmill.telemetry.metrics import RENDER_PAGES, RENDER_SECONDS

PAGES_OF_A_BROWSER: Final = 50
"""After so many pages a browser is replaced, so that what it keeps of them stays little."""
MAX_BACK_OFF_SECONDS: Final = 300.0


class Renderer:
    """Renders the pages of one crawler; it belongs to one event loop."""

    def __init__(self, options: RenderOptions, fetch_page: FetchPage) -> None:
        self._options = options
        self._fetch_page = fetch_page
        self._files = PageFiles(options)
        self._places = asyncio.Semaphore(options.processes)
        self._idle: list[Browser] = []
        self._all: set[Browser] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._failures = 0
        self._not_before = 0.0
        self._reason = ""

    async def render(self, page: FetchedPage, max_bytes: int) -> FetchedPage:
        """Returns a page as a browser shows it, or with the state and the reason why it cannot be rendered. Waits for a free browser."""
        async with self._places:
            begun = time.monotonic()
            try:
                visited = await self._visit(page, max_bytes)
            except UpstreamFailure as exc:
                RENDER_PAGES.add("failed")
                reason = f"it cannot be rendered: {exc}"
                return replace(page, state=CrawlState.CONVERSION_ERROR, body=b"", etag="", modified="", reason=reason)
            finally:
                RENDER_SECONDS.observe(time.monotonic() - begun)
        RENDER_PAGES.add("whole" if visited.is_complete else "cut")
        return replace(visited.page, etag="", modified="", reason=visited.page.reason or _describe(visited, self._options.seconds))

    async def close(self) -> None:
        """Ends all browsers, and closes all connections."""
        await asyncio.gather(*(self._end(browser) for browser in list(self._all)), *self._ending, return_exceptions=True)
        await self._files.close()

    async def _visit(self, page: FetchedPage, max_bytes: int) -> Visited:
        browser = await self._take(is_fresh=page.used_access)
        is_reusable = False
        try:
            visit = Visit(
                browser=browser,
                options=self._options,
                files=self._files,
                fetch_page=self._fetch_page,
                page=page,
                deadline=time.monotonic() + self._options.seconds,
                max_bytes=max_bytes,
            )
            visited = await visit.run()
            browser.pages += 1
            is_reusable = not (visited.page.used_access or browser.tools.failure) and browser.pages < PAGES_OF_A_BROWSER
            return visited
        finally:
            if is_reusable:
                self._put_back(browser)
            else:
                await self._end(browser)

    async def _take(self, *, is_fresh: bool) -> Browser:
        """Returns a browser that nothing else uses. Errors: UpstreamFailure."""
        while self._idle and not is_fresh:
            browser = self._idle.pop()
            if not browser.tools.failure:
                return browser
            await self._end(browser)
        if (left := self._not_before - time.monotonic()) > 0:
            raise UpstreamFailure(f"{self._reason}; it is started again in {left:.0f} s")
        try:
            browser = await Browser.start(
                find_browser(self._options.browser),
                self._options.fetching.user_agent,
                _find_message_bytes(self._options),
                self._options.memory_bytes,
            )
        except UpstreamFailure as exc:
            self._failures += 1
            self._reason = str(exc)
            self._not_before = time.monotonic() + min(2.0 ** min(self._failures, 20), MAX_BACK_OFF_SECONDS)
            raise
        self._failures = 0
        self._all.add(browser)
        return browser

    def _put_back(self, browser: Browser) -> None:
        self._idle.append(browser)
        asyncio.get_running_loop().call_later(self._options.idle_seconds, self._end_idle, browser, browser.pages)

    def _end_idle(self, browser: Browser, pages: int) -> None:
        """Ends a browser that has rendered no page since it was put back."""
        if browser in self._idle and browser.pages == pages:
            self._idle.remove(browser)
            task = asyncio.get_running_loop().create_task(self._end(browser))
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def _end(self, browser: Browser) -> None:
        self._all.discard(browser)
        await browser.end()


def _find_message_bytes(options: RenderOptions) -> int:
    """Returns the size limit of one message: a document with each of its characters escaped, and a margin."""
    return 8 * options.max_bytes + 1_000_000


def _describe(visited: Visited, seconds: float) -> str:
    text = f"rendered with {visited.files} files"
    if visited.refused:
        text += f"; {visited.refused} requests were refused"
    return text if visited.is_complete else f"{text}; it was read after {seconds:g} s, before it was at rest"
