"""The data sources to which a token may push."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Brings the schema to this revision."""
    op.add_column("api_tokens", sa.Column("datasources", sa.Text()))
