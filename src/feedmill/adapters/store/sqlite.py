"""The store on SQLite, the embedded default: WAL, ``synchronous=FULL``, every write transaction immediate."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from feedmill.adapters.store.engine import SqlStore
from feedmill.adapters.store.prepared import run_text
from feedmill.adapters.store.writerlock import WriterLock

BUSY_SECONDS = 60
IDLE_CONNECTIONS = 8
"""How many connections of readers, and of writers, stay open."""

# WAL lets readers go on while a process writes. With ``synchronous=FULL`` each commit waits for the
# disk, on which "Success" relies. The mapped size is 256 MB, and a negative cache size counts KiB.
_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "temp_store=MEMORY", "cache_size=-32000", "mmap_size=268435456")


def open_sqlite(path: Path, *, busy_seconds: float = BUSY_SECONDS) -> SqlStore:
    """Opens the store in a file that the migrations have created. ``busy_seconds`` limits the wait for another program's lock."""
    turn = WriterLock(path.parent)
    snapshots = Snapshots(_engine(path, busy_seconds, "query_only=ON"))
    writer = _engine(path, busy_seconds)

    # The driver would begin a transaction only before the first write. Two readers that both go on to write would then lose an update.
    @sa.event.listens_for(writer, "begin")
    def _begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def close() -> None:
        snapshots.close()
        turn.close()

    return SqlStore(writer, snapshots.open, turn.taken, close)


class Snapshots:
    """Read transactions on connections that stay checked out of their pool while no transaction uses them.

    A search opens several. Checking a connection out, beginning through SQLAlchemy's events and checking it in again would take longer than
    most of these transactions. Several threads may use it.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._idle: list[sa.Connection] = []

    @contextmanager
    def open(self) -> Iterator[sa.Connection]:
        """Opens a read transaction. Errors: SQLAlchemy's own."""
        connection = self._take_connection()
        try:
            # Without it, each query would be a transaction of its own, and two queries could see two states of the store.
            run_text(connection, "BEGIN")
            yield connection
            connection.rollback()  # the transaction that SQLAlchemy begins with its first statement
            connection.connection.rollback()
        except BaseException:
            connection.close()
            raise
        if len(self._idle) < IDLE_CONNECTIONS:
            self._idle.append(connection)
        else:
            connection.close()

    def _take_connection(self) -> sa.Connection:
        try:
            # Taking from a list and adding to it are atomic, so this needs no lock. At most a few connections too many stay open.
            return self._idle.pop()
        except IndexError:
            return self._engine.connect()

    def close(self) -> None:
        """Closes all connections."""
        while self._idle:
            self._idle.pop().close()
        self._engine.dispose()


def _engine(path: Path, busy_seconds: float, *more_pragmas: str) -> sa.Engine:
    engine = sa.create_engine(
        f"sqlite:///{path}", connect_args={"timeout": busy_seconds, "check_same_thread": False}, pool_size=IDLE_CONNECTIONS, max_overflow=32
    )

    @sa.event.listens_for(engine, "connect")
    def _prepare(connection: sqlite3.Connection, _record: Any) -> None:
        # The driver then begins no transactions of its own.
        connection.isolation_level = None
        for pragma in (*_PRAGMAS, *more_pragmas):
            connection.execute(f"PRAGMA {pragma}")

    return engine
