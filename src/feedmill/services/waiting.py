"""Says when a request waits for others, so that another request may work meanwhile.

Code that waits for another server, process or thread does so within ``waiting()``. Whoever runs a request in a thread, and wants to know of
that, says so there by ``watch_waiting``. Elsewhere ``waiting()`` does nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class WaitWatch:
    """What is called when a request begins to wait, and when it goes on, in the thread of the request."""

    begin: Callable[[], None]
    end: Callable[[], None]


_WATCH: Final[ContextVar[WaitWatch | None]] = ContextVar("feedmill.waiting", default=None)


def watch_waiting(watch: WaitWatch) -> None:
    """Has a watch called for whatever runs in this context from now on."""
    _WATCH.set(watch)


@contextmanager
def waiting() -> Iterator[None]:
    """Says that the request of this context waits."""
    watch = _WATCH.get()
    if watch is None:
        yield
        return
    watch.begin()
    try:
        yield
    finally:
        watch.end()
