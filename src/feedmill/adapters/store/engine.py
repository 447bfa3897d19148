"""The store on a database engine: units of work and their repositories."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import sqlalchemy as sa

from feedmill.adapters.store.access import SqlAcls, SqlClasses
from feedmill.adapters.store.documents import SqlDocuments
from feedmill.adapters.store.feeds import SqlFeeds, SqlSources
from feedmill.adapters.store.grouphistory import SqlGroupHistory
from feedmill.adapters.store.groups import SqlGroups
from feedmill.adapters.store.keptsettings import SqlKeptSettings
from feedmill.adapters.store.links import SqlLinks
from feedmill.adapters.store.marks import SqlFacts, SqlMarks
from feedmill.adapters.store.policies import PolicyCache, SqlPolicies
from feedmill.adapters.store.signins import SqlAccounts, SqlApiTokens, SqlOneTimes, SqlSessions
from feedmill.adapters.store.spells import SqlSpells
from feedmill.adapters.store.translation import translated
from feedmill.ports import UnitOfWork


class SqlUnit:
    """Fills ``ports.UnitOfWork``."""

    def __init__(self, connection: sa.Connection, policy_cache: PolicyCache | None = None) -> None:
        self.connection = connection
        self.feeds = SqlFeeds(connection)
        self.sources = SqlSources(connection)
        self.documents = SqlDocuments(connection)
        self.classes = SqlClasses(connection)
        self.acls = SqlAcls(connection, self.classes)
        self.spells = SqlSpells(connection)
        self.marks = SqlMarks(connection)
        self.links = SqlLinks(connection)
        self.facts = SqlFacts(connection)
        self.groups = SqlGroups(connection)
        self.group_history = SqlGroupHistory(connection, self.groups)
        self.kept_settings = SqlKeptSettings(connection)
        self.policies = SqlPolicies(connection, policy_cache or PolicyCache())
        self.accounts = SqlAccounts(connection)
        self.sessions = SqlSessions(connection)
        self.api_tokens = SqlApiTokens(connection)
        self.one_times = SqlOneTimes(connection)


class SqlStore:
    """Fills ``ports.Store``; ``snapshot`` opens a read transaction, ``turn`` makes writers of one database file take turns, ``on_close``
    gives back what those need."""

    def __init__(
        self,
        writer: sa.Engine,
        snapshot: Callable[[], AbstractContextManager[sa.Connection]],
        turn: Callable[[], AbstractContextManager[None]] = nullcontext,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self.writer = writer
        self._snapshot = snapshot
        self._turn = turn
        self._on_close = on_close
        self._policy_cache = PolicyCache()

    @contextmanager
    def writing(self) -> Iterator[UnitOfWork]:
        """Opens a write transaction."""
        with self._turn(), translated(), self.writer.begin() as connection:
            yield SqlUnit(connection, self._policy_cache)

    @contextmanager
    def reading(self) -> Iterator[UnitOfWork]:
        """Opens a read snapshot."""
        with translated(), self._snapshot() as connection:
            yield SqlUnit(connection, self._policy_cache)

    def close(self) -> None:
        """Closes all connections."""
        self.writer.dispose()
        if self._on_close is not None:
            self._on_close()
            self._on_close = None
