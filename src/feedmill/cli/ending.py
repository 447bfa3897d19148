"""Waits for the signal that ends a command which serves until then.

A handler that sets an event would not do. The interpreter runs it in the main thread, between any two of its steps, and there the wait for
the event may just hold the event's lock: then the thread waits for itself, and no signal ends the command any more.
"""

import signal

ENDING = frozenset({signal.SIGTERM, signal.SIGINT})


def hold_back() -> None:
    """Keeps SIGTERM and SIGINT waiting, in this thread and in those that it starts, also where a shell has SIGINT ignored."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    for number in ENDING:
        # the system drops a signal that is ignored
        signal.signal(number, lambda *_: None)


def wait_for_ending() -> None:
    """Waits until one of the signals comes, or returns at once if one came since ``hold_back``."""
    signal.sigwait(ENDING)
