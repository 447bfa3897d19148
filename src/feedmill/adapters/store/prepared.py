"""Queries that every search asks, made once and run on the driver's own cursor.

SQLAlchemy makes a query anew, looks for its compiled form and wraps each row at every execution, which takes ten times as long as the
database takes for a row that is found by its key. Rows come as the driver gives them: a column whose type the two drivers read
differently (SQLite has no booleans) is for the caller to convert.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.engine.default import DefaultDialect

Values = Sequence[Any]


class Prepared:
    """A query by how many values it takes, in one list. ``build`` makes it, given stand-ins for them."""

    def __init__(self, build: Callable[[list[None]], sa.Select[Any]]) -> None:
        self._build = build
        self._texts: dict[tuple[str, int], str] = {}

    def run(self, connection: sa.Connection, values: Values = ()) -> list[tuple[Any, ...]]:
        """Returns all rows. Errors: SQLAlchemy's own."""
        return run_text(connection, self._text(connection.dialect, len(values)), values)

    def _text(self, dialect: sa.Dialect, count: int) -> str:
        text = self._texts.get((dialect.name, count))
        if text is None:
            # values are given by place, which is the only way that both drivers know
            placing = cast("type[DefaultDialect]", type(dialect))(paramstyle="qmark" if dialect.name == "sqlite" else "format")
            query = self._build([None] * count)
            text = str(query.compile(dialect=placing, compile_kwargs={"render_postcompile": True}))
            self._texts[dialect.name, count] = text
        return text


def run_text(connection: sa.Connection, text: str, values: Values = ()) -> list[tuple[Any, ...]]:
    """Runs SQL of the database's own spelling and gives all rows. Errors: SQLAlchemy's own."""
    try:
        cursor = connection.connection.cursor()
        cursor.execute(text, tuple(values))
        return cursor.fetchall()  # type: ignore[return-value]  # of rows in any sequence; both drivers give a list of tuples
    except connection.dialect.loaded_dbapi.Error as error:
        raise sa.exc.DBAPIError.instance(text, None, error, connection.dialect.loaded_dbapi.Error) from error
