"""Upgrades a database to the newest schema. Only the parent process runs it, before any other process opens the store."""

from importlib.resources import files

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from feedmill.adapters.store.engine import SqlStore
from feedmill.adapters.store.revision import find_revision, knows_schema, newer_revision
from feedmill.adapters.store.schema import metadata
from feedmill.adapters.store.translation import translated


def make_config() -> Config:
    """Returns the configuration of Alembic for the migrations of this program."""
    config = Config()
    config.set_main_option("script_location", str(files("feedmill.adapters.store") / "migrations"))
    return config


def migrate(store: SqlStore) -> str:
    """Upgrades the schema and returns its revision. Errors: Corrupt for a database of a newer release."""
    config = make_config()
    current = find_revision(store)
    if current is not None and not knows_schema(current):
        raise newer_revision(current)
    config.attributes["engine"] = store.writer
    with translated():
        command.upgrade(config, "head")
    return str(ScriptDirectory.from_config(config).get_current_head())


def schema_differences(store: SqlStore) -> list[str]:
    """Lists the differences between a migrated database and ``schema``; empty if the migrations add up to it."""
    with store.writer.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return [str(difference) for difference in compare_metadata(context, metadata)]
