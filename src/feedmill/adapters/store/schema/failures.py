"""The tables of failed steps by document, and of items that ended the process that worked on them."""

import sqlalchemy as sa

from feedmill.adapters.store.schema.conventions import ID, metadata

document_failures = sa.Table(
    "document_failures",
    metadata,
    sa.Column("document_id", ID, primary_key=True, autoincrement=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("step", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("program", sa.Text, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("is_found", sa.Boolean(create_constraint=False), nullable=False),
)

interruptions = sa.Table(
    "interruptions",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("count", sa.Integer, nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
)
