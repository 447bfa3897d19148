"""Failures by document and interruptions by item, in SQL."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from feedmill.adapters.store.schema import document_failures, interruptions
from feedmill.adapters.store.statements import batches, insert
from feedmill.adapters.store.values import from_micros, plain, to_micros
from feedmill.model.failure import Failure


class SqlFailures:
    """Implements ``ports.Failures``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def put_many(self, failures: Sequence[Failure]) -> None:
        """Stores failures, one for each document."""
        if not failures:
            return
        statement = insert(self._connection, document_failures)
        new, old = statement.excluded, document_failures.c
        replaced: dict[str, Any] = {name: new[name] for name in ("version", "step", "reason", "at", "program", "is_found")}
        replaced["attempts"] = sa.case((old.version == new.version, old.attempts + new.attempts), else_=new.attempts)
        upserting = statement.on_conflict_do_update(index_elements=["document_id"], set_=replaced)
        self._connection.execute(upserting, [_to_row(failure) for failure in failures])

    def find_many(self, document_ids: Sequence[int]) -> dict[int, Failure]:
        """Finds failures by document."""
        found: dict[int, Failure] = {}
        if self._is_empty():
            return found
        for batch in batches(document_ids):
            query = sa.select(document_failures).where(document_failures.c.document_id.in_(batch))
            for row in self._connection.execute(query).mappings():
                found[row["document_id"]] = _from_row(row)
        return found

    def list_of_others(self, program: str, *, after: int, limit: int) -> list[Failure]:
        """Lists failures of other versions of the program."""
        others = sa.and_(document_failures.c.program != program, document_failures.c.document_id > after)
        query = sa.select(document_failures).where(others).order_by(document_failures.c.document_id).limit(limit)
        return [_from_row(row) for row in self._connection.execute(query).mappings()]

    def remove_many(self, document_ids: Sequence[int]) -> None:
        """Removes the failures of documents."""
        if not document_ids or self._is_empty():
            return
        for batch in batches(document_ids):
            self._connection.execute(sa.delete(document_failures).where(document_failures.c.document_id.in_(batch)))

    def _is_empty(self) -> bool:
        """Returns whether there are no failures at all, which is almost always so."""
        return self._connection.execute(sa.select(document_failures.c.document_id).limit(1)).first() is None

    def count(self) -> dict[str, int]:
        """Counts documents by step."""
        query = sa.select(document_failures.c.step, sa.func.count()).group_by(document_failures.c.step)
        return {step: int(count) for step, count in self._connection.execute(query)}


def _to_row(failure: Failure) -> dict[str, Any]:
    return {
        "document_id": failure.document_id,
        "version": failure.version,
        "step": failure.step,
        "reason": plain(failure.reason),
        "at": to_micros(failure.at),
        "program": failure.program,
        "attempts": failure.attempts,
        "is_found": failure.is_found,
    }


def _from_row(row: sa.RowMapping) -> Failure:
    return Failure(
        document_id=row["document_id"],
        version=row["version"],
        step=row["step"],
        reason=row["reason"],
        at=from_micros(row["at"]),
        program=row["program"],
        attempts=row["attempts"],
        is_found=row["is_found"],
    )


class SqlInterruptions:
    """Implements ``ports.Interruptions``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def add(self, key: str, at: datetime) -> int:
        """Adds one interruption of an item."""
        statement = insert(self._connection, interruptions).values(key=plain(key), count=1, at=to_micros(at))
        counting = {"count": interruptions.c.count + 1, "at": statement.excluded.at}
        upserting = statement.on_conflict_do_update(index_elements=["key"], set_=counting)
        return int(self._connection.execute(upserting.returning(interruptions.c.count)).scalar_one())

    def list_counts(self) -> dict[str, int]:
        """Lists all counts by key."""
        return {key: int(count) for key, count in self._connection.execute(sa.select(interruptions.c.key, interruptions.c.count))}

    def remove(self, keys: Sequence[str]) -> None:
        """Removes the counts of items."""
        for batch in batches([plain(key) for key in keys]):
            self._connection.execute(sa.delete(interruptions).where(interruptions.c.key.in_(batch)))
