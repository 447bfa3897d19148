"""Embeddings, the log of their changes and their queue, in SQL."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from feedmill.adapters.store.documents.rows import class_of_columns
from feedmill.adapters.store.prepared import PreparedQuery
from feedmill.adapters.store.schema import LIVE, documents, embedding_changes, embedding_queue, embeddings
from feedmill.adapters.store.statements import batches, insert, upsert
from feedmill.adapters.store.values import from_micros, now_micros, plain, to_micros
from feedmill.model.document import DocumentState
from feedmill.model.semantic import Embedding, EmbeddingChange, QueuedEmbedding

_NEWEST_CHANGE = PreparedQuery(lambda _: sa.select(sa.func.max(embedding_changes.c.number)))
_SAME_ITEM = (embedding_queue.c.document_id == sa.bindparam("id_"), embedding_queue.c.queued_at == sa.bindparam("queued_"))


class SqlEmbeddingQueue:
    """Implements ``ports.EmbeddingQueue``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def put_many(self, ids: Sequence[int]) -> None:
        """Queues documents. The new time shows a worker that has read one of them that it must do it again."""
        if not ids:
            return
        now = now_micros()
        values = [{"document_id": key, "queued_at": now, "due_at": now, "attempts": 0} for key in ids]
        self._connection.execute(upsert(self._connection, embedding_queue, ["document_id"]), values)
        note_changes(self._connection, ids)

    def list_due(self, now: datetime, limit: int) -> list[QueuedEmbedding]:
        """Lists documents to embed now."""
        due = sa.select(embedding_queue).where(embedding_queue.c.due_at <= to_micros(now))
        due = due.order_by(embedding_queue.c.due_at, embedding_queue.c.document_id).limit(limit)
        return [
            QueuedEmbedding(document_id=row.document_id, queued_at=from_micros(row.queued_at), attempts=row.attempts)
            for row in self._connection.execute(due)
        ]

    def postpone(self, items: Sequence[QueuedEmbedding], until: datetime) -> None:
        """Counts an attempt that failed, and makes documents wait."""
        if items:
            changing = sa.update(embedding_queue).where(*_SAME_ITEM)
            changing = changing.values(due_at=to_micros(until), attempts=embedding_queue.c.attempts + 1)
            self._connection.execute(changing, _name_items(items))

    def remove_many(self, items: Sequence[QueuedEmbedding]) -> None:
        """Removes documents that were not queued again."""
        if items:
            self._connection.execute(sa.delete(embedding_queue).where(*_SAME_ITEM), _name_items(items))


class SqlEmbeddings:
    """Implements ``ports.Embeddings``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def find_many(self, ids: Sequence[int]) -> dict[int, Embedding]:
        """Finds the embeddings of documents."""
        found: dict[int, Embedding] = {}
        for batch in batches(ids):
            for row in self._connection.execute(sa.select(embeddings).where(embeddings.c.document_id.in_(batch))):
                found[row.document_id] = Embedding(
                    document_id=row.document_id,
                    version=row.version,
                    model=row.model,
                    digest=bytes(row.digest),
                    dimensions=row.dimensions,
                    vectors=bytes(row.vectors),
                )
        return found

    def save_many(self, made: Sequence[Embedding]) -> None:
        """Inserts or replaces embeddings by document."""
        if not made:
            return
        values = [
            {
                "document_id": each.document_id,
                "version": each.version,
                "model": plain(each.model),
                "digest": each.digest,
                "dimensions": each.dimensions,
                "vectors": each.vectors,
            }
            for each in made
        ]
        self._connection.execute(upsert(self._connection, embeddings, ["document_id"]), values)
        note_changes(self._connection, [each.document_id for each in made])

    def remove_many(self, ids: Sequence[int]) -> None:
        """Removes the embeddings of documents."""
        for batch in batches(ids):
            self._connection.execute(sa.delete(embeddings).where(embeddings.c.document_id.in_(batch)))
        note_changes(self._connection, ids)

    def list_outdated(self, model: str, *, after: int, limit: int) -> list[int]:
        """Lists documents to embed or to forget, by id."""
        held = documents.outerjoin(embeddings, embeddings.c.document_id == documents.c.id)
        is_none = embeddings.c.document_id.is_(None)
        is_other = sa.or_(is_none, embeddings.c.model != plain(model), embeddings.c.version != documents.c.version)
        outdated = sa.or_(sa.and_(LIVE, is_other), sa.and_(documents.c.state != DocumentState.LIVE.value, sa.not_(is_none)))
        query = sa.select(documents.c.id).select_from(held).where(outdated, documents.c.id > after)
        return list(self._connection.execute(query.order_by(documents.c.id).limit(limit)).scalars())

    def list_changed(self, model: str, *, after: int, limit: int) -> list[EmbeddingChange]:
        """Lists documents whose embedding changed, by number. Every search asks, and hardly any finds a change."""
        ((newest,),) = _NEWEST_CHANGE.run(self._connection)
        if (newest or 0) <= after:
            return []
        of_document = documents.c.id == embedding_changes.c.document_id
        in_force = sa.and_(
            embeddings.c.document_id == documents.c.id, embeddings.c.model == plain(model), embeddings.c.version == documents.c.version
        )
        joined = embedding_changes.outerjoin(documents, sa.and_(of_document, LIVE)).outerjoin(embeddings, in_force)
        columns = (documents.c.text, documents.c.access_class, documents.c.secure, embeddings.c.dimensions, embeddings.c.vectors)
        query = sa.select(*embedding_changes.c, *columns).select_from(joined).where(embedding_changes.c.number > after)
        return [
            EmbeddingChange(
                number=row.number,
                document_id=row.document_id,
                access_class=class_of_columns(row.text, row.access_class, is_secure=bool(row.secure)),
                dimensions=row.dimensions or 0,
                vectors=bytes(row.vectors or b""),
            )
            for row in self._connection.execute(query.order_by(embedding_changes.c.number).limit(limit))
        ]

    def find_dimensions(self, model: str) -> int | None:
        """Finds the length of the vectors of a model."""
        query = sa.select(embeddings.c.dimensions).where(embeddings.c.model == plain(model)).limit(1)
        found: int | None = self._connection.execute(query).scalar()
        return found

    def count(self, model: str) -> int:
        """Counts the live documents that have an embedding of a model."""
        held = embeddings.join(documents, documents.c.id == embeddings.c.document_id)
        query = sa.select(sa.func.count()).select_from(held).where(embeddings.c.model == plain(model), LIVE)
        return int(self._connection.execute(query).scalar_one())


def note_changes(connection: sa.Connection, ids: Sequence[int]) -> None:
    """Gives documents new numbers in the log of changes, behind all others."""
    for batch in batches(ids):
        connection.execute(sa.delete(embedding_changes).where(embedding_changes.c.document_id.in_(batch)))
        connection.execute(insert(connection, embedding_changes), [{"document_id": key} for key in dict.fromkeys(batch)])


def _name_items(items: Sequence[QueuedEmbedding]) -> list[dict[str, int]]:
    return [{"id_": item.document_id, "queued_": to_micros(item.queued_at)} for item in items]
