"""What the indexer works with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from feedmill.ports import BlobStore, Clock, EntryBuilder, IndexWriter, InFlight, Notifier, SearchIndex, Store
from feedmill.services.isolation.inflight import NoInFlight
from feedmill.services.isolation.recording import FailureRecorder
from feedmill.services.searchconfigprovider import SearchConfigProvider, nothing_set


def _serves_none(_folder: str) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFolders:
    """Lists index folders, opens writers on them, reads them and removes those that are served no more.

    ``can_serve`` says of a folder of another schema whether this program may read and write it all the same.
    """

    list: Callable[[], Sequence[str]]
    open: Callable[[str], IndexWriter]
    read: Callable[[str], SearchIndex]
    remove: Callable[[str], None]
    can_serve: Callable[[str], bool] = _serves_none


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexDependencies:
    """What the indexer works with. Units: ``rest`` between two pieces of what nobody waits for, in times of the one before.

    Without a ``builder`` the indexer prepares every document itself.
    """

    store: Store
    blobs: BlobStore
    notifier: Notifier
    clock: Clock
    search_config: SearchConfigProvider = field(default_factory=lambda: SearchConfigProvider(nothing_set))
    rest: float = 3.0
    in_flight: InFlight = field(default_factory=NoInFlight)
    builder: EntryBuilder | None = None
    recorder: FailureRecorder | None = None
