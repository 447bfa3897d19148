"""How the queues move."""

import sqlalchemy as sa

from feedmill.adapters.store.schema.conventions import metadata

# When a queue last moved and why it does not; what waits in it stands in the tables of feeds and marks.
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
