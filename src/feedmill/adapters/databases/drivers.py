"""The databases that can be read, and how a connection that changes nothing is opened to each.

SQLite and PostgreSQL are part of every installation. The others need an extra, which installs the driver.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import islice
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import exc

from feedmill.model.errors import BadRequest, UpstreamFailure

CONNECT_SECONDS = 30
SILENCE_SECONDS = 3_600
"""How long a database may take to send anything: a query over a large table may compute for long before its first row."""
_KEEPALIVES: Final = {"keepalives_idle": 60, "keepalives_interval": 30, "keepalives_count": 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """A kind of database: its name in SQLAlchemy, the module of the driver, and the extra that installs it."""

    name: str
    module: str
    extra: str = ""
    #: Executed on each new connection, so that no query changes anything.
    prepare: tuple[str, ...] = ()
    #: The query for the database's own time, which its timestamps are compared with.
    clock: str = "SELECT CURRENT_TIMESTAMP"


_MYSQL: Final = Driver(name="mysql+pymysql", module="pymysql", extra="mysql", prepare=("SET SESSION TRANSACTION READ ONLY",))
DRIVERS: Final = {
    "sqlite": Driver(name="sqlite", module="sqlite3", prepare=("PRAGMA query_only=ON",)),
    "postgresql": Driver(
        name="postgresql+psycopg", module="psycopg", extra="postgres", prepare=("SET default_transaction_read_only = on",)
    ),
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
    "mssql": Driver(name="mssql+pymssql", module="pymssql", extra="mssql"),
    "oracle": Driver(name="oracle+oracledb", module="oracledb", extra="oracle", clock="SELECT CURRENT_TIMESTAMP FROM DUAL"),
    "db2": Driver(name="db2+ibm_db", module="ibm_db_sa", extra="db2", clock="SELECT CURRENT TIMESTAMP FROM SYSIBM.SYSDUMMY1"),
}
"""The kinds of databases by the scheme of their addresses. No query is ever committed, also where a connection may write."""


def find_driver(dsn: str) -> Driver:
    """Returns the driver of an address. Errors: BadRequest, with the extra to install if there is one."""
    scheme = dsn.partition(":")[0].partition("+")[0]
    driver = DRIVERS.get(scheme)
    if driver is None or "://" not in dsn:
        raise BadRequest(f"'{scheme}' is no database that can be read; give {', '.join(f'{name}://' for name in DRIVERS)}")
    if find_spec(driver.module) is None:
        raise BadRequest(f"the driver for {scheme}:// is not installed; install it with: pip install 'feedmill[{driver.extra}]'")
    return driver


def check_dsn(dsn: str) -> None:
    """Refuses an address that cannot be opened. Errors: BadRequest."""
    find_driver(dsn)
    try:
        address = sa.make_url(dsn)
    except (exc.ArgumentError, ValueError) as error:
        raise BadRequest("this is no address such as postgresql://USER@HOST/NAME") from error
    if address.get_backend_name() == "sqlite" and not address.database:
        raise BadRequest("an address of SQLite needs a file, such as sqlite:////var/lib/data.db")


def open_engine(dsn: str, user: str = "", password: str = "") -> sa.Engine:
    """Opens a database for reading. ``user`` and ``password`` replace those of the address. Errors: BadRequest."""
    driver = find_driver(dsn)
    address = sa.make_url(dsn).set(drivername=driver.name)
    if user:
        address = address.set(username=user)
    if password:
        address = address.set(password=password)
    options: dict[str, Any] = {}
    if driver.name == "sqlite":
        # without this SQLite would create a file that is missing
        address = address.set(database=f"file:{address.database}", query={"mode": "ro", "uri": "true"})
    elif driver.module == "psycopg":
        options = {"connect_args": {"connect_timeout": CONNECT_SECONDS, **_KEEPALIVES}}
    elif driver.module == "pymysql":
        options = {"connect_args": {"connect_timeout": CONNECT_SECONDS, "read_timeout": SILENCE_SECONDS}}
    elif driver.module == "pymssql":
        options = {"connect_args": {"login_timeout": CONNECT_SECONDS, "timeout": SILENCE_SECONDS}}
    if driver.module == "psycopg":
        options["isolation_level"] = "REPEATABLE READ"
    engine = sa.create_engine(address, poolclass=sa.NullPool, **options)

    @sa.event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: object) -> None:
        cursor = connection.cursor()
        for statement in driver.prepare:
            cursor.execute(statement)
        cursor.close()
        if driver.name == "sqlite":
            # SQLite stores any bytes as text, and by default one value that is no UTF-8 ends the reading
            connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        if driver.module == "psycopg":
            _read_every_time(connection)
            connection.commit()

    return engine


def _read_every_time(connection: Any) -> None:
    """Has a connection of psycopg return times that Python cannot represent, such as infinity, as the texts of the database.

    By default one such time ends the reading. Source: psycopg, "Data adaptation", the example of infinite dates.
    """
    from psycopg import DataError
    from psycopg.types import datetime as times

    for name, loader in (("date", times.DateLoader), ("timestamp", times.TimestampLoader), ("timestamptz", times.TimestamptzLoader)):

        def load(self: Any, data: Any, read: Any = loader.load) -> object:
            try:
                return read(self, data)
            except DataError:
                return bytes(data).decode()

        connection.adapters.register_loader(name, type(f"Every{loader.__name__}", (loader,), {"load": load}))


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRows:
    """The rows that a statement finds, one at a time, and the names of their columns."""

    names: list[str]
    rows: Iterator[Sequence[object]]


@contextmanager
def opened_rows(connection: sa.Connection, statement: sa.TextClause, parameters: Mapping[str, object]) -> Iterator[OpenRows]:
    """Executes a statement and brings its rows one by one, so that never more than one large row is in memory.

    A block that does not reach its end leaves the other rows at the server, and closes the connection.
    """
    if connection.dialect.driver == "psycopg":
        with _opened_rows_of_postgresql(connection, statement, parameters) as found:
            yield found
        return
    streaming = connection.execution_options(stream_results=True, max_row_buffer=1)
    with streaming.execute(statement, parameters) as result, abandoned_if_unfinished(connection, result):
        yield OpenRows(names=list(result.keys()), rows=iter(result.fetchone, None))


@contextmanager
def _opened_rows_of_postgresql(connection: sa.Connection, statement: sa.TextClause, parameters: Mapping[str, object]) -> Iterator[OpenRows]:
    # a cursor of the server brings several rows at once, however large, or takes one exchange of messages for each
    raw: Any = connection.connection.driver_connection
    compiled = statement.compile(dialect=connection.dialect)
    with raw.cursor() as cursor:
        rows = cursor.stream(str(compiled), {**compiled.params, **parameters})
        try:
            first = list(islice(rows, 1))
            if first:
                yield OpenRows(names=[column.name for column in cursor.description], rows=_iter_from(first, rows))
            else:
                # only a row says which columns there are
                with connection.execute(statement, parameters) as empty:
                    yield OpenRows(names=list(empty.keys()), rows=iter(()))
        except BaseException as error:
            connection.invalidate()
            if isinstance(error, connection.dialect.loaded_dbapi.Error):
                raise exc.DBAPIError(None, None, error) from error
            raise
        finally:
            rows.close()


def _iter_from(first: list[Sequence[object]], rows: Iterator[Sequence[object]]) -> Iterator[Sequence[object]]:
    # the row may be large, so that nothing keeps it
    yield first.pop()
    yield from rows


@contextmanager
def abandoned_if_unfinished(connection: sa.Connection, result: sa.CursorResult[Any]) -> Iterator[None]:
    """Closes a connection at once if the block does not reach its end, without reading the other rows.

    PyMySQL would read them all before it closes its cursor, as ``_finish_unbuffered_query`` says.
    """
    try:
        yield
    except BaseException:
        unread: Any = getattr(result.cursor, "_result", None)
        if hasattr(unread, "unbuffered_active"):
            unread.unbuffered_active = False
        connection.invalidate()
        raise


@contextmanager
def translated(named: str) -> Iterator[None]:
    """Replaces the errors of a database by our own. The text holds what the database said, never the address.

    Errors: UpstreamFailure.
    """
    try:
        yield
    except exc.DBAPIError as error:
        text = " ".join(str(error.orig).split())
        raise UpstreamFailure(f"the database of {named} failed: {text[:500]}") from error
    except exc.SQLAlchemyError as error:
        text = " ".join(str(error).split())
        raise UpstreamFailure(f"the database of {named} cannot be read: {text[:500]}") from error
