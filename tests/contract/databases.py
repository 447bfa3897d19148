"""Databases for tests, and rows that cannot be read."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

NewDatabase = Callable[[], str]
"""Makes an empty database and returns its address."""


def damage(folder: Path, url: str, column: str, value: object) -> None:
    """Writes something that cannot be read into the row of a document, as a damaged file would have it."""
    with closing(sqlite3.connect(folder / "store.sqlite")) as connection, connection:
        changed = connection.execute(f"UPDATE documents SET {column} = ? WHERE url = ?", (value, url))
        assert changed.rowcount == 1


DAMAGES = [
    ("metadata", "["),
    ("metadata", '{"a": 1}'),
    ("attributes", '{"authmethod": "none of them"}'),
    ("attributes", "\x00"),
    ("text", "5"),
    ("state", "nonsense"),
    ("origin", "nonsense"),
    ("updated_at", "yesterday"),
]
"""Columns of a document's row, with values that cannot be decoded."""
