"""All services of signing in, put together for one process."""

import secrets
from dataclasses import dataclass

import structlog

from feedmill.model.errors import FeedmillError
from feedmill.ports import Clock, Store
from feedmill.services.accounts import AccountKeeping, TokenKeeping
from feedmill.services.auditing import Auditing
from feedmill.services.facts import SIGNIN_KEY
from feedmill.services.handovers import Handovers
from feedmill.services.passwordcheck import PasswordCheck
from feedmill.services.provedpasswords import ProvedPasswords
from feedmill.services.sessions import Sessions
from feedmill.services.tokencheck import TokenCheck

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Signing:
    """What a process needs so that people and programs can sign in at it."""

    check: PasswordCheck
    proved: ProvedPasswords
    sessions: Sessions
    token_check: TokenCheck
    accounts: AccountKeeping
    tokens: TokenKeeping
    auditing: Auditing
    handovers: Handovers
    clock: Clock


def ensure_key(store: Store) -> bytes:
    """Gives the key by which this installation signs what it hands to browsers, making it when there is none.

    Where it cannot be kept (a full disk), a key for this process alone is better than no search.
    """
    try:
        return bytes.fromhex(_find_key(store) or _make_key(store))
    except FeedmillError as exc:
        _log.warning("signing key not kept", reason=str(exc))
        return secrets.token_bytes(32)


def _find_key(store: Store) -> str | None:
    with store.reading() as unit:
        return unit.facts.get(SIGNIN_KEY)


def _make_key(store: Store) -> str:
    with store.writing() as unit:
        held = unit.facts.get(SIGNIN_KEY)
        if held is None:
            held = secrets.token_hex(32)
            unit.facts.put(SIGNIN_KEY, held)
        return held
