"""The crawl queue in the store, and the fetcher."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from feedmill.model.crawling import CrawlEntry, CrawlGroup, CrawlMention, CrawlSite, FetchedPage, FetchRequest


class CrawlQueue(Protocol):
    """The entries of the crawler, one for each URL.

    Example::

        with store.writing() as unit:
            unit.feeds.crawling.queue.add_many([CrawlMention(url="http://example.com/", is_request=True)], now)
    """

    def add_many(self, mentions: Sequence[CrawlMention], now: datetime) -> int:
        """Makes URLs known, or due again if the mention asks for it. Returns how many were new."""

    def find_many(self, urls: Sequence[str]) -> dict[str, CrawlEntry]:
        """Finds entries by URL."""

    def lease_due(
        self, owner: str, now: datetime, until: datetime, *, capacity: Mapping[str, int], default_capacity: int, limit: int
    ) -> list[CrawlEntry]:
        """Leases due entries, the most urgent first, then by pagerank and age.

        A site has one owner at a time, until its last lease expires, so that its host load holds over all machines.
        ``capacity`` is how many more URLs of a site may be leased now, ``default_capacity`` that of each site that it does not name.
        """

    def save_many(self, entries: Sequence[CrawlEntry]) -> None:
        """Stores known entries and ends their leases. An entry that another owner has leased since is not changed.

        If an entry was mentioned while it was leased, so that it must be fetched again, it is due at once.
        """

    def remove_many(self, urls: Sequence[str]) -> None:
        """Removes entries."""

    def find_by_checksum(self, checksums: Sequence[bytes], sites: Sequence[str]) -> dict[bytes, str]:
        """Finds the URL of these sites that is no duplicate and became known first with each checksum."""

    def release(self, owner: str) -> int:
        """Ends all leases of a process that ended. Returns how many there were."""


class CrawlUrls(Protocol):
    """Which URLs the crawl queue knows, for those who need no more of their entries."""

    def find_depths(self, urls: Sequence[str]) -> dict[str, int]:
        """Finds how many links each of the known URLs is away from where the crawl began."""


class CrawlReports(Protocol):
    """What administrators read of the crawl queue."""

    def list_entries(self, *, prefix: str = "", group: CrawlGroup | None = None, after: str = "", limit: int = 100) -> list[CrawlEntry]:
        """Lists entries by URL behind ``after``."""

    def list_duplicates(self, urls: Sequence[str], limit: int) -> list[str]:
        """Lists URLs that are duplicates of any of these."""

    def count_by_site(self) -> dict[str, dict[CrawlGroup, int]]:
        """Counts the entries of each site by group."""

    def count_waiting(self, now: datetime) -> tuple[int, datetime | None]:
        """Counts the entries that are due, and returns when the oldest of them became due."""


class CrawlSites(Protocol):
    """The sites of the crawl queue."""

    def find_many(self, sites: Sequence[str]) -> dict[str, CrawlSite]:
        """Finds sites by name."""

    def save_many(self, sites: Sequence[CrawlSite]) -> None:
        """Stores sites, known or not."""

    def lease_with_sitemaps(self, owner: str, now: datetime, until: datetime, limit: int) -> list[CrawlSite]:
        """Leases sites with sitemaps left to be read, except those of other owners."""

    def lease(self, owner: str, site: str, now: datetime, until: datetime) -> CrawlSite | None:
        """Leases a site, known or not, None if another owner has it."""

    def list_failing(self, limit: int) -> list[CrawlSite]:
        """Lists the sites whose servers fail, the longest failing first."""

    def list_leased(self, owner: str) -> list[CrawlSite]:
        """Lists the sites that a process has leased, also if the leases have expired."""


class Fetcher(Protocol):
    """Fetches URLs from other servers.

    Example::

        fetching = fetcher.fetch(FetchRequest(url="http://example.com/", max_bytes=1_000_000, seconds=30.0))
        page = asyncio.run(fetching)
    """

    async def fetch(self, request: FetchRequest) -> FetchedPage:
        """Fetches a URL. Every failure is a ``FetchedPage`` with its state. Raises what ``enter`` and ``reserve`` of the request raise."""

    async def close(self) -> None:
        """Closes all connections."""
