"""The time limit of one request, and the jobs that still run for it.

- Code that works in steps calls ``check`` between them. Code that can return a partial result reads ``is_over`` and calls ``give_up``.
- ``is_cut`` states afterwards that something is missing for lack of time.
- What the user may see must be known by ``until_access``. After that only public documents are searched.
- A request whose client has disconnected is cancelled: from then on its time is over.
- The engine cannot be interrupted. A job of the engine continues after its request has stopped waiting, and counts until it ends:
  ``when_idle`` calls back then.
"""

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Final, TypeVar

from feedmill.model.errors import OutOfTime
from feedmill.model.messages import message
from feedmill.services.waiting import waiting

RESERVED: Final = 0.1
"""The share of the whole time that is reserved for making results of the hits."""

FOR_ACCESS: Final = 0.5
"""The share of the whole time after which a search goes on without knowing what the user may see."""

LOOK_SECONDS: Final = 0.05
"""The longest time until a thread that waits for the engine notices that its request is cancelled."""

_Answer = TypeVar("_Answer")


class Deadline:
    """The end of one request's time. May be used from several threads. Units: ``clock`` counts seconds from any origin.

    ``owner`` names the client of the request, "" for none.
    """

    def __init__(self, seconds: float = math.inf, *, owner: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        self.owner = owner
        self.seconds = seconds
        self.is_cut = False
        self.is_public_only = False
        self._missing: list[str] = []
        self._clock = clock
        self._until = clock() + seconds
        self._lock = threading.Lock()
        self._jobs = 0
        self._idle: Callable[[], None] | None = None

    @property
    def until(self) -> float:
        """The second of the clock at which the time is over."""
        return self._until

    @property
    def is_cancelled(self) -> bool:
        """Whether the request was cancelled."""
        return self._until == -math.inf

    @property
    def until_results(self) -> float:
        """The second at which hits must be found, so that time is left to make results of them."""
        return self._until - RESERVED * self.seconds if math.isfinite(self._until) else self._until

    @property
    def until_access(self) -> float:
        """The second at which the classes that the user may see must be known, so that time is left to search."""
        return self._until - (1 - FOR_ACCESS) * self.seconds if math.isfinite(self._until) else self._until

    @property
    def left_seconds(self) -> float:
        """The remaining time; 0 when it is over."""
        return max(self._until - self._clock(), 0.0)

    @property
    def is_over(self) -> bool:
        """Whether the time is over."""
        return self._clock() >= self._until

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings for an incomplete answer."""
        if not self.is_cut:
            return ()
        seconds = format(self.seconds, "g")
        if self.is_public_only:
            return (
                message(
                    "the deadline of %(seconds)s seconds left no time to find out what you may see; only public documents are shown",
                    seconds=seconds,
                ),
            )
        return (
            message(
                "the deadline of %(seconds)s seconds was reached; only what was found until then is shown",
                seconds=seconds,
            ),
        )

    @property
    def missing(self) -> tuple[str, ...]:
        """What is missing for another reason than time, as warnings."""
        return tuple(self._missing)

    def check(self) -> None:
        """Raises an error if the time is over. Errors: OutOfTime."""
        if self.is_over:
            raise self.give_up()

    def give_up(self) -> OutOfTime:
        """Records that something is missing for lack of time. Returns the error for callers that cannot continue without it."""
        self.is_cut = True
        return OutOfTime(
            message("the deadline of %(seconds)s seconds was reached; try again with a narrower query", seconds=format(self.seconds, "g"))
        )

    def leave_out_secure(self) -> None:
        """Records that secure documents are missing, since what the user may see was not known in time."""
        self.is_cut = self.is_public_only = True

    def report_missing(self, warning: str) -> None:
        """Records that something is missing for another reason than time."""
        if warning not in self._missing:
            self._missing.append(warning)

    def cancel(self) -> None:
        """Ends the time now."""
        self._until = -math.inf

    def wait_for(self, job: "Future[_Answer]", until: float) -> _Answer:
        """Returns the result of a job. Waits at most until a second of the clock. Errors: OutOfTime; those of the job."""
        if not self._is_done(job, until):
            raise self.give_up()
        return job.result()

    def try_for(self, job: "Future[_Answer]", seconds: float) -> _Answer | None:
        """Returns the result of a job, None after so many seconds; nothing counts as missing then. Errors: OutOfTime; those of the job."""
        if self._is_done(job, self._clock() + seconds):
            return job.result()
        self.check()
        return None

    def _is_done(self, job: "Future[_Answer]", until: float) -> bool:
        """Waits for a job, at most until a second of the clock. Cancels the job if it has not begun by then."""
        with waiting():
            while not job.done():
                left = min(until, self._until) - self._clock()
                if left <= 0:
                    job.cancel()
                    return False
                # In short waits, since ``cancel`` is called from another thread and ends no wait.
                wait([job], min(left, LOOK_SECONDS))
        return True

    # --- jobs that still run ---

    def begin_job(self) -> None:
        """Counts a job that cannot be interrupted."""
        with self._lock:
            self._jobs += 1

    def end_job(self) -> None:
        """Removes a job from the count. After the last one, runs the callback of ``when_idle``."""
        with self._lock:
            self._jobs -= 1
            # Taken under the lock, so it runs once. Called after the lock is released, since it may use this object.
            call, self._idle = (self._idle, None) if not self._jobs else (None, self._idle)
        if call is not None:
            call()

    @property
    def is_idle(self) -> bool:
        """Whether no job runs for the request."""
        return not self._jobs

    def when_idle(self, call: Callable[[], None]) -> None:
        """Runs a callback when no job runs for the request any more, at once if none does."""
        with self._lock:
            if self._jobs:
                self._idle = call
                return
        call()
