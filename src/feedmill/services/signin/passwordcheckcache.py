"""Caches for a while the credentials of programs that use HTTP Basic, since they send the password with every request.

The key of an entry is a keyed digest, never the password, and the digest key exists only in this process. A local user's account is read
on each request, so a changed account counts at once. A directory's credential is valid for a few minutes. Concurrent requests with the
same password wait for one check. While attempts are refused the cache is not used, or a guesser would learn which guess is right.
"""

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b

from cachetools import TTLCache

from feedmill.model.signin import LOCAL, Credential
from feedmill.ports import Store
from feedmill.services.signin.passwordcheck import Attempt, Outcome, PasswordCheck
from feedmill.services.signin.proofs import is_account_as_it_was

CACHE_SECONDS = 300.0
MAX_ENTRIES = 1_000


@dataclass(slots=True)
class _Flight:
    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: int = 0


class PasswordCheckCache:
    """A cache in front of a ``PasswordCheck``. May be used from several threads. Units: ``clock`` counts seconds from any origin."""

    def __init__(self, check: PasswordCheck, store: Store, clock: Callable[[], float]) -> None:
        self._check = check
        self._store = store
        self._key = secrets.token_bytes(32)
        self._credentials: TTLCache[bytes, tuple[Credential, ...]] = TTLCache(MAX_ENTRIES, CACHE_SECONDS, timer=clock)
        # cachetools has no single flight for a result that may not be cached, as that of a wrong password
        self._flights: dict[bytes, _Flight] = {}
        self._lock = threading.Lock()

    def check_attempt(self, attempt: Attempt) -> Outcome:
        """Returns the credentials that an attempt verifies, as ``PasswordCheck.check_attempt`` does. Errors: Busy."""
        digest = self._digest(attempt)
        known = self._find_cached(digest, attempt)
        if known is not None:
            return known
        with self._lock:
            flight = self._flights.setdefault(digest, _Flight())
            flight.waiting += 1
        try:
            # Lock order: ``flight.lock``, then ``_lock``. The first request checks the password, the others find its result in the cache.
            with flight.lock:
                return self._find_cached(digest, attempt) or self._ask(digest, attempt)
        finally:
            with self._lock:
                flight.waiting -= 1
                if not flight.waiting:
                    self._flights.pop(digest, None)

    def _ask(self, digest: bytes, attempt: Attempt) -> Outcome:
        outcome = self._check.check_attempt(attempt)
        if outcome.credentials:
            with self._lock:
                self._credentials[digest] = outcome.credentials
        return outcome

    def _find_cached(self, digest: bytes, attempt: Attempt) -> Outcome | None:
        with self._lock:
            credentials = self._credentials.get(digest)
        if credentials is None or self._check.is_refused(attempt) or not self._still_count(credentials):
            return None
        return Outcome(credentials=credentials)

    def _still_count(self, credentials: tuple[Credential, ...]) -> bool:
        if all(credential.provider != LOCAL for credential in credentials):
            return True
        with self._store.reading() as unit:
            return all(is_account_as_it_was(unit, credential) for credential in credentials)

    def _digest(self, attempt: Attempt) -> bytes:
        # The length separates name and password, so that no other pair has the same text.
        text = f"{len(attempt.name)}:{attempt.name}{attempt.password}"
        return blake2b(text.encode("utf-8", "surrogatepass"), key=self._key, digest_size=32).digest()
