"""What the services need from the outside world. Each port is small and synchronous; one technology in ``adapters`` implements it.

The ports of signing in and late binding are in ``ports.signin`` and ``ports.http``. docs/glossary.md explains every class.
"""

from feedmill.ports.access import Acls, AclVersions, Classes, ClassPeriods
from feedmill.ports.blobs import BlobGarbage, BlobObject, BlobStore
from feedmill.ports.clock import Clock
from feedmill.ports.documents import (
    DocumentReader,
    DocumentScan,
    DocumentUpkeep,
    DocumentWriter,
    LiveUrl,
    StoredRefs,
)
from feedmill.ports.failures import Failures, Interruptions
from feedmill.ports.feeds import FeedLog, FeedQueue, FeedUpkeep, FileUse, Lease, Sources, StoredFeedReader
from feedmill.ports.groups import (
    ComparisonCursor,
    GroupDefinition,
    GroupGarbage,
    GroupHistory,
    GroupSnapshotBuilder,
    GroupSnapshots,
    Memberships,
    ObsoleteGroup,
    PastMembership,
    Publication,
    PurgeCursor,
)
from feedmill.ports.indextasks import IndexTask, IndexTasks, KeyValueStore, Lane, Stage, StoredSettings
from feedmill.ports.links import LinkQueue, LinkTexts, LinkWork
from feedmill.ports.policies import Policies
from feedmill.ports.queues import Queues
from feedmill.ports.search import (
    BuiltEntries,
    EntryBuilder,
    Highlighter,
    IndexGenerations,
    IndexWriter,
    PreparedEntry,
    SearchIndex,
    Vocabulary,
)
from feedmill.ports.store import (
    AccessRepositories,
    DocumentRepositories,
    FeedRepositories,
    GroupRepositories,
    ProcessingRepositories,
    SigninRepositories,
    StateRepositories,
    Store,
    UnitOfWork,
)
from feedmill.ports.work import Extractor, FeedFile, FeedFiles, InFlight, Notifier

__all__ = [
    "AccessRepositories",
    "AclVersions",
    "Acls",
    "BlobGarbage",
    "BlobObject",
    "BlobStore",
    "BuiltEntries",
    "ClassPeriods",
    "Classes",
    "Clock",
    "ComparisonCursor",
    "DocumentReader",
    "DocumentRepositories",
    "DocumentScan",
    "DocumentUpkeep",
    "DocumentWriter",
    "EntryBuilder",
    "Extractor",
    "Failures",
    "FeedFile",
    "FeedFiles",
    "FeedLog",
    "FeedQueue",
    "FeedRepositories",
    "FeedUpkeep",
    "FileUse",
    "GroupDefinition",
    "GroupGarbage",
    "GroupHistory",
    "GroupRepositories",
    "GroupSnapshotBuilder",
    "GroupSnapshots",
    "Highlighter",
    "InFlight",
    "IndexGenerations",
    "IndexTask",
    "IndexTasks",
    "IndexWriter",
    "Interruptions",
    "KeyValueStore",
    "Lane",
    "Lease",
    "LinkQueue",
    "LinkTexts",
    "LinkWork",
    "LiveUrl",
    "Memberships",
    "Notifier",
    "ObsoleteGroup",
    "PastMembership",
    "Policies",
    "PreparedEntry",
    "ProcessingRepositories",
    "Publication",
    "PurgeCursor",
    "Queues",
    "SearchIndex",
    "SigninRepositories",
    "Sources",
    "Stage",
    "StateRepositories",
    "Store",
    "StoredFeedReader",
    "StoredRefs",
    "StoredSettings",
    "UnitOfWork",
    "Vocabulary",
]
