"""Compares the schema of a database with the newest one of this release. It needs no Alembic, whose import is slow."""

from functools import cache
from importlib.resources import files

import sqlalchemy as sa

from feedmill.adapters.store.engine import SqlStore
from feedmill.adapters.store.translation import translated
from feedmill.model.errors import Conflict, Corrupt, NotFound

_VERSIONS = sa.table("alembic_version", sa.column("version_num"))


def check_revision(store: SqlStore) -> None:
    """Checks that commands of this release can read the database.

    Errors: NotFound without a schema, Conflict for one of an older release, Corrupt for one of a newer release.
    """
    revision = find_revision(store)
    if revision is None:
        raise NotFound("the store has no schema yet")
    if not knows_schema(revision):
        raise newer_revision(revision)
    if revision != _newest():
        raise Conflict(f"the store has schema {revision} of an older release; 'feedmill serve' of this release upgrades it when it starts")


def is_newest(store: SqlStore) -> bool:
    """Returns whether a database has the newest schema of this release."""
    return find_revision(store) == _newest()


def knows_schema(revision: str) -> bool:
    """Returns whether this program can open or upgrade a store of a schema."""
    return revision in _list_revisions()


def newer_revision(revision: str) -> Corrupt:
    """Returns the error for a database of a newer release."""
    return Corrupt(f"the store has schema {revision}, which this release does not know; start the newer release again")


def find_revision(store: SqlStore) -> str | None:
    """Returns the revision of a database, None if it has no schema."""
    with translated(), store.snapshot() as connection:
        if not sa.inspect(connection).has_table(_VERSIONS.name):
            return None
        return connection.execute(sa.select(_VERSIONS.c.version_num)).scalar()


def _newest() -> str:
    return _list_revisions()[-1]


@cache
def _list_revisions() -> list[str]:
    """Returns the numbers of all revisions in their order, with which the names of their files begin."""
    names = (file.name for file in (files("feedmill.adapters.store") / "migrations" / "versions").iterdir())
    return sorted(name.partition("_")[0] for name in names if name[:1].isdigit())
