"""Frequent queries of searches, compiled once and run on the driver's own cursor.

At every execution SQLAlchemy builds a query again, looks for its compiled form and wraps each row. That takes ten times as long as the
database takes for a row that it finds by its key. Rows come as the driver returns them. If the two drivers read a column's type
differently (SQLite has no booleans), the caller converts it.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.engine.default import DefaultDialect

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
            # values are passed by position, the only way that both drivers support
            placing = cast("type[DefaultDialect]", type(dialect))(paramstyle="qmark" if dialect.name == "sqlite" else "format")
            query = self._build([None] * count)
            # Expands ``IN`` to one placeholder for each value now. SQLAlchemy would otherwise do this at every execution.
            text = str(query.compile(dialect=placing, compile_kwargs={"render_postcompile": True}))
            self._texts[dialect.name, count] = text
        return text


def run_text(connection: sa.Connection, text: str, values: Values = ()) -> list[tuple[Any, ...]]:
    """Runs SQL in the database's own dialect and returns all rows. Errors: SQLAlchemy's own."""
    try:
        cursor = connection.connection.cursor()
        cursor.execute(text, tuple(values))
        return cursor.fetchall()  # type: ignore[return-value]  # of rows in any sequence; both drivers give a list of tuples
    except connection.dialect.loaded_dbapi.Error as error:
        # In SQLAlchemy's own form, from which ``translated`` reads the driver's code.
        raise sa.exc.DBAPIError.instance(text, None, error, connection.dialect.loaded_dbapi.Error) from error
