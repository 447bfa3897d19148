"""How many rows of a PostgreSQL database a second a run applies, and how much memory that takes.

The reference in the same run is the reading alone: all rows by the same query, one by one. The first run stores
every row, the second finds nothing changed. Memory is the most that this process ever had: it must not grow with the table. Extraction and
index are left out, ``python -m bench ingest`` measures them.

At the end a server reads ``SERVED`` rows of the table, and the time is measured from the request of an incremental run over 100 changed
rows until a search finds all of them.

``python -m bench.rows 1000000`` measures a million rows.
"""

import json
import sys
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import sqlalchemy as sa

from bench.pulling import iter_runs
from feedmill.adapters.databases.source import DatabaseAddress, DatabaseQueries, DatabaseSource
from feedmill.model.pulling import RunMode
from tests.acceptance.promises import run_command
from tests.appliance import running
from tests.contract.conftest import start_postgres
from tests.waiting import wait_until

ROWS = 100_000
SERVED = 10_000
CHANGED = 100
NAME = "rows"


def main(rows: int = ROWS) -> None:
    """Prints rows a second and memory."""
    with TemporaryDirectory(prefix="feedmill-pg-") as folder:
        server = start_postgres(Path(folder))
        try:
            measure(server.get_uri(), Path(folder), rows)
            measure_incremental(server.get_uri(), Path(folder))
        finally:
            server.cleanup()


def measure(dsn: str, folder: Path, rows: int) -> None:
    """Fills a table and measures reading, the first run and the second."""
    engine = sa.create_engine(sa.make_url(dsn).set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        words = "'title ' || n AS title, repeat('some words of a row ', 25) AS body"
        connection.exec_driver_sql(f"CREATE TABLE rows AS SELECT n AS id, {words} FROM generate_series(1, {rows}) AS n")
    queries = DatabaseQueries(crawl_query="SELECT id, title, body FROM rows", keys=("id",))
    open_source = partial(DatabaseSource, NAME, DatabaseAddress(dsn=dsn), queries, lambda _stylesheet, xml: xml)
    with closing(open_source()) as source:
        reading = read_alone(source)
    print(f"  reading alone: {rows / reading:,.0f} rows a second")
    for run in iter_runs(NAME, open_source, folder, rows):
        rate = f"{rows / run.seconds:,.0f} rows a second, {run.seconds / reading:.1f} times the reading"
        print(f"  {run.name}: {rate}; {run.memory}")
    engine.dispose()


def measure_incremental(dsn: str, folder: Path) -> None:
    """Measures an incremental run of a server, from its request until all that it changed is found."""
    engine = sa.create_engine(sa.make_url(dsn).set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE rows ADD COLUMN changed BIGINT NOT NULL DEFAULT 1")
    columns = f"SELECT id, title, body, changed AS gsa_timestamp FROM rows WHERE id <= {SERVED}"
    queries = {"crawl_query": columns, "incremental_query": f"{columns} AND changed > :since"}
    settings = {"name": NAME, "kind": "database", "dsn": dsn, **queries}
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in settings.items())
    with running(folder / "data", f'[[sources]]\nkeys = ["id"]\n{lines}\n') as appliance:
        command = ("sources", "run", NAME, "--data", appliance.data, "--config", appliance.config, "--json")
        assert run_command(*command)[0] == 0
        wait_until(lambda: appliance.search("some words of a row")["total"] >= SERVED, "the rows")
        with engine.begin() as connection:
            connection.exec_driver_sql(f"UPDATE rows SET changed = 2, body = 'aardwolf ' || body WHERE id <= {CHANGED}")
        began = time.monotonic()
        code, output, error = run_command(*command)
        assert (code, json.loads(output)["changed"]) == (0, CHANGED), output + error
        applied = time.monotonic() - began
        wait_until(lambda: len(appliance.urls("aardwolf", num=CHANGED)) == CHANGED, "the changed rows")
        print(f"  incremental run of {CHANGED} among {SERVED:,} rows: {applied:.2f} s, all found after {time.monotonic() - began:.2f} s")
    engine.dispose()


def read_alone(source: DatabaseSource) -> float:
    """Returns the seconds that reading all pages takes."""
    began = time.monotonic()
    for _ in source.iter_pages(RunMode.FULL, since="", checkpoint=""):
        pass
    return time.monotonic() - began


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
