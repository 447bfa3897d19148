"""Whether an index task writes a version that the index already has."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Brings the schema to this revision."""
    op.add_column("marks", sa.Column("repeats", sa.Boolean(create_constraint=False), server_default=sa.false(), nullable=False))
