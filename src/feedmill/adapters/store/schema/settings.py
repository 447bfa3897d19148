"""Single values, and what was set by API."""

import sqlalchemy as sa

from feedmill.adapters.store.schema.conventions import metadata

facts = sa.Table(
    "facts",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

# What was set by API and wins over the file: an entry of a section, as JSON; the version counts its changes.
kept_settings = sa.Table(
    "kept_settings",
    metadata,
    sa.Column("section", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
)
