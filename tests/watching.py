"""What a piece of work says of its waiting."""

from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from typing import TypeVar

from feedmill.services.waiting import WaitWatch, watch_waiting

T = TypeVar("T")


def watch(act: Callable[[], T]) -> tuple[T, list[str]]:
    """Returns the result of a function, and "waits" and "goes on" for each time it waited."""
    seen: list[str] = []

    def act_watched() -> T:
        watch_waiting(WaitWatch(partial(seen.append, "waits"), partial(seen.append, "goes on")))
        return act()

    return copy_context().run(act_watched), seen
