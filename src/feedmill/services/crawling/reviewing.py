"""Compares the crawl queue with the settings when the crawler starts, which it also does after the settings have changed.

- Start URLs become known.
- URLs that were excluded by patterns are due again if they pass now.
- Documents that were only named, by a version without a crawler or under other settings, become known.

The review goes on where it was interrupted only as far as needed: what it adds is known then, so that repeating it changes nothing.
"""

import hashlib
import json
from collections.abc import Sequence

import structlog

from feedmill.core.documents.urlstate import Rules
from feedmill.core.urls.patterns import is_remark
from feedmill.model.crawling import CrawlGroup, CrawlMention, CrawlState
from feedmill.model.document import Document, Origin
from feedmill.ports import Clock, Store
from feedmill.services.crawling.linkfollowing import list_unknown
from feedmill.services.keyvalues import CRAWL_REVIEWED

READ_AT_ONCE = 1_000
BY_PATTERNS = (CrawlState.NOT_IN_URLS_TO_CRAWL, CrawlState.IN_URLS_NOT_TO_CRAWL)

log = structlog.get_logger(__name__)


class QueueReview:
    """The review of one process; call ``step`` from its loop. ``digest`` changes whenever the rules or the start URLs do."""

    def __init__(self, store: Store, rules: Rules, start: Sequence[str], digest: str, clock: Clock) -> None:
        self._store = store
        self._rules = rules
        self._start = [url.strip() for url in start if not is_remark(url)]
        self._digest = digest_of_review(digest, self._start)
        self._clock = clock
        self._after = ""
        self._after_id = 0
        self._is_started = False

    def step(self) -> bool:
        """Does the next bounded piece of work. Returns whether there is more to do."""
        if not self._is_started:
            self._is_started = True
            is_done = self._is_done()
            if not is_done:
                self._forget_review()
            self._add_start_urls()
            self._after_id = -1 if is_done else 0
            return not is_done
        if self._after_id < 0:
            return False
        if self._review_documents() or self._review_excluded():
            return True
        with self._store.writing() as unit:
            unit.state.key_values.put(CRAWL_REVIEWED, self._digest)
        self._after_id = -1
        log.info("crawl_queue_reviewed")
        return False

    def _is_done(self) -> bool:
        with self._store.reading() as unit:
            return unit.state.key_values.get(CRAWL_REVIEWED) == self._digest

    def _forget_review(self) -> None:
        """Forgets the last complete review: from now on the crawler excludes URLs by other rules, also if this review is interrupted."""
        with self._store.writing() as unit:
            unit.state.key_values.put(CRAWL_REVIEWED, "")

    def _add_start_urls(self) -> None:
        """Adds the start URLs, also those that an administrator removed: as long as they are in the settings, they are crawled."""
        self._add([CrawlMention(url=url) for url in self._start])

    def _review_documents(self) -> bool:
        """Adds documents that were named and are not in the queue. Returns whether there may be more."""
        with self._store.reading() as unit:
            documents = unit.documents.scan.list_live(after=self._after_id, limit=READ_AT_ONCE)
        if not documents:
            return False
        self._add([_mention_of(document) for document in documents if document.origin is Origin.WEB])
        self._after_id = documents[-1].id or 0
        return True

    def _review_excluded(self) -> bool:
        """Makes excluded URLs due that the patterns permit now. Returns whether there may be more."""
        with self._store.reading() as unit:
            entries = unit.feeds.crawling.reports.list_entries(group=CrawlGroup.EXCLUDED, after=self._after, limit=READ_AT_ONCE)
        if not entries:
            return False
        again = [
            CrawlMention(url=entry.url, is_request=True, is_once=entry.is_once)
            for entry in entries
            if entry.state in BY_PATTERNS and self._rules.refusal(entry.url) is None
        ]
        if again:
            with self._store.writing() as unit:
                unit.feeds.crawling.queue.add_many(again, self._clock())
        self._after = entries[-1].url
        return True

    def _add(self, mentions: Sequence[CrawlMention]) -> None:
        with self._store.reading() as unit:
            unknown = list_unknown(unit, mentions) if mentions else []
        if unknown:
            with self._store.writing() as unit:
                unit.feeds.crawling.queue.add_many(unknown, self._clock())


def digest_of_review(digest: str, start: Sequence[str]) -> str:
    """Returns a digest of the rules and the start URLs."""
    return hashlib.sha256(json.dumps([digest, list(start)]).encode()).hexdigest()[:32]


def _mention_of(document: Document) -> CrawlMention:
    attributes = document.attributes
    return CrawlMention(
        url=document.url, is_immediate=attributes.crawl_immediately, is_once=attributes.crawl_once, pagerank=attributes.pagerank
    )
