"""Asks a server again and again, with growing pauses, until something is over."""

from collections.abc import Callable
from typing import Final, TypeVar

from feedmill_client._endpoint import Endpoint
from feedmill_client._flows import Flow, Sleep, perform
from feedmill_client.errors import NotDone

FIRST_SECONDS: Final = 0.05
LONGEST_SECONDS: Final = 1.0

T = TypeVar("T")


def poll(
    endpoint: Endpoint, read: Callable[[], Flow[T]], is_over: Callable[[T], bool], timeout_seconds: float, describe: Callable[[T], str]
) -> Flow[T]:
    """Returns the first answer that is over. Errors: NotDone when the time is, with a text about the last answer; those of ``is_over``."""
    clock = endpoint.surroundings.clock
    deadline, pause = clock() + timeout_seconds, FIRST_SECONDS
    while not is_over(answer := (yield from read())):
        if clock() + pause > deadline:
            raise NotDone(describe(answer))
        yield from perform(Sleep(pause))
        pause = min(2 * pause, LONGEST_SECONDS)
    return answer
