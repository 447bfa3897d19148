"""Class periods: which access class each document was in, in SQL.

A document's row holds since when it is in its class, or deleted, and by which feed. Each earlier class is a row in another table, so a
document that never changed its class needs no such row. Time 0 means earlier than the stored history.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from feedmill.adapters.store.documents import rows
from feedmill.adapters.store.schema import CLASSED, LIVE, documents, past_classes
from feedmill.adapters.store.statements import batches
from feedmill.adapters.store.values import from_micros, to_micros
from feedmill.core.access.classes import class_of, guards_itself
from feedmill.model.access import ACL_NAME_PREFIX, AccessClass, ClassPeriod
from feedmill.model.document import Document, DocumentState

CLASSED_COLUMNS = ("classed_at", "classed_by")
"""The columns of a document's row for the begin of its current class."""

_GUARDED_CLASSES_AT_ONCE = 2_000
_SCANNED_AT_ONCE = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _CurrentClass:
    """The current class of a document's row. Shape: ``access_class`` None for a deleted document; times in microseconds."""

    access_class: int | None
    since: int
    begun_by: int


class ClassPeriodWriter:
    """Stores the earlier classes of documents when their rows are written."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def read_current(self, ids: Sequence[int]) -> dict[int, _CurrentClass]:
        """Reads the current classes of those documents that exist."""
        found: dict[int, _CurrentClass] = {}
        for batch in batches(ids):
            for row in self._connection.execute(_held().where(documents.c.id.in_(batch))).all():
                held = _class_of_row(row.state, row.secure, row.access_class, row.guarding)
                found[row.id] = _CurrentClass(access_class=held, since=row.classed_at, begun_by=row.classed_by)
        return found

    def columns_of(self, document: Document, before: _CurrentClass | None, at: int, feed_id: int) -> dict[str, int]:
        """Returns the new class columns of a document's row."""
        held = class_of(document) if document.state is DocumentState.LIVE else None
        if before is not None and before.access_class == held:
            return {"classed_at": before.since, "classed_by": before.begun_by}
        # Never before the earlier class began, even if the clock was set back.
        return {"classed_at": at if before is None else max(at, before.since), "classed_by": feed_id}

    def keep(self, before: Mapping[int, _CurrentClass], after: Mapping[int, Mapping[str, int]]) -> None:
        """Stores the earlier classes of documents whose rows now have another class."""
        ended = [
            {
                "document_id": document_id,
                "access_class": held.access_class,
                "since": held.since,
                "begun_by": held.begun_by,
                "until": after[document_id]["classed_at"],
                "ended_by": after[document_id]["classed_by"],
            }
            for document_id, held in before.items()
            if held.access_class is not None and (held.since, held.begun_by) != tuple(after[document_id].values())
        ]
        if ended:
            self._connection.execute(sa.insert(past_classes), ended)

    def note_guards(self, before: Mapping[int, _CurrentClass], at: datetime) -> None:
        """Records that pages with new texts now restrict their own access, if they did not before."""
        now = self.read_current(list(before))
        moved = {id_: held for id_, held in before.items() if held.access_class != now[id_].access_class}
        after = {id_: {"classed_at": max(to_micros(at), held.since), "classed_by": 0} for id_, held in moved.items()}
        self.keep(moved, after)
        changing = sa.update(documents).where(documents.c.id == sa.bindparam("id_"))
        changing = changing.values(classed_at=sa.bindparam("at_"), classed_by=sa.bindparam("by_"))
        values = [{"id_": id_, "at_": each["classed_at"], "by_": each["classed_by"]} for id_, each in after.items()]
        if values:
            self._connection.execute(changing, values)

    def forget(self, before: int, *, after: int, last: int) -> None:
        """Removes the earlier classes of a range of documents that ended before a time."""
        among = sa.and_(past_classes.c.document_id > after, past_classes.c.document_id <= last)
        self._connection.execute(sa.delete(past_classes).where(among, past_classes.c.until < before))


class SqlClassPeriods:
    """Implements ``ports.ClassPeriods``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def list_of(self, ids: Sequence[int]) -> dict[int, list[ClassPeriod]]:
        """Lists the class periods of documents."""
        periods: dict[int, list[Any]] = {}
        table = past_classes.c
        for batch in batches(ids):
            query = sa.select(past_classes).where(table.document_id.in_(batch)).order_by(table.document_id, table.until, table.number)
            for row in self._connection.execute(query):
                periods.setdefault(row.document_id, []).append(row)
        held = ClassPeriodWriter(self._connection).read_current(ids)
        return {document_id: _join(periods.get(document_id, ()), now) for document_id, now in held.items()}

    def list_held(self, *, after: int, limit: int) -> dict[int, int]:
        """Lists live documents and their classes."""
        query = _held().where(LIVE, documents.c.id > after).order_by(documents.c.id).limit(limit)
        found: dict[int, int] = {}
        for id_, state, secure, access_class, _, _, guarding in self._connection.execute(query):
            held = access_class if secure else _class_of_row(state, secure, access_class, guarding)
            found[id_] = AccessClass.PUBLIC if held is None else held
        return found

    def list_moved(self, classes: Sequence[int], since: datetime, *, after: int, limit: int) -> dict[int, int | None]:
        """Lists documents that other users may see than at a time."""
        micros, table = to_micros(since), past_classes.c
        moved = (
            sa.select(documents.c.id).where(documents.c.classed_at > micros, documents.c.id > after).order_by(documents.c.id).limit(limit)
        )
        ended = sa.select(table.document_id).where(table.until > micros, table.document_id > after)
        found: dict[int, int | None] = dict(self._list_in(classes, after, limit))
        found.update(dict.fromkeys(self._connection.execute(moved).scalars()))
        found.update(dict.fromkeys(self._connection.execute(ended.order_by(table.document_id).distinct().limit(limit)).scalars()))
        return {id_: found[id_] for id_ in sorted(found)[:limit]}

    def _list_in(self, classes: Sequence[int], after: int, limit: int) -> dict[int, int]:
        """Lists the next documents in classes: class by class if there are few, else by a scan of all documents."""
        if len(classes) > _GUARDED_CLASSES_AT_ONCE:
            return self._scan(frozenset(classes), after, limit)
        found: dict[int, int] = {}
        guarded = sa.and_(LIVE, documents.c.secure, CLASSED)
        for batch in batches(classes):
            query = sa.select(documents.c.id, documents.c.access_class)
            query = query.where(guarded, documents.c.access_class.in_(batch), documents.c.id > after)
            found.update((id_, number) for id_, number in self._connection.execute(query.order_by(documents.c.id).limit(limit)))
        return found

    def _scan(self, classes: frozenset[int], after: int, limit: int) -> dict[int, int]:
        found: dict[int, int] = {}
        query = sa.select(documents.c.id, documents.c.access_class).where(LIVE, documents.c.secure).order_by(documents.c.id)
        size = limit
        while len(found) < limit:
            chunk = self._connection.execute(query.where(documents.c.id > after).limit(size)).all()
            found.update((id_, number) for id_, number in chunk if number in classes)
            if len(chunk) < size:
                break
            # Larger steps when few documents are found, so that a scan for rare classes needs few queries.
            after, size = chunk[-1][0], min(2 * size, _SCANNED_AT_ONCE)
        return found


def _held() -> sa.Select[Any]:
    table = documents.c
    # the text is read, and its JSON parsed, only if it may matter
    may_guard = sa.and_(~table.secure, table.state == DocumentState.LIVE.value, sa.func.lower(table.text).contains(ACL_NAME_PREFIX))
    guarding = sa.case((may_guard, table.text), else_=None).label("guarding")
    return sa.select(table.id, table.state, table.secure, table.access_class, table.classed_at, table.classed_by, guarding)


def _class_of_row(state: str, secure: bool, access_class: int, guarding: str | None) -> int | None:
    if state != DocumentState.LIVE.value:
        return None
    if secure:
        return access_class
    text = None if guarding is None else rows.text_from_json(guarding)
    return AccessClass.CLOSED if text is not None and guards_itself(text) else AccessClass.PUBLIC


def _join(past: Sequence[Any], now: _CurrentClass) -> list[ClassPeriod]:
    """Returns the consecutive class periods of a document. A gap is a time when it was deleted."""
    class_periods: list[ClassPeriod] = []
    until, ended_by = 0, 0
    for row in past:
        if class_periods and row.since > until:
            class_periods.append(_make_period(None, until, ended_by))
        class_periods.append(_make_period(row.access_class, row.since, row.begun_by))
        until, ended_by = row.until, row.ended_by
    if class_periods and now.since > until:
        class_periods.append(_make_period(None, until, ended_by))
    return [*class_periods, _make_period(now.access_class, now.since, now.begun_by)]


def _make_period(access_class: int | None, since: int, feed_id: int) -> ClassPeriod:
    return ClassPeriod(access_class=access_class, since=from_micros(since), feed_id=feed_id)
