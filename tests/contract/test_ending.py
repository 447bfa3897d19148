"""A command that serves until a signal ends, whatever it is doing when the signal comes."""

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from feedmill.cli.ending import hold_back, wait_for_ending
from tests.waiting import wait_until

STEPS = 30


def end_at(step: int) -> Callable[[FrameType, str, Any], Any]:
    """Returns a trace function that sends the signal to its own process at a line of Python, counted from the first that it sees."""
    left = step

    def trace(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal left
        left -= event == "line"
        if left == 0:
            sys.settrace(None)
            os.kill(os.getpid(), signal.SIGTERM)
        return trace

    return trace


def serve(begun: int, step: int) -> None:
    """Serves in a process of its own, which the signal ends with code 0."""
    hold_back()
    os.write(begun, b"begun")
    sys.settrace(end_at(step))
    wait_for_ending()
    sys.settrace(None)
    os._exit(0)


@pytest.mark.parametrize("step", range(1, STEPS))
def test_signal_ends_the_wait_at_each_of_its_steps(step: int) -> None:
    ours, theirs = os.pipe()
    process = os.fork()
    if not process:
        serve(theirs, step)
    os.close(theirs)
    codes: list[int] = []

    def has_ended() -> bool:
        ended, status = os.waitpid(process, os.WNOHANG)
        codes.extend([os.waitstatus_to_exitcode(status)] if ended else [])
        return bool(ended)

    try:
        assert os.read(ours, 5) == b"begun"
        # the wait has fewer steps, so this one ends it
        os.kill(process, signal.SIGTERM)
        wait_until(has_ended)
    finally:
        os.close(ours)
        if not codes:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
    assert codes == [0]
