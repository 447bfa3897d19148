"""Dependencies of the indexer."""

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
    """Lists index folders, opens writers on them, reads them and removes folders that are no longer served.

    ``can_serve`` returns whether this program may read and write a folder of another schema all the same.
    """

    list: Callable[[], Sequence[str]]
    open: Callable[[str], IndexWriter]
    read: Callable[[str], SearchIndex]
    remove: Callable[[str], None]
    can_serve: Callable[[str], bool] = _serves_none


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexDependencies:
    """Dependencies of the indexer. Units: ``rest`` between two pieces of background work, in multiples of the duration of the previous one.

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
