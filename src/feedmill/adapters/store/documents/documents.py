"""Documents and their events, in SQL."""

from collections.abc import Container, Sequence
from datetime import datetime

import sqlalchemy as sa

from feedmill.adapters.store.access.classperiods import CLASSED_COLUMNS, ClassPeriodWriter
from feedmill.adapters.store.documents import rows
from feedmill.adapters.store.prepared import PreparedChange, PreparedQuery
from feedmill.adapters.store.schema import CLASSED, LIVE, documents, embedding_changes, embedding_queue, embeddings, events
from feedmill.adapters.store.statements import batches, upsert
from feedmill.adapters.store.values import plain, to_micros
from feedmill.core.access.classes import guards_itself
from feedmill.core.urls.digests import digest_of_url
from feedmill.model.document import Document, DocumentState, Event, Text
from feedmill.ports import ChangedDocuments, LiveUrl, StoredRefs

MAX_EVENTS = 20

_BY_DIGEST = PreparedQuery(lambda digests: sa.select(*rows.DOCUMENT).where(documents.c.url_digest.in_(digests)))
_BY_ID = PreparedQuery(lambda ids: sa.select(*rows.DOCUMENT).where(documents.c.id.in_(ids)))
_NEXT_DIGEST = PreparedQuery(
    lambda _: (
        sa.select(*(documents.c[name] for name in ("url_digest", "state", "secure", "access_class", "text")))
        # Not ``=``: a row is read in any case, so the duration does not reveal whether the document exists.
        .where(documents.c.url_digest >= sa.bindparam("digest", type_=sa.LargeBinary))
        .order_by(documents.c.url_digest)
        .suffix_with("LIMIT 1")
    )
)
_STORED = tuple(column.name for column in documents.columns if column.name != "id")
# Two statements, because rows that stay in their class must keep the columns of its beginning.
_SAVE_STAYING = PreparedChange(
    lambda connection: upsert(connection, documents, ["url_digest"], keep=["id", *CLASSED_COLUMNS]),
    [name for name in _STORED if name not in CLASSED_COLUMNS],
)
_SAVE_MOVING = PreparedChange(lambda connection: upsert(connection, documents, ["url_digest"], keep=["id"]), _STORED)
_SAVE_TEXT = PreparedChange(
    lambda _: (
        sa.update(documents)
        # If the content has changed meanwhile, this text belongs to no content any more and is dropped.
        .where(documents.c.id == sa.bindparam("id_"), documents.c.content == sa.bindparam("source_"))
        .values(text=sa.bindparam("text_"))
    ),
    ("id_", "source_", "text_"),
)
_ADD_EVENT = PreparedChange(
    lambda connection: upsert(connection, events, ["document_id", "slot"]), [column.name for column in events.columns]
)
_ID_OF = PreparedQuery(lambda digests: sa.select(documents.c.url_digest, documents.c.id).where(documents.c.url_digest.in_(digests)))
_ID_OF_LIVE = PreparedQuery(
    lambda digests: sa.select(documents.c.url_digest, documents.c.id).where(documents.c.url_digest.in_(digests), LIVE)
)
_LIVE_URL = tuple(documents.c[name] for name in ("id", "url", "version", "datasource", "secure", "access_class"))


class SqlDocuments:
    """Implements ``DocumentReader``, ``DocumentWriter``, ``DocumentScan`` and ``DocumentUpkeep`` of ``ports``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        self._spells = ClassPeriodWriter(connection)

    def find_many(self, urls: Sequence[str]) -> dict[str, Document]:
        """Finds documents by URL."""
        found: dict[str, Document] = {}
        for batch in batches([digest_of_url(url) for url in urls]):
            for row in _BY_DIGEST.run(self._connection, batch):
                document = rows.document_from_row(row)
                found[document.url] = document
        return found

    def find_class(self, url: str) -> int | None:
        """Returns the class of a live document. If the URL has none, the row of the next digest is still read."""
        digest = digest_of_url(url)
        for found, state, secure, access_class, text in _NEXT_DIGEST.run(self._connection, [digest]):
            number = rows.class_of_columns(text, access_class, is_secure=bool(secure))
            return number if bytes(found) == digest and state == DocumentState.LIVE.value else None
        return None

    def find_urls_by_digest(self, start: bytes) -> list[str]:
        """Finds the URLs of documents whose digest begins with ``start``. Two rows are read whether they match or not."""
        column = documents.c.url_digest
        following = sa.select(column, documents.c.url).where(column >= start).order_by(column).limit(2)
        return [url for digest, url in self._connection.execute(following) if bytes(digest).startswith(start)]

    def find_ids(self, urls: Sequence[str]) -> dict[str, int]:
        """Finds the ids of live documents by URL."""
        by_digest = {digest_of_url(url): url for url in urls}
        found: dict[str, int] = {}
        for batch in batches(list(by_digest)):
            found.update((by_digest[bytes(digest)], id_) for digest, id_ in _ID_OF_LIVE.run(self._connection, batch))
        return found

    def find_by_id(self, ids: Sequence[int]) -> dict[int, Document]:
        """Finds documents by id."""
        found: dict[int, Document] = {}
        for batch in batches(ids):
            for row in _BY_ID.run(self._connection, batch):
                document = rows.document_from_row(row)
                found[row[0]] = document
        return found

    def save_many(
        self, changed: Sequence[Document], *, at: datetime | None = None, feed_id: int | None = None, moved: Container[str] | None = None
    ) -> dict[str, int]:
        """Inserts or replaces documents by URL, and stores their earlier classes."""
        if not changed:
            return {}
        moving = [document for document in changed if document.id is None or moved is None or document.url in moved]
        before = self._spells.read_current([document.id for document in moving if document.id is not None])
        classed: dict[str, dict[str, int]] = {}
        for document in moving:
            held = None if document.id is None else before.get(document.id)
            classed[document.url] = self._spells.columns_of(document, held, to_micros(at or document.updated_at), feed_id or 0)
        staying = [rows.document_to_row(document) for document in changed if document.url not in classed]
        _SAVE_STAYING.run(self._connection, staying)
        _SAVE_MOVING.run(self._connection, [rows.document_to_row(document) | classed[document.url] for document in moving])
        self._spells.keep(before, {document.id: classed[document.url] for document in moving if document.id is not None})
        ids = {document.url: document.id for document in changed if document.id is not None}
        fresh = {digest_of_url(document.url): document.url for document in changed if document.id is None}
        for batch in batches(list(fresh)):
            ids.update((fresh[bytes(digest)], id_) for digest, id_ in _ID_OF.run(self._connection, batch))
        return ids

    def save_texts(self, texts: Sequence[tuple[int, Text]], *, at: datetime) -> None:
        """Stores the extracted texts of documents, if their content is still the same."""
        if not texts:
            return
        before = self._spells.read_current([document_id for document_id, text in texts if guards_itself(text)])
        values = [{"id_": document_id, "source_": text.source, "text_": rows.text_to_json(text)} for document_id, text in texts]
        _SAVE_TEXT.run(self._connection, values)
        if before:
            self._spells.note_guards(before, at)

    def add_events(self, added: Sequence[tuple[int, int, Event]]) -> None:
        """Stores events in a fixed number of slots, so that the newest event replaces the oldest."""
        if not added:
            return
        values = [
            {
                "document_id": document_id,
                "slot": number % MAX_EVENTS,
                "number": number,
                "at": to_micros(event.at),
                "kind": event.kind.value,
                "feed_id": event.feed_id,
                "line": event.line,
                "detail": plain(event.detail),
            }
            for document_id, number, event in added
        ]
        _ADD_EVENT.run(self._connection, values)

    def list_events(self, document_id: int) -> list[Event]:
        """Lists the stored events of a document, oldest first."""
        query = sa.select(events).where(events.c.document_id == document_id).order_by(events.c.number)
        found = (rows.find_event(row) for row in self._connection.execute(query).mappings())
        return [event for event in found if event is not None]

    def list_live(self, *, after: int, limit: int, datasource: str | None = None, unseen_by: int | None = None) -> list[Document]:
        """Lists live documents by id."""
        query = sa.select(*rows.DOCUMENT).where(LIVE, documents.c.id > after).order_by(documents.c.id).limit(limit)
        if datasource is not None:
            query = query.where(documents.c.datasource == datasource)
        if unseen_by is not None:
            query = query.where(documents.c.seen_feed_id != unseen_by)
        return [rows.document_from_row(row) for row in self._connection.execute(query)]

    def list_live_urls(self, *, after: int, limit: int, datasource: str | None = None, open_only: bool = False) -> list[LiveUrl]:
        """Lists the URLs of live documents, by id."""
        query = sa.select(*_LIVE_URL).where(LIVE, documents.c.id > after).order_by(documents.c.id).limit(limit)
        if datasource is not None:
            query = query.where(documents.c.datasource == datasource)
        if open_only:
            query = query.where(~documents.c.secure)
        found = self._connection.execute(query)
        return [
            LiveUrl(
                document_id=row.id,
                url=row.url,
                version=row.version,
                datasource=row.datasource,
                secure=row.secure,
                access_class=row.access_class,
            )
            for row in found
        ]

    def list_changed(self, since: datetime, *, after: int, limit: int, within: int, datasource: str | None = None) -> ChangedDocuments:
        """Lists documents that have changed, by id, among the next ones."""
        reached = sa.select(documents.c.id).where(documents.c.id > after).order_by(documents.c.id).limit(within).subquery()
        last = self._connection.execute(sa.select(sa.func.max(reached.c.id))).scalar()
        if last is None:
            return ChangedDocuments(documents=[], reached=None)
        micros = to_micros(since)
        is_changed = sa.or_(documents.c.updated_at >= micros, documents.c.classed_at >= micros)
        query = sa.select(*rows.DOCUMENT).where(documents.c.id > after, documents.c.id <= last, is_changed).order_by(documents.c.id)
        if datasource is not None:
            query = query.where(documents.c.datasource == datasource)
        found = [rows.document_from_row(row) for row in self._connection.execute(query.limit(limit))]
        ends_early = len(found) == limit
        return ChangedDocuments(documents=found, reached=found[-1].id if ends_early else int(last))

    def list_guarded_sources(self) -> list[str]:
        """Lists the sources that have live documents with an ACL."""
        query = sa.select(documents.c.datasource).where(LIVE, CLASSED).distinct()
        return list(self._connection.execute(query).scalars())

    def list_for_eviction(self, limit: int) -> list[Document]:
        """Lists live documents in the order of eviction at the licence limit."""
        order = (documents.c.locked, documents.c.rank, documents.c.updated_at, documents.c.id)
        query = sa.select(*rows.DOCUMENT).where(LIVE).order_by(*order).limit(limit)
        return [rows.document_from_row(row) for row in self._connection.execute(query)]

    def count_live(self) -> int:
        """Counts live documents."""
        return int(self._connection.execute(sa.select(sa.func.count()).select_from(documents).where(LIVE)).scalar_one())

    def list_refs(self, *, after: int, limit: int) -> list[StoredRefs]:
        """Lists the blob references of live documents, by id."""
        with_blobs = sa.or_(documents.c.content.is_not(None), documents.c.text.is_not(None))
        query = sa.select(documents.c.id, documents.c.content, documents.c.text).where(LIVE, documents.c.id > after, with_blobs)
        found = self._connection.execute(query.order_by(documents.c.id).limit(limit)).mappings()
        return [rows.refs_from_row(row) for row in found]

    def move_refs(self, moves: Sequence[tuple[StoredRefs, StoredRefs]]) -> int:
        """Replaces the first references with the second if the document still has exactly the first."""
        held: dict[int, StoredRefs] = {}
        for batch in batches([old.document_id for old, _ in moves]):
            query = sa.select(documents.c.id, documents.c.content, documents.c.text).where(LIVE, documents.c.id.in_(batch))
            # Locked in PostgreSQL until the end of the transaction. SQLite has one writer and ignores this.
            for row in self._connection.execute(query.with_for_update()).mappings():
                held[row["id"]] = rows.refs_from_row(row)
        moving = [(old, new) for old, new in moves if held.get(old.document_id) == old]
        if moving:
            old_content = documents.c.content.is_not_distinct_from(sa.bindparam("old_"))
            changing = sa.update(documents).where(documents.c.id == sa.bindparam("id_"), old_content)
            values = [
                {"id_": old.document_id, "old_": old.content, "content": new.content, "text": rows.text_to_json(new.text)}
                for old, new in moving
            ]
            self._connection.execute(changing, values)
        return len(moving)

    def forget_old(self, before: datetime, *, after: int, limit: int) -> int | None:
        """Removes deleted documents and events last changed before a time, among the next documents by id."""
        reached = sa.select(documents.c.id).where(documents.c.id > after).order_by(documents.c.id).limit(limit).subquery()
        last = self._connection.execute(sa.select(sa.func.max(reached.c.id))).scalar()
        if last is None:
            return None
        before_micros = to_micros(before)
        gone = sa.and_(documents.c.id > after, documents.c.id <= last, documents.c.state == "gone", documents.c.updated_at < before_micros)
        forgotten = sa.select(documents.c.id).where(gone)
        theirs = events.c.document_id.in_(forgotten)
        among = sa.and_(events.c.document_id > after, events.c.document_id <= last)
        self._connection.execute(sa.delete(events).where(among, sa.or_(events.c.at < before_micros, theirs)))
        # those that no embedder has removed, since there was no model when the document was deleted
        for table in (embeddings, embedding_changes, embedding_queue):
            self._connection.execute(sa.delete(table).where(table.c.document_id.in_(forgotten)))
        self._connection.execute(sa.delete(documents).where(gone))
        self._spells.forget(before_micros, after=after, last=int(last))
        return int(last)
