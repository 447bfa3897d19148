"""Fetches URLs, and has those that match the patterns of ``[crawl.render]`` rendered."""

from dataclasses import replace
from time import monotonic

from feedmill.adapters.crawling.fetcher import HttpFetcher
from feedmill.adapters.crawling.rendering.options import RenderOptions
from feedmill.adapters.crawling.rendering.renderer import Renderer
from feedmill.adapters.crawling.rendering.visit import is_html
from feedmill.core.urls.patterns import PatternSet
from feedmill.model.crawling import CrawlState, FetchedPage, FetchRequest


class RenderingFetcher:
    """Implements ``ports.crawling.Fetcher``. It belongs to the event loop that first uses it.

    A page that is rendered is requested without validators: its frame may be unchanged and its data not.
    """

    def __init__(self, options: RenderOptions) -> None:
        self._pages = HttpFetcher(options.fetching)
        self._without_access = HttpFetcher(replace(options.fetching, access=()))
        self._renderer = Renderer(options, self._fetch_page)
        self._patterns = PatternSet(options.patterns)
        self._max_bytes = options.max_bytes

    async def fetch(self, request: FetchRequest) -> FetchedPage:
        """Fetches a URL. Every failure is a ``FetchedPage`` with its state. Errors: Busy if there is no memory for it."""
        is_rendered = not request.needed_for and self._patterns.match_url(request.url).passes
        if not is_rendered:
            return await self._pages.fetch(request)
        begun = monotonic()
        page = await self._pages.fetch(replace(request, etag="", modified=""))
        if page.state is not CrawlState.CRAWLED or not page.body or not is_html(page):
            return page
        rendered = await self._renderer.render(page, min(request.max_bytes, self._max_bytes))
        return replace(rendered, seconds=monotonic() - begun)

    async def close(self) -> None:
        """Ends the browsers, and closes all connections."""
        await self._renderer.close()
        await self._pages.close()
        await self._without_access.close()

    async def _fetch_page(self, earlier: str, url: str, seconds: float) -> FetchedPage:
        """Fetches a page to which a script leads; after https, one of http gets no credentials."""
        has_left_tls = earlier.lower().startswith("https:") and not url.lower().startswith("https:")
        fetcher = self._without_access if has_left_tls else self._pages
        return await fetcher.fetch(FetchRequest(url=url, max_bytes=self._max_bytes, seconds=seconds))
