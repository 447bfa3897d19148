"""The threads that run searches, because the searcher is synchronous, and the time limits of searches.

They are threads of the standard library. A call in a thread of anyio, which Starlette would use, takes five times as long: a
fifth of a millisecond of every search.

A search is cancelled if its client disconnects. The check begins after ``WATCHED_SECONDS``, because most searches are over by then.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Final, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive

from feedmill.http.common.clientaddress import Clients
from feedmill.http.common.searchadmission import ADMITTED_ALONE, ADMITTED_BESIDE, SHORT_SECONDS, Admission
from feedmill.http.common.searchconcurrency import SearchSlots
from feedmill.model.messages import message
from feedmill.ports.counts import LocalPlaces, SearchPlaces
from feedmill.services.deadline import Deadline
from feedmill.services.waiting import WaitWatch, watch_waiting
from feedmill.telemetry.metrics import SEARCHES_BOUNDED
from feedmill.telemetry.requestids import RequestThreads

AT_ONCE: Final = 40
WATCHED_SECONDS: Final = 0.1
RETRY_SECONDS: Final = 1
_KEY: Final = "feedmill.deadline"

P = ParamSpec("P")
T = TypeVar("T")

_THREADS: Final = RequestThreads(AT_ONCE, thread_name_prefix="search")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchBounds:
    """The limits of one search and of one client. Units: seconds a search; searches of a client at once, in so many processes together.

    ``short_seconds`` is how long a search counts as at work (``searchadmission``).
    """

    deadline_seconds: float = 5.0
    at_once: int = 8
    places: SearchPlaces = field(default_factory=LocalPlaces)
    processes: int = 1
    short_seconds: float = SHORT_SECONDS


async def run_search(act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs a function of a search in a thread. Waits if no thread is free."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, partial(act, *args, **kwargs))


def find_deadline(request: Request) -> Deadline:
    """Returns the deadline of a request; no deadline if it runs outside of ``SearchThreads``."""
    deadline = request.scope.get(_KEY)
    return deadline if isinstance(deadline, Deadline) else Deadline()


class SearchThreads:
    """Runs the searches of one port within its bounds."""

    def __init__(self, bounds: SearchBounds, clients: Clients) -> None:
        self._bounds = bounds
        self._slots = SearchSlots(bounds.at_once, clients, bounds.places, bounds.processes)
        # a process has one event loop; each client of the tests has one of its own
        self._admissions: WeakKeyDictionary[asyncio.AbstractEventLoop, Admission] = WeakKeyDictionary()

    def endpoint(self, act: Callable[[Request], Response]) -> Callable[[Request], Awaitable[Response]]:
        """Returns an endpoint that runs another one in a thread and within the bounds."""

        @wraps(act)
        async def answer(request: Request) -> Response:
            return await self.run(request, act, request)

        return answer

    async def run(self, request: Request, act: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs a request's search. Errors: HTTPException 503 if the client has too many searches at work."""
        loop, owner = asyncio.get_running_loop(), self._slots.find_owner(request)
        deadline = Deadline(self._bounds.deadline_seconds, owner=owner.name)
        if not await self._slots.enter(owner, self._bounds.deadline_seconds / 2):
            SEARCHES_BOUNDED.add("refused")
            text = message(
                "more than %(count)s searches of this client are at work; try again in a second ([search] searches_per_client)",
                count=owner.at_once,
            )
            raise HTTPException(503, text, {"retry-after": str(RETRY_SECONDS)})
        request.scope[_KEY] = deadline

        def leave_later() -> None:
            _call_soon(loop, self._slots.leave, owner)

        watching: list[asyncio.Task[None]] = []
        later = loop.call_later(WATCHED_SECONDS, lambda: watching.append(loop.create_task(_watch(request.receive, deadline))))
        try:
            return await self._run_admitted(deadline, partial(act, *args, **kwargs))
        finally:
            later.cancel()
            for task in watching:
                task.cancel()
            if deadline.is_idle:
                self._slots.leave(owner)
            else:
                deadline.when_idle(leave_later)
            if deadline.is_cut:
                SEARCHES_BOUNDED.add("gone" if deadline.is_cancelled else "deadline")

    async def _run_admitted(self, deadline: Deadline, act: Callable[[], T]) -> T:
        """Runs a search in a thread as soon as it is admitted."""
        loop = asyncio.get_running_loop()
        admission = self._find_admission(loop)
        turn = await admission.enter()
        # The search itself counts as a job, so its slot is free only after its thread and all its engine jobs have ended.
        deadline.begin_job()

        def work() -> T:
            watch_waiting(WaitWatch(partial(_call_soon, loop, admission.pause, turn), partial(_call_soon, loop, admission.resume, turn)))
            try:
                return act()
            finally:
                deadline.end_job()

        job = _THREADS.submit(work)
        try:
            return await asyncio.wrap_future(job)
        finally:
            # The thread never ran ``work``, so its ``finally`` did not either.
            if job.cancelled():
                deadline.end_job()
            admission.leave(turn)

    def _find_admission(self, loop: asyncio.AbstractEventLoop) -> Admission:
        admission = self._admissions.get(loop)
        if admission is None:
            admitted = ADMITTED_ALONE if self._bounds.processes == 1 else ADMITTED_BESIDE
            admission = self._admissions[loop] = Admission(admitted, self._bounds.short_seconds)
        return admission


def _call_soon(loop: asyncio.AbstractEventLoop, act: Callable[[T], None], argument: T) -> None:
    """Calls a function in the thread of the event loop, from any thread."""
    # the event loop may end before a search does
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(act, argument)


async def _watch(receive: Receive, deadline: Deadline) -> None:
    """Cancels a search whose client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
    deadline.cancel()
