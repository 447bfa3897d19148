"""Waits for stored feeds, before and within the reply to a request.

One task polls the store for all replies that wait, in one thread at a time. Each wait has intervals of its own, which grow. A wait
ends early when the client disconnects or the server stops.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from starlette.types import Scope

from feedmill.http.common.answers import STOP_EXTENSION, Body
from feedmill.model.errors import FeedmillError
from feedmill.ports.store import Store, UnitOfWork

IsMet = Callable[[UnitOfWork], bool]
"""Returns whether the wait is over, by a snapshot of the store."""

_POLL_SECONDS: Final = (0.005, 0.25)
_POLL_GROWTH: Final = 1.5


@dataclass(slots=True, eq=False)
class _Wait:
    is_met: IsMet
    met: asyncio.Future[None]
    #: When it is polled next. Units: the loop's clock.
    due: float
    pause: float = _POLL_SECONDS[0]


class StorePolling:
    """Polls the store for all waits."""

    def __init__(self, store: Store, workers: Executor) -> None:
        self._store = store
        self._workers = workers
        self._waits: set[_Wait] = set()
        self._polling: asyncio.Task[None] | None = None
        self._added = asyncio.Event()

    async def wait(self, is_met: IsMet) -> None:
        """Returns once the condition is met. Errors: those of the store."""
        loop = asyncio.get_running_loop()
        wait = _Wait(is_met, loop.create_future(), loop.time())
        self._waits.add(wait)
        if self._polling is None or self._polling.done():
            self._added = asyncio.Event()
            self._polling = loop.create_task(self._poll())
        self._added.set()
        try:
            await wait.met
        finally:
            self._waits.discard(wait)

    async def _poll(self) -> None:
        """Polls until nothing waits."""
        loop = asyncio.get_running_loop()
        while self._waits:
            if due := [wait for wait in self._waits if wait.due <= loop.time()]:
                await self._check(due)
            self._added.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(min((wait.due for wait in self._waits), default=0.0)):
                    await self._added.wait()

    async def _check(self, waits: Sequence[_Wait]) -> None:
        loop = asyncio.get_running_loop()
        outcomes = await loop.run_in_executor(self._workers, self._find_outcomes, [wait.is_met for wait in waits])
        for wait, outcome in zip(waits, outcomes, strict=True):
            wait.due = loop.time() + wait.pause
            wait.pause = min(wait.pause * _POLL_GROWTH, _POLL_SECONDS[1])
            if wait.met.done():
                continue
            if isinstance(outcome, FeedmillError):
                wait.met.set_exception(outcome)
            elif outcome:
                wait.met.set_result(None)

    def _find_outcomes(self, conditions: Sequence[IsMet]) -> Sequence[bool | FeedmillError]:
        """Returns for each condition whether it is met, or why that is unknown."""
        try:
            with self._store.reading() as unit:
                return [_find_outcome(is_met, unit) for is_met in conditions]
        except FeedmillError as exc:
            return [exc] * len(conditions)


def _find_outcome(is_met: IsMet, unit: UnitOfWork) -> bool | FeedmillError:
    try:
        return is_met(unit)
    except FeedmillError as exc:
        return exc


class ReplyWaits:
    """The waits of one reply. Use it as a context manager."""

    def __init__(self, polling: StorePolling, scope: Scope, body: Body) -> None:
        self._polling = polling
        self._disconnected = asyncio.ensure_future(_wait_until_disconnected(body))
        self._stopped = asyncio.ensure_future(_wait_until_stopped(scope))

    def __enter__(self) -> "ReplyWaits":
        return self

    def __exit__(self, *_: object) -> None:
        self._disconnected.cancel()
        self._stopped.cancel()

    def is_disconnected(self) -> bool:
        """Returns whether the client has disconnected."""
        return self._disconnected.done()

    async def wait(self, is_met: IsMet, seconds: float) -> None:
        """Returns once the condition is met, the client has disconnected, the server stops or the time is over.

        Errors: those of the store.
        """
        waiting = asyncio.ensure_future(self._polling.wait(is_met))
        try:
            ends = (waiting, self._disconnected, self._stopped)
            await asyncio.wait(ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                waiting.result()
        finally:
            waiting.cancel()


async def _wait_until_disconnected(body: Body) -> None:
    while (await body())["type"] != "http.disconnect":
        pass


async def _wait_until_stopped(scope: Scope) -> None:
    stop: dict[str, Callable[[], Awaitable[object]]] | None = (scope.get("extensions") or {}).get(STOP_EXTENSION)
    await (stop["wait"]() if stop is not None else asyncio.Event().wait())
