"""Runs reads that block in threads of their own: neither the fetch nor the end of the process waits for a server that does not answer."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

from feedmill.model.crawling import CrawlState, FetchedPage, FetchRequest

MAX_THREADS: Final = 16

T = TypeVar("T")


async def call_in_thread(work: Callable[[], T]) -> T:
    """Returns what ``work`` returns, or raises its error. A thread that goes on after the wait was cancelled holds up nothing."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, failure: BaseException | None) -> None:
        if future.done():
            return
        if failure is not None:
            future.set_exception(failure)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, failure = None, None
        try:
            result = work()
        except BaseException as exc:  # noqa: BLE001 - it is raised where the result is awaited
            failure = exc
        with suppress(RuntimeError):
            # the loop may be closed by now
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=run, name="blocking", daemon=True).start()
    return await future


class BlockingReads:
    """The reads of one kind of server, a bounded number at once."""

    def __init__(self) -> None:
        self._places = threading.BoundedSemaphore(MAX_THREADS)

    async def run(self, request: FetchRequest, work: Callable[[], FetchedPage], give_up: Callable[[], None] = lambda: None) -> FetchedPage:
        """Returns what ``work`` returns, which does not raise. ``give_up`` is called if that takes longer than the request permits.

        The size of a file is not known before, so memory is reserved for the largest. Errors: Busy if there is none.
        """
        if request.reserve is not None:
            await request.reserve(request.max_bytes)
        if not self._places.acquire(blocking=False):
            return fail(request, CrawlState.CONNECTION_TIMED_OUT, "the file server does not answer other requests")
        try:
            async with asyncio.timeout(request.seconds):
                return await self._run(work)
        except TimeoutError:
            give_up()
            return fail(request, CrawlState.CONNECTION_TIMED_OUT, "the file server does not answer in time")

    async def _run(self, work: Callable[[], FetchedPage]) -> FetchedPage:
        def run() -> FetchedPage:
            try:
                return work()
            finally:
                self._places.release()

        return await call_in_thread(run)


def fail(request: FetchRequest, state: CrawlState, reason: str) -> FetchedPage:
    """Returns a page that could not be fetched."""
    return FetchedPage(state=state, url=request.url, reason=reason)
