"""Feeds as a store keeps them, and the leases of their feeders."""

from dataclasses import replace
from typing import Any

from feedmill.model.feed import Feed, FeedKind, NewFeed
from feedmill.ports import Lease, Store
from tests.builders.times import NOW, minutes


def make_lease(owner: str = "one", **given: Any) -> Lease:
    return replace(Lease(owner=owner, until=NOW + minutes(5)), **given)


def add_feed(store: Store, datasource: str = "src", **given: Any) -> Feed:
    """Adds a feed, then saves what cannot be given at its birth."""
    born: dict[str, Any] = {
        "kind": FeedKind.FULL,
        "format": "gsafeed",
        "file": "file",
        "size_bytes": 10,
        "received_at": NOW,
        "client": "127.0.0.1",
    }
    born |= {name: given.pop(name) for name in list(given) if name in born}
    with store.writing() as unit:
        feed_id = unit.feeds.queue.add(NewFeed(datasource=datasource, **born))
        feed = replace(unit.feeds.reader.get(feed_id), **given)
        unit.feeds.queue.save(feed)
    return feed
