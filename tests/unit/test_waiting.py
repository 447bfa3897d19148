import pytest

from feedmill.services.deadline import Deadline
from feedmill.services.searching.enginethreads import EngineThreads
from feedmill.services.waiting import waiting
from tests.watching import watch

WAITED_ONCE = ["waits", "goes on"]


def test_work_that_is_watched_says_when_it_waits() -> None:
    def act() -> int:
        with waiting():
            return 7

    assert watch(act) == (7, WAITED_ONCE)
    assert act() == 7


def test_work_goes_on_after_an_error_too() -> None:
    def fail() -> None:
        with waiting():
            raise ValueError("broken")

    def act() -> None:
        with pytest.raises(ValueError, match="broken"):
            fail()

    assert watch(act) == (None, WAITED_ONCE)


def test_job_of_another_thread_is_waited_for() -> None:
    deadline, threads = Deadline(600), EngineThreads()
    assert watch(lambda: threads.run(lambda: 7, deadline, deadline.until)) == (7, WAITED_ONCE)
    assert watch(lambda: threads.try_for(600, lambda: 7, deadline)) == (7, WAITED_ONCE)
