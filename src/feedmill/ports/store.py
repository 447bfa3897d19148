"""The store, the SQL database of documents, feeds, access and settings.

It is used in units of work. ``with store.writing() as unit`` is one transaction: it is committed at the end of the block, and an
exception rolls it back. ``with store.reading() as unit`` is a snapshot; it never sees a part of another transaction.
"""

from contextlib import AbstractContextManager
from typing import Protocol

from feedmill.ports.access import Acls, AclVersions, Classes, ClassPeriods
from feedmill.ports.crawling import CrawlQueue, CrawlReports, CrawlSites, CrawlUrls
from feedmill.ports.documents import DocumentReader, DocumentScan, DocumentUpkeep, DocumentWriter
from feedmill.ports.failures import Failures, Interruptions
from feedmill.ports.feeds import FeedLog, FeedQueue, FeedUpkeep, Sources, StoredFeedReader
from feedmill.ports.groups import GroupGarbage, GroupHistory, GroupSnapshotBuilder, GroupSnapshots, Memberships
from feedmill.ports.indextasks import IndexTasks, KeyValueStore, StoredSettings
from feedmill.ports.links import LinkQueue, LinkTexts
from feedmill.ports.policies import Policies
from feedmill.ports.pulling import DryRunItems, PullItems, PullRuns, PullStates
from feedmill.ports.queues import Queues
from feedmill.ports.semantic import EmbeddingQueue, Embeddings
from feedmill.ports.signin import Accounts, ApiTokens, OneTimeValues, Sessions


class DocumentRepositories(Protocol):
    """The documents, by what a caller does with them."""

    @property
    def reader(self) -> DocumentReader:
        """Reads documents by URL or id."""

    @property
    def writer(self) -> DocumentWriter:
        """Changes documents."""

    @property
    def scan(self) -> DocumentScan:
        """Goes through live documents."""

    @property
    def upkeep(self) -> DocumentUpkeep:
        """Moves blobs and removes what is old."""

    @property
    def embeddings(self) -> Embeddings:
        """The embeddings of documents."""


class PullRepositories(Protocol):
    """The pull sources."""

    @property
    def states(self) -> PullStates:
        """The states of the sources."""

    @property
    def runs(self) -> PullRuns:
        """The runs."""

    @property
    def dry_items(self) -> DryRunItems:
        """What the dry run in progress has read of a source."""

    @property
    def items(self) -> PullItems:
        """What the runs have applied."""


class CrawlRepositories(Protocol):
    """The crawl queue."""

    @property
    def queue(self) -> CrawlQueue:
        """The entries, as the crawler uses them."""

    @property
    def urls(self) -> CrawlUrls:
        """The URLs of the entries."""

    @property
    def reports(self) -> CrawlReports:
        """The entries, as administrators read them."""

    @property
    def sites(self) -> CrawlSites:
        """The sites."""


class FeedRepositories(Protocol):
    """The feeds and the data sources."""

    @property
    def reader(self) -> StoredFeedReader:
        """Reads feeds."""

    @property
    def queue(self) -> FeedQueue:
        """The feeds that are to be applied."""

    @property
    def log(self) -> FeedLog:
        """The logs of feeds."""

    @property
    def upkeep(self) -> FeedUpkeep:
        """Removes old feeds."""

    @property
    def sources(self) -> Sources:
        """The data sources."""

    @property
    def pulling(self) -> PullRepositories:
        """The pull sources, their runs and their items."""

    @property
    def crawling(self) -> CrawlRepositories:
        """The crawl queue."""


class GroupRepositories(Protocol):
    """The groups database."""

    @property
    def memberships(self) -> Memberships:
        """Reads who is a member of which group."""

    @property
    def snapshots(self) -> GroupSnapshots:
        """Reads the group snapshots."""

    @property
    def snapshot_builder(self) -> GroupSnapshotBuilder:
        """Builds group snapshots."""

    @property
    def garbage(self) -> GroupGarbage:
        """Removes the rows that nothing refers to any more."""

    @property
    def history(self) -> GroupHistory:
        """The memberships of earlier times."""


class AccessRepositories(Protocol):
    """Who may see what: ACLs, access classes and policy ACLs."""

    @property
    def acls(self) -> Acls:
        """The ACLs."""

    @property
    def acl_versions(self) -> AclVersions:
        """The ACLs of earlier times."""

    @property
    def classes(self) -> Classes:
        """The access classes."""

    @property
    def class_periods(self) -> ClassPeriods:
        """Which access classes documents were in."""

    @property
    def policies(self) -> Policies:
        """The policy ACLs."""


class ProcessingRepositories(Protocol):
    """The work that is left for documents, and the work that failed."""

    @property
    def index_tasks(self) -> IndexTasks:
        """The outbox between the store and the index."""

    @property
    def link_texts(self) -> LinkTexts:
        """The anchor texts of links."""

    @property
    def link_queue(self) -> LinkQueue:
        """The documents that wait for work on links."""

    @property
    def embedding_queue(self) -> EmbeddingQueue:
        """The documents that wait to be embedded."""

    @property
    def failures(self) -> Failures:
        """The failures of documents."""

    @property
    def interruptions(self) -> Interruptions:
        """How often work on an item ended the process."""

    @property
    def queues(self) -> Queues:
        """The progress of the queues."""


class SigninRepositories(Protocol):
    """Users, and what signs them in."""

    @property
    def accounts(self) -> Accounts:
        """The local users."""

    @property
    def sessions(self) -> Sessions:
        """The sessions."""

    @property
    def api_tokens(self) -> ApiTokens:
        """The API tokens."""

    @property
    def one_time_values(self) -> OneTimeValues:
        """Values and names for one use."""


class StateRepositories(Protocol):
    """The state of the server as a whole."""

    @property
    def key_values(self) -> KeyValueStore:
        """Single values by name."""

    @property
    def stored_settings(self) -> StoredSettings:
        """The settings that the admin API stored."""


class UnitOfWork(Protocol):
    """The repositories of one transaction, by subject."""

    @property
    def documents(self) -> DocumentRepositories:
        """The documents."""

    @property
    def access(self) -> AccessRepositories:
        """ACLs, access classes and policy ACLs."""

    @property
    def groups(self) -> GroupRepositories:
        """The groups database."""

    @property
    def feeds(self) -> FeedRepositories:
        """The feeds and the data sources."""

    @property
    def processing(self) -> ProcessingRepositories:
        """Index tasks, links, failures and queues."""

    @property
    def signin(self) -> SigninRepositories:
        """Users, sessions and tokens."""

    @property
    def state(self) -> StateRepositories:
        """Single values and stored settings."""


class Store(Protocol):
    """The SQL database. Errors: Busy, DiskFull, Corrupt; each of them discards the unit of work.

    Example::

        with store.writing() as unit:
            unit.state.key_values.put("index.folder", "5-1")
    """

    def writing(self) -> AbstractContextManager[UnitOfWork]:
        """Opens a write transaction. Writers take turns, so that each waits no longer than the transaction before it."""

    def reading(self) -> AbstractContextManager[UnitOfWork]:
        """Opens a read snapshot."""

    def close(self) -> None:
        """Closes all connections."""
