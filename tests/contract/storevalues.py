"""Values to keep in a store, each valid as it is and changed by keyword."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from feedmill.model.access import Acl, AclOrigin, StoredAcl
from feedmill.model.document import Document, Event, EventKind
from feedmill.model.feed import Feed, FeedKind, NewFeed
from feedmill.ports import IndexTask, Lane, Lease, Stage, Store
from tests import documents

NewDatabase = Callable[[], str]
"""Makes an empty database and returns its address."""

NOW = documents.NOW


def minutes(number: float) -> timedelta:
    return timedelta(minutes=number)


def an_acl(url: str, **given: Any) -> StoredAcl:
    plain = StoredAcl(url=url, acl=Acl(), origin=AclOrigin.ELEMENT, datasource="src", feed_id=1, seen_feed_id=1)
    return replace(plain, **given)


def a_task(document_id: int, **given: Any) -> IndexTask:
    plain = IndexTask(document_id=document_id, version=1, stage=Stage.INDEX, lane=Lane.BULK, feed_id=1, datasource="src")
    return replace(plain, **given)


def an_event(detail: str = "", **given: Any) -> Event:
    return replace(Event(kind=EventKind.FED, at=NOW, detail=detail), **given)


def a_lease(owner: str = "one", **given: Any) -> Lease:
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


def save(store: Store, *documents: Document) -> dict[str, int]:
    with store.writing() as unit:
        return unit.documents.writer.save_many(documents)


def damage(folder: Path, url: str, column: str, value: object) -> None:
    """Writes something that cannot be read into the row of a document, as a damaged file would have it."""
    with closing(sqlite3.connect(folder / "store.sqlite")) as connection, connection:
        changed = connection.execute(f"UPDATE documents SET {column} = ? WHERE url = ?", (value, url))
        assert changed.rowcount == 1


DAMAGES = [
    ("metadata", "["),
    ("metadata", '{"a": 1}'),
    ("attributes", '{"authmethod": "none of them"}'),
    ("attributes", "\x00"),
    ("text", "5"),
    ("state", "nonsense"),
    ("origin", "nonsense"),
    ("updated_at", "yesterday"),
]
"""Columns of a document's row, with values that cannot be decoded."""
