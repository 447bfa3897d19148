"""Groups the sign-in services of one process, and creates the secrets of the installation."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from feedmill.model.errors import FeedmillError
from feedmill.ports import Clock, Store
from feedmill.services.auditing import Auditing
from feedmill.services.keyvalues import SIGNIN_KEY
from feedmill.services.signin.accounts import AccountService, TokenService
from feedmill.services.signin.onetimecodes import OneTimeCodes
from feedmill.services.signin.passwordcheck import PasswordCheck
from feedmill.services.signin.passwordcheckcache import PasswordCheckCache
from feedmill.services.signin.sessions import SessionService
from feedmill.services.signin.tokencheck import TokenCheck

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInServices:
    """The services with which users and programs sign in to a process."""

    check: PasswordCheck
    password_check_cache: PasswordCheckCache
    sessions: SessionService
    token_check: TokenCheck
    accounts: AccountService
    tokens: TokenService
    auditing: Auditing
    one_time_codes: OneTimeCodes
    clock: Clock


def ensure_key(store: Store) -> bytes:
    """Returns the key that signs what this installation sends to browsers. Creates it if there is none."""
    return bytes.fromhex(ensure_secret(store, SIGNIN_KEY, lambda: secrets.token_hex(32)))


def ensure_secret(store: Store, name: str, make: Callable[[], str]) -> str:
    """Returns a secret of this installation, and creates it if there is none.

    If the secret cannot be stored (a full disk), one for this process alone is better than no search.
    """
    made = ""
    try:
        held = _find_secret(store, name)
        if held is not None:
            return held
        made = make()
        return _store_secret(store, name, made)
    except FeedmillError as exc:
        log.warning("secret_not_stored", name=name, reason=str(exc))
        return made or make()


def _find_secret(store: Store, name: str) -> str | None:
    with store.reading() as unit:
        return unit.state.key_values.get(name)


def _store_secret(store: Store, name: str, made: str) -> str:
    """Stores a new secret and returns the stored one: another process may have been first."""
    with store.writing() as unit:
        held = unit.state.key_values.get(name)
        if held is None:
            unit.state.key_values.put(name, made)
        return held if held is not None else made
