"""The extractor: turns documents into texts, in processes that may die without harm.

There are two lanes. Bulk workers run at a lower priority and give a document all its time. Quick workers are reserved for small work and
stop early. The pool has no thread of its own: tasks move while ``submit`` and ``collect`` are called, and the pipes to the workers hold
enough to keep them busy in between.

If no worker can be started (no memory, no space for temporary files), documents wait, because the machine is at fault and not they.

The pool is called from one thread. The clock of a document starts when the pool sees that its worker has reached it. So a caller that
looks late never makes a document fail.
"""

import itertools
import select
import time
from types import TracebackType

from feedmill.adapters.extract.pool.forkclient import ForkClient
from feedmill.adapters.extract.pool.workerhandle import Job, WorkerHandle
from feedmill.adapters.extract.pool.workerpool import WorkerPool
from feedmill.model.errors import Busy
from feedmill.model.extraction import Answer, ExtractionLimits, Task

_BULK_NICENESS = 5
_REPORTED_FAILURES = 3
_RETRY_SECONDS = 0.1
_BUSY = 16
_COLLECT_SECONDS = 0.002


class ExtractorPool:
    """Implements the port ``Extractor``.

    Units: ``quick_seconds`` wall time of a document in the quick lane. ``name``: see ``ForkClient``. Workers without a sandbox are only for
    benchmarks, which measure what it costs.
    """

    def __init__(
        self,
        limits: ExtractionLimits,
        bulk_workers: int,
        quick_workers: int = 1,
        quick_seconds: float = 0.7,
        name: str | None = None,
        *,
        sandboxed: bool = True,
    ) -> None:
        self._client = ForkClient(limits, name, sandboxed=sandboxed)
        numbers = itertools.count(1)
        self._bulk = WorkerPool(False, bulk_workers, limits.seconds, _BULK_NICENESS, limits, self._client, numbers)
        self._quick = WorkerPool(True, quick_workers, min(quick_seconds, limits.seconds), 0, limits, self._client, numbers)
        self._lanes = (self._quick, self._bulk)
        self._reported_failures = 0
        self._client.is_running()

    def submit(self, task: Task, *, quick: bool) -> None:
        """Submits a task. Errors: none; a task beyond ``capacity`` waits here, in memory."""
        lane = self._quick if quick else self._bulk
        lane.queue.append(Job(task))
        if self._client.is_running():
            lane.distribute()

    def collect(self, timeout_seconds: float) -> list[Answer]:
        """Returns finished tasks, and waits up to the time for the first. Returns at once if no submitted task is outstanding.

        Errors: Busy while no worker can be started; submitted tasks wait.
        """
        end = time.monotonic() + timeout_seconds
        self._turn(0.0)
        while not (done := self._take_done()) and any(lane.outstanding for lane in self._lanes):
            remaining = end - time.monotonic()
            if remaining <= 0:
                break
            self._turn(remaining)
        if done and self._bulk.outstanding > _BUSY:
            # answers come one by one; a short pause collects several and leaves the processor to the workers
            time.sleep(_COLLECT_SECONDS)
            self._turn(0.0)
            done += self._take_done()
        return done

    def capacity(self, *, quick: bool) -> int:
        """Returns how many more tasks can be submitted now without a backlog."""
        return (self._quick if quick else self._bulk).capacity()

    def close(self) -> None:
        """Ends all workers; tasks without an answer are dropped."""
        self._client.discard()
        for lane in self._lanes:
            for handle in lane.handles.values():
                handle.close()
            lane.handles.clear()
            lane.queue.clear()

    def __enter__(self) -> "ExtractorPool":
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def _take_done(self) -> list[Answer]:
        done = [answer for lane in self._lanes for answer in lane.done]
        for lane in self._lanes:
            lane.done.clear()
        return done

    def _turn(self, timeout_seconds: float) -> None:
        """Does one round: distributes tasks, waits for an event, reads it."""
        if not self._client.is_running():
            self._bear_failure(timeout_seconds)
            return
        for lane in self._lanes:
            lane.distribute()
        self._wait(timeout_seconds)
        # After the answers: an answer that has arrived counts, even if its worker is gone now.
        if not self._hear():
            return
        now = time.monotonic()
        for lane in self._lanes:
            lane.check_time(now)

    def _wait(self, timeout_seconds: float) -> None:
        # The wait ends when the next document has used up its time, not only when something arrives.
        deadlines = [deadline for lane in self._lanes if (deadline := lane.next_deadline()) is not None]
        if deadlines:
            timeout_seconds = min(timeout_seconds, max(0.0, min(deadlines) - time.monotonic()))
        poll = select.poll()
        if self._client.control is not None:
            poll.register(self._client.control, select.POLLIN)
        readers: dict[int, tuple[WorkerPool, WorkerHandle]] = {}
        for lane in self._lanes:
            for handle in lane.handles.values():
                poll.register(handle.answers_fd, select.POLLIN)
                readers[handle.answers_fd] = (lane, handle)
                if handle.wants_to_write:
                    poll.register(handle.tasks_fd, select.POLLOUT)
        for descriptor, _ in poll.poll(timeout_seconds * 1_000):
            if descriptor in readers:
                lane, handle = readers[descriptor]
                lane.receive(handle)

    def _hear(self) -> bool:
        """Reads the fork server's notices. Returns False if it is gone, or was ended here because it does nothing."""
        notices = self._client.list_notices()
        now = time.monotonic()
        for notice in notices or ():
            for lane in self._lanes:
                if notice.kind == "started" and (handle := lane.handles.get(notice.number)) is not None:
                    handle.ready = True
                    # The time of the first document begins here. Before it, the worker was not there yet.
                    handle.busy_since = now
        if notices is not None and not any(lane.is_stuck(now) for lane in self._lanes):
            return True
        self._client.discard()
        for lane in self._lanes:
            lane.lose_all()
        return False

    def _bear_failure(self, timeout_seconds: float) -> None:
        """Waits, and logs each new attempt that fails. Errors: Busy."""
        failures = self._client.failures
        if failures >= _REPORTED_FAILURES and failures != self._reported_failures:
            self._reported_failures = failures
            raise Busy(f"the extractor process ended {failures} times at its start, documents wait; the log above says why it did")
        time.sleep(min(timeout_seconds, _RETRY_SECONDS))
