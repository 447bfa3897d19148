"""The sites on which a crawler works: what it knows of each, and how many requests each may receive now.

A record of a site that changed is stored with the next pages that are applied, or before the request whose pause it holds. Until then it
counts instead of what the store says.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from feedmill.core.crawling.hostload import HostLoad, HostLoads
from feedmill.core.crawling.robots import RobotsRules, parse_robots
from feedmill.core.crawling.sites import site_of
from feedmill.model.crawling import CrawlEntry, CrawlSite, CrawlState, CrawlUrgency, FetchedPage
from feedmill.ports import Clock

AT_ONCE: Final = 64
"""How many requests run at once, over all sites."""
MAX_SITES: Final = 10_000
"""How many sites are held in memory."""
MAX_SITEMAPS: Final = 1_000
"""How many sitemaps of a site are read in a day."""
ROBOTS_LIFE: Final = timedelta(days=1)
ROBOTS_RETRY: Final = timedelta(hours=1)
OUTAGE: Final = 5
"""After this number of failures in a row the server counts as failing."""
FIRST_BACK_OFF: Final = timedelta(minutes=1)
MAX_BACK_OFF: Final = timedelta(hours=4)
MAX_RETRY_AFTER: Final = timedelta(days=1)
HOURS_CHECKED: Final = timedelta(minutes=15)
"""How often the crawler looks whether a site may be fetched again: in every time zone the hours begin at a quarter of an hour."""

_SERVER_FAILS: Final = frozenset(
    {
        CrawlState.HTTP_0_ERROR,
        CrawlState.PERMANENT_DNS_FAILURE,
        CrawlState.HTTP_SERVER_ERROR,
        CrawlState.TEMPORARY_DNS_FAILURE,
        CrawlState.CONNECTION_FAILED,
        CrawlState.CONNECTION_TIMED_OUT,
        CrawlState.CONNECTION_CLOSED,
        CrawlState.CONNECTION_REFUSED,
        CrawlState.CONNECTION_RESET,
        CrawlState.NO_ROUTE_TO_HOST,
    }
)
_MIDNIGHT: Final = datetime(2026, 1, 1, tzinfo=UTC)
_WITH_ROBOTS: Final = ("http://", "https://")


@dataclass(slots=True, kw_only=True)
class HeldSite:
    """A site with leased entries. ``rules`` None: its robots.txt must be read first.

    ``running`` are the requests under way, ``entering`` those that wait because they were redirected to the site.
    ``sitemaps`` are still to be read, ``sitemap`` is read now ("" = none), and ``known_sitemaps`` are all that were found since robots.txt
    was read. ``page`` is a page of the site, in whose name its robots.txt and its sitemaps are fetched.
    """

    record: CrawlSite
    rules: RobotsRules | None = None
    waiting: deque[CrawlEntry] = field(default_factory=deque)
    running: int = 0
    entering: int = 0
    sitemaps: deque[str] = field(default_factory=deque)
    sitemap: str = ""
    known_sitemaps: set[str] = field(default_factory=set)
    page: str = ""

    def add_sitemaps(self, urls: Iterable[str]) -> None:
        """Notes sitemaps of this site to be read; those of other sites are not read, because their host load is not known here."""
        for url in urls:
            if site_of(url) == self.record.site and url not in self.known_sitemaps and len(self.known_sitemaps) < MAX_SITEMAPS:
                self.known_sitemaps.add(url)
                self.sitemaps.append(url)

    def forget_sitemaps(self) -> None:
        """Forgets all sitemaps, so that they are read again when robots.txt names them again."""
        self.sitemaps.clear()
        self.known_sitemaps.clear()

    @property
    def sitemaps_left(self) -> tuple[str, ...]:
        """The sitemaps that a next process must read."""
        return (*((self.sitemap,) if self.sitemap else ()), *self.sitemaps)

    @property
    def awaits_robots(self) -> bool:
        """Whether someone asked for a URL since robots.txt was read, which may say something else now."""
        read_at = self.record.robots_at
        urgent = (entry.due_at for entry in self.waiting if entry.urgency is CrawlUrgency.IMMEDIATE)
        return read_at is not None and any(due_at is not None and read_at < due_at for due_at in urgent)

    @property
    def delay_seconds(self) -> float:
        """The crawl delay of its robots.txt."""
        return 0.0 if self.rules is None else self.rules.delay_seconds

    @property
    def requested(self) -> int:
        """How many slots are taken or waited for."""
        return self.running + self.entering

    @property
    def is_resting(self) -> bool:
        """Whether no page of it is leased and no request is under way."""
        return not (self.waiting or self.running or self.entering)

    def is_free(self, now: datetime) -> bool:
        """Returns whether the pause after the last request has ended."""
        return self.record.free_at is None or self.record.free_at <= now

    def is_held_back(self, now: datetime) -> bool:
        """Returns whether its server failed so often, or asked for so much patience, that it is not requested now."""
        return self.record.retry_at is not None and self.record.retry_at > now


class HeldSites:
    """The sites that one crawler holds in memory, by name."""

    def __init__(self, loads: HostLoads, find_hour: Callable[[datetime], int], agent: str, clock: Clock) -> None:
        self._loads = loads
        self._find_server_hour = find_hour
        self._agent = agent
        self._clock = clock
        self._sites: dict[str, HeldSite] = {}
        self._changed: dict[str, CrawlSite] = {}
        self._hour: tuple[int, int] | None = None

    def __iter__(self) -> Iterator[HeldSite]:
        return iter(self._sites.values())

    def find(self, name: str) -> HeldSite | None:
        """Returns a site, None if it is not held."""
        return self._sites.get(name)

    def hold(self, record: CrawlSite) -> HeldSite:
        """Returns the site of a stored record, which is held from now on."""
        site = self._sites.get(record.site)
        if site is None:
            site = self._sites[record.site] = HeldSite(record=record)
        return site

    def forget_resting(self) -> None:
        """Forgets sites without work where more than ``MAX_SITES`` are held."""
        if len(self._sites) > MAX_SITES:
            resting = [name for name, site in self._sites.items() if site.is_resting and not site.sitemaps and name not in self._changed]
            for name in resting[: len(self._sites) - MAX_SITES]:
                del self._sites[name]

    # --- records that are to be stored ---

    def change(self, site: HeldSite, record: CrawlSite) -> None:
        """Gives a site a record that is to be stored."""
        site.record = self._changed[record.site] = record

    def find_newest(self, record: CrawlSite) -> CrawlSite:
        """Returns what counts instead of a stored record: the one that is to be stored, if there is one."""
        return self._changed.get(record.site, record)

    def renew(self, record: CrawlSite) -> None:
        """Notes that a newer record of a site has been stored: one that is to be stored must not undo it."""
        if record.site in self._changed:
            self._changed[record.site] = record

    def list_changed(self) -> list[CrawlSite]:
        """Lists the records that are to be stored."""
        return list(self._changed.values())

    def note_stored(self, records: Iterable[CrawlSite]) -> None:
        """Notes that records were stored. Those that changed meanwhile are to be stored again."""
        for record in records:
            if self._changed.get(record.site) is record:
                del self._changed[record.site]

    # --- host load ---

    def find_load(self, name: str, delay_seconds: float, now: datetime) -> HostLoad:
        """Returns the host load of a site with a crawl delay, "" for sites without a rule of their own."""
        return self._loads.find(name, self._find_hour(now), delay_seconds=delay_seconds)

    def find_load_of(self, site: HeldSite, now: datetime) -> HostLoad:
        """Returns the host load of a site that is held."""
        return self.find_load(site.record.site, site.delay_seconds, now)

    def _find_hour(self, now: datetime) -> int:
        quarter = (now - _MIDNIGHT) // HOURS_CHECKED
        if self._hour is None or self._hour[0] != quarter:
            self._hour = quarter, self._find_server_hour(now)
        return self._hour[1]

    def count_free(self, site: HeldSite, now: datetime) -> int:
        """Returns how many more entries of a site may be leased."""
        load = self.find_load_of(site, now)
        if load.pause_seconds or load.at_once == 1:
            return int(site.is_free(now) and site.is_resting and load.at_once > 0)
        return max(0, min(2 * load.at_once, 2 * AT_ONCE) - len(site.waiting) - site.requested)

    def list_closed(self, now: datetime) -> list[HeldSite]:
        """Lists the sites with leased entries of which nothing may be fetched in this hour."""
        return [site for site in self if site.waiting and not self.find_load(site.record.site, 0.0, now).at_once]

    def close_until_next_check(self, site: HeldSite, now: datetime) -> None:
        """Holds the requests to a site back until the hour may be another one."""
        checked_at = now + HOURS_CHECKED - (now - _MIDNIGHT) % HOURS_CHECKED
        self.change(site, replace(site.record, free_at=max(site.record.free_at or now, checked_at)))

    def begin_pause(self, site: HeldSite, now: datetime) -> bool:
        """Begins the pause of a site after a request. Returns whether there is one."""
        load = self.find_load_of(site, now)
        if load.pause_seconds:
            self.change(site, pause(site.record, load, now))
        return bool(load.pause_seconds)

    # --- what servers say ---

    def read_rules(self, record: CrawlSite, now: datetime) -> RobotsRules | None:
        """Returns the rules of the stored robots.txt, None if it must be fetched."""
        if not record.site.startswith(_WITH_ROBOTS):
            return RobotsRules(agent=self._agent)
        is_closed = record.robots_state is CrawlState.ROBOTS_TXT_UNREACHABLE
        if record.robots_at is None or now - record.robots_at >= (ROBOTS_RETRY if is_closed else ROBOTS_LIFE):
            return None
        if is_closed:
            return RobotsRules(agent=self._agent, closed_reason=record.reason or "its robots.txt cannot be fetched")
        return parse_robots(record.robots, self._agent)

    def note_answer(self, site: HeldSite, page: FetchedPage) -> None:
        """Notes what a response says about the server: how long requests to it are held back."""
        now, record = self._clock(), site.record
        changed = _count_failure(record, page, now)
        if page.retry_after_seconds:
            wait = min(timedelta(seconds=page.retry_after_seconds), MAX_RETRY_AFTER)
            changed = replace(changed, retry_at=max(changed.retry_at or now, now + wait))
        changed = pause(changed, self.find_load_of(site, now), now)
        if changed is not record:
            self.change(site, changed)


def pause(record: CrawlSite, load: HostLoad, now: datetime) -> CrawlSite:
    """Returns a site whose pause between requests, if its load has one, begins now."""
    return replace(record, free_at=now + timedelta(seconds=load.pause_seconds)) if load.pause_seconds else record


def _count_failure(record: CrawlSite, page: FetchedPage, now: datetime) -> CrawlSite:
    """Returns a site with one failure more, or with none since its server works."""
    if page.state not in _SERVER_FAILS:
        return replace(record, failures=0, failed_at=None, retry_at=None, reason="") if record.failures else record
    failures = record.failures + 1
    back_off = min(FIRST_BACK_OFF * 2 ** min(failures - OUTAGE, 20), MAX_BACK_OFF) if failures >= OUTAGE else None
    return replace(
        record,
        failures=failures,
        failed_at=record.failed_at or now,
        retry_at=record.retry_at if back_off is None else now + back_off,
        reason=page.reason or page.state.words,
    )
