"""What the processes of a server count together: failed attempts to sign in, searches at work, bytes of clicks."""

import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final, Protocol

MAX_LOCAL_COUNTS: Final = 20_000


@dataclass(slots=True, kw_only=True)
class Count:
    """A count. Units: ``until`` is the end of its window, by the clock of the service that counts."""

    amount: int = 0
    until: float = 0.0
    is_reported: bool = False


class Counts(Protocol):
    """Counts by key. Their number is limited: what was stored least recently is dropped first. All calls need the lock.

    Example::

        with counts.locked():
            counts.put("192.0.2.1", Count(amount=1, until=60.0))
    """

    def locked(self) -> AbstractContextManager[object]:
        """Locks the counts against other threads and processes."""

    def find(self, key: str) -> Count | None:
        """Returns a copy of a count."""

    def put(self, key: str, count: Count) -> None:
        """Stores a count."""


class SearchPlaces(Protocol):
    """The places in which clients search. For one thread."""

    def take(self, owner: str, most: int) -> bool:
        """Takes a place of an owner, and returns whether there was one: of all processes together, at most so many are taken."""

    def give_back(self, owner: str) -> None:
        """Gives back a place that this process has taken. A process that ends gives back all of them."""


class LocalCounts:
    """The counts of one process."""

    def __init__(self, most: int = MAX_LOCAL_COUNTS) -> None:
        self._most = most
        self._lock = threading.Lock()
        # dictionaries preserve order: the first entry was stored least recently
        self._counts: dict[str, Count] = {}

    def locked(self) -> AbstractContextManager[object]:
        """Locks the counts against other threads."""
        return self._lock

    def find(self, key: str) -> Count | None:
        """Returns a count."""
        return self._counts.get(key)

    def put(self, key: str, count: Count) -> None:
        """Stores a count."""
        self._counts.pop(key, None)
        self._counts[key] = count
        if len(self._counts) > self._most:
            del self._counts[next(iter(self._counts))]

    def __len__(self) -> int:
        return len(self._counts)


class LocalPlaces:
    """The places of one process."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def take(self, owner: str, most: int) -> bool:
        """Takes a place of an owner, and returns whether there was one."""
        taken = self._taken.get(owner, 0)
        if taken >= most:
            return False
        self._taken[owner] = taken + 1
        return True

    def give_back(self, owner: str) -> None:
        """Gives back a place."""
        self._taken[owner] -= 1
        if not self._taken[owner]:
            del self._taken[owner]
