"""Opens a data folder: the store, the blobs, the feed files and the notifications that all services of a process share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from feedmill.adapters.feedfiles import FolderFeedFiles
from feedmill.adapters.inflight import MappedInFlight
from feedmill.adapters.notifier import SocketNotifier
from feedmill.adapters.sharedcounts import open_counts
from feedmill.adapters.spool import FolderSpool
from feedmill.ports import FeedFiles, IndexGenerations, InFlight, Notifier, Store
from feedmill.ports.counts import Counts
from feedmill.runtime.roles import list_subscribers
from feedmill.settings import Settings

if TYPE_CHECKING:
    from feedmill.bootstrap.backends import CollectedBlobs

IN_FLIGHT = "inflight"
"""The folder in a data folder that records the items that roles work on."""
COUNTS = "counts"
"""The folder in a data folder for what its processes count together."""
RESERVE_BYTES = 64_000_000
"""New feeds are refused if less space is free."""


def utc_now() -> datetime:
    """Returns the current time in UTC."""
    return datetime.now(UTC)


def read_local_time(moment: datetime) -> datetime:
    """Returns the UTC time of a time in the zone of this machine."""
    return moment.astimezone(UTC)


class ProcessNotifier(Notifier, Protocol):
    """A notifier whose wait a signal handler can end."""

    def wake(self) -> None:
        """Ends the wait of this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which of the processes of its role a process is, from 0, and how many there are."""

    number: int = 0
    processes: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AppContext:
    """What all services of one process share while they work on one data folder.

    The fields are ports. ``backends`` and ``indexbackends`` choose the adapters of the store, the blobs and the index.
    """

    data: Path
    settings: Settings
    store: Store
    #: Opens the generations of the index.
    index: Callable[[], IndexGenerations]
    blobs: "CollectedBlobs"
    files: FeedFiles
    notifier: ProcessNotifier
    #: Opens a temporary file for a large content.
    spool: Callable[[], BinaryIO]
    #: Opens the record of the item that a role works on.
    in_flight: Callable[[str], InFlight]
    #: Opens counts that all processes of the server share.
    counts: Callable[[str], Counts]
    place: Place

    def close(self) -> None:
        """Closes files and connections."""
        self.blobs.close()
        self.store.close()


def _open_index(data: Path, settings: Settings) -> IndexGenerations:
    from feedmill.bootstrap.indexbackends import open_generations

    return open_generations(data, settings)


@contextmanager
def open_context(data: Path, settings: Settings, role: str = "command", place: Place | None = None) -> Iterator[AppContext]:
    """Opens a data folder whose store is migrated, and closes it after the block."""
    # they take half a second to load, and a command that only sends requests to a server opens no context
    from feedmill.bootstrap.backends import CONTENT_RESERVE_BYTES, open_blobs, open_store

    context = AppContext(
        data=data,
        settings=settings,
        store=open_store(data, settings),
        index=lambda: _open_index(data, settings),
        blobs=open_blobs(data, settings, role),
        files=FolderFeedFiles(data / "feeds", reserve_bytes=RESERVE_BYTES),
        notifier=SocketNotifier(data, role, list_subscribers),
        spool=FolderSpool(data / "spool", reserve_bytes=CONTENT_RESERVE_BYTES).open,
        in_flight=lambda name: MappedInFlight(data / IN_FLIGHT, name),
        counts=lambda name: open_counts(data / COUNTS / name),
        place=place or Place(),
    )
    try:
        yield context
    finally:
        context.close()
