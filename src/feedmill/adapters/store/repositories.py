"""The repositories of one transaction, by subject. Each is created on first use."""

from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

import sqlalchemy as sa

from feedmill.adapters.store.access.acls import SqlAcls, SqlClasses
from feedmill.adapters.store.access.classperiods import SqlClassPeriods
from feedmill.adapters.store.access.policies import PolicyCache, SqlPolicies
from feedmill.adapters.store.crawling import SqlCrawlQueue, SqlCrawlSites
from feedmill.adapters.store.documents.documents import SqlDocuments
from feedmill.adapters.store.documents.failures import SqlFailures, SqlInterruptions
from feedmill.adapters.store.documents.indextasks import SqlIndexTasks, SqlKeyValueStore
from feedmill.adapters.store.documents.links import SqlLinks
from feedmill.adapters.store.feeds.feeds import SqlFeeds, SqlSources
from feedmill.adapters.store.feeds.queues import SqlQueues
from feedmill.adapters.store.groups.garbage import SqlGroupGarbage
from feedmill.adapters.store.groups.groups import SqlGroups
from feedmill.adapters.store.groups.history import SqlGroupHistory
from feedmill.adapters.store.groups.snapshotbuilder import SqlGroupSnapshotBuilder
from feedmill.adapters.store.pulling import SqlDryRunItems, SqlPullItems, SqlPullRuns, SqlPullStates
from feedmill.adapters.store.semantic import SqlEmbeddingQueue, SqlEmbeddings
from feedmill.adapters.store.signin.signins import SqlAccounts, SqlApiTokens, SqlOneTimeValues, SqlSessions
from feedmill.adapters.store.storedsettings import SqlStoredSettings

_Made = TypeVar("_Made")


def _on_connection(make: Callable[[sa.Connection], _Made]) -> cached_property[_Made]:
    """Returns a repository that is created on first use: most transactions need one or two, and a search opens several transactions."""
    return cached_property(lambda unit: make(unit.connection))


class SqlDocumentRepositories:
    """Implements ``ports.DocumentRepositories``."""

    embeddings = _on_connection(SqlEmbeddings)

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        self.reader = self.writer = self.scan = self.upkeep = SqlDocuments(connection)


class SqlPullRepositories:
    """Implements ``ports.PullRepositories``."""

    states = _on_connection(SqlPullStates)
    runs = _on_connection(SqlPullRuns)
    dry_items = _on_connection(SqlDryRunItems)
    items = _on_connection(SqlPullItems)

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection


class SqlCrawlRepositories:
    """Implements ``ports.CrawlRepositories``."""

    queue = _on_connection(SqlCrawlQueue)
    sites = _on_connection(SqlCrawlSites)

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection

    @property
    def urls(self) -> SqlCrawlQueue:
        """The URLs of the entries."""
        return self.queue

    @property
    def reports(self) -> SqlCrawlQueue:
        """The entries, as administrators read them."""
        return self.queue


class SqlFeedRepositories:
    """Implements ``ports.FeedRepositories``."""

    pulling = _on_connection(SqlPullRepositories)
    crawling = _on_connection(SqlCrawlRepositories)

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        self.reader = self.queue = self.log = self.upkeep = SqlFeeds(connection)
        self.sources = SqlSources(connection)


class SqlGroupRepositories:
    """Implements ``ports.GroupRepositories``."""

    garbage = _on_connection(SqlGroupGarbage)

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        self.memberships = self.snapshots = SqlGroups(connection)

    @cached_property
    def snapshot_builder(self) -> SqlGroupSnapshotBuilder:
        """Builds group snapshots."""
        return SqlGroupSnapshotBuilder(self.connection, self.memberships)

    @cached_property
    def history(self) -> SqlGroupHistory:
        """The memberships of earlier times."""
        return SqlGroupHistory(self.connection, self.memberships)


class SqlAccessRepositories:
    """Implements ``ports.AccessRepositories``."""

    classes = _on_connection(SqlClasses)
    class_periods = _on_connection(SqlClassPeriods)

    def __init__(self, connection: sa.Connection, policy_cache: PolicyCache) -> None:
        self.connection = connection
        self._policy_cache = policy_cache

    @cached_property
    def acls(self) -> SqlAcls:
        """The ACLs."""
        return SqlAcls(self.connection, self.classes)

    @property
    def acl_versions(self) -> SqlAcls:
        """The ACLs of earlier times."""
        return self.acls

    @cached_property
    def policies(self) -> SqlPolicies:
        """The policy ACLs."""
        return SqlPolicies(self.connection, self._policy_cache)


class SqlProcessingRepositories:
    """Implements ``ports.ProcessingRepositories``."""

    index_tasks = _on_connection(SqlIndexTasks)
    link_texts = _on_connection(SqlLinks)
    link_queue = _on_connection(SqlLinks)
    embedding_queue = _on_connection(SqlEmbeddingQueue)
    failures = _on_connection(SqlFailures)
    interruptions = _on_connection(SqlInterruptions)
    queues = _on_connection(SqlQueues)

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection


class SqlSigninRepositories:
    """Implements ``ports.SigninRepositories``."""

    accounts = _on_connection(SqlAccounts)
    sessions = _on_connection(SqlSessions)
    api_tokens = _on_connection(SqlApiTokens)
    one_time_values = _on_connection(SqlOneTimeValues)

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection


class SqlStateRepositories:
    """Implements ``ports.StateRepositories``."""

    key_values = _on_connection(SqlKeyValueStore)
    stored_settings = _on_connection(SqlStoredSettings)

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection


class SqlUnit:
    """Implements ``ports.UnitOfWork``."""

    documents = _on_connection(SqlDocumentRepositories)
    groups = _on_connection(SqlGroupRepositories)
    feeds = _on_connection(SqlFeedRepositories)
    processing = _on_connection(SqlProcessingRepositories)
    signin = _on_connection(SqlSigninRepositories)
    state = _on_connection(SqlStateRepositories)

    def __init__(self, connection: sa.Connection, policy_cache: PolicyCache | None = None) -> None:
        self.connection = connection
        self._policy_cache = policy_cache

    @cached_property
    def access(self) -> SqlAccessRepositories:
        """ACLs, access classes and policy ACLs."""
        return SqlAccessRepositories(self.connection, self._policy_cache or PolicyCache())
