"""Finds the user and the role of a program's API token."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from feedmill.core.signin.accounts import account_key
from feedmill.model.errors import FeedmillError
from feedmill.model.identity import Subject
from feedmill.model.signin import SCOPE_ROLES, SEARCH_ONLY, ApiToken, TokenScope
from feedmill.model.userrole import UserRole
from feedmill.ports import Clock, Store, UnitOfWork
from feedmill.services.signin.proofs import digest_of_secret

TOUCH = timedelta(minutes=5)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenHolder:
    """The holder of a token. ``user`` is None if the token searches without a user; ``role`` is what it may do."""

    label: str
    user: Subject | None
    role: UserRole


class TokenCheck:
    """Checks tokens. May be used from several threads."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def find_token_holder(self, text: str) -> TokenHolder | None:
        """Returns the holder of a token; None for one that is unknown, has expired or is for pushing.

        A token whose user has no local account is of a user who signs in elsewhere: with an account its tokens are removed.
        """
        now = self._clock()
        with self._store.reading() as unit:
            token = find_token(unit, digest_of_secret(text), now)
            if token is None or TokenScope.PUSH in token.scopes:
                return None
            account = unit.signin.accounts.find(token.user.namespace, account_key(token.user)) if token.user is not None else None
        if token.user is not None and account is None and token.scopes != SEARCH_ONLY:
            return None
        # ``UserRole`` lists the roles in rising order.
        role = max((SCOPE_ROLES[scope] for scope in token.scopes), key=list(UserRole).index)
        # A token never permits more than its user may do now.
        if account is not None and not account.role.may_act_as(role):
            role = account.role
        touch_token(self._store, token, now)
        user = account.user if account is not None else token.user
        return TokenHolder(label=token.label, user=user if TokenScope.SEARCH in token.scopes else None, role=role)


def find_token(unit: UnitOfWork, digest: bytes, now: datetime) -> ApiToken | None:
    """Returns a token of any scope by the digest of its text; None for one that is unknown or has expired."""
    token = unit.signin.api_tokens.find(digest)
    return token if token is not None and (token.expires_at is None or token.expires_at > now) else None


def touch_token(store: Store, token: ApiToken, now: datetime) -> None:
    """Records that a token was used now, unless that was recorded less than ``TOUCH`` ago.

    If the store is busy, only this record is lost.
    """
    if token.used_at is not None and now - token.used_at < TOUCH:
        return
    try:
        with store.writing() as unit:
            unit.signin.api_tokens.touch(token.id, now)
    except FeedmillError as exc:
        log.warning("token_use_not_stored", token=token.id, reason=str(exc))
