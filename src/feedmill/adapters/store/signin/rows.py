"""Converts rows of local users, sessions and tokens to model objects and back."""

from collections.abc import Mapping
from typing import Any

from feedmill.adapters.store.rows import Row
from feedmill.adapters.store.values import from_micros, plain, to_micros
from feedmill.core.signin.accounts import account_key
from feedmill.core.signin.credentialtext import read_credentials, write_credentials
from feedmill.model.access import Scope
from feedmill.model.identity import Subject
from feedmill.model.signin import Account, ApiToken, Session, TokenScope
from feedmill.model.userrole import UserRole


def account_from_row(row: Row) -> Account:
    """Returns the account of a row."""
    return Account(
        user=Subject(scope=Scope.USER, name=row["name"], domain=row["domain"], namespace=row["namespace"]),
        role=UserRole(row["role"]),
        password_hash=row["password_hash"],
        epoch=row["epoch"],
        created_at=from_micros(row["created_at"]),
        changed_at=from_micros(row["changed_at"]),
    )


def account_to_row(account: Account) -> dict[str, Any]:
    """Returns the row of an account."""
    return {
        "namespace": account.user.namespace,
        "account_key": account_key(account.user),
        "name": account.user.name,
        "domain": account.user.domain,
        "role": account.role.value,
        "password_hash": account.password_hash,
        "epoch": account.epoch,
        "created_at": to_micros(account.created_at),
        "changed_at": to_micros(account.changed_at),
    }


def session_from_row(row: Mapping[str, Any]) -> Session:
    """Returns the session of a row. Errors: Corrupt."""
    return Session(
        digest=row["digest"],
        credentials=read_credentials(row["credentials"]),
        created_at=from_micros(row["created_at"]),
        seen_at=from_micros(row["seen_at"]),
        expires_at=from_micros(row["expires_at"]),
    )


def session_to_row(session: Session) -> dict[str, Any]:
    """Returns the row of a session."""
    return {
        "digest": session.digest,
        "credentials": write_credentials(session.credentials),
        "created_at": to_micros(session.created_at),
        "seen_at": to_micros(session.seen_at),
        "expires_at": to_micros(session.expires_at),
    }


def token_from_row(row: Row) -> ApiToken:
    """Returns the token of a row."""
    user = None
    if row["namespace"] is not None:
        user = Subject(scope=Scope.USER, name=row["name"], domain=row["domain"], namespace=row["namespace"])
    return ApiToken(
        id=row["id"],
        label=row["label"],
        digest=row["digest"],
        scopes=frozenset(TokenScope(word) for word in row["scopes"].split()),
        created_at=from_micros(row["created_at"]),
        expires_at=from_micros(row["expires_at"]),
        used_at=from_micros(row["used_at"]),
        user=user,
        datasources=frozenset((row["datasources"] or "").split()),
    )


def token_to_row(token: ApiToken) -> dict[str, Any]:
    """Returns the row of a token, without its id."""
    user = token.user
    return {
        "digest": token.digest,
        "label": plain(token.label),
        "scopes": " ".join(sorted(scope.value for scope in token.scopes)),
        "namespace": user.namespace if user else None,
        "account_key": account_key(user) if user else None,
        "name": user.name if user else None,
        "domain": user.domain if user else None,
        "created_at": to_micros(token.created_at),
        "expires_at": to_micros(token.expires_at),
        "used_at": to_micros(token.used_at),
        "datasources": " ".join(sorted(token.datasources)) or None,
    }
