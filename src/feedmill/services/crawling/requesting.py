"""What an administrator does with the crawl queue: looks at it, asks for URLs again, removes them, pauses and resumes the crawler."""

import re
from collections.abc import Callable, Sequence
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
PAGES_OF_PART = 10
"""How many times so many entries one part of a request compares with its pattern, in a second or two."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DonePart:
    """A part of a request for the URLs that a pattern matches: how many matched, of how many that were compared. ``after`` is the last of
    these, with which the next part begins, "" after the last part.
    """

    count: int
    compared: int
    after: str = ""


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
        return _do_all(text, self.recrawl_part)

    def recrawl_part(self, text: str, after: str = "") -> DonePart:
        """Does so for the first known URLs behind ``after``. The parts of a request may be far apart."""
        part = self._do_part(text, self._request, after, as_pattern=bool(after))
        if not after and not part.count and _is_whole_url(text):
            part = self._do_part(text, self._request, after, as_pattern=True)
        if part.count:
            self._notifier.notify(Topic.CRAWLING)
        return part

    def remove(self, text: str) -> int:
        """Removes a URL, or every URL that the pattern matches, with its document if that was crawled. Errors: NotFound."""
        return _do_all(text, self.remove_part)

    def remove_part(self, text: str, after: str = "") -> DonePart:
        """Does so for the first known URLs behind ``after``."""
        part = self._do_part(text, self._remove, after)
        if part.count:
            self._notifier.notify(Topic.INDEXING)
        return part

    def pause(self, *, is_paused: bool) -> None:
        """Pauses the crawler, or lets it continue."""
        with self._store.writing() as unit:
            unit.state.key_values.put(CRAWL_PAUSED, "1" if is_paused else "")
        self._notifier.notify(Topic.CRAWLING)

    def _do_part(self, text: str, work: Callable[[Sequence[CrawlEntry]], None], after: str, *, as_pattern: bool = False) -> DonePart:
        """Works on the entries that a text means, some in each transaction. Errors: BadRequest."""
        if not as_pattern and _is_whole_url(text):
            with self._store.reading() as unit:
                found = unit.feeds.crawling.queue.find_many([text, f"{text}/"])
            one = found.get(text) or (found.get(f"{text}/") if text.count("/") == 2 else None)
            if one is not None:
                work([one])
            return DonePart(count=int(one is not None), compared=1)
        matches, count, compared = _read_matching(text), 0, 0
        for _ in range(PAGES_OF_PART):
            entries = self.list_entries(after=after, limit=READ_AT_ONCE)
            if matching := [entry for entry in entries if matches(entry.url)]:
                work(matching)
            count, compared = count + len(matching), compared + len(entries)
            if len(entries) < READ_AT_ONCE:
                return DonePart(count=count, compared=compared)
            after = entries[-1].url
        return DonePart(count=count, compared=compared, after=after)

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


def describe_no_match(text: str) -> str:
    """Returns the error of a request that means no known URL."""
    return f"the crawler knows no URL that {text[:2000]!a} matches; name it in a web feed or in urls.start"


def _do_all(text: str, do_part: Callable[[str, str], DonePart]) -> int:
    """Does all parts of a request. Returns how many URLs it meant. Errors: NotFound."""
    part = do_part(text, "")
    count = part.count
    while part.after:
        part = do_part(text, part.after)
        count += part.count
    if not count:
        raise NotFound(describe_no_match(text))
    return count


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
        raise BadRequest(f"the url pattern '{text[:80]}' is an exception; write the pattern without the '-'")
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
