"""Waiting for what a server, a process or a thread does in its own time.

A test waits for exactly what it asserts next, never for something that is usually true a moment before; it waits for as long as a machine
that is busy with something else may take, and says in vain what it waited for and what it saw last.
"""

import time
from collections.abc import Callable

PATIENCE_SECONDS = 180.0
"""Far more than anything takes that a test waits for: only what never comes costs so much."""

PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 0.1


def lengthen(pause_seconds: float) -> float:
    """Returns the next pause of a wait: a test that asks often takes the processor from what it waits for."""
    return max(pause_seconds, min(_LONGEST_PAUSE_SECONDS, pause_seconds * 1.2))


def wait_until(is_so: Callable[[], object], what: object = "it", *, bearing: tuple[type[Exception], ...] = ()) -> None:
    """Waits until something is so. Shape: the error names ``what``, called first if it is a function; ``bearing`` counts as not yet."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    pause_seconds = PAUSE_SECONDS
    while True:
        trouble: Exception | None = None
        try:
            if is_so():
                return
        except bearing as error:
            trouble = error
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE_SECONDS:g} s for {what() if callable(what) else what}") from trouble
        time.sleep(pause_seconds)
        pause_seconds = lengthen(pause_seconds)


def wait_for(wanted: object, ask: Callable[[], object], *, bearing: tuple[type[Exception], ...] = ()) -> None:
    """Asks until the answer is the one that is wanted; ``bearing`` counts as no answer yet."""
    seen: list[object] = []

    def is_so() -> bool:
        seen[:] = [ask()]
        return seen[0] == wanted

    wait_until(is_so, lambda: f"{wanted!r}, and saw last {seen[0] if seen else 'nothing'!r}", bearing=bearing)
