"""The transactions by which a crawler takes entries and sites from the crawl queue, and gives them back.

A lease says which process works on an entry or a site. It ends by itself when the process has been gone for long enough. The pauses between
requests are stored with the lease that precedes the request, so that they hold when the process ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from feedmill.core.crawling.robots import parse_robots
from feedmill.model.crawling import CrawlEntry, CrawlSite
from feedmill.model.document import Document, DocumentState
from feedmill.model.queue import QueueName
from feedmill.ports import Clock, Store, UnitOfWork
from feedmill.services.crawling.heldsites import AT_ONCE, MAX_SITES, HeldSites, pause
from feedmill.services.crawling.requesting import is_paused

LEASE_MARGIN: Final = timedelta(minutes=10)
PROGRESS_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Leased:
    """Entries that were leased, and the records of their sites by name.

    ``unconditional`` are the URLs that have no content with which a response could be compared; ``documents`` are those that are documents.
    """

    entries: Sequence[CrawlEntry] = ()
    sites: dict[str, CrawlSite] = field(default_factory=dict)
    unconditional: frozenset[str] = frozenset()
    documents: frozenset[str] = frozenset()


class CrawlLeases:
    """The leases of one crawler, named ``owner``. ``request_seconds`` is how long a request may take. All calls come from one thread."""

    def __init__(self, store: Store, clock: Clock, sites: HeldSites, *, owner: str, agent: str, request_seconds: float) -> None:
        self._store = store
        self._clock = clock
        self._sites = sites
        self._owner = owner
        self._agent = agent
        self._lease_time = timedelta(seconds=request_seconds) + LEASE_MARGIN
        self._noted_at: datetime | None = None

    def lease_due(self, now: datetime, capacity: dict[str, int]) -> Leased:
        """Leases entries that are due, as many of each site as ``capacity`` says. Of a site with pauses it is one, and its pause begins."""
        with self._store.writing() as unit:
            queue, sites = unit.feeds.crawling.queue, unit.feeds.crawling.sites
            entries: Sequence[CrawlEntry] = ()
            if not is_paused(unit):
                free = max(1, min(self._sites.find_load("", 0.0, now).at_once, AT_ONCE))
                until = now + self._lease_time
                entries = queue.lease_due(self._owner, now, until, capacity=capacity, default_capacity=free, limit=2 * AT_ONCE)
            if not entries:
                self._note_progress(unit, now)
                return Leased()
            names = list(dict.fromkeys(entry.site for entry in entries))
            records = {name: self._sites.find_newest(record) for name, record in sites.find_many(names).items()}
            paused = self._begin_pauses(records, now)
            # stored before the request, so that the pause holds if the process ends
            sites.save_many(list(paused.values()))
            accepted, given_back = _divide(entries, paused)
            queue.save_many(given_back)
            documents = unit.documents.reader.find_many([entry.url for entry in accepted])
        gone = {url for url, document in documents.items() if document.state is DocumentState.GONE}
        without_content = {entry.url for entry in accepted if not _has_content(documents.get(entry.url))}
        return Leased(
            entries=accepted,
            sites=records | paused,
            unconditional=frozenset(without_content | gone),
            documents=frozenset(documents.keys() - gone),
        )

    def _begin_pauses(self, records: dict[str, CrawlSite], now: datetime) -> dict[str, CrawlSite]:
        """Returns those sites that have pauses; the pause of each begins now."""
        paused = {}
        for name, record in records.items():
            rules = self._sites.read_rules(record, now)
            load = self._sites.find_load(name, 0.0 if rules is None else rules.delay_seconds, now)
            if load.pause_seconds:
                paused[name] = pause(record, load, now)
        return paused

    def _note_progress(self, unit: UnitOfWork, now: datetime) -> None:
        """Notes that whatever waits has to wait: for a site, or because the crawler is paused."""
        if self._noted_at is None or now - self._noted_at >= timedelta(seconds=PROGRESS_SECONDS):
            self._noted_at = now
            unit.processing.queues.note_progress(QueueName.CRAWL)

    def lease_site(self, name: str) -> CrawlSite | None:
        """Leases a site to which a request was redirected, None while another process crawls it."""
        now = self._clock()
        with self._store.writing() as unit:
            return unit.feeds.crawling.sites.lease(self._owner, name, now, now + self._lease_time)

    def lease_sites_with_sitemaps(self, now: datetime) -> list[CrawlSite]:
        """Leases the sites whose sitemaps the previous process left to be read."""
        with self._store.writing() as unit:
            return unit.feeds.crawling.sites.lease_with_sitemaps(self._owner, now, now + LEASE_MARGIN, MAX_SITES // 10)

    def save(self, sites: Sequence[CrawlSite] = (), given_back: Sequence[CrawlEntry] = ()) -> None:
        """Stores sites, and gives entries back to the queue."""
        with self._store.writing() as unit:
            unit.feeds.crawling.sites.save_many(sites)
            unit.feeds.crawling.queue.save_many(given_back)

    def release_after_crash(self) -> None:
        """Ends the leases of the previous process, if it did not end them itself."""
        with self._store.reading() as unit:
            requested = [site.site for site in unit.feeds.crawling.sites.list_leased(self._owner)]
        self.release(requested)

    def release(self, requested: Sequence[str]) -> None:
        """Ends all leases. Sites that may have received a request a moment ago wait for their pause."""
        now = self._clock()
        with self._store.writing() as unit:
            records = unit.feeds.crawling.sites.find_many(requested).values()
            unit.feeds.crawling.sites.save_many([self._pause_after_stop(record, now) for record in records])
            unit.feeds.crawling.queue.release(self._owner)

    def _pause_after_stop(self, record: CrawlSite, now: datetime) -> CrawlSite:
        """Returns a site whose pause, if it has one, begins now, unless it already lasts longer."""
        paused = pause(record, self._sites.find_load(record.site, parse_robots(record.robots, self._agent).delay_seconds, now), now)
        return paused if (paused.free_at or now) > (record.free_at or now) else record


def _has_content(document: Document | None) -> bool:
    return document is not None and document.content is not None


def _divide(entries: Sequence[CrawlEntry], paused: dict[str, CrawlSite]) -> tuple[list[CrawlEntry], list[CrawlEntry]]:
    """Returns the entries to fetch, and those that are given back: of a site with pauses, all but the first."""
    accepted: list[CrawlEntry] = []
    given_back: list[CrawlEntry] = []
    seen: set[str] = set()
    for entry in entries:
        is_further = entry.site in paused and entry.site in seen
        (given_back if is_further else accepted).append(entry)
        seen.add(entry.site)
    return accepted, given_back
