"""The format of each feed's bytes."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Brings the schema to this revision."""
    op.add_column("feeds", sa.Column("format", sa.Text(), server_default="", nullable=False))
    op.execute("UPDATE feeds SET format = 'gsafeed' WHERE kind IN ('full', 'incremental', 'metadata-and-url')")
    op.execute("UPDATE feeds SET format = 'gsagroups' WHERE kind IN ('groups-full', 'groups-incremental')")
