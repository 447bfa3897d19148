"""Chooses the adapters for the store and the blobs by the scheme of their setting ``url``; ``indexbackends`` does so for the index.

Another backend is one line in a table, and its scheme in the checks of ``settings.sections``. "" is the backend in the data folder.
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final, Protocol, TypeVar

from feedmill.adapters.blobs.packed import PackedBlobs
from feedmill.adapters.store.engine import SqlStore
from feedmill.adapters.store.postgres import open_postgres
from feedmill.adapters.store.revision import check_revision
from feedmill.adapters.store.sqlite import open_sqlite
from feedmill.model.errors import BadRequest
from feedmill.ports import BlobGarbage, BlobStore
from feedmill.settings import Settings

CONTENT_RESERVE_BYTES: Final = 32_000_000
"""Contents of accepted feeds wait if less space is free; the store and the index continue to work."""

_Built = TypeVar("_Built")


class CollectedBlobs(BlobStore, BlobGarbage, Protocol):
    """A blob store with the garbage collection of its blobs."""


def _open_sqlite(data: Path, _url: str) -> SqlStore:
    return open_sqlite(data / "store.sqlite")


def _open_postgres(_data: Path, url: str) -> SqlStore:
    return open_postgres(url)


def _open_packs(data: Path, role: str) -> CollectedBlobs:
    return PackedBlobs(data / "blobs", role=role, reserve_bytes=CONTENT_RESERVE_BYTES)


STORES: Final[Mapping[str, Callable[[Path, str], SqlStore]]] = {
    "": _open_sqlite,
    "sqlite": _open_sqlite,
    "postgresql": _open_postgres,
    "postgresql+psycopg": _open_postgres,
}
BLOBS: Final[Mapping[str, Callable[[Path, str], CollectedBlobs]]] = {"": _open_packs, "file": _open_packs}


def open_store(data: Path, settings: Settings) -> SqlStore:
    """Opens the store that the settings name. Every store has the schema of ``adapters/store``, which the migrations upgrade."""
    return find_builder(STORES, "store", settings.store.url)(data, settings.store.url)


def check_store(data: Path, settings: Settings) -> None:
    """Checks that this release can read the store. Errors: as ``check_revision``."""
    with closing(open_store(data, settings)) as store:
        check_revision(store)


def open_blobs(data: Path, settings: Settings, role: str) -> CollectedBlobs:
    """Opens the blob store that the settings name, for one role."""
    return find_builder(BLOBS, "blobs", settings.blobs.url)(data, role)


def find_builder(builders: Mapping[str, _Built], section: str, url: str) -> _Built:
    """Returns the builder for the scheme of a URL. Errors: BadRequest for a scheme without one."""
    builder = builders.get(url.partition(":")[0].lower())
    if builder is None:
        known = ", ".join(f"{scheme}:" for scheme in builders if scheme)
        raise BadRequest(f"[{section}] url has a scheme without a backend; it is empty or begins with one of {known}")
    return builder
