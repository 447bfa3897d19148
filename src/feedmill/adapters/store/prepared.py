"""Frequent statements, compiled once and run on the driver's own cursor.

At every execution SQLAlchemy builds a statement again, looks for its compiled form and wraps each row. That takes ten times as long as the
database takes for a row that it finds by its key. Rows come as the driver returns them, and go to it as they are given. If the two drivers
read a column's type differently (SQLite has no booleans), the caller converts it.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.sql.compiler import SQLCompiler

Values = Sequence[Any]


class PreparedQuery:
    """A query with a compiled form for each power of two: its list of values is filled up to the next by repeating the last value.

    ``build`` makes the query from placeholders. Repeating the last value must not change what the query finds, as in an ``IN`` list.
    """

    def __init__(self, build: Callable[[list[None]], sa.Select[Any]]) -> None:
        self._build = build
        self._texts: dict[tuple[str, int], str] = {}

    def run(self, connection: sa.Connection, values: Values = ()) -> list[tuple[Any, ...]]:
        """Returns all rows. Errors: SQLAlchemy's own."""
        count = 1 << (len(values) - 1).bit_length() if values else 0
        given = [*values, *[values[-1]] * (count - len(values))] if values else []
        return run_text(connection, self._text(connection.dialect, count), given)

    def _text(self, dialect: sa.Dialect, count: int) -> str:
        text = self._texts.get((dialect.name, count))
        if text is None:
            query = self._build([None] * count)
            # Expands ``IN`` to one placeholder for each value now. SQLAlchemy would otherwise do this at every execution.
            text = str(query.compile(dialect=_by_position(dialect), compile_kwargs={"render_postcompile": True}))
            self._texts[dialect.name, count] = text
        return text


class PreparedListing:
    """A query whose values have names. Those that no run gives are constants of the query."""

    def __init__(self, query: sa.Select[Any]) -> None:
        self._query = query
        self._compiled: dict[str, tuple[str, Sequence[str], Mapping[str, Any]]] = {}

    def run(self, connection: sa.Connection, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Returns all rows. Errors: SQLAlchemy's own."""
        name = connection.dialect.name
        if name not in self._compiled:
            compiled = self._query.compile(dialect=_by_position(connection.dialect))
            self._compiled[name] = str(compiled), compiled.positiontup or [], compiled.params
        text, places, constants = self._compiled[name]
        return run_text(connection, text, [values[place] if place in values else constants[place] for place in places])


class PreparedChange:
    """A statement that changes rows, run for many rows at once.

    ``build`` makes the statement for the database of a connection. Its placeholders, or the columns of an INSERT, are ``names``, which each
    row has; the values of other placeholders are constants of the statement.
    """

    def __init__(self, build: Callable[[sa.Connection], sa.ClauseElement], names: Sequence[str]) -> None:
        self._build = build
        self._names = tuple(names)
        self._compiled: dict[str, tuple[str, Callable[[Mapping[str, Any]], Values]]] = {}

    def run(self, connection: sa.Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Runs the statement for each row. Errors: SQLAlchemy's own."""
        if not rows:
            return
        text, read = self._compiled.get(connection.dialect.name) or self._compile(connection)
        try:
            connection.connection.cursor().executemany(text, [read(row) for row in rows])
        except connection.dialect.loaded_dbapi.Error as error:
            raise _wrap(error, text, connection) from error

    def _compile(self, connection: sa.Connection) -> tuple[str, Callable[[Mapping[str, Any]], Values]]:
        compiled = cast("SQLCompiler", self._build(connection).compile(dialect=_by_position(connection.dialect), column_keys=self._names))
        places, constants = compiled.positiontup or [], compiled.params
        given = {name for name in places if name in self._names}

        def read(row: Mapping[str, Any]) -> Values:
            return [row[name] if name in given else constants[name] for name in places]

        # an itemgetter of one name returns no tuple
        prepared = str(compiled), itemgetter(*places) if given == set(places) and len(places) > 1 else read
        self._compiled[connection.dialect.name] = prepared
        return prepared


def _by_position(dialect: sa.Dialect) -> sa.Dialect:
    """Returns a dialect whose values are passed by position, the only way that both drivers support."""
    return cast("type[DefaultDialect]", type(dialect))(paramstyle="qmark" if dialect.name == "sqlite" else "format")


def run_text(connection: sa.Connection, text: str, values: Values = ()) -> list[tuple[Any, ...]]:
    """Runs SQL in the database's own dialect and returns all rows. Errors: SQLAlchemy's own."""
    try:
        cursor = connection.connection.cursor()
        cursor.execute(text, tuple(values))
        return cursor.fetchall()  # type: ignore[return-value]  # of rows in any sequence; both drivers give a list of tuples
    except connection.dialect.loaded_dbapi.Error as error:
        raise _wrap(error, text, connection) from error


def _wrap(error: Exception, text: str, connection: sa.Connection) -> BaseException:
    """Returns the error of a driver in SQLAlchemy's own form, from which ``translated`` reads the driver's code."""
    return sa.exc.DBAPIError.instance(text, None, error, connection.dialect.loaded_dbapi.Error)
