"""Opens a data folder: the store, the blobs, the feed files and the notifications that all services of a process share."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from feedmill.adapters.blobs.packed import PackedBlobs
from feedmill.adapters.feedfiles import FolderFeedFiles
from feedmill.adapters.inflight import MappedInFlight
from feedmill.adapters.notifier import SocketNotifier
from feedmill.adapters.spool import FolderSpool
from feedmill.adapters.store.engine import SqlStore
from feedmill.adapters.store.postgres import open_postgres
from feedmill.adapters.store.sqlite import open_sqlite
from feedmill.runtime.roles import list_subscribers
from feedmill.settings import Settings

IN_FLIGHT = "inflight"
"""The folder in a data folder that records the items that roles work on."""
RESERVE_BYTES = 64_000_000
"""New feeds are refused if less space is free."""
CONTENT_RESERVE_BYTES = RESERVE_BYTES // 2
"""Contents of accepted feeds wait if less space is free; the store and the index continue to work."""


def utc_now() -> datetime:
    """Returns the current time in UTC."""
    return datetime.now(UTC)


def open_store(data: Path, settings: Settings) -> SqlStore:
    """Opens the store that the settings name."""
    return open_postgres(settings.store.url) if settings.store.url else open_sqlite(data / "store.sqlite")


@dataclass(frozen=True, slots=True, kw_only=True)
class AppContext:
    """What all services of one process share while they work on one data folder."""

    data: Path
    settings: Settings
    store: SqlStore
    blobs: PackedBlobs
    files: FolderFeedFiles
    notifier: SocketNotifier
    spool: FolderSpool

    def in_flight(self, role: str) -> MappedInFlight:
        """Opens the record of the item that a role works on."""
        return MappedInFlight(self.data / IN_FLIGHT, role)

    def close(self) -> None:
        """Closes files and connections."""
        self.blobs.close()
        self.store.close()


@contextmanager
def open_context(data: Path, settings: Settings, role: str = "command") -> Iterator[AppContext]:
    """Opens a data folder whose store is migrated, and closes it after the block."""
    context = AppContext(
        data=data,
        settings=settings,
        store=open_store(data, settings),
        blobs=PackedBlobs(data / "blobs", role=role, reserve_bytes=CONTENT_RESERVE_BYTES),
        files=FolderFeedFiles(data / "feeds", reserve_bytes=RESERVE_BYTES),
        notifier=SocketNotifier(data, role, list_subscribers),
        spool=FolderSpool(data / "spool", reserve_bytes=CONTENT_RESERVE_BYTES),
    )
    try:
        yield context
    finally:
        context.close()
