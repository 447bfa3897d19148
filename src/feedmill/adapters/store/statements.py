"""The one statement that differs between the two databases: insert, or update the existing row."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

T = TypeVar("T")

BATCH = 500
"""How many values one IN list holds."""


def insert(connection: sa.Connection, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
    """Returns an INSERT that supports ``on_conflict_do_update``."""
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)


def upsert(connection: sa.Connection, table: sa.Table, key: Sequence[str], keep: Sequence[str] = ()) -> sa.Insert:
    """Returns an INSERT. If the key exists, it replaces every column except the key's and those in ``keep``."""
    statement = insert(connection, table)
    changed = {column.name: statement.excluded[column.name] for column in table.columns if column.name not in (*key, *keep)}
    return statement.on_conflict_do_update(index_elements=list(key), set_=changed)


def batches(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """Splits values into batches that fit an IN list."""
    for start in range(0, len(values), BATCH):
        yield values[start : start + BATCH]
