import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from feedmill.model.errors import OutOfTime
from feedmill.services.deadline import Deadline
from feedmill.services.searching.enginethreads import EngineThreads
from tests.waiting import wait_for


class Stuck:
    """Does its work only once it is let go."""

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.begun = 0

    def __call__(self) -> str:
        self.begun += 1
        assert self.let_go.wait(180)
        return "done"


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    made = Stuck()
    yield made
    made.let_go.set()


def test_deadline_that_is_not_reached_lets_everything_go_on() -> None:
    deadline = Deadline()
    deadline.check()
    assert (deadline.is_over, deadline.is_cut, deadline.warnings) == (False, False, ())
    assert EngineThreads().run(lambda: 7, deadline, deadline.until) == 7


def test_deadline_that_is_reached_is_reported() -> None:
    now = [0.0]
    deadline = Deadline(5, clock=lambda: now[0])
    assert (deadline.until, deadline.until_results) == (5.0, 4.5)
    now[0] = 5.0
    assert (deadline.is_over, deadline.left_seconds, deadline.is_cut) == (True, 0.0, False)
    with pytest.raises(OutOfTime, match="the deadline of 5 seconds was reached"):
        deadline.check()
    assert deadline.is_cut
    assert "deadline" in deadline.warnings[0]


def test_engine_that_is_stuck_is_left_behind_and_counted_until_it_ends(stuck: Stuck) -> None:
    deadline, ended = Deadline(0.05), threading.Event()
    with pytest.raises(OutOfTime):
        EngineThreads().run(stuck, deadline, deadline.until)
    deadline.when_idle(ended.set)
    assert not ended.is_set()
    stuck.let_go.set()
    assert ended.wait(180)


def test_cancelled_request_waits_no_longer(stuck: Stuck) -> None:
    deadline, threads = Deadline(600), EngineThreads()
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(threads.run, stuck, deadline, deadline.until)
        wait_for(1, lambda: stuck.begun)
        deadline.cancel()
        assert deadline.is_cancelled
        with pytest.raises(OutOfTime):
            waiting.result(180)


def test_owner_has_half_of_the_threads_others_the_rest(stuck: Stuck) -> None:
    threads = EngineThreads(4)
    with ThreadPoolExecutor() as pool:
        try:
            for _ in range(5):
                deadline = Deadline(600, owner="dear")
                pool.submit(threads.run, stuck, deadline, deadline.until)
            wait_for(2, lambda: stuck.begun)
            other = Deadline(600, owner="other")
            assert threads.run(lambda: "other", other, other.until) == "other"
            late = Deadline(0.05, owner="dear")
            with pytest.raises(OutOfTime):
                threads.run(lambda: "dear", late, late.until)
            assert stuck.begun == 2
        finally:
            stuck.let_go.set()


def test_error_of_the_engine_is_raised_unchanged() -> None:
    def fail() -> None:
        raise ValueError("broken")

    deadline, threads = Deadline(600), EngineThreads(1)
    for _ in range(3):
        with pytest.raises(ValueError, match="broken"):
            threads.run(fail, deadline, deadline.until)
    idle = threading.Event()
    deadline.when_idle(idle.set)
    assert idle.wait(180)
