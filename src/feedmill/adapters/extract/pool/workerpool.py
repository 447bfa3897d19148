"""A lane of the pool: a queue of jobs and the workers that process it, all with the same time limit.

Workers answer in order. So when a worker dies or hangs, its first unanswered job is the cause, and all jobs behind it go back to the head
of the queue. A crash may be an accident, so a job fails only after a number of crashes; a job that takes too long fails at once. If a
worker was killed from outside (by an operator, or by the kernel when memory is short), its job is hardly the cause, so a job fails only
after many of these. If a worker had not begun, no job is the cause.

A slow job that is still within its time delays the jobs behind it in the same pipe. They are taken back, and the worker is replaced after
its answer, because it would still work on them.
"""

import contextlib
import signal
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from feedmill.adapters.extract import sniff
from feedmill.adapters.extract.pool.forkclient import ForkClient
from feedmill.adapters.extract.pool.frames import AnswerReader, BadFrame, max_answer_bytes
from feedmill.adapters.extract.pool.workerhandle import MAX_HELD, Job, WorkerHandle
from feedmill.model.extraction import Answer, ExtractionLimits

MAX_CRASHES = 3
MAX_KILLS = 30
_SLOW_SECONDS = 0.5
_START_SECONDS = 60.0
_MAX_QUEUED_BYTES = 64 << 20


@dataclass(slots=True)
class WorkerPool:
    """Jobs and their workers.

    Shape: ``quick`` answers a job that used up its time with ``too_slow``. Units: seconds of wall time a document.
    """

    quick: bool
    workers: int
    seconds: float
    niceness: int
    limits: ExtractionLimits
    client: ForkClient
    numbers: Iterator[int]
    queue: deque[Job] = field(default_factory=deque)
    handles: dict[int, WorkerHandle] = field(default_factory=dict)
    done: list[Answer] = field(default_factory=list)

    @property
    def outstanding(self) -> int:
        """Returns how many jobs have no answer yet."""
        return len(self.queue) + sum(len(handle.held) for handle in self.handles.values())

    def capacity(self) -> int:
        """Returns how many more jobs fit: as many as the workers may hold, within a limit of bytes in memory."""
        if sum(job.size_bytes for job in self.queue) > _MAX_QUEUED_BYTES:
            return 0
        return max(0, self.workers * MAX_HELD - self.outstanding)

    def distribute(self) -> None:
        """Requests missing workers and distributes the queue, to the least busy worker first."""
        while len(self.handles) < self.workers and self._spawn():
            pass
        while self.queue:
            available = [handle for handle in self.handles.values() if handle.has_capacity]
            if not available:
                break
            handle = min(available, key=_load)
            handle.give(self.queue.popleft())
        for handle in self.handles.values():
            if handle.wants_to_write:
                # a worker that is gone is noticed when its answers are read
                with contextlib.suppress(OSError):
                    handle.write()

    def receive(self, handle: WorkerHandle) -> None:
        """Reads a worker's answers, and handles its end if it is gone."""
        try:
            answers, gone = handle.read_answers()
        except BadFrame as exc:
            self._lose(handle, f"the extractor was ended: {exc}", may_retry=False)
            return
        for answer in answers:
            if handle.take_answered(answer.key) is None:
                self._lose(handle, "the extractor was ended: it sent an answer without a task", may_retry=False)
                return
            self.done.append(answer)
        if gone:
            self._reap(handle)
        elif answers and handle.closing:
            self._lose(handle, "")

    def check_time(self, now: float) -> None:
        """Ends workers whose document has used up its time, and takes back the jobs behind slow ones."""
        for handle in list(self.handles.values()):
            if not handle.held or not handle.ready:
                continue
            spent = now - handle.busy_since
            if spent > self.seconds:
                self._lose(handle, f"extraction took longer than {self.seconds:g} s", may_retry=False, too_slow=self.quick)
            elif spent > _SLOW_SECONDS and len(handle.held) > 1:
                self._take_back(handle)

    def is_stuck(self, now: float) -> bool:
        """Returns whether a worker that was requested long ago has not begun."""
        return any(handle.held and not handle.ready and now - handle.busy_since > _START_SECONDS for handle in self.handles.values())

    def next_deadline(self) -> float | None:
        """Returns when ``check_time`` is next due. Units: monotonic seconds."""
        return min((handle.busy_since + self._find_limit(handle) for handle in self.handles.values() if handle.held), default=None)

    def _find_limit(self, handle: WorkerHandle) -> float:
        if not handle.ready:
            # the time of its first document begins when it has begun
            return _START_SECONDS
        return _SLOW_SECONDS if len(handle.held) > 1 else self.seconds

    def lose_all(self) -> None:
        """Takes back the jobs of all workers after they all ended, for example with the fork server."""
        for handle in list(self.handles.values()):
            # Answers that were written before the end still count.
            self.receive(handle)
            if handle.number in self.handles:
                self._reap(handle)

    def _reap(self, handle: WorkerHandle) -> None:
        """Handles the end of a worker."""
        if self.client.find_end(handle.number) == -signal.SIGKILL:
            self._lose(handle, "the extractor was killed each time over this document", was_killed=True)
        else:
            self._lose(handle, "the extractor crashed over this document")

    def _spawn(self) -> bool:
        number = next(self.numbers)
        try:
            tasks_fd, answers_fd, files = self.client.spawn(number, self.niceness)
        except OSError:
            return False
        self.handles[number] = WorkerHandle(number, tasks_fd, answers_fd, files, AnswerReader(max_answer_bytes(self.limits)))
        return True

    def _take_back(self, handle: WorkerHandle) -> None:
        while len(handle.held) > 1:
            # From the end and to the front, so the jobs keep their order.
            self.queue.appendleft(handle.held.pop())
        handle.closing = True

    def _lose(self, handle: WorkerHandle, reason: str, *, may_retry: bool = True, too_slow: bool = False, was_killed: bool = False) -> None:
        """Ends a worker and requeues its jobs. The first job is the cause, unless the worker retired or no job is the cause."""
        del self.handles[handle.number]
        self.client.kill(handle.number)
        handle.close()
        # A worker that has not begun has read no job. One that retires has ended by itself after its last answer.
        is_to_blame = handle.ready and reason and not (handle.retiring and handle.answered)
        blamed = handle.held[0] if handle.held and is_to_blame else None
        if blamed is not None:
            # A bool is a number, so exactly one of both counts.
            blamed.kills += was_killed
            blamed.crashes += not was_killed
            if not may_retry or blamed.crashes >= MAX_CRASHES or blamed.kills >= MAX_KILLS:
                handle.held.popleft()
                self.done.append(_fail(blamed, reason, too_slow=too_slow))
        # ``extendleft`` reverses, so the jobs are reversed before.
        self.queue.extendleft(reversed(handle.held))


def _load(handle: WorkerHandle) -> int:
    return len(handle.held)


def _fail(job: Job, reason: str, *, too_slow: bool = False) -> Answer:
    mimetype = sniff.normalize(job.task.mimetype) or sniff.BINARY
    return Answer(key=job.task.key, mimetype=mimetype, reason=reason, too_slow=too_slow)
