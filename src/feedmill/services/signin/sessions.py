"""Manages sessions, which a browser's cookie stands for.

- The cookie holds a random text, the store only its digest. A text that the store does not know opens nothing, so an attacker cannot
  choose the text of a session. Each sign-in creates a new text and ends the old one.
- A session ends after a time without use, and in any case some hours after it began.
- A local user's credential counts only while the account is unchanged since the password was checked. A new password, another role or the
  removal of the account takes it out of all sessions.
- A credential ends with the provider's own session, if the provider states when that is.
- Sessions are stored with digests of their users' names, so that others can end them: their user, an
  administrator, or a provider.
"""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog

from feedmill.core.signin.sessiondigests import digests_of
from feedmill.model.errors import FeedmillError
from feedmill.model.signin import Credential, Session
from feedmill.ports import Clock, Store, UnitOfWork
from feedmill.services.signin.proofs import digest_of_secret, is_account_as_it_was

TOUCH_SECONDS = 60.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLimits:
    """The lifetime of a session: without use, and in total."""

    idle: timedelta = timedelta(hours=1)
    whole: timedelta = timedelta(hours=12)


class SessionService:
    """The sessions of one store. May be used from several threads."""

    def __init__(self, store: Store, clock: Clock, limits: SessionLimits) -> None:
        self._store = store
        self._clock = clock
        self._limits = limits

    def find(self, text: str) -> Session | None:
        """Returns the session of a cookie, with the credentials that still count; None if there is no session or no credential counts."""
        now = self._clock()
        with self._store.reading() as unit:
            session = self._find_counting(unit, text, now)
        if session is not None and now - session.seen_at >= timedelta(seconds=TOUCH_SECONDS):
            self._touch(session.digest, now)
        return session

    def begin(self, text: str, verified: Sequence[Credential]) -> str:
        """Begins a session that replaces that of ``text``, and returns the new cookie's text.

        The new session takes over the credentials of other namespaces.
        """
        now = self._clock()
        # A new value at each sign-in: an attacker who planted the earlier cookie must not share the session (session fixation).
        fresh = secrets.token_urlsafe(32)
        with self._store.writing() as unit:
            earlier = self._find_counting(unit, text, now) if text else None
            combined = {each.user.namespace: each for each in (*(earlier.credentials if earlier else ()), *verified)}
            unit.signin.sessions.remove_expired(now)
            unit.signin.one_time_values.remove_expired(now)
            if text:
                unit.signin.sessions.remove(digest_of_secret(text))
            session = Session(
                digest=digest_of_secret(fresh),
                credentials=tuple(combined.values()),
                created_at=now,
                seen_at=now,
                expires_at=earlier.expires_at if earlier is not None else now + self._limits.whole,
            )
            unit.signin.sessions.save(session)
        return fresh

    def end(self, text: str) -> None:
        """Ends a session."""
        with self._store.writing() as unit:
            unit.signin.sessions.remove(digest_of_secret(text))

    def withdraw(self, withdrawn: Iterable[bytes]) -> int:
        """Removes the credentials that have one of the digests from all sessions. Returns the number of these sessions.

        A session without any credential left ends.
        """
        gone = frozenset(withdrawn)
        with self._store.writing() as unit:
            digests = {found for digest in gone for found in unit.signin.sessions.list_by_name_digest(digest)}
            for digest in digests:
                session = unit.signin.sessions.find(digest)
                left = tuple(each for each in session.credentials if not gone & digests_of(each)) if session is not None else ()
                if session is not None and left:
                    unit.signin.sessions.save(replace(session, credentials=left))
                else:
                    unit.signin.sessions.remove(digest)
        return len(digests)

    def _find_counting(self, unit: UnitOfWork, text: str, now: datetime) -> Session | None:
        session = unit.signin.sessions.find(digest_of_secret(text))
        if session is None or session.expires_at <= now or now - session.seen_at >= self._limits.idle:
            return None
        counted = tuple(each for each in session.credentials if _still_counts(unit, each, now))
        return replace(session, credentials=counted) if counted else None

    def _touch(self, digest: bytes, now: datetime) -> None:
        try:
            with self._store.writing() as unit:
                # read again, so that a credential withdrawn meanwhile is not restored
                session = unit.signin.sessions.find(digest)
                if session is not None:
                    unit.signin.sessions.save(replace(session, seen_at=now))
        except FeedmillError as exc:
            # the request continues; the session only ends earlier
            log.warning("session_not_stored", reason=str(exc))


def _still_counts(unit: UnitOfWork, credential: Credential, now: datetime) -> bool:
    ends_at = credential.session.ends_at if credential.session is not None else None
    if ends_at is not None and now >= ends_at:
        return False
    return is_account_as_it_was(unit, credential)
