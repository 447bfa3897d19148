"""Threads for queries that may keep the engine busy for long, because the engine cannot be interrupted.

There are few of them, so that the processor stays free for cheap queries, which run in the thread of their request. One owner may use at
most half of the threads. A request that gets no thread before its deadline continues without the answer. A job whose request has continued
without it keeps its thread until it ends.
"""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

from feedmill.services.deadline import LOOK_SECONDS, Deadline
from feedmill.services.waiting import waiting

LEAST_THREADS: Final = 4

_Answer = TypeVar("_Answer")


class EngineThreads:
    """The threads of a process. May be used from several threads."""

    def __init__(self, threads: int = LEAST_THREADS) -> None:
        self._count = threads
        self._pool = ThreadPoolExecutor(self._count, thread_name_prefix="engine")
        self._is_free = threading.Condition()
        self._running: Counter[str] = Counter()

    @property
    def share(self) -> int:
        """How many of the threads one owner may keep busy at once."""
        return max(self._count // 2, 1)

    def run(self, act: Callable[[], _Answer], deadline: Deadline, until: float) -> _Answer:
        """Returns the result of ``act``, run by an engine thread.

        Shape: ``until`` as in ``Deadline.wait_for``. Errors: OutOfTime; its own.
        """
        return deadline.wait_for(self._submit(act, deadline), until)

    def try_for(self, seconds: float, act: Callable[[], _Answer], deadline: Deadline) -> _Answer | None:
        """Returns the result of ``act`` from one of the threads, or None after so many seconds. Errors: OutOfTime; its own."""
        return deadline.try_for(self._submit(act, deadline), seconds)

    def _submit(self, act: Callable[[], _Answer], deadline: Deadline) -> "Future[_Answer]":
        self._enter(deadline)
        deadline.begin_job()
        job = self._pool.submit(act)
        # At the end of the job, not of its request: an abandoned job still occupies its thread.
        job.add_done_callback(lambda done: self._leave(done, deadline))
        return job

    def _enter(self, deadline: Deadline) -> None:
        with self._is_free:
            if self._is_full(deadline.owner):
                with waiting():
                    self._await_thread(deadline)
            deadline.check()
            self._running[deadline.owner] += 1

    def _await_thread(self, deadline: Deadline) -> None:
        while self._is_full(deadline.owner):
            deadline.check()
            # In short waits, to notice that the request was cancelled.
            self._is_free.wait(min(deadline.left_seconds, LOOK_SECONDS))

    def _is_full(self, owner: str) -> bool:
        return self._running.total() >= self._count or self._running[owner] >= self.share

    def _leave(self, _job: "Future[_Answer]", deadline: Deadline) -> None:
        with self._is_free:
            self._running[deadline.owner] -= 1
            if not self._running[deadline.owner]:
                del self._running[deadline.owner]
            self._is_free.notify_all()
        deadline.end_job()
