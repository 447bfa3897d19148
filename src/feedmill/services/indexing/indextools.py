"""Dependencies of the indexer."""

from dataclasses import dataclass, field

from feedmill.ports import BlobStore, Clock, EntryBuilder, InFlight, Notifier, Store
from feedmill.services.crawling.linkfollowing import LinkFollowing
from feedmill.services.isolation.noinflight import NoInFlight
from feedmill.services.isolation.recording import FailureRecorder
from feedmill.services.searchconfigprovider import SearchConfigProvider, nothing_set


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexDependencies:
    """Dependencies of the indexer. Units: ``rest`` between two pieces of background work, in multiples of the duration of the previous one.

    Without a ``builder`` the indexer prepares every document itself; without ``following`` links are not crawled; ``embeds``: what was
    written to the index is queued to be embedded.
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
    following: LinkFollowing | None = None
    embeds: bool = False
