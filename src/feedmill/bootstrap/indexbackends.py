"""Chooses the adapter of the index by the scheme of ``[index] url``. It is slow to load, and most commands need no index."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from feedmill.adapters.index.tantivy.entrybuilder import ProcessEntryBuilder
from feedmill.adapters.index.tantivy.generations import TantivyGenerations
from feedmill.bootstrap.backends import find_builder
from feedmill.ports import EntryBuilder, IndexGenerations
from feedmill.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexBackend:
    """What one engine builds for a data folder."""

    open_generations: Callable[[Path], IndexGenerations]
    #: None if the engine builds no entries in a process of its own.
    build_entry_builder: Callable[[Path], EntryBuilder | None]


def _open_tantivy(data: Path) -> IndexGenerations:
    return TantivyGenerations(data / "index")


def _build_tantivy_entries(data: Path) -> EntryBuilder:
    return ProcessEntryBuilder(data / "index" / "apart", (sys.executable, "-m", "feedmill.runtime.entrybuilding"))


TANTIVY: Final = IndexBackend(open_generations=_open_tantivy, build_entry_builder=_build_tantivy_entries)
INDEXES: Final[Mapping[str, IndexBackend]] = {"": TANTIVY, "tantivy": TANTIVY}


def open_generations(data: Path, settings: Settings) -> IndexGenerations:
    """Opens the generations of the index that the settings name."""
    return find_builder(INDEXES, "index", settings.index.url).open_generations(data)


def build_entry_builder(data: Path, settings: Settings) -> EntryBuilder | None:
    """Builds the adapter that builds the entries of costly documents in a process of its own; None for an index without one."""
    return find_builder(INDEXES, "index", settings.index.url).build_entry_builder(data)
