"""The tables of processing: failed steps by document, items that ended the process that worked on them, and the progress of queues."""

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


# when a queue last made progress and why it does not; its waiting items are in the tables of feeds and index tasks
queues = sa.Table(
    "queues",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("begun_at", sa.BigInteger),
    sa.Column("moved_at", sa.BigInteger),
    sa.Column("reached", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("document", sa.Text),
    sa.Column("reason", sa.Text),
)
