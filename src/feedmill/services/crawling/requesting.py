"""What an administrator does with the crawl queue: looks at it, asks for URLs again, removes them, pauses and resumes the crawler."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from feedmill.core.documents.urlstate import ApplyContext, Rules
from feedmill.core.urls.patterns import parse_pattern
from feedmill.model.change import Delete, SourcePosition
from feedmill.model.crawling import CrawlEntry, CrawlGroup, CrawlMention, CrawlSite
from feedmill.model.document import DocumentState, Origin
from feedmill.model.errors import BadRequest, NotFound
from feedmill.model.provenance import from_fetch
from feedmill.model.topic import Topic
from feedmill.ports import Clock, Lane, Notifier, Store, UnitOfWork
from feedmill.services.feeds.feeding import ChangeBatch
from feedmill.services.keyvalues import CRAWL_PAUSED

READ_AT_ONCE = 1_000
REFERRERS = 100
FAILING_SITES = 100
_WHOLE_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://")
CRAWLER = "crawler"
"""The name in which URLs are crawled that no data source named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueOverview:
    """The crawl queue as a whole: how many URLs are due, since when, and the URLs of each site by group."""

    is_paused: bool
    due: int
    oldest_due_at: datetime | None
    sites: dict[str, dict[CrawlGroup, int]]
    failing: Sequence[CrawlSite]


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlLife:
    """One URL: its entry, documents that link to it, and URLs that are duplicates of it."""

    entry: CrawlEntry
    referrers: tuple[str, ...]
    duplicates: tuple[str, ...] = ()


class CrawlRequests:
    """The requests to the crawler."""

    def __init__(self, store: Store, rules: Callable[[], Rules], notifier: Notifier, clock: Clock) -> None:
        self._store = store
        self._rules = rules
        self._notifier = notifier
        self._clock = clock

    def read_overview(self) -> QueueOverview:
        """Returns the state of the queue."""
        with self._store.reading() as unit:
            due, oldest = unit.feeds.crawling.reports.count_waiting(self._clock())
            return QueueOverview(
                is_paused=is_paused(unit),
                due=due,
                oldest_due_at=oldest,
                sites=unit.feeds.crawling.reports.count_by_site(),
                failing=unit.feeds.crawling.sites.list_failing(FAILING_SITES),
            )

    def list_entries(self, *, prefix: str = "", group: CrawlGroup | None = None, after: str = "", limit: int = 100) -> list[CrawlEntry]:
        """Lists entries by URL behind ``after``."""
        with self._store.reading() as unit:
            return unit.feeds.crawling.reports.list_entries(prefix=prefix, group=group, after=after, limit=limit)

    def get_life(self, url: str) -> UrlLife:
        """Returns the life of a URL. Errors: NotFound."""
        with self._store.reading() as unit:
            entry = unit.feeds.crawling.queue.find_many([url]).get(url)
            if entry is None:
                raise NotFound(_describe_unknown(unit, url))
            duplicates = unit.feeds.crawling.reports.list_duplicates([url], REFERRERS)
            return UrlLife(entry=entry, referrers=_list_referrers(unit, entry), duplicates=tuple(sorted(duplicates)))

    def recrawl(self, text: str) -> int:
        """Makes a known URL, or every known URL that the pattern matches, due at once. Returns how many. Errors: NotFound.

        A whole URL that is not known counts as a pattern.
        """
        count = self._for_each(text, self._request) or self._for_each(text, self._request, as_pattern=True)
        if not count:
            raise NotFound(f"the crawler knows no URL that {text[:2000]!a} matches; name it in a web feed or in urls.start")
        self._notifier.notify(Topic.CRAWLING)
        return count

    def remove(self, text: str) -> int:
        """Removes a URL, or every URL that the pattern matches, with its document if that was crawled. Errors: NotFound."""
        count = self._for_each(text, self._remove)
        if not count:
            raise NotFound(f"the crawler knows no URL that {text[:2000]!a} matches")
        self._notifier.notify(Topic.INDEXING)
        return count

    def pause(self, *, is_paused: bool) -> None:
        """Pauses the crawler, or lets it continue."""
        with self._store.writing() as unit:
            unit.state.key_values.put(CRAWL_PAUSED, "1" if is_paused else "")
        self._notifier.notify(Topic.CRAWLING)

    def _for_each(self, text: str, work: Callable[[Sequence[CrawlEntry]], None], *, as_pattern: bool = False) -> int:
        """Works on the entries that a text means, some in each transaction. Returns how many there are."""
        count = 0
        for entries in self._iter_matching(text, as_pattern=as_pattern):
            work(entries)
            count += len(entries)
        return count

    def _iter_matching(self, text: str, *, as_pattern: bool) -> Iterator[list[CrawlEntry]]:
        """Yields the entries of a URL, or of a pattern. Errors: BadRequest."""
        if not as_pattern and _is_whole_url(text):
            with self._store.reading() as unit:
                found = unit.feeds.crawling.queue.find_many([text, f"{text}/"])
            if one := found.get(text) or (found.get(f"{text}/") if text.count("/") == 2 else None):
                yield [one]
            return
        matches, after = _read_matching(text), ""
        while entries := self.list_entries(after=after, limit=READ_AT_ONCE):
            after = entries[-1].url
            if matching := [entry for entry in entries if matches(entry.url)]:
                yield matching

    def _request(self, entries: Sequence[CrawlEntry]) -> None:
        mentions = [CrawlMention(url=entry.url, is_request=True, is_immediate=True, is_once=entry.is_once) for entry in entries]
        with self._store.writing() as unit:
            unit.feeds.crawling.queue.add_many(mentions, self._clock())

    def _remove(self, entries: Sequence[CrawlEntry]) -> None:
        urls = [entry.url for entry in entries]
        with self._store.writing() as unit:
            context = ApplyContext(provenance=from_fetch(CRAWLER), now=self._clock(), rules=self._rules())
            batch = ChangeBatch(unit, context, Lane.QUICK)
            batch.load(urls)
            documents = unit.documents.reader.find_many(urls)
            for url, document in documents.items():
                if document.state is DocumentState.LIVE and document.origin is Origin.WEB:
                    batch.apply(Delete(place=SourcePosition(record=0), url=url), None)
            batch.finish()
            unit.feeds.crawling.queue.remove_many(urls)


def is_paused(unit: UnitOfWork) -> bool:
    """Returns whether an administrator paused the crawler."""
    return bool(unit.state.key_values.get(CRAWL_PAUSED))


def _is_whole_url(text: str) -> bool:
    """Returns whether a text is a URL, which means itself alone, rather than a pattern."""
    return _WHOLE_URL.match(text) is not None and "*" not in text and not text.endswith("$")


def _read_matching(text: str) -> Callable[[str], bool]:
    """Returns the test for the URLs that a pattern matches. Errors: BadRequest."""
    try:
        pattern = parse_pattern(text)
    except BadRequest:
        if not _WHOLE_URL.match(text):
            raise
        return lambda url: url == text
    if pattern.is_exception:
        raise BadRequest(f"'{text}' is an exception; write the pattern without the '-'")
    return lambda url: url == text or pattern.matches(url)


def _describe_unknown(unit: UnitOfWork, url: str) -> str:
    document = unit.documents.reader.find_many([url]).get(url)
    if document is not None and document.state is DocumentState.LIVE and document.origin is Origin.CONTENT:
        return f"{url[:2000]!a} is not crawled: data source {document.datasource} fed its content"
    return f"the crawler does not know {url[:2000]!a}: no feed, link, sitemap or start URL named it"


def _list_referrers(unit: UnitOfWork, entry: CrawlEntry) -> tuple[str, ...]:
    """Lists the page that named a URL first, and documents whose links to it have been read."""
    found = [entry.referrer] if entry.referrer else []
    document_id = unit.documents.reader.find_ids([entry.url]).get(entry.url)
    if document_id is not None:
        sources = sorted(unit.processing.link_texts.find_by_target([document_id]).get(document_id, {}))[:REFERRERS]
        found += [document.url for document in unit.documents.reader.find_by_id(sources).values()]
    return tuple(dict.fromkeys(found))
