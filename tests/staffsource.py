"""A pull source of an SQLite database beside the data folder, for tests that need any source."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

SETTINGS = """
[[sources]]
name = "staff"
kind = "database"
dsn = "sqlite:///staff.db"
crawl_query = "SELECT id, body FROM articles"
keys = ["id"]
"""


def make_database(folder: Path, bodies: Sequence[str]) -> None:
    """Makes the database, with an article for each body; their ids count from 1."""
    with closing(sqlite3.connect(folder / "staff.db")) as connection, connection:
        connection.execute("CREATE TABLE articles (id INTEGER, body TEXT)")
        connection.executemany("INSERT INTO articles VALUES (?, ?)", enumerate(bodies, 1))
