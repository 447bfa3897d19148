"""Brings a data folder to this release; apart from the rest because only the parent needs it, and what it needs is slow to load."""

from pathlib import Path

from feedmill.adapters.store.migrate import migrate as migrate_store
from feedmill.bootstrap.context import open_store
from feedmill.runtime.datafolder import prepare_folder
from feedmill.settings import Settings


def migrate(data: Path, settings: Settings) -> None:
    """Makes the data folder and brings its store to the newest schema; for the parent process alone."""
    prepare_folder(data)
    store = open_store(data, settings)
    try:
        migrate_store(store)
    finally:
        store.close()
