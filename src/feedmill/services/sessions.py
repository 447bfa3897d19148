"""Keeps sessions: what a browser's cookie stands for.

- The cookie holds a random text, the store its digest alone. A text that the store does not know opens nothing, so nobody can have a
  session of his choosing; each sign-in gives a new text and ends the old one.
- A session ends when it was not used for a time, and in any case some hours after it began.
- A local user's credential counts only while the account is as it was when the password was checked: a new password, another role or the
  account's end takes it out of all sessions.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256

import structlog

from feedmill.core.accounts import account_key
from feedmill.model.errors import FeedmillError
from feedmill.model.signin import LOCAL, Credential, Session
from feedmill.ports import Clock, Store, UnitOfWork

TOUCH_SECONDS = 60.0

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLimits:
    """How long a session lives unused, and at all."""

    idle: timedelta = timedelta(hours=1)
    whole: timedelta = timedelta(hours=12)


def digest_of(text: str) -> bytes:
    """Gives what the store keeps of a secret text."""
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


class Sessions:
    """The sessions of one store. May be used from several threads."""

    def __init__(self, store: Store, clock: Clock, limits: SessionLimits) -> None:
        self._store = store
        self._clock = clock
        self._limits = limits

    def find(self, text: str) -> Session | None:
        """Finds the session of a cookie, with the credentials that still count; None where there is none, or none of them does."""
        digest = digest_of(text)
        now = self._clock()
        with self._store.reading() as unit:
            session = unit.sessions.find(digest)
            if session is None or self._has_ended(session, now):
                return None
            counted = tuple(each for each in session.credentials if _still_counts(unit, each))
        if not counted:
            return None
        session = replace(session, credentials=counted)
        if now - session.seen_at >= timedelta(seconds=TOUCH_SECONDS):
            self._touch(replace(session, seen_at=now))
        return session

    def begin(self, text: str, proved: Sequence[Credential]) -> str:
        """Begins a session in place of that of ``text``, whose other namespaces it takes over, and gives the new cookie's text."""
        earlier = self.find(text) if text else None
        kept = {each.user.namespace: each for each in (*(earlier.credentials if earlier else ()), *proved)}
        now = self._clock()
        fresh = secrets.token_urlsafe(32)
        session = Session(
            digest=digest_of(fresh),
            credentials=tuple(kept.values()),
            created_at=now,
            seen_at=now,
            expires_at=earlier.expires_at if earlier is not None else now + self._limits.whole,
        )
        with self._store.writing() as unit:
            unit.sessions.remove_expired(now)
            unit.one_times.remove_expired(now)
            if text:
                unit.sessions.remove(digest_of(text))
            unit.sessions.save(session)
        return fresh

    def end(self, text: str) -> None:
        """Ends a session."""
        with self._store.writing() as unit:
            unit.sessions.remove(digest_of(text))

    def _has_ended(self, session: Session, now: datetime) -> bool:
        return session.expires_at <= now or now - session.seen_at >= self._limits.idle

    def _touch(self, session: Session) -> None:
        try:
            with self._store.writing() as unit:
                if unit.sessions.find(session.digest) is not None:
                    unit.sessions.save(session)
        except FeedmillError as exc:
            # the request goes on; the session only ends earlier
            _log.warning("session not kept", reason=str(exc))


def _still_counts(unit: UnitOfWork, credential: Credential) -> bool:
    if credential.provider != LOCAL:
        return True
    account = unit.accounts.find(credential.user.namespace, account_key(credential.user))
    return account is not None and account.epoch == credential.epoch
