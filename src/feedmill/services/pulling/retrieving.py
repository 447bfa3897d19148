"""Retrieves documents ahead of the run that applies them: several at once, and a bounded number of them.

Results are taken in the order of the listing. What was retrieved and is not taken is closed.
"""

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Final

from feedmill.ports import NothingRetrieved, RetrievedItem

AHEAD: Final = 2
"""How many documents are retrieved, or held until they are applied, for each one that may be retrieved at once."""

CHECK_SECONDS: Final = 0.5

Retrieval = RetrievedItem | NothingRetrieved
Retrieve = Callable[[], Retrieval]


class Retrievals:
    """The retrievals of one page. Shape: each has a key; all are taken, in the order in which they were given. ``check`` is called
    while one is waited for."""

    def __init__(self, waiting: Iterable[tuple[int, Retrieve]], parallel: int, check: Callable[[], None]) -> None:
        self._check = check
        self._waiting = deque(waiting)
        self._begun: dict[int, Future[Retrieval]] = {}
        self._size = parallel * AHEAD
        self._threads = ThreadPoolExecutor(parallel, "retrieval") if self._waiting else None

    def __enter__(self) -> "Retrievals":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._threads is not None:
            # after an error nothing waits for commands that may take long; the source ends them
            self._threads.shutdown(wait=kind is None, cancel_futures=True)
        for future in self._begun.values():
            future.add_done_callback(_close)

    def take(self, key: int) -> Retrieval:
        """Waits for a retrieval and returns its result. Errors: those of the retrieval, and of ``check``."""
        self._begin()
        try:
            future = self._begun[key]
            while not wait([future], CHECK_SECONDS).done:
                self._check()
            return future.result()
        finally:
            del self._begun[key]
            self._begin()

    def _begin(self) -> None:
        while self._waiting and len(self._begun) < self._size:
            assert self._threads is not None
            key, retrieve = self._waiting.popleft()
            self._begun[key] = self._threads.submit(retrieve)


def _close(future: "Future[Retrieval]") -> None:
    if future.cancelled() or future.exception() is not None:
        return
    close_retrieval(future.result())


def close_retrieval(retrieval: Retrieval) -> None:
    """Closes the content of a retrieval that is not applied."""
    if isinstance(retrieval, RetrievedItem) and retrieval.change.content is not None:
        retrieval.change.content.stream.close()
