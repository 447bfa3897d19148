"""A fair lock for the writers of one SQLite file.

SQLite admits one writer and makes the others poll, so a writer with many short transactions can starve all others for seconds. This lock
uses two file locks. A writer takes the queue lock (``store.door``), then waits for the write lock (``store.room``), and releases the
queue lock once it has the write lock. A writer that comes back for its next transaction finds the queue lock held by the writer that
waited. The kernel releases both locks when a process dies. The threads of one process wait in a first-in, first-out queue before they
take the queue lock, since a plain lock would go again and again to the thread that has just released it.
"""

import fcntl
import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class _Queue:
    """A lock that goes to the thread that has waited longest."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._is_taken = False

    def acquire(self) -> None:
        # the lock on which this thread sleeps until its turn
        mine = threading.Lock()
        with self._guard:
            if not self._is_taken:
                self._is_taken = True
                return
            # taken here, so that the ``acquire`` below blocks until ``release`` opens it
            mine.acquire()
            self._waiting.append(mine)
        try:
            mine.acquire()
        # an exception such as KeyboardInterrupt ended the wait: leave the queue without losing a turn
        except BaseException:
            self._give_up(mine)
            raise

    def _give_up(self, mine: threading.Lock) -> None:
        with self._guard:
            # still in the queue: the turn has not come, so leave the queue
            if mine in self._waiting:
                self._waiting.remove(mine)
                return
        # the turn came at the same moment: pass it on
        self.release()

    def release(self) -> None:
        with self._guard:
            if self._waiting:
                # pass the lock on: ``_is_taken`` stays true for the thread that wakes
                self._waiting.popleft().release()
            else:
                self._is_taken = False


class WriterLock:
    """The writer lock of one process. Its threads take turns too."""

    def __init__(self, folder: Path) -> None:
        self._threads = _Queue()
        self._queue_lock = os.open(folder / "store.door", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        self._write_lock = os.open(folder / "store.room", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Waits for the lock and holds it for the block."""
        # Order of locks: threads of this process, queue lock, write lock. Every writer takes them in this order, so no deadlock is
        # possible.
        self._threads.acquire()
        try:
            # the queue lock: only one process at a time waits for the write lock
            fcntl.flock(self._queue_lock, fcntl.LOCK_EX)
            try:
                fcntl.flock(self._write_lock, fcntl.LOCK_EX)
            finally:
                # release the queue lock with the write lock held (or failed), so that the next process can wait here
                fcntl.flock(self._queue_lock, fcntl.LOCK_UN)
            try:
                yield
            finally:
                fcntl.flock(self._write_lock, fcntl.LOCK_UN)
        finally:
            self._threads.release()

    def close(self) -> None:
        """Closes the lock files."""
        for fd in (self._queue_lock, self._write_lock):
            os.close(fd)
