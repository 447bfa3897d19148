"""Turns for the writers of one SQLite file.

SQLite lets one writer in and makes the others poll, so that one with many short transactions can starve all others for seconds. Here a
writer first waits at the door, then for the room, and leaves the door once inside: whoever comes back for his next transaction finds the
door held by the one who waited. The kernel drops both locks when a process dies. Threads of one process queue up before they go to the
door, first come, first served, since a plain lock would go again and again to the thread that has just let go of it.
"""

import fcntl
import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class _Queue:
    """A lock that goes to the one who has waited longest."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._is_taken = False

    def acquire(self) -> None:
        mine = threading.Lock()
        with self._guard:
            if not self._is_taken:
                self._is_taken = True
                return
            mine.acquire()
            self._waiting.append(mine)
        try:
            mine.acquire()
        except BaseException:
            self._give_up(mine)
            raise

    def _give_up(self, mine: threading.Lock) -> None:
        with self._guard:
            if mine in self._waiting:
                self._waiting.remove(mine)
                return
        self.release()

    def release(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_taken = False


class WriterLock:
    """One process's place among the writers; its own threads take turns too."""

    def __init__(self, folder: Path) -> None:
        self._threads = _Queue()
        self._door = os.open(folder / "store.door", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        self._room = os.open(folder / "store.room", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Waits for the turn and holds it for the block."""
        self._threads.acquire()
        try:
            fcntl.flock(self._door, fcntl.LOCK_EX)
            try:
                fcntl.flock(self._room, fcntl.LOCK_EX)
            finally:
                fcntl.flock(self._door, fcntl.LOCK_UN)
            try:
                yield
            finally:
                fcntl.flock(self._room, fcntl.LOCK_UN)
        finally:
            self._threads.release()

    def close(self) -> None:
        """Returns the files back."""
        for fd in (self._door, self._room):
            os.close(fd)
