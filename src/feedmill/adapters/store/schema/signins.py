"""The tables of signing in."""

import sqlalchemy as sa

from feedmill.adapters.store.schema.conventions import ID, metadata

# Passwords are stored as argon2 hashes, the values of cookies and tokens as SHA-256. Credentials are one JSON text.
accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("namespace", sa.Text, primary_key=True),
    sa.Column("account_key", sa.Text, primary_key=True, index=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("domain", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("password_hash", sa.Text, nullable=False),
    sa.Column("epoch", sa.BigInteger, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("changed_at", sa.BigInteger, nullable=False),
)

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    sa.Column("credentials", sa.Text, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("seen_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False, index=True),
)

# the digests of the user and of the provider's names by which a session is found
session_digests = sa.Table(
    "session_digests",
    metadata,
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    sa.Column("session_digest", sa.LargeBinary, primary_key=True, index=True),
)

api_tokens = sa.Table(
    "api_tokens",
    metadata,
    sa.Column("id", ID, primary_key=True, autoincrement=True),
    sa.Column("digest", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("scopes", sa.Text, nullable=False),
    sa.Column("namespace", sa.Text),
    sa.Column("account_key", sa.Text),
    sa.Column("name", sa.Text),
    sa.Column("domain", sa.Text),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger),
    sa.Column("used_at", sa.BigInteger),
    sa.Column("datasources", sa.Text),
)

one_time_values = sa.Table(
    "one_time_values",
    metadata,
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False, index=True),
)
