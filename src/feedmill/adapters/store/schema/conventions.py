"""The conventions of all tables: the names of indexes and keys, and the type of ids."""

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
"""The type of ids that the database assigns. SQLite takes no other type for them."""
