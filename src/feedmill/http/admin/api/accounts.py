"""Local users and tokens as JSON."""

from typing import Any

from feedmill.model.signin import Account, ApiToken, TokenScope
from feedmill.services.signin.accounts import NewToken


def render_account(account: Account) -> dict[str, Any]:
    """Returns a local user as JSON."""
    user = account.user
    return {
        "name": f"{user.domain}\\{user.name}" if user.domain else user.name,
        "namespace": user.namespace,
        "role": account.role.value,
        "created_at": account.created_at.isoformat(),
        "changed_at": account.changed_at.isoformat(),
    }


def render_token(token: ApiToken) -> dict[str, Any]:
    """Returns a token as JSON, without its text."""
    user = token.user
    return {
        "id": token.id,
        "label": token.label,
        "scopes": [scope.value for scope in TokenScope if scope in token.scopes],
        "user": None if user is None else (f"{user.domain}\\{user.name}" if user.domain else user.name),
        "namespace": user.namespace if user is not None else None,
        "datasources": sorted(token.datasources),
        "created_at": token.created_at.isoformat(),
        "expires_at": token.expires_at.isoformat() if token.expires_at is not None else None,
        "used_at": token.used_at.isoformat() if token.used_at is not None else None,
    }


def render_new_token(made: NewToken) -> dict[str, Any]:
    """Returns a new token as JSON, with its text, which no later response contains."""
    return {**render_token(made.token), "local_user": made.is_for_local_user, "token": made.text}
