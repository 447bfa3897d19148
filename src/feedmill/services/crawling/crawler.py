"""The crawler: leases due URLs, fetches them within the host load of their sites, and has the pages applied.

1. One event loop fetches. The store is read and written in one thread beside it, so nothing blocks the loop.
2. A site has at most as many requests at once as its host load permits. If there is a pause between requests (a load below 1, a crawl
   delay), the end of the pause is stored before the request is sent, and counts again from the answer. A process that ends while a request
   is under way knows neither when it was sent nor when it was answered: then the pause counts from the start of the next process.
   A fetch that is redirected to another site leaves its slot, and waits for one of that site, which it leases.
3. The first request to a site is for its robots.txt, which counts for a day, or until an immediate URL is asked for. Nothing of the site is
   fetched without it, also where a redirect leads there. Images and scripts of rendered pages have their own
   (``adapters/crawling/rendering/files``).
   The sitemaps of the site that it names are read then too, one at a time and within the host load. Those that are left to be read are
   stored, so that the next process continues with them.
4. In hours in which nothing of a site may be fetched, its entries go back to the queue, so that they keep no other site waiting.
5. Requests to a site whose server fails again and again are held back for ever longer times (exponential back-off), except those for
   immediate URLs.
6. Pages are applied in batches. Until then their leases hold; after a crash they are fetched again.
7. While an administrator has paused the crawler, no request is begun. The URLs that wait for theirs are given back to the queue.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeVar
from urllib.parse import urljoin

import structlog

from feedmill.core.crawling.hostload import HostLoad, HostLoads
from feedmill.core.crawling.robots import judge_robots
from feedmill.core.crawling.sites import site_of
from feedmill.core.urls.patterns import PatternSet
from feedmill.model.crawling import CrawlEntry, CrawlState, FetchedPage, FetchRequest
from feedmill.model.errors import Broken, Busy, FeedmillError
from feedmill.model.queue import QueueName
from feedmill.ports import Clock, Fetcher, Notifier, Store
from feedmill.services.crawling.applying import Fetched, PageApplier
from feedmill.services.crawling.bodymemory import MAX_WAIT_SECONDS, BodyMemory, Reservation
from feedmill.services.crawling.heldsites import AT_ONCE, HeldSite, HeldSites, pause
from feedmill.services.crawling.leasing import CrawlLeases
from feedmill.services.crawling.requesting import is_paused
from feedmill.services.failurenote import FailureNote
from feedmill.services.feeds.feeding import Admission

BATCH: Final = 200
"""How many pages are applied in one transaction."""
BATCH_BYTES: Final = 64_000_000
APPLY_SECONDS: Final = 0.5
POLL_SECONDS: Final = 0.5
TICK_SECONDS: Final = 0.1
PAUSE_SECONDS: Final = 0.1
"""How often the crawler looks whether it is paused."""
RETRY_SECONDS: Final = 2.0
PUT_OFF: Final = timedelta(minutes=1)
"""When a URL is fetched again for whose page there was no memory, or no place among the requests of the site to which it was redirected."""
ROBOTS_BYTES: Final = 600_000
SITEMAP_BYTES: Final = 52_428_800
SITEMAPS_AT_ONCE: Final = 4
"""How many sitemaps are read at once, over all sites."""

FollowSitemap = Callable[[FetchedPage], Sequence[str]]
"""Adds the pages of a fetched sitemap to the crawl queue, and returns the addresses of further sitemaps that it names."""

T = TypeVar("T")
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlDependencies:
    """What a crawler needs.

    ``open_fetcher`` is called in its event loop; ``find_hour`` returns the hour of the server's day. ``find_redirected`` returns the URL
    under which the target of a page's redirect is crawled, "" if it is that of the page. ``step`` is a bounded piece of other
    work on the queue, which returns whether there is more. ``follow_sitemap`` adds the pages of a sitemap to the queue; None: sitemaps are
    not read. ``wait_seconds`` is how long the fetcher may let a request wait.
    """

    store: Store
    clock: Clock
    notifier: Notifier
    admission: Callable[[], Admission]
    open_fetcher: Callable[[], Fetcher]
    applier: PageApplier
    owner: str
    agent: str
    loads: HostLoads
    find_hour: Callable[[datetime], int]
    force: PatternSet
    max_bytes: int
    max_url_characters: int
    fetch_seconds: float
    wait_seconds: float = 0.0
    find_redirected: Callable[[str, str], str] = lambda page, target: "" if target == page else target
    step: Callable[[], bool] = lambda: False
    follow_sitemap: FollowSitemap | None = None


@dataclass(slots=True, kw_only=True)
class _Slot:
    """The place of a fetch among the requests that its site gets at once, None while it waits for one of another site."""

    site: HeldSite | None


class Crawler:
    """Crawls the URLs of one store; ``work`` runs until it is stopped."""

    def __init__(self, tools: CrawlDependencies) -> None:
        self._tools = tools
        self._sites = HeldSites(tools.loads, tools.find_hour, tools.agent, tools.clock)
        self._leases = CrawlLeases(
            tools.store,
            tools.clock,
            self._sites,
            owner=tools.owner,
            agent=tools.agent,
            request_seconds=tools.fetch_seconds + tools.wait_seconds,
        )
        self._unconditional: set[str] = set()
        self._documents: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._sitemaps_running = 0
        self._memory = BodyMemory()
        self._put_off: list[CrawlEntry] = []
        self._done: list[Fetched] = []
        self._reservations: list[Reservation] = []
        self._done_at: datetime | None = None
        self._leased_at: datetime | None = None
        self._is_paused = False
        self._looked_at: datetime | None = None
        self._has_more = True
        self._has_ended = asyncio.Event()
        self._trouble = FailureNote(tools.store, QueueName.CRAWL)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="crawl-store")

    def work(self, is_stopped: Callable[[], bool]) -> None:
        """Works until stopped. A fault of the store is retried. Errors: Broken."""
        asyncio.run(self.run(is_stopped))

    async def run(self, is_stopped: Callable[[], bool]) -> None:
        """Works in the present event loop until stopped."""
        fetcher = self._tools.open_fetcher()
        is_released = False
        try:
            while not is_stopped():
                try:
                    if not is_released:
                        await self._in_thread(self._leases.release_after_crash)
                        await self._continue_sitemaps()
                        is_released = True
                    is_busy = await self._turn(fetcher)
                except Broken:
                    raise
                except FeedmillError as error:
                    log.warning("crawler_waits", reason=str(error), seconds=RETRY_SECONDS)
                    self._trouble.note(str(error))
                    await self._in_thread(lambda: self._tools.notifier.wait(RETRY_SECONDS))
                    continue
                if not is_busy:
                    await self._in_thread(lambda: self._tools.notifier.wait(POLL_SECONDS))
        finally:
            await self._close(fetcher)

    async def _close(self, fetcher: Fetcher) -> None:
        requested = [site.record.site for site in self._sites if site.running]
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await fetcher.close()
        try:
            await self._apply()
            await self._in_thread(lambda: self._leases.release(requested))
        except FeedmillError as error:
            log.warning("crawl_leases_left", reason=str(error))
        self._thread.shutdown()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _continue_sitemaps(self) -> None:
        """Continues with the sitemaps that the previous process left."""
        if self._tools.follow_sitemap is None:
            return
        now = self._tools.clock()
        for record in await self._in_thread(lambda: self._leases.lease_sites_with_sitemaps(now)):
            site = self._sites.hold(record)
            site.rules, site.page = self._sites.read_rules(record, now), record.site + "/"
            site.add_sitemaps(record.sitemaps)

    # --- one turn ---

    async def _turn(self, fetcher: Fetcher) -> bool:
        """Applies what is done, leases what is due, begins what may begin. Returns whether there is anything to wait for."""
        if self._is_apply_due():
            await self._apply()
        has_more = await self._in_thread(self._step) if self._is_step_due() else False
        if self._put_off:
            await self._give_back_put_off()
        if self._is_paused:
            await self._give_back_waiting()
        await self._give_back_closed()
        leased = await self._lease() if self._is_lease_due() else 0
        self._has_ended.clear()
        begun = self._begin(fetcher)
        if self._tasks:
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_SECONDS):
                    await self._has_ended.wait()
            return True
        return bool(leased or begun or self._done or has_more)

    def _is_step_due(self) -> bool:
        now = self._tools.clock()
        return self._has_more or self._looked_at is None or not timedelta() <= now - self._looked_at < timedelta(seconds=PAUSE_SECONDS)

    def _step(self) -> bool:
        """Does a piece of other work, and looks whether the crawler is paused. Returns whether there is more of the work."""
        with self._tools.store.reading() as unit:
            self._is_paused = is_paused(unit)
        self._looked_at = self._tools.clock()
        self._has_more = self._tools.step()
        return self._has_more

    async def _give_back_waiting(self) -> None:
        """Gives the URLs back whose requests were not begun."""
        waiting = [entry for site in self._sites for entry in site.waiting]
        if waiting:
            await self._in_thread(lambda: self._leases.save(given_back=waiting))
            for site in self._sites:
                site.waiting.clear()

    async def _give_back_put_off(self) -> None:
        """Gives the URLs back whose requests could not go on."""
        put_off = list(self._put_off)
        await self._in_thread(lambda: self._leases.save(given_back=put_off))
        del self._put_off[: len(put_off)]

    def _is_apply_due(self) -> bool:
        if not self._done or self._done_at is None:
            return False
        is_full = len(self._done) >= BATCH or sum(len(each.page.body) for each in self._done) >= BATCH_BYTES
        return is_full or not self._tasks or self._tools.clock() - self._done_at >= timedelta(seconds=APPLY_SECONDS)

    async def _apply(self) -> None:
        done, changed = self._done[:BATCH], self._sites.list_changed()
        if done or changed:
            await self._in_thread(lambda: self._tools.applier.apply(done, changed))
            del self._done[: len(done)]
            for reservation in self._reservations[: len(done)]:
                reservation.shrink(0)
            del self._reservations[: len(done)]
            self._sites.note_stored(changed)
            self._unconditional.difference_update(each.entry.url for each in done)
            self._documents.difference_update(each.entry.url for each in done)
        self._done_at = self._tools.clock() if self._done else None

    # --- leasing ---

    async def _give_back_closed(self) -> None:
        """Gives the entries of sites back of which nothing may be fetched in this hour."""
        now = self._tools.clock()
        closed = self._sites.list_closed(now)
        if closed:
            given_back = [entry for site in closed for entry in site.waiting]
            for site in closed:
                self._sites.close_until_next_check(site, now)
            records = [site.record for site in closed]
            await self._in_thread(lambda: self._leases.save(records, given_back))
            for site in closed:
                site.waiting.clear()

    def _is_lease_due(self) -> bool:
        waiting = sum(len(site.waiting) for site in self._sites)
        # a lease is a transaction, so many entries are leased at once while other requests run
        enough = AT_ONCE if len(self._tasks) >= AT_ONCE // 2 else 2 * AT_ONCE
        if waiting >= enough or len(self._done) >= 2 * BATCH:
            return False
        return self._leased_at is None or self._tools.clock() - self._leased_at >= timedelta(seconds=POLL_SECONDS) or not self._tasks

    async def _lease(self) -> int:
        now = self._tools.clock()
        capacity = {site.record.site: self._sites.count_free(site, now) for site in self._sites}
        leased = await self._in_thread(lambda: self._leases.lease_due(now, capacity))
        self._leased_at = None if leased.entries else now
        for name, record in leased.sites.items():
            # else what is stored next would end the pause that has begun with the lease
            self._sites.renew(record)
            is_new = self._sites.find(name) is None
            site = self._sites.hold(record)
            if is_new and self._tools.follow_sitemap is not None:
                site.add_sitemaps(record.sitemaps)
            site.record, site.rules = record, self._sites.read_rules(record, now)
            site.waiting.extend(entry for entry in leased.entries if entry.site == name)
            if site.awaits_robots:
                site.rules = None
        self._unconditional |= leased.unconditional
        self._documents |= leased.documents
        self._sites.forget_resting()
        return len(leased.entries)

    # --- fetching ---

    def _begin(self, fetcher: Fetcher) -> int:
        """Begins the requests that may begin. Returns how many."""
        now, begun = self._tools.clock(), 0
        if self._is_paused:
            return begun
        for site in [site for site in self._sites if site.waiting or site.sitemaps]:
            load = self._sites.find_load_of(site, now)
            while site.waiting and site.requested < load.at_once and len(self._tasks) < AT_ONCE:
                # its robots.txt is being fetched, and nothing else of the site is until then
                if site.rules is None and site.running:
                    break
                site.page = site.waiting[0].url
                if site.rules is None:
                    self._start(site, self._fetch_robots(fetcher, site, site.page))
                else:
                    self._start(site, self._visit(fetcher, site, site.waiting.popleft()))
                begun += 1
            if self._may_read_sitemap(site, load, now):
                self._sitemaps_running += 1
                self._start(site, self._fetch_sitemap(fetcher, site, site.sitemaps.popleft()))
                begun += 1
        return begun

    def _start(self, site: HeldSite, work: Coroutine[None, None, None]) -> None:
        site.running += 1
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._has_ended.set()

    def _may_read_sitemap(self, site: HeldSite, load: HostLoad, now: datetime) -> bool:
        """Returns whether a sitemap of a site is read now. Where there are pauses, it waits until no page does, and begins a pause."""
        if (
            not site.sitemaps
            or site.sitemap
            or self._sitemaps_running >= SITEMAPS_AT_ONCE
            or site.requested >= load.at_once
            or len(self._tasks) >= AT_ONCE
        ):
            return False
        if site.rules is None or site.rules.closed_reason or site.is_held_back(now):
            return False
        if load.pause_seconds and not (site.is_resting and site.is_free(now)):
            return False
        self._sites.begin_pause(site, now)
        return True

    async def _fetch_sitemap(self, fetcher: Fetcher, site: HeldSite, url: str) -> None:
        # the slot of its own site is held meanwhile
        reservation, slot = Reservation(self._memory), _Slot(site=None)
        try:
            site.sitemap = url
            request = FetchRequest(
                url=url,
                needed_for=site.page,
                max_bytes=SITEMAP_BYTES,
                seconds=self._tools.fetch_seconds,
                enter=lambda target: self._enter(slot, target),
                reserve=reservation.reserve,
            )
            page = await fetcher.fetch(request)
            reservation.shrink(len(page.body))
            self._sites.note_answer(slot.site or site, page)
            follow = self._tools.follow_sitemap
            if page.state is CrawlState.CRAWLED and follow is not None:
                site.add_sitemaps(await self._in_thread(lambda: follow(page)))
            else:
                log.warning("sitemap_not_read", url=url, reason=page.reason or page.state.words)
        except FeedmillError as error:
            log.warning("sitemap_not_followed", url=url, reason=str(error))
        except asyncio.CancelledError:
            site.sitemaps.appendleft(url)
            raise
        finally:
            self._leave(slot)
            reservation.shrink(0)
            site.sitemap = ""
            self._sites.change(site, replace(site.record, sitemaps=site.sitemaps_left))
            self._sitemaps_running -= 1
            site.running -= 1

    async def _fetch_robots(self, fetcher: Fetcher, site: HeldSite, url: str) -> None:
        slot = _Slot(site=None)
        try:
            request = FetchRequest(
                url=urljoin(site.record.site + "/", "robots.txt"),
                needed_for=url,
                max_bytes=ROBOTS_BYTES,
                seconds=self._tools.fetch_seconds,
                enter=lambda target: self._enter(slot, target),
            )
            page = await fetcher.fetch(request)
            self._leave(slot)
            now = self._tools.clock()
            rules = judge_robots(page, self._tools.agent)
            state = CrawlState.ROBOTS_TXT_UNREACHABLE if rules.closed_reason else CrawlState.CRAWLED
            body = page.body if page.state is CrawlState.CRAWLED else b""
            record = replace(site.record, robots=body, robots_state=state, robots_at=now, reason=rules.closed_reason)
            load = self._sites.find_load(record.site, rules.delay_seconds, now)
            record = pause(record, load, now)
            if self._sites.read_rules(site.record, now) is None:
                # else it is read again for a request, which asks for no sitemap that was read in this day
                site.forget_sitemaps()
            if self._tools.follow_sitemap is not None:
                site.add_sitemaps(rules.sitemaps)
            record = replace(record, sitemaps=site.sitemaps_left)
            # the request for robots.txt counts too: a pause begins now, and all entries go back to the queue
            given_back = list(site.waiting) if load.pause_seconds else []
            await self._in_thread(lambda: self._leases.save([record], given_back))
            if load.pause_seconds:
                site.waiting.clear()
            site.record, site.rules = record, rules
        except FeedmillError as error:
            log.warning("robots_not_stored", site=site.record.site, reason=str(error))
            await asyncio.sleep(RETRY_SECONDS)
        finally:
            self._leave(slot)
            site.running -= 1

    async def _visit(self, fetcher: Fetcher, site: HeldSite, entry: CrawlEntry) -> None:
        reservation, slot = Reservation(self._memory), _Slot(site=site)
        try:
            page = self._refuse(site, entry) or await self._fetch(fetcher, slot, entry, reservation)
            reservation.shrink(len(page.body))
            if not self._done:
                self._done_at = self._tools.clock()
            self._done.append(Fetched(entry=entry, page=page, at=self._tools.clock()))
            self._reservations.append(reservation)
        except Busy as error:
            log.info("fetch_put_off", url=entry.url, reason=str(error))
            self._put_off.append(replace(entry, due_at=self._tools.clock() + PUT_OFF))
        finally:
            self._leave(slot)

    async def _enter(self, slot: _Slot, url: str, fetcher: Fetcher | None = None) -> None:
        """Gives a fetch a slot of the site to which it was redirected, in place of the one that it has. Errors: Busy.

        With a fetcher the robots.txt of that site is read first.
        """
        self._leave(slot, pauses=True)
        try:
            async with asyncio.timeout(MAX_WAIT_SECONDS):
                site = await self._take_site(site_of(url))
                await self._take_slot(site)
                while fetcher is not None and site.rules is None:
                    # it gives the slot back
                    await self._fetch_robots(fetcher, site, url)
                    await self._take_slot(site)
                slot.site = site
        except TimeoutError as exc:
            raise Busy(f"{site_of(url)} gets other requests, and no more are permitted at once") from exc

    async def _take_site(self, name: str) -> HeldSite:
        """Waits until no other process crawls a site, and returns it."""
        while (record := await self._in_thread(lambda: self._leases.lease_site(name))) is None:
            await asyncio.sleep(POLL_SECONDS)
        site = self._sites.hold(record)
        site.record = self._sites.find_newest(record)
        if site.rules is None and not site.running and not site.awaits_robots:
            site.rules = self._sites.read_rules(site.record, self._tools.clock())
        return site

    async def _take_slot(self, site: HeldSite) -> None:
        """Waits until the host load of a site permits a request. If there are pauses, the end of the next one is stored first."""
        site.entering += 1
        try:
            while True:
                if self._is_paused:
                    raise Busy("the crawler is paused")
                now = self._tools.clock()
                load = self._sites.find_load_of(site, now)
                is_free = not load.pause_seconds or site.is_free(now)
                # its robots.txt is being fetched, and nothing else of the site is until then
                is_open = site.rules is not None or not site.running
                if is_free and is_open and site.running < load.at_once:
                    break
                await asyncio.sleep(TICK_SECONDS)
            site.running += 1
        finally:
            site.entering -= 1
        if self._sites.begin_pause(site, now):
            record = site.record
            try:
                await self._in_thread(lambda: self._leases.save([record]))
            except BaseException:
                site.running -= 1
                raise

    def _leave(self, slot: _Slot, *, pauses: bool = False) -> None:
        """Gives the slot of a fetch back, if it has one; the pause of its site begins if the fetch goes on elsewhere."""
        site, slot.site = slot.site, None
        if site is None:
            return
        site.running -= 1
        if pauses:
            self._sites.begin_pause(site, self._tools.clock())

    def _refuse(self, site: HeldSite, entry: CrawlEntry) -> FetchedPage | None:
        """Returns why a URL is not fetched at all, None if it is."""
        url, rules = entry.url, site.rules
        refusal = self._tools.admission().rules.refusal(url)
        if refusal is not None:
            is_unwanted = "do-not-follow" in refusal
            state = CrawlState.IN_URLS_NOT_TO_CRAWL if is_unwanted else CrawlState.NOT_IN_URLS_TO_CRAWL
            return FetchedPage(state=state, url=url, reason=refusal)
        if len(url) > self._tools.max_url_characters:
            reason = f"it is longer than {self._tools.max_url_characters} characters"
            return FetchedPage(state=CrawlState.URL_TOO_LONG, url=url, reason=reason)
        if rules is not None and rules.closed_reason:
            return FetchedPage(state=CrawlState.ROBOTS_TXT_UNREACHABLE, url=url, reason=rules.closed_reason)
        if rules is not None and not rules.allows(url):
            return FetchedPage(state=CrawlState.DISALLOWED_BY_ROBOTS_TXT, url=url, reason="robots.txt of its site disallows it")
        return None

    async def _fetch(self, fetcher: Fetcher, slot: _Slot, entry: CrawlEntry, reservation: Reservation) -> FetchedPage:
        site = slot.site
        assert site is not None
        is_conditional = entry.url not in self._unconditional and not self._tools.force.match_url(entry.url).passes
        request = FetchRequest(
            url=entry.url,
            etag=entry.etag if is_conditional else "",
            modified=entry.modified if is_conditional else "",
            max_bytes=self._tools.max_bytes,
            seconds=self._tools.fetch_seconds,
            pause_seconds=self._sites.find_load_of(site, self._tools.clock()).pause_seconds,
            allows=self._allows,
            # a document stays until the whole redirect has shown where its page is now
            ends_at=None if entry.url in self._documents else lambda target: bool(self._tools.find_redirected(entry.url, target)),
            enter=lambda target: self._enter(slot, target, fetcher),
            reserve=reservation.reserve,
        )
        page = await fetcher.fetch(request)
        self._sites.note_answer(slot.site or site, page)
        return page

    def _allows(self, url: str) -> bool:
        """Returns whether the robots.txt of a URL's site permits it. A site of which none is known yet, or that is closed, refuses none.

        While it is read again, the one from before counts.
        """
        site = self._sites.find(site_of(url))
        rules = None if site is None else site.rules or self._sites.read_rules(site.record, self._tools.clock())
        return rules is None or bool(rules.closed_reason) or rules.allows(url)
