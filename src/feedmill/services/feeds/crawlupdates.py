"""Keeps the crawl queue true to the documents, in the transaction that changes them.

- A request to crawl that was applied makes the URL due.
- A document that is deleted, evicted, or fed with content by a feed or a run is not crawled any more.
- A crawled document that the patterns refuse stays in the queue and is due at once, so that the crawler sees why it is excluded, and asks
  for it again when the pattern is taken back.
- What the crawler itself brings changes nothing here: it stores the entries of what it fetched.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from feedmill.core.documents.urlstate import Outcome, ReceiptCount, UrlState
from feedmill.model.change import Change, RequestCrawl
from feedmill.model.crawling import CrawlMention
from feedmill.model.document import Event, EventKind, Origin
from feedmill.model.provenance import ProvenanceKind
from feedmill.ports import UnitOfWork


class CrawlUpdates:
    """What the changes of one transaction mean for the crawl queue."""

    def __init__(self, provenance: ProvenanceKind) -> None:
        self._is_fetch = provenance is ProvenanceKind.FETCH
        self._mentions: dict[str, CrawlMention] = {}

    def note(self, change: Change, outcome: Outcome) -> None:
        """Notes a change that was applied."""
        if isinstance(change, RequestCrawl) and outcome.counted is ReceiptCount.INCLUDED:
            earlier = self._mentions.get(change.url)
            self._mentions[change.url] = CrawlMention(
                url=change.url,
                is_request=True,
                is_immediate=change.attributes.crawl_immediately or (earlier is not None and earlier.is_immediate),
                is_once=change.attributes.crawl_once,
                pagerank=change.attributes.pagerank,
            )

    def write(
        self,
        unit: UnitOfWork,
        before: Mapping[str, UrlState],
        after: Mapping[str, UrlState],
        events: Mapping[str, Sequence[Event]],
        now: datetime,
    ) -> None:
        """Writes the queue. Shape: the states of all URLs of the transaction, and what happened to them, in order."""
        mentions: list[CrawlMention] = []
        ended: list[str] = []
        for url, state in after.items():
            live, last = state.live, events[url][-1].kind if events.get(url) else None
            if live is not None and live.origin is Origin.WEB:
                if url in self._mentions:
                    mentions.append(self._mentions[url])
            elif last is EventKind.BLOCKED and _is_crawled(before[url]):
                mentions.append(CrawlMention(url=url, is_request=True))
            elif last is EventKind.PUSHED_OUT or (not self._is_fetch and _ends_crawl(before[url], state)):
                ended.append(url)
        if ended:
            unit.feeds.crawling.queue.remove_many(ended)
        if mentions:
            unit.feeds.crawling.queue.add_many(mentions, now)


def _is_crawled(state: UrlState) -> bool:
    return state.live is not None and state.live.origin is Origin.WEB


def _ends_crawl(before: UrlState, after: UrlState) -> bool:
    """Returns whether content takes over a URL, or a document that was crawled goes. A new content may be that of a URL that links name."""
    if after.live is not None:
        return before.live is None or before.live.origin is Origin.WEB
    return _is_crawled(before)
