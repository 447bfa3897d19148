"""The queues of the server: the items that wait in each, and since when nothing has moved."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from feedmill.model.feed import Feed, FeedKind, FeedTarget

QUICK_FEED_BYTES = 4_000_000
"""Feeds below this size have their own feeder and their own queue."""


class QueueName(Enum):
    """A queue, by its name in status, metrics and ``/readyz``. Source: docs/reference/operation.md."""

    FEEDS = "feeds"
    FEEDS_QUICK = "feeds-quick"
    GROUPS = "groups"
    EXTRACT = "extract"
    INDEX = "index"
    LINKS = "links"
    REBUILD = "rebuild"
    ADMISSION = "admission"
    POLICIES = "policies"
    PATTERNS = "patterns"
    CRAWL = "crawl"
    EMBED = "embed"


FEED_QUEUES = (QueueName.FEEDS, QueueName.FEEDS_QUICK, QueueName.GROUPS)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingFeed:
    """The first feed of a data source that is not completely applied; the source's other feeds wait for it.

    ``since``: when it could have begun at the earliest, or last moved. ``failure``: why its last step failed, None after progress.
    """

    id: int
    datasource: str
    queue: QueueName
    since: datetime
    failure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingQueue:
    """The state of one queue in the store.

    - ``oldest_at``: since when the oldest item waits.
    - ``moved_at``: when the queue last moved, None = never recorded.
    - ``document``: the URL at its head, or the feed.
    - ``reason``: the last failure, None after progress.
    - ``heads``: for queues of feeds, the first of each source.
    """

    name: QueueName
    waiting: int = 0
    oldest_at: datetime | None = None
    moved_at: datetime | None = None
    document: str | None = None
    reason: str | None = None
    heads: tuple[WaitingFeed, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StuckQueue:
    """A queue with waiting items that does not move.

    ``datasources``: for queues of feeds, those whose first feed does not move; ``is_whole``: no other feed moves either.
    """

    name: QueueName
    since: datetime
    document: str | None
    reason: str
    datasources: frozenset[str] = frozenset()
    is_whole: bool = True


def queue_of(feed: Feed) -> QueueName:
    """Returns the queue in which a feed waits until it is applied."""
    return queue_by_size(feed.kind, feed.size_bytes)


def queue_by_size(kind: FeedKind, size_bytes: int) -> QueueName:
    """Returns the queue of a feed of a kind and size."""
    if kind.target is FeedTarget.GROUPS:
        return QueueName.GROUPS
    return QueueName.FEEDS_QUICK if size_bytes < QUICK_FEED_BYTES else QueueName.FEEDS
