"""Stores with the newest schema: copies of one that is migrated once a process, since a migration takes 0.2 s of CPU time."""

import tempfile
from functools import cache
from pathlib import Path

from feedmill.adapters.store.engine import SqlStore
from feedmill.adapters.store.migrate import migrate
from feedmill.adapters.store.sqlite import open_sqlite
from feedmill.runtime.datafolder import prepare_folder


@cache
def _template() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite"
        store = open_sqlite(path)
        migrate(store)
        store.close()
        return path.read_bytes()


def prepare_migrated(data: Path) -> None:
    """Creates a data folder whose store has the newest schema, unless there is one."""
    prepare_folder(data)
    path = data / "store.sqlite"
    if not path.exists():
        path.touch(mode=0o600)
        path.write_bytes(_template())


def open_migrated(path: Path) -> SqlStore:
    """Opens the store at a path, which is made with the newest schema if nothing is there yet."""
    if not path.exists():
        path.write_bytes(_template())
    return open_sqlite(path)
