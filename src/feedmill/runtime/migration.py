"""Upgrades a data folder to this release. A module of its own, because only the parent needs it and its imports are slow to load."""

from pathlib import Path

from feedmill.adapters.store.migrate import migrate as migrate_store
from feedmill.bootstrap.backends import open_store
from feedmill.runtime.datafolder import prepare_folder
from feedmill.settings import Settings


def migrate(data: Path, settings: Settings) -> None:
    """Creates the data folder and upgrades its store to the newest schema; for the parent process alone."""
    prepare_folder(data)
    store = open_store(data, settings)
    try:
        migrate_store(store)
    finally:
        store.close()
