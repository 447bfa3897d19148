"""Caches for a while what authorization servers decided about documents, each for one user, up to a number of entries.

The key of an entry is a keyed digest of the user and the URL, so an entry takes the same memory however long names and URLs are.
"""

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b

from feedmill.model.decision import Verdict
from feedmill.model.identity import Identity, Subject


class AuthorizationCache:
    """Caches permits and denials, never INDETERMINATE.

    May be used from several threads. Units: ``clock`` counts seconds from any origin.
    """

    def __init__(self, clock: Callable[[], float], *, seconds: float, entries: int) -> None:
        self._clock = clock
        self._seconds = seconds
        self._entries = entries
        self._key = secrets.token_bytes(32)
        self._kept: OrderedDict[bytes, tuple[Verdict, float]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, current_user: Identity, url: str) -> Verdict | None:
        """Returns the cached decision, None if there is none or it has expired."""
        digest = self._digest(current_user, url)
        with self._lock:
            kept = self._kept.get(digest)
            if kept is None:
                return None
            if kept[1] <= self._clock():
                del self._kept[digest]
                return None
            return kept[0]

    def put(self, current_user: Identity, url: str, verdict: Verdict) -> None:
        """Stores a decision. Removes the oldest entries if there are too many."""
        if verdict is Verdict.INDETERMINATE or self._seconds <= 0:
            return
        digest = self._digest(current_user, url)
        with self._lock:
            self._kept.pop(digest, None)
            self._kept[digest] = (verdict, self._clock() + self._seconds)
            while len(self._kept) > self._entries:
                self._kept.popitem(last=False)

    def _digest(self, current_user: Identity, url: str) -> bytes:
        told = [url, str(len(current_user.users)), *(part for each in (*current_user.users, *current_user.groups) for part in _parts(each))]
        text = "".join(f"{len(part)}:{part}" for part in told)
        return blake2b(text.encode("utf-8", "surrogatepass"), key=self._key, digest_size=20).digest()


def _parts(subject: Subject) -> tuple[str, ...]:
    return subject.scope.value, subject.namespace, subject.domain, subject.name
