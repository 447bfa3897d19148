"""The store on a database engine: write transactions and read snapshots."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import sqlalchemy as sa

from feedmill.adapters.store.access.policies import PolicyCache
from feedmill.adapters.store.repositories import SqlUnit
from feedmill.adapters.store.translation import translated
from feedmill.ports import UnitOfWork


class SqlStore:
    """Implements ``ports.Store``. ``snapshot`` opens a read transaction, ``turn`` makes the writers of one database file take turns,
    and ``on_close`` releases what these two need."""

    def __init__(
        self,
        writer: sa.Engine,
        snapshot: Callable[[], AbstractContextManager[sa.Connection]],
        turn: Callable[[], AbstractContextManager[None]] = nullcontext,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self.writer = writer
        self.snapshot = snapshot
        self._turn = turn
        self._on_close = on_close
        self._policy_cache = PolicyCache()

    @contextmanager
    def writing(self) -> Iterator[UnitOfWork]:
        """Opens a write transaction."""
        # The turn is outside the transaction: it ends only after the commit. Then no writer of
        # this program waits for a lock inside the database, which SQLite does not grant in order.
        with self._turn(), translated(), self.writer.begin() as connection:
            yield SqlUnit(connection, self._policy_cache)

    @contextmanager
    def reading(self) -> Iterator[UnitOfWork]:
        """Opens a read snapshot."""
        with translated(), self.snapshot() as connection:
            yield SqlUnit(connection, self._policy_cache)

    def close(self) -> None:
        """Closes all connections."""
        self.writer.dispose()
        if self._on_close is not None:
            self._on_close()
            self._on_close = None
