"""Adds the links of documents, and the pages of sitemaps, to the crawl queue.

A link makes an unknown URL known and changes nothing about a known one. Links are not followed in three cases: the document declares
``nofollow``; the licence limit is reached, since new documents would only evict others; the crawler knows as many URLs as the settings
permit. A single link is not followed if it leads too far from where the crawl began, or from one page of a calendar to another one of
years ahead.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from feedmill.core.crawling.linkrules import LinkRules, is_calendar_step
from feedmill.core.documents.presentation import has_robots_rule
from feedmill.model.crawling import CrawlMention
from feedmill.model.document import Document, DocumentState, Origin
from feedmill.ports import Clock, Store, UnitOfWork

ADDED_AT_ONCE = 1_000
COUNTED_EVERY = timedelta(minutes=10)
"""How often the URLs of the queue are counted; what is added in between is added to the count."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowLimits:
    """How many documents and URLs there may be, and how many links a URL may be away from where the crawl began; 0 = any number."""

    max_documents: int = 0
    max_urls: int = 0
    max_depth: int = 0


class LinkFollowing:
    """Follows the links of one store."""

    def __init__(self, store: Store, rules: LinkRules, clock: Clock, limits: FollowLimits) -> None:
        self._store = store
        self._rules = rules
        self._clock = clock
        self._limits = limits
        self._known = 0
        self._counted_at: datetime | None = None

    def follow(self, pages: Iterable[tuple[Document, Sequence[str]]]) -> int:
        """Adds the links of pages, in transactions of a bounded size. Returns how many URLs were unknown."""
        followed = [(page, links) for page, links in pages if links and may_follow(page)]
        if not followed:
            return 0
        with self._store.reading() as unit:
            free = self._count_free(unit)
            depths = unit.feeds.crawling.urls.find_depths([page.url for page, _ in followed])
        added = 0
        for mentions in self._list_batches(followed, depths):
            if added >= free:
                break
            added += self._add(mentions[: free - added])
        return added

    def follow_sitemap(self, sitemap: str, pages: Sequence[tuple[str, datetime | None]]) -> int:
        """Adds the pages of a sitemap, each with the time when it last changed. Returns how many URLs were unknown.

        A page that has changed since it was crawled is due at once.
        """
        targets = ((self._rules.find_target(url, crawled_page=sitemap), changed_at) for url, changed_at in pages)
        named = [CrawlMention(url=url, referrer=sitemap, depth=1, changed_at=changed_at) for url, changed_at in targets if url is not None]
        added = 0
        for begin in range(0, len(named), ADDED_AT_ONCE):
            mentions = named[begin : begin + ADDED_AT_ONCE]
            with self._store.reading() as unit:
                free = self._count_free(unit)
                known = unit.feeds.crawling.urls.find_depths([mention.url for mention in mentions if mention.changed_at is not None])
            added += self._add([mention for mention in mentions if mention.url not in known], at_most=max(0, free))
            self._add_again([mention for mention in mentions if mention.url in known])
        return added

    def _list_batches(self, pages: Sequence[tuple[Document, Sequence[str]]], depths: dict[str, int]) -> Iterator[list[CrawlMention]]:
        rules, mentions, today = self._rules, dict[str, CrawlMention](), self._clock().date()
        max_depth = self._limits.max_depth
        for page, links in pages:
            crawled_page, depth = page.url if page.origin is Origin.WEB else "", depths.get(page.url, 0) + 1
            if max_depth and depth > max_depth:
                continue
            for link in dict.fromkeys(links):
                url = rules.find_target(link, crawled_page=crawled_page)
                if url is not None and crawled_page and is_calendar_step(crawled_page, url, today):
                    continue
                # of several links to a URL the one nearest to a start URL counts
                if url is not None and url != page.url and (url not in mentions or mentions[url].depth > depth):
                    mentions[url] = CrawlMention(url=url, referrer=page.url, depth=depth)
                if len(mentions) >= ADDED_AT_ONCE:
                    yield list(mentions.values())
                    mentions.clear()
        if mentions:
            yield list(mentions.values())

    def _add(self, mentions: Sequence[CrawlMention], at_most: int | None = None) -> int:
        with self._store.reading() as unit:
            fresh = list_unknown(unit, mentions)[:at_most]
        if not fresh:
            return 0
        with self._store.writing() as unit:
            added = unit.feeds.crawling.queue.add_many(fresh, self._clock())
        self._known += added
        return added

    def _add_again(self, mentions: Sequence[CrawlMention]) -> None:
        """Mentions known URLs with the time of their last change."""
        if mentions:
            with self._store.writing() as unit:
                unit.feeds.crawling.queue.add_many(mentions, self._clock())

    def _count_free(self, unit: UnitOfWork) -> int:
        """Returns how many URLs may be added."""
        limits = self._limits
        if limits.max_documents and unit.documents.scan.count_live() >= limits.max_documents:
            return 0
        if not limits.max_urls:
            return 1 << 62
        now = self._clock()
        if self._counted_at is None or not timedelta() <= now - self._counted_at < COUNTED_EVERY:
            self._known = sum(sum(groups.values()) for groups in unit.feeds.crawling.reports.count_by_site().values())
            self._counted_at = now
        return max(0, limits.max_urls - self._known)


def may_follow(page: Document) -> bool:
    """Returns whether the links of a document are followed, which do not depend on who may see it."""
    return page.state is DocumentState.LIVE and not page.damage and not has_robots_rule(page, "nofollow")


def list_unknown(unit: UnitOfWork, mentions: Sequence[CrawlMention]) -> list[CrawlMention]:
    """Lists the mentions of URLs that are neither in the queue nor documents whose content was fed."""
    known = unit.feeds.crawling.urls.find_depths([mention.url for mention in mentions])
    unknown = [mention for mention in mentions if mention.url not in known]
    documents = unit.documents.reader.find_many([mention.url for mention in unknown])
    return [mention for mention in unknown if not _is_fed(documents.get(mention.url))]


def _is_fed(document: Document | None) -> bool:
    return document is not None and document.state is DocumentState.LIVE and document.origin is Origin.CONTENT
