"""Counts that the processes of a data folder share, in a mapped file of fixed size.

A key belongs to one bucket of the file, by its digest. A bucket has ``WAYS`` entries; if all are in use, the one that was stored least
recently is overwritten. The digest has a secret key, so no client can choose names that fill one bucket. The lock is that of the file, and
the kernel frees it when its process ends. The server begins with an empty file.
"""

import fcntl
import mmap
import os
import struct
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Final

import structlog

from feedmill.ports.counts import Count, Counts, LocalCounts, LocalPlaces, SearchPlaces

BUCKETS: Final = 2_048
WAYS: Final = 16

# digest of the key, number of the storing, amount, end of the window, whether it is reported
_ENTRY: Final = struct.Struct("=16sQqd?7x")
_DIGEST_BYTES: Final = 16
_SECRET_BYTES: Final = 64
_BUCKET_BYTES: Final = WAYS * _ENTRY.size

_PLACES_OF_OWNER: Final = 1 << 14
_OWNER_BYTES: Final = 6

log = structlog.get_logger(__name__)


def open_counts(path: Path) -> Counts:
    """Opens counts. Where the file cannot have its space, they are those of this process only."""
    try:
        return SharedCounts(path)
    except OSError as exc:
        log.warning("counts_not_shared", path=str(path), reason=exc.strerror)
        return LocalCounts()


def open_places(path: Path, *, number: int = 0, processes: int = 1) -> SearchPlaces:
    """Opens the places of searches, as ``LockedPlaces`` says. Where there can be no file, they are those of this process only."""
    try:
        return LockedPlaces(path, number=number, processes=processes)
    except OSError as exc:
        log.warning("places_not_shared", path=str(path), reason=exc.strerror)
        return LocalPlaces()


class SharedCounts:
    """Implements ``ports.counts.Counts``. Threads may share it; each process opens its own. Errors: OSError."""

    def __init__(self, path: Path, buckets: int = BUCKETS) -> None:
        self._file = _open(path)
        weakref.finalize(self, os.close, self._file)
        size = _SECRET_BYTES + buckets * _BUCKET_BYTES
        # A write to a mapped file without space on the disk would end the process by a signal.
        os.posix_fallocate(self._file, 0, size)
        self._map = mmap.mmap(self._file, size)
        self._buckets = buckets
        self._threads = threading.Lock()
        with self.locked():
            if not any(self._map[:_SECRET_BYTES]):
                self._map[:_SECRET_BYTES] = os.urandom(_SECRET_BYTES)
            self._secret = self._map[:_SECRET_BYTES]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Locks the counts against other threads and processes."""
        with self._threads:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def find(self, key: str) -> Count | None:
        """Returns a count."""
        wanted, start = self._locate(key)
        for digest, _, amount, until, is_reported in self._iter_bucket(start):
            if digest == wanted:
                return Count(amount=amount, until=until, is_reported=is_reported)
        return None

    def put(self, key: str, count: Count) -> None:
        """Stores a count."""
        wanted, start = self._locate(key)
        entries = list(self._iter_bucket(start))
        numbers = [number for _, number, *_ in entries]
        digests = [digest for digest, *_ in entries]
        way = digests.index(wanted) if wanted in digests else numbers.index(min(numbers))
        entry = (wanted, max(numbers) + 1, count.amount, count.until, count.is_reported)
        _ENTRY.pack_into(self._map, start + way * _ENTRY.size, *entry)

    def _locate(self, key: str) -> tuple[bytes, int]:
        digest = blake2b(key.encode("utf-8", "surrogatepass"), key=self._secret, digest_size=_DIGEST_BYTES).digest()
        return digest, _SECRET_BYTES + int.from_bytes(digest[:8], "big") % self._buckets * _BUCKET_BYTES

    def _iter_bucket(self, start: int) -> Iterator[tuple[bytes, int, int, float, bool]]:
        return _ENTRY.iter_unpack(self._map[start : start + _BUCKET_BYTES])


class LockedPlaces:
    """Implements ``ports.counts.SearchPlaces``: a place is a byte of a file, and a process takes it by a lock on that byte.

    The kernel frees the locks of a process that ends. The file stays empty, since bytes beyond its end can be locked too. A process opens
    it only once: closing it would free all its locks.

    Each of the processes first tries the places of its own share, because one that another has costs a call of the system.
    """

    def __init__(self, path: Path, *, number: int = 0, processes: int = 1) -> None:
        self._file = _open(path)
        self._number, self._processes = number, processes
        weakref.finalize(self, os.close, self._file)
        self._taken: dict[str, list[int]] = {}

    def take(self, owner: str, most: int) -> bool:
        """Takes a place, and returns whether there was one."""
        taken, first = self._taken.get(owner, []), _find_first(owner)
        own = first + most * self._number // self._processes
        for place in chain(range(own, first + most), range(first, own)):
            # A process may lock its own bytes again, so these are no places any more.
            if place not in taken and self._lock(place):
                self._taken[owner] = [*taken, place]
                return True
        return False

    def give_back(self, owner: str) -> None:
        """Gives back a place."""
        *rest, place = self._taken[owner]
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)
        if rest:
            self._taken[owner] = rest
        else:
            del self._taken[owner]

    def _lock(self, place: int) -> bool:
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):  # which of them, POSIX leaves to the system
            return False
        return True


def _open(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _find_first(owner: str) -> int:
    digest = blake2b(owner.encode("utf-8", "surrogatepass"), digest_size=_OWNER_BYTES).digest()
    return int.from_bytes(digest, "big") * _PLACES_OF_OWNER
