"""Anchor texts of links between documents, in SQL."""

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from feedmill.adapters.store.prepared import PreparedChange, PreparedQuery
from feedmill.adapters.store.schema import link_queue, link_texts
from feedmill.adapters.store.statements import batches, insert, upsert
from feedmill.adapters.store.values import now_micros, plain
from feedmill.ports import LinkWork

_TEXT = (link_texts.c.source_id, link_texts.c.target_id, link_texts.c.text)
_BY_SOURCE = PreparedQuery(lambda ids: sa.select(*_TEXT).where(link_texts.c.source_id.in_(ids)))
_BY_TARGET = PreparedQuery(lambda ids: sa.select(*_TEXT).where(link_texts.c.target_id.in_(ids)))
_PUT = PreparedChange(
    lambda connection: upsert(connection, link_texts, ["target_id", "source_id"]), [column.name for column in link_texts.columns]
)
_REMOVE = PreparedChange(
    lambda _: sa.delete(link_texts).where(
        link_texts.c.source_id == sa.bindparam("source_"), link_texts.c.target_id == sa.bindparam("target_")
    ),
    ("source_", "target_"),
)
_QUEUE = PreparedChange(
    lambda connection: insert(connection, link_queue).on_conflict_do_nothing(index_elements=["work", "document_id"]),
    [column.name for column in link_queue.columns],
)


def _build_queued(work: LinkWork) -> PreparedQuery:
    # a literal, since a prepared query has one list of values
    theirs = link_queue.c.work == sa.literal_column(str(work.value))
    return PreparedQuery(lambda ids: sa.select(link_queue.c.document_id).where(theirs, link_queue.c.document_id.in_(ids)))


_QUEUED = {work: _build_queued(work) for work in LinkWork}


class SqlLinks:
    """Implements ``LinkTexts`` and ``LinkQueue`` of ``ports``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def find_by_source(self, ids: Sequence[int]) -> dict[int, dict[int, str]]:
        """Finds the anchor texts of source documents."""
        found: dict[int, dict[int, str]] = {}
        for batch in batches(ids):
            for source, target, text in _BY_SOURCE.run(self._connection, batch):
                found.setdefault(source, {})[target] = text
        return found

    def find_by_target(self, ids: Sequence[int]) -> dict[int, dict[int, str]]:
        """Finds the anchor texts of target documents."""
        found: dict[int, dict[int, str]] = {}
        for batch in batches(ids):
            for source, target, text in _BY_TARGET.run(self._connection, batch):
                found.setdefault(target, {})[source] = text
        return found

    def put_many(self, texts: Mapping[tuple[int, int], str]) -> None:
        """Stores texts by source and target."""
        values = [{"source_id": source, "target_id": target, "text": plain(text)} for (source, target), text in texts.items()]
        _PUT.run(self._connection, values)

    def remove_many(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Removes texts by source and target."""
        _REMOVE.run(self._connection, [{"source_": source, "target_": target} for source, target in pairs])

    def queue(self, work: LinkWork, ids: Sequence[int]) -> None:
        """Queues documents for work."""
        now = now_micros()
        _QUEUE.run(self._connection, [{"work": work.value, "document_id": document_id, "queued_at": now} for document_id in ids])

    def list_queued(self, work: LinkWork, limit: int) -> list[int]:
        """Lists the documents that are queued for work, by id."""
        query = sa.select(link_queue.c.document_id).where(link_queue.c.work == work.value)
        return list(self._connection.execute(query.order_by(link_queue.c.document_id).limit(limit)).scalars())

    def find_queued(self, work: LinkWork, ids: Sequence[int]) -> set[int]:
        """Finds those of the documents that are queued for work."""
        found: set[int] = set()
        for batch in batches(ids):
            found.update(document_id for (document_id,) in _QUEUED[work].run(self._connection, batch))
        return found

    def unqueue(self, work: LinkWork, ids: Sequence[int]) -> None:
        """Removes documents from the queue."""
        for batch in batches(ids):
            theirs = sa.and_(link_queue.c.work == work.value, link_queue.c.document_id.in_(batch))
            self._connection.execute(sa.delete(link_queue).where(theirs))
