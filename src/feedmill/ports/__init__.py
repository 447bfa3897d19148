"""What the services need of the outside world. Each is small, synchronous, and filled by one technology in ``adapters``.

Signing in and late binding have theirs in ``ports.signin`` and ``ports.authorization``.
"""

from feedmill.ports.blobs import BlobFile, BlobGarbage, BlobStore
from feedmill.ports.clock import Clock
from feedmill.ports.documents import Acls, Classes, Documents, KeptRefs, LiveUrl, Spells
from feedmill.ports.failures import Failures, Interruptions
from feedmill.ports.feeds import Feeds, FileUse, Lease, Sources
from feedmill.ports.groups import (
    ComparedTo,
    DeadGroup,
    ForgottenTo,
    GroupDefinition,
    GroupGarbage,
    GroupHistory,
    GroupLayers,
    Groups,
    PastMembership,
    Publication,
)
from feedmill.ports.links import Links, LinkWork
from feedmill.ports.marks import Facts, KeptSettings, Lane, Mark, Marks, Stage
from feedmill.ports.policies import Policies
from feedmill.ports.queues import Queues
from feedmill.ports.search import BuiltEntries, EntryBuilder, IndexWriter, PreparedEntry, SearchIndex, Vocabulary
from feedmill.ports.store import Store, UnitOfWork
from feedmill.ports.work import Bell, Extractor, FeedFile, FeedFiles, InFlight

__all__ = [
    "Acls",
    "Bell",
    "BlobFile",
    "BlobGarbage",
    "BlobStore",
    "BuiltEntries",
    "Classes",
    "Clock",
    "ComparedTo",
    "DeadGroup",
    "Documents",
    "EntryBuilder",
    "Extractor",
    "Facts",
    "Failures",
    "FeedFile",
    "FeedFiles",
    "Feeds",
    "FileUse",
    "ForgottenTo",
    "GroupDefinition",
    "GroupGarbage",
    "GroupHistory",
    "GroupLayers",
    "Groups",
    "InFlight",
    "IndexWriter",
    "Interruptions",
    "KeptRefs",
    "KeptSettings",
    "Lane",
    "Lease",
    "LinkWork",
    "Links",
    "LiveUrl",
    "Mark",
    "Marks",
    "PastMembership",
    "Policies",
    "PreparedEntry",
    "Publication",
    "Queues",
    "SearchIndex",
    "Sources",
    "Spells",
    "Stage",
    "Store",
    "UnitOfWork",
    "Vocabulary",
]
