"""Upgrades a data folder to this release."""

from pathlib import Path

from feedmill.adapters.store.revision import is_newest
from feedmill.bootstrap.backends import open_store
from feedmill.runtime.datafolder import prepare_folder
from feedmill.settings import Settings


def migrate(data: Path, settings: Settings) -> None:
    """Creates the data folder and upgrades its store to the newest schema; for the parent process alone."""
    prepare_folder(data)
    store = open_store(data, settings)
    try:
        if not is_newest(store):
            # Alembic and the migrations are slow to load, and few starts need them
            from feedmill.adapters.store.migrate import migrate as migrate_store

            migrate_store(store)
    finally:
        store.close()
