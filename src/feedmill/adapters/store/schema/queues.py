"""The table of the queues' progress."""

import sqlalchemy as sa

from feedmill.adapters.store.schema.conventions import metadata

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
