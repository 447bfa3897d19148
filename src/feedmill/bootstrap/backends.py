"""Chooses the adapters for the store, the index and the blobs by the scheme of their setting ``url``.

Another backend is one line in a table here, and its scheme in the checks of ``settings.sections``. "" is the backend in the data folder.
"""

import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeVar

from feedmill.adapters.blobs.packed import PackedBlobs
from feedmill.adapters.index.tantivy.entrybuilder import ProcessEntryBuilder
from feedmill.adapters.index.tantivy.generations import TantivyGenerations
from feedmill.adapters.store.engine import SqlStore
from feedmill.adapters.store.postgres import open_postgres
from feedmill.adapters.store.revision import check_revision
from feedmill.adapters.store.sqlite import open_sqlite
from feedmill.model.errors import BadRequest
from feedmill.ports import BlobGarbage, BlobStore, EntryBuilder, IndexGenerations
from feedmill.settings import Settings

CONTENT_RESERVE_BYTES: Final = 32_000_000
"""Contents of accepted feeds wait if less space is free; the store and the index continue to work."""

_Built = TypeVar("_Built")


class CollectedBlobs(BlobStore, BlobGarbage, Protocol):
    """A blob store with the garbage collection of its blobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexBackend:
    """What one engine builds for a data folder."""

    open_generations: Callable[[Path], IndexGenerations]
    #: None if the engine builds no entries in a process of its own.
    build_entry_builder: Callable[[Path], EntryBuilder | None]


def _open_sqlite(data: Path, _url: str) -> SqlStore:
    return open_sqlite(data / "store.sqlite")


def _open_postgres(_data: Path, url: str) -> SqlStore:
    return open_postgres(url)


def _open_packs(data: Path, role: str) -> CollectedBlobs:
    return PackedBlobs(data / "blobs", role=role, reserve_bytes=CONTENT_RESERVE_BYTES)


def _open_tantivy(data: Path) -> IndexGenerations:
    return TantivyGenerations(data / "index")


def _build_tantivy_entries(data: Path) -> EntryBuilder:
    return ProcessEntryBuilder(data / "index" / "apart", (sys.executable, "-m", "feedmill.runtime.entrybuilding"))


STORES: Final[Mapping[str, Callable[[Path, str], SqlStore]]] = {
    "": _open_sqlite,
    "sqlite": _open_sqlite,
    "postgresql": _open_postgres,
    "postgresql+psycopg": _open_postgres,
}
TANTIVY: Final = IndexBackend(open_generations=_open_tantivy, build_entry_builder=_build_tantivy_entries)
INDEXES: Final[Mapping[str, IndexBackend]] = {"": TANTIVY, "tantivy": TANTIVY}
BLOBS: Final[Mapping[str, Callable[[Path, str], CollectedBlobs]]] = {"": _open_packs, "file": _open_packs}


def open_store(data: Path, settings: Settings) -> SqlStore:
    """Opens the store that the settings name. Every store has the schema of ``adapters/store``, which the migrations upgrade."""
    return find_builder(STORES, "store", settings.store.url)(data, settings.store.url)


def check_store(data: Path, settings: Settings) -> None:
    """Checks that this release can read the store. Errors: as ``check_revision``."""
    with closing(open_store(data, settings)) as store:
        check_revision(store)


def open_generations(data: Path, settings: Settings) -> IndexGenerations:
    """Opens the generations of the index that the settings name."""
    return find_builder(INDEXES, "index", settings.index.url).open_generations(data)


def build_entry_builder(data: Path, settings: Settings) -> EntryBuilder | None:
    """Builds the adapter that builds the entries of costly documents in a process of its own; None for an index without one."""
    return find_builder(INDEXES, "index", settings.index.url).build_entry_builder(data)


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
