"""Statements that are compiled once, on each database."""

import pytest
import sqlalchemy as sa

from feedmill.adapters.store.engine import SqlStore
from feedmill.adapters.store.prepared import PreparedChange, PreparedQuery
from feedmill.adapters.store.schema import key_values
from feedmill.adapters.store.statements import upsert

PUT = PreparedChange(lambda connection: upsert(connection, key_values, ["name"]), ("name", "value"))
ADD = PreparedChange(lambda _: sa.insert(key_values), ("name", "value"))
REMOVE = PreparedChange(lambda _: sa.delete(key_values).where(key_values.c.name == sa.bindparam("name_")), ("name_",))
MARK = PreparedChange(
    lambda _: sa.update(key_values).where(key_values.c.name == sa.bindparam("name_")).values(value=key_values.c.value + "!"), ("name_",)
)
VALUES = PreparedQuery(lambda names: sa.select(key_values.c.name, key_values.c.value).where(key_values.c.name.in_(names)))


def test_change_is_made_for_each_row(store: SqlStore) -> None:
    with store.writer.begin() as connection:
        PUT.run(connection, [])
        PUT.run(connection, [{"name": "a", "value": "1"}, {"value": "2", "name": "b", "other": "ignored"}])
        PUT.run(connection, [{"name": "a", "value": "ü\N{PILE OF POO}"}])
        REMOVE.run(connection, [{"name_": "b"}, {"name_": "unknown"}])
        MARK.run(connection, [{"name_": "a"}])
        assert VALUES.run(connection, ["a", "b"]) == [("a", "ü\N{PILE OF POO}!")]


def test_change_belongs_to_the_transaction(store: SqlStore) -> None:
    with store.writer.connect() as connection, connection.begin() as transaction:
        ADD.run(connection, [{"name": "a", "value": "1"}])
        transaction.rollback()
    with store.writer.begin() as connection:
        assert VALUES.run(connection, ["a"]) == []


def test_error_of_a_change_is_that_of_sqlalchemy(store: SqlStore) -> None:
    with pytest.raises(sa.exc.IntegrityError), store.writer.begin() as connection:
        ADD.run(connection, [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}])
