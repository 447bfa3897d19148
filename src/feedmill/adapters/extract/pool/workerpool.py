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
    hands: dict[int, WorkerHandle] = field(default_factory=dict)
    done: list[Answer] = field(default_factory=list)

    @property
    def outstanding(self) -> int:
        """Returns how many jobs have no answer yet."""
        return len(self.queue) + sum(len(hand.held) for hand in self.hands.values())

    def capacity(self) -> int:
        """Returns how many more jobs fit: as many as the workers may hold, within a limit of bytes in memory."""
        if sum(job.size_bytes for job in self.queue) > _MAX_QUEUED_BYTES:
            return 0
        return max(0, self.workers * MAX_HELD - self.outstanding)

    def distribute(self) -> None:
        """Requests missing workers and distributes the queue, to the least busy worker first."""
        while len(self.hands) < self.workers and self._spawn():
            pass
        while self.queue:
            roomy = [hand for hand in self.hands.values() if hand.has_room]
            if not roomy:
                break
            hand = min(roomy, key=_load)
            hand.give(self.queue.popleft())
        for hand in self.hands.values():
            if hand.wants_to_write:
                # a worker that is gone is noticed when its answers are read
                with contextlib.suppress(OSError):
                    hand.write()

    def receive(self, hand: WorkerHandle) -> None:
        """Reads a worker's answers, and handles its end if it is gone."""
        try:
            answers, gone = hand.read()
        except BadFrame as exc:
            self._lose(hand, f"the extractor was ended: {exc}", may_retry=False)
            return
        for answer in answers:
            if hand.take_answered(answer.key) is None:
                self._lose(hand, "the extractor was ended: it sent an answer without a task", may_retry=False)
                return
            self.done.append(answer)
        if gone:
            self._bury(hand)
        elif answers and hand.closing:
            self._lose(hand, "")

    def check_time(self, now: float) -> None:
        """Ends workers whose document has used up its time, and takes back the jobs behind slow ones."""
        for hand in list(self.hands.values()):
            if not hand.held or not hand.ready:
                continue
            spent = now - hand.busy_since
            if spent > self.seconds:
                self._lose(hand, f"extraction took longer than {self.seconds:g} s", may_retry=False, too_slow=self.quick)
            elif spent > _SLOW_SECONDS and len(hand.held) > 1:
                self._take_back(hand)

    def is_stuck(self, now: float) -> bool:
        """Returns whether a worker that was requested long ago has not begun."""
        return any(hand.held and not hand.ready and now - hand.busy_since > _START_SECONDS for hand in self.hands.values())

    def next_deadline(self) -> float | None:
        """Returns when ``check_time`` is next due. Units: monotonic seconds."""
        times = [hand.busy_since + (_SLOW_SECONDS if len(hand.held) > 1 else self.seconds) for hand in self.hands.values() if hand.held]
        return min(times, default=None)

    def lose_all(self) -> None:
        """Takes back the jobs of all workers after they all ended, for example with the fork server."""
        for hand in list(self.hands.values()):
            self.receive(hand)
            if hand.number in self.hands:
                self._bury(hand)

    def _bury(self, hand: WorkerHandle) -> None:
        """Handles the end of a worker."""
        if self.client.find_end(hand.number) == -signal.SIGKILL:
            self._lose(hand, "the extractor was killed each time over this document", was_killed=True)
        else:
            self._lose(hand, "the extractor crashed over this document")

    def _spawn(self) -> bool:
        number = next(self.numbers)
        try:
            tasks_fd, answers_fd, files = self.client.spawn(number, self.niceness)
        except OSError:
            return False
        self.hands[number] = WorkerHandle(number, tasks_fd, answers_fd, files, AnswerReader(max_answer_bytes(self.limits)))
        return True

    def _take_back(self, hand: WorkerHandle) -> None:
        while len(hand.held) > 1:
            self.queue.appendleft(hand.held.pop())
        hand.closing = True

    def _lose(self, hand: WorkerHandle, reason: str, *, may_retry: bool = True, too_slow: bool = False, was_killed: bool = False) -> None:
        """Ends a worker and requeues its jobs. The first job is the cause, unless the worker retired or no job is the cause."""
        del self.hands[hand.number]
        self.client.kill(hand.number)
        hand.close()
        is_to_blame = hand.ready and reason and not (hand.retiring and hand.answered)
        blamed = hand.held[0] if hand.held and is_to_blame else None
        if blamed is not None:
            blamed.kills += was_killed
            blamed.crashes += not was_killed
            if not may_retry or blamed.crashes >= MAX_CRASHES or blamed.kills >= MAX_KILLS:
                hand.held.popleft()
                self.done.append(_fail(blamed, reason, too_slow=too_slow))
        self.queue.extendleft(reversed(hand.held))


def _load(hand: WorkerHandle) -> int:
    return len(hand.held)


def _fail(job: Job, reason: str, *, too_slow: bool = False) -> Answer:
    mimetype = sniff.normalize(job.task.mimetype) or sniff.BINARY
    return Answer(key=job.task.key, mimetype=mimetype, reason=reason, too_slow=too_slow)
