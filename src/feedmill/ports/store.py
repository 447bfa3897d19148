"""The store.

It is used in units of work: ``with store.writing() as unit`` is one transaction, committed at the end of the block and rolled back by an
exception; ``with store.reading() as unit`` is a snapshot that sees no half of anybody's transaction.
"""

from contextlib import AbstractContextManager
from typing import Protocol

from feedmill.ports.documents import Acls, Classes, ClassPeriods, Documents
from feedmill.ports.failures import Failures, Interruptions
from feedmill.ports.feeds import Feeds, Sources
from feedmill.ports.groups import GroupGarbage, GroupHistory, Groups, GroupSnapshots
from feedmill.ports.indextasks import IndexTasks, KeyValueStore, StoredSettings
from feedmill.ports.links import Links
from feedmill.ports.policies import Policies
from feedmill.ports.queues import Queues
from feedmill.ports.signin import Accounts, ApiTokens, OneTimeValues, Sessions


class UnitOfWork(Protocol):
    """The repositories of one transaction."""

    @property
    def feeds(self) -> Feeds:
        """The feeds."""

    @property
    def sources(self) -> Sources:
        """The data sources."""

    @property
    def documents(self) -> Documents:
        """The documents."""

    @property
    def acls(self) -> Acls:
        """The ACLs."""

    @property
    def classes(self) -> Classes:
        """The classes of documents."""

    @property
    def class_periods(self) -> ClassPeriods:
        """Which class documents were in."""

    @property
    def index_tasks(self) -> IndexTasks:
        """The outbox."""

    @property
    def failures(self) -> Failures:
        """The failures of documents."""

    @property
    def interruptions(self) -> Interruptions:
        """Items that ended their process."""

    @property
    def links(self) -> Links:
        """What documents tell of others."""

    @property
    def key_values(self) -> KeyValueStore:
        """Single values by name."""

    @property
    def queues(self) -> Queues:
        """How the queues move."""

    @property
    def groups(self) -> Groups:
        """The groups database."""

    @property
    def group_layers(self) -> GroupSnapshots:
        """The groups database, to change it."""

    @property
    def group_garbage(self) -> GroupGarbage:
        """What of the groups database nobody sees any more."""

    @property
    def group_history(self) -> GroupHistory:
        """How groups were before."""

    @property
    def stored_settings(self) -> StoredSettings:
        """What was set by API."""

    @property
    def policies(self) -> Policies:
        """The policy ACLs."""

    @property
    def accounts(self) -> Accounts:
        """The local users."""

    @property
    def sessions(self) -> Sessions:
        """The sessions."""

    @property
    def api_tokens(self) -> ApiTokens:
        """The tokens of programs."""

    @property
    def one_times(self) -> OneTimeValues:
        """Values for one use."""


class Store(Protocol):
    """The truth. Errors: Busy, DiskFull, Corrupt, each with nothing of the unit kept."""

    def writing(self) -> AbstractContextManager[UnitOfWork]:
        """Opens a write transaction; writers take turns, so that none waits longer than the transaction before it."""

    def reading(self) -> AbstractContextManager[UnitOfWork]:
        """Opens a read snapshot."""

    def close(self) -> None:
        """Closes all connections."""
