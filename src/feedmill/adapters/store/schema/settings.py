"""The tables of single values and of settings that the admin API stored."""

import sqlalchemy as sa

from feedmill.adapters.store.schema.conventions import metadata

key_values = sa.Table(
    "key_values",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

# settings that the admin API stored and that win over the file: an entry of a section, as JSON; the version counts its changes
stored_settings = sa.Table(
    "stored_settings",
    metadata,
    sa.Column("section", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
)
