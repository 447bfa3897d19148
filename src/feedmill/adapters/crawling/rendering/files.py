"""Fetches the files of pages (scripts, style sheets, data) for the browser, by the rules of the crawler.

- Robots.txt of each site holds, and so does its host load: one request at a time to each site, with its pauses.
- A file gets no credentials, no cookies and none of the headers of the settings; those are for the pages themselves.
- A file at a private address is fetched only if the settings open it *and* the page. So no page of the internet reaches the intranet by
  the crawler.
- A redirect is an answer for the browser, which requests the next URL and applies the rules of its own (same-origin policy).
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urljoin

from feedmill.adapters.crawling.fetcher import HttpFetcher
from feedmill.adapters.crawling.options import FetchOptions
from feedmill.adapters.crawling.rendering.options import RenderOptions
from feedmill.core.crawling.robots import RobotsRules, judge_robots
from feedmill.core.crawling.sites import site_of
from feedmill.core.urls.patterns import PatternSet
from feedmill.model.crawling import FetchedPage, FetchRequest
from feedmill.model.errors import UpstreamFailure

MAX_SITES: Final = 1_000
"""Of how many sites the robots.txt is held in memory."""
ROBOTS_SECONDS: Final = 3_600.0
ROBOTS_BYTES: Final = 600_000

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRequest:
    """A file that a page needs. Units: ``deadline`` in seconds of the monotonic clock."""

    url: str
    page: str
    headers: Headers = ()
    max_bytes: int
    deadline: float


@dataclass(slots=True)
class _Site:
    """A site. Units: ``robots_until`` and ``free_at`` in seconds of the monotonic clock."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    rules: RobotsRules | None = None
    robots_until: float = 0.0
    free_at: float = 0.0


class _Fetchers:
    """Fetches files, and robots.txt, of which redirects are followed here."""

    def __init__(self, options: FetchOptions) -> None:
        self.robots = HttpFetcher(options)
        self.files = HttpFetcher(replace(options, max_redirects=0))

    async def close(self) -> None:
        await self.robots.close()
        await self.files.close()


class PageFiles:
    """Fetches files; it belongs to one event loop."""

    def __init__(self, options: RenderOptions) -> None:
        self._options = options
        fetching = replace(options.fetching, access=(), headers=(), cookies=(), shares=())
        self._opened = _Fetchers(fetching)
        self._public = _Fetchers(replace(fetching, allow_private=()))
        self._private = PatternSet(fetching.allow_private)
        self._sites: OrderedDict[tuple[str, bool], _Site] = OrderedDict()

    async def fetch(self, request: FileRequest) -> FetchedPage:
        """Fetches a file. Errors: UpstreamFailure if it may not be fetched, TimeoutError."""
        async with self._turn(request) as (fetchers, site):
            rules = await self._read_rules(fetchers.robots, site, request)
            if not rules.allows(request.url):
                raise UpstreamFailure(rules.closed_reason or "robots.txt of its site disallows it")
            return await self._fetch_one(fetchers.files, site, rules.delay_seconds, request)

    async def read_rules(self, request: FileRequest) -> RobotsRules:
        """Returns the rules of the site of a URL. Errors: as above."""
        async with self._turn(request) as (fetchers, site):
            return await self._read_rules(fetchers.robots, site, request)

    async def close(self) -> None:
        """Closes all connections."""
        await self._opened.close()
        await self._public.close()

    @asynccontextmanager
    async def _turn(self, request: FileRequest) -> AsyncIterator[tuple[_Fetchers, _Site]]:
        """Waits for the only request to a site."""
        is_opened = self._private.match_url(request.page).passes
        site = self._find_site(site_of(request.url), is_opened=is_opened)
        async with asyncio.timeout(_left(request)):
            await site.turn.acquire()
        try:
            yield (self._opened if is_opened else self._public), site
        finally:
            site.turn.release()

    def _find_site(self, name: str, *, is_opened: bool) -> _Site:
        site = self._sites.setdefault((name, is_opened), _Site())
        self._sites.move_to_end((name, is_opened))
        while len(self._sites) > MAX_SITES:
            self._sites.popitem(last=False)
        return site

    async def _read_rules(self, fetcher: HttpFetcher, site: _Site, request: FileRequest) -> RobotsRules:
        if site.rules is None or site.robots_until <= time.monotonic():
            url = urljoin(site_of(request.url) + "/", "robots.txt")
            page = await self._fetch_one(fetcher, site, 0.0, replace(request, url=url, headers=(), max_bytes=ROBOTS_BYTES))
            site.rules = judge_robots(page, self._options.agent)
            site.robots_until = time.monotonic() + ROBOTS_SECONDS
        return site.rules

    async def _fetch_one(self, fetcher: HttpFetcher, site: _Site, delay_seconds: float, request: FileRequest) -> FetchedPage:
        load = self._options.loads.find(site_of(request.url), self._options.find_hour(), delay_seconds=delay_seconds)
        if not load.at_once:
            raise UpstreamFailure("the host load permits no request to its site in this hour")
        pause = site.free_at - time.monotonic()
        if pause > _left(request):
            raise UpstreamFailure("the pause between two requests to its site is longer than the time that is left")
        await asyncio.sleep(max(pause, 0.0))
        try:
            return await fetcher.fetch(
                FetchRequest(
                    url=request.url,
                    needed_for=request.page,
                    headers=request.headers,
                    max_bytes=request.max_bytes,
                    seconds=_left(request),
                )
            )
        finally:
            site.free_at = time.monotonic() + load.pause_seconds


def _left(request: FileRequest) -> float:
    return max(request.deadline - time.monotonic(), 0.001)
