"""Reads the rows of a query in the order of their keys, so that a reading can continue where an earlier one ended.

The query of the settings becomes a derived table: ``SELECT * FROM (...) WHERE key >= :last ORDER BY key``. The row at which the earlier
reading ended is read again, since keys that differ may be equal to the database. A query whose own order or number of rows means something
is left as it is, and so is one that the database refuses in this form.
"""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa

_OWN_ORDER: Final = re.compile(r"\b(?:order|limit|top|offset|fetch|rownum|into|for|call|exec)\b", re.IGNORECASE)
_ORDER: Final = re.compile(r"\border\b", re.IGNORECASE)
_SINCE: Final = re.compile(r":since\b")


def strip_order(query: str, columns: Sequence[str]) -> str | None:
    """Returns a query without its end and without an order by these columns, None if its order or its number of rows must stay."""
    text = query.strip().rstrip(";").rstrip()
    *_, order = (None, *_ORDER.finditer(text))
    if order is not None and _list_ordered(text[order.end() :]) == [column.casefold() for column in columns]:
        text = text[: order.start()].rstrip()
    if text[:6].casefold() != "select" or ":" in _SINCE.sub("", text.replace("::", "")) or _OWN_ORDER.search(text):
        return None
    return text


def _list_ordered(end: str) -> list[str]:
    """Returns the columns behind ``order``, as far as they are plain names in ascending order."""
    by, *rest = end.casefold().split() or [""]
    parts = [part.split() for part in " ".join(rest).split(",")]
    named = [words[0].rpartition(".")[2] for words in parts if len(words) == 1 or words[1:] == ["asc"]]
    return named if by == "by" and len(named) == len(parts) else []


class OrderedQuery:
    """A query whose rows are read in the order of some columns. Columns are found in any letter case.

    Shape: ``names`` are the columns of the query as the database calls them. Rows in which ``columns`` are equal are in the order of
    ``then``.
    """

    def __init__(self, dialect: sa.Dialect, query: str, names: Sequence[str], columns: Sequence[str], *, then: Sequence[str] = ()) -> None:
        found = {name.casefold(): name for name in reversed(names)}
        quote = dialect.identifier_preparer.quote
        self.columns = tuple(columns)
        self._quoted = [quote(found[column.casefold()]).replace(":", r"\:") for column in columns]
        self._order = ", ".join([*self._quoted, *(quote(found[column.casefold()]).replace(":", r"\:") for column in then)])
        self._query = query
        self._digest = sha256(json.dumps([query, columns]).encode()).hexdigest()[:16]

    def build(self, checkpoint: str) -> tuple[sa.TextClause, dict[str, object]]:
        """Returns the statement and its parameters that read from a checkpoint on."""
        last = self.find_last(checkpoint)
        parameters = {f"feedmill_{number}": value for number, value in enumerate(last or ())}
        where = f" WHERE {self._condition()}" if last is not None else ""
        return sa.text(f"{select_from(self._query)}{where} ORDER BY {self._order}"), parameters

    def build_empty(self) -> sa.TextClause:
        """Returns the statement in a form that finds no row, by which the database says whether it can read it."""
        return sa.text(f"{select_from(self._query)} WHERE 1 = 0 ORDER BY {self._order}")

    def _condition(self) -> str:
        """Returns the condition for rows that do not stand before the parameters: ``a > :a OR a = :a AND b >= :b``."""
        *_, end = enumerate(self._quoted)
        alternatives = []
        for number, name in enumerate(self._quoted):
            equal = [f"{self._quoted[earlier]} = :feedmill_{earlier}" for earlier in range(number)]
            alternatives.append(" AND ".join([*equal, f"{name} {'>=' if number == end[0] else '>'} :feedmill_{number}"]))
        return " OR ".join(f"({each})" for each in alternatives)

    def find_last(self, checkpoint: str) -> list[object] | None:
        """Returns the values at which an earlier reading of the same query ended, None if there was none."""
        digest, _, values = checkpoint.partition(" ")
        if digest != self._digest:
            return None
        return [_READ[kind](value) for kind, value in json.loads(values)]

    def write_checkpoint(self, values: Sequence[object]) -> str:
        """Returns where a reading ends that has read a row with these values, "" if it could not continue there."""
        written = [_write(value) for value in values]
        return "" if None in written else f"{self._digest} {json.dumps(written)}"


def select_from(query: str, columns: str = "*") -> str:
    """Returns the beginning of a statement that reads the rows of a query."""
    # the line ends before the bracket, because the query may end in a comment
    return f"SELECT {columns} FROM ({query}\n) feedmill_rows"  # noqa: S608  # the query is the operator's own


_READ: Final[Mapping[str, Callable[[Any], object]]] = {
    "int": int,
    "text": str,
    "decimal": Decimal,
    "date": date.fromisoformat,
    "uuid": UUID,
    "bytes": b64decode,
}


def _write(value: object) -> tuple[str, object] | None:
    """Returns a value with its type, None if a parameter might not be equal to the value in the database, as with binary fractions."""
    match value:
        case None | bool() | float() | datetime():
            return None
        case int():
            return "int", value
        case str():
            return "text", value
        case Decimal():
            return "decimal", str(value)
        case date():
            return "date", value.isoformat()
        case UUID():
            return "uuid", str(value)
        case bytes():
            return "bytes", b64encode(value).decode()
    return None
