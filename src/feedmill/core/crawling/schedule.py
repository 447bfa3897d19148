"""Decides when a URL is fetched again, and when its document goes.

1. A URL is fetched about twice as often as it changes. If it differed, the next interval is half the time between its last two changes. If
   it did not, the interval grows to half the time since its last change. Bounds depend on the patterns of the settings.
2. ``NOT_FOUND`` and what the server or the settings exclude removes the document at once.
3. After any other failure the URL is retried after a day, three days, a week and three weeks, and removed when the last of these
   retries fails too. Further fetches in between, which a feed or an administrator asks for, do not count. A retry that comes late, since
   the crawler was stopped or its host held back, delays the next ones by as much: a URL is never given up within less than these times.
4. A URL that is crawled once is due no more once it was fetched.
5. A page that says noindex is fetched as often as any other, for its links and its ACL.
6. What counts as excluded is tried again a week after it was given up: its server decides, and may decide otherwise.

Source: specifications of the appliance, "Crawl Schedule", "Freshness Tuning"; its table of removals.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from feedmill.core.urls.patterns import PatternSet
from feedmill.model.crawling import CrawlEntry, CrawlGroup, CrawlState, CrawlUrgency, FetchRecord

RETRIES: Final = (timedelta(days=1), timedelta(days=3), timedelta(weeks=1), timedelta(weeks=3))
REMEMBERED: Final = 10

_EXCLUDED_AGAIN: Final = timedelta(weeks=1)
"""When a URL is tried again that its server excludes."""
_GONE: Final = frozenset(
    {
        CrawlState.NOT_FOUND,
        CrawlState.OFF_DOMAIN_REDIRECT,
        CrawlState.INFINITE_URL_SPACE,
        CrawlState.DISALLOWED_BY_ROBOTS_TXT,
        CrawlState.NOT_IN_URLS_TO_CRAWL,
        CrawlState.IN_URLS_NOT_TO_CRAWL,
    }
)
_NEVER_AGAIN: Final = frozenset(
    {CrawlState.NOT_IN_URLS_TO_CRAWL, CrawlState.IN_URLS_NOT_TO_CRAWL, CrawlState.UNHANDLED_PROTOCOL, CrawlState.URL_TOO_LONG}
)
_DONE: Final = (
    CrawlState.CRAWLED,
    CrawlState.CRAWLED_FROM_CACHE,
    CrawlState.ROBOTS_NOINDEX,
    CrawlState.DISALLOWED_BY_META_TAG,
)
"""The document stays. One that its server excludes from the index has links, and an ACL from which others inherit."""


class Frequency(Enum):
    """How often the settings want a URL to be fetched. Shape: first, shortest and longest interval."""

    NORMAL = (timedelta(days=1), timedelta(hours=1), timedelta(days=30))
    FREQUENT = (timedelta(hours=1), timedelta(minutes=5), timedelta(days=1))
    SELDOM = (timedelta(days=60), timedelta(days=30), timedelta(days=180))


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequencyRules:
    """The patterns of the settings; a URL that matches both is fetched frequently."""

    frequently: PatternSet
    seldom: PatternSet

    def find(self, url: str) -> Frequency:
        """Returns how often a URL is to be fetched."""
        if self.frequently.match_url(url).passes:
            return Frequency.FREQUENT
        return Frequency.SELDOM if self.seldom.match_url(url).passes else Frequency.NORMAL


@dataclass(frozen=True, slots=True, kw_only=True)
class NextVisit:
    """An entry after a fetch, and whether the document of its URL goes."""

    entry: CrawlEntry
    removes: bool = False


def schedule(entry: CrawlEntry, record: FetchRecord, frequency: Frequency, *, is_changed: bool = False) -> NextVisit:
    """Returns what follows from a fetch."""
    history = (*entry.history, record)[-REMEMBERED:]
    fetched = replace(entry, state=record.state, urgency=CrawlUrgency.SCHEDULED, history=history)
    if record.state in _DONE:
        return NextVisit(entry=_after_success(fetched, record.at, frequency, is_changed=is_changed))
    if record.state in _NEVER_AGAIN:
        return NextVisit(entry=_forget_content(replace(fetched, due_at=None)), removes=record.state in _GONE)
    if record.state in _GONE and record.state is not CrawlState.NOT_FOUND:
        excluded = replace(fetched, due_at=record.at + _EXCLUDED_AGAIN, failures=0, failed_at=None)
        return NextVisit(entry=_forget_content(excluded), removes=True)
    failed, is_given_up = _after_failure(fetched, record.at)
    removes = is_given_up or record.state is CrawlState.NOT_FOUND
    return NextVisit(entry=_forget_content(failed) if removes else failed, removes=removes)


def _forget_content(entry: CrawlEntry) -> CrawlEntry:
    """Returns an entry without the validators and the digest of a document that is gone."""
    return replace(entry, etag="", modified="", checksum=b"", duplicate_of="")


def _after_success(entry: CrawlEntry, now: datetime, frequency: Frequency, *, is_changed: bool) -> CrawlEntry:
    first, shortest, longest = frequency.value
    interval = timedelta(seconds=entry.interval_seconds) if entry.interval_seconds else first
    if entry.changed_at is not None and entry.interval_seconds:
        # rule 1: half the time between the last two changes, or half the time since the last change, which never shortens the interval
        half = (now - entry.changed_at) / 2
        interval = half if is_changed else max(interval, half)
    interval = min(max(interval, shortest), longest)
    return replace(
        entry,
        interval_seconds=int(interval.total_seconds()),
        due_at=None if entry.is_once else now + interval,
        crawled_at=now,
        changed_at=now if is_changed or entry.changed_at is None else entry.changed_at,
        failures=0,
        failed_at=None,
    )


def _after_failure(entry: CrawlEntry, now: datetime) -> tuple[CrawlEntry, bool]:
    """Returns the entry after a failure, and whether the URL is given up."""
    failed_at = entry.failed_at or now
    if entry.failures:
        # rule 3: a fetch before the next retry, which a feed or an administrator requested, is no retry
        next_retry = failed_at + sum(RETRIES[: entry.failures], timedelta())
        if now < next_retry:
            return replace(entry, due_at=next_retry), False
        failed_at += now - next_retry
    failures = entry.failures + 1
    if failures > len(RETRIES):
        again = now + _EXCLUDED_AGAIN if entry.state.group is CrawlGroup.EXCLUDED else None
        return replace(entry, failures=0, failed_at=None, due_at=again), True
    due_at = failed_at + sum(RETRIES[:failures], timedelta())
    return replace(entry, failures=failures, failed_at=failed_at, due_at=due_at), False
