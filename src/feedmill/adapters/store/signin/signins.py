"""Local users, sessions, API tokens and values for one use, in SQL."""

from datetime import datetime

import sqlalchemy as sa

from feedmill.adapters.store.prepared import PreparedQuery
from feedmill.adapters.store.schema import accounts, api_tokens, one_time_values, session_digests, sessions
from feedmill.adapters.store.signin import rows as rows
from feedmill.adapters.store.statements import insert, upsert
from feedmill.adapters.store.values import to_micros
from feedmill.core.signin.sessiondigests import digests_of
from feedmill.model.signin import Account, ApiToken, Session

_SESSION = tuple(column.name for column in sessions.columns)
_SESSIONS = PreparedQuery(lambda digests: sa.select(*sessions.columns).where(sessions.c.digest.in_(digests)))


class SqlAccounts:
    """Implements ``ports.signin.Accounts``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def find(self, namespace: str, key: str) -> Account | None:
        """Finds an account."""
        query = sa.select(accounts).where(accounts.c.namespace == namespace, accounts.c.account_key == key)
        row = self._connection.execute(query).mappings().one_or_none()
        return rows.account_from_row(row) if row is not None else None

    def find_everywhere(self, key: str) -> list[Account]:
        """Finds the accounts of a key in all namespaces."""
        query = sa.select(accounts).where(accounts.c.account_key == key).order_by(accounts.c.namespace)
        return [rows.account_from_row(row) for row in self._connection.execute(query).mappings()]

    def list_all(self) -> list[Account]:
        """Lists all accounts."""
        query = sa.select(accounts).order_by(accounts.c.namespace, accounts.c.account_key)
        return [rows.account_from_row(row) for row in self._connection.execute(query).mappings()]

    def list_namespaces(self) -> list[str]:
        """Lists the namespaces that have accounts."""
        return list(self._connection.execute(sa.select(accounts.c.namespace).distinct().order_by(accounts.c.namespace)).scalars())

    def save(self, account: Account) -> None:
        """Inserts an account or replaces it."""
        row = rows.account_to_row(account)
        self._connection.execute(upsert(self._connection, accounts, ("namespace", "account_key"), keep=("created_at",)), row)

    def remove(self, namespace: str, key: str) -> bool:
        """Removes an account with its tokens."""
        tokens = sa.delete(api_tokens).where(api_tokens.c.namespace == namespace, api_tokens.c.account_key == key)
        self._connection.execute(tokens)
        removing = sa.delete(accounts).where(accounts.c.namespace == namespace, accounts.c.account_key == key)
        return self._connection.execute(removing).rowcount > 0


class SqlSessions:
    """Implements ``ports.signin.Sessions``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def find(self, digest: bytes) -> Session | None:
        """Finds a session."""
        found = _SESSIONS.run(self._connection, [digest])
        return rows.session_from_row(dict(zip(_SESSION, found[0], strict=True))) if found else None

    def save(self, session: Session) -> None:
        """Inserts a session or replaces it."""
        self._connection.execute(upsert(self._connection, sessions, ("digest",)), rows.session_to_row(session))
        self._remove_digests(session.digest)
        digests = sorted({digest for credential in session.credentials for digest in digests_of(credential)})
        if digests:
            self._connection.execute(
                sa.insert(session_digests), [{"digest": digest, "session_digest": session.digest} for digest in digests]
            )

    def list_by_name_digest(self, digest: bytes) -> list[bytes]:
        """Lists the sessions of a user, by the digest of one of their names."""
        query = sa.select(session_digests.c.session_digest).where(session_digests.c.digest == digest)
        query = query.order_by(session_digests.c.session_digest)
        return list(self._connection.execute(query).scalars())

    def remove(self, digest: bytes) -> None:
        """Ends a session."""
        self._connection.execute(sa.delete(sessions).where(sessions.c.digest == digest))
        self._remove_digests(digest)

    def remove_expired(self, now: datetime) -> int:
        """Removes expired sessions."""
        # The digests are removed first, because only their session says whether they have expired.
        is_over = sessions.c.expires_at <= to_micros(now)
        self._connection.execute(
            sa.delete(session_digests).where(session_digests.c.session_digest.in_(sa.select(sessions.c.digest).where(is_over)))
        )
        return self._connection.execute(sa.delete(sessions).where(is_over)).rowcount

    def _remove_digests(self, digest: bytes) -> None:
        self._connection.execute(sa.delete(session_digests).where(session_digests.c.session_digest == digest))


class SqlApiTokens:
    """Implements ``ports.signin.ApiTokens``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def find(self, digest: bytes) -> ApiToken | None:
        """Finds a token."""
        row = self._connection.execute(sa.select(api_tokens).where(api_tokens.c.digest == digest)).mappings().one_or_none()
        return rows.token_from_row(row) if row is not None else None

    def list_all(self) -> list[ApiToken]:
        """Lists all tokens."""
        query = sa.select(api_tokens).order_by(api_tokens.c.id)
        return [rows.token_from_row(row) for row in self._connection.execute(query).mappings()]

    def add(self, token: ApiToken) -> int:
        """Stores a token."""
        adding = sa.insert(api_tokens).values(rows.token_to_row(token)).returning(api_tokens.c.id)
        return int(self._connection.execute(adding).scalar_one())

    def remove(self, token_id: int) -> bool:
        """Removes a token."""
        return self._connection.execute(sa.delete(api_tokens).where(api_tokens.c.id == token_id)).rowcount > 0

    def touch(self, token_id: int, at: datetime) -> None:
        """Stores when a token was last used."""
        self._connection.execute(sa.update(api_tokens).where(api_tokens.c.id == token_id).values(used_at=to_micros(at)))


class SqlOneTimeValues:
    """Implements ``ports.signin.OneTimeValues``."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def put(self, digest: bytes, value: str, expires_at: datetime) -> bool:
        """Stores a value if the digest is free."""
        adding = insert(self._connection, one_time_values).values(digest=digest, value=value, expires_at=to_micros(expires_at))
        added = adding.on_conflict_do_nothing(index_elements=["digest"]).returning(one_time_values.c.digest)
        return self._connection.execute(added).one_or_none() is not None

    def take(self, digest: bytes, now: datetime) -> str | None:
        """Returns a value and removes it."""
        # One statement, so that of two requests with the same value only one gets it.
        taking = (
            sa.delete(one_time_values)
            .where(one_time_values.c.digest == digest)
            .returning(one_time_values.c.value, one_time_values.c.expires_at)
        )
        row = self._connection.execute(taking).one_or_none()
        return row.value if row is not None and row.expires_at > to_micros(now) else None

    def remove_expired(self, now: datetime) -> int:
        """Removes expired values."""
        return self._connection.execute(sa.delete(one_time_values).where(one_time_values.c.expires_at <= to_micros(now))).rowcount
