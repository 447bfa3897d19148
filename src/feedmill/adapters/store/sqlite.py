"""The store on SQLite, the embedded default: WAL, ``synchronous=FULL``, every write transaction immediate."""

import sqlite3
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from feedmill.adapters.store.engine import SqlStore
from feedmill.adapters.store.turn import Turn

BUSY_SECONDS = 60
_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "temp_store=MEMORY", "cache_size=-32000", "mmap_size=268435456")


def open_sqlite(path: Path, *, busy_seconds: float = BUSY_SECONDS) -> SqlStore:
    """Opens the store in a file that the migrations have made; ``busy_seconds`` is how long a foreign program's lock is waited for."""
    turn = Turn(path.parent)
    writer = _engine(path, "BEGIN IMMEDIATE", busy_seconds)
    return SqlStore(writer, _engine(path, "BEGIN", busy_seconds, "query_only=ON"), turn.taken, turn.close)


def _engine(path: Path, begin: str, busy_seconds: float, *more_pragmas: str) -> sa.Engine:
    engine = sa.create_engine(
        f"sqlite:///{path}", connect_args={"timeout": busy_seconds, "check_same_thread": False}, pool_size=8, max_overflow=32
    )

    # The driver would begin a transaction only before the first write, and two readers that both go on to write would lose an update.
    @sa.event.listens_for(engine, "connect")
    def _prepare(connection: sqlite3.Connection, _record: Any) -> None:
        connection.isolation_level = None
        for pragma in (*_PRAGMAS, *more_pragmas):
            connection.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine
