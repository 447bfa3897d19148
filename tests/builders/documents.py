"""Documents as a store keeps them, and their events."""

from dataclasses import replace
from typing import Any

from feedmill.model.document import Attributes, Document, DocumentState, Event, EventKind, Origin
from feedmill.ports import Store
from tests.builders.times import NOW


def make_document(url: str, **given: Any) -> Document:
    plain = Document(
        id=None,
        url=url,
        state=DocumentState.LIVE,
        origin=Origin.CONTENT,
        datasource="src",
        version=1,
        feed_id=1,
        seen_feed_id=1,
        attributes=Attributes(),
        metadata=(),
        secure=False,
        content=None,
        content_bytes=0,
        charset=None,
        text=None,
        updated_at=NOW,
    )
    return replace(plain, **given)


def make_event(detail: str = "", **given: Any) -> Event:
    return replace(Event(kind=EventKind.FED, at=NOW, detail=detail), **given)


def save(store: Store, *documents: Document) -> dict[str, int]:
    """Stores documents and returns their ids by URL."""
    with store.writing() as unit:
        return unit.documents.writer.save_many(documents)
