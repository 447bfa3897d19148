"""Caches for a while what authorization servers decided about documents, each for one user, up to a number of entries.

The key of an entry is a keyed digest of the user and the URL, so an entry takes the same memory however long names and URLs are.
"""

import secrets
import threading
from collections.abc import Callable
from hashlib import blake2b

from cachetools import TTLCache

from feedmill.model.decision import Verdict
from feedmill.model.identity import Identity, Subject


class AuthorizationCache:
    """Caches permits and denials, never INDETERMINATE.

    May be used from several threads. Units: ``clock`` counts seconds from any origin.
    """

    def __init__(self, clock: Callable[[], float], *, seconds: float, entries: int) -> None:
        self._key = secrets.token_bytes(32)
        self._is_off = seconds <= 0 or entries <= 0
        self._verdicts: TTLCache[bytes, Verdict] = TTLCache(max(entries, 0), max(seconds, 0.0), timer=clock)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        with self._lock:
            return len(self._verdicts)

    def find_verdict(self, current_user: Identity, url: str) -> Verdict | None:
        """Returns the cached decision, None if there is none or it has expired."""
        digest = self._digest(current_user, url)
        with self._lock:
            return self._verdicts.get(digest)

    def put(self, current_user: Identity, url: str, verdict: Verdict) -> None:
        """Stores a decision. Removes expired and then the least recently used entries if there are too many."""
        if verdict is Verdict.INDETERMINATE or self._is_off:
            return
        digest = self._digest(current_user, url)
        with self._lock:
            self._verdicts[digest] = verdict

    def _digest(self, current_user: Identity, url: str) -> bytes:
        parts = [
            url,
            str(len(current_user.users)),
            *(part for each in (*current_user.users, *current_user.groups) for part in _parts(each)),
        ]
        text = "".join(f"{len(part)}:{part}" for part in parts)
        return blake2b(text.encode("utf-8", "surrogatepass"), key=self._key, digest_size=20).digest()


def _parts(subject: Subject) -> tuple[str, ...]:
    return subject.scope.value, subject.namespace, subject.domain, subject.name
