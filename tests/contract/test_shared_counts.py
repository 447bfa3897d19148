"""Counts and places, those of one process and those that processes share."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from feedmill.adapters.sharedcounts import WAYS, LockedPlaces, SharedCounts, open_counts, open_places
from feedmill.ports.counts import Count, Counts, LocalCounts, LocalPlaces, SearchPlaces
from feedmill.services.signin.throttle import Throttle, ThrottleLimits


@pytest.fixture(params=["local", "shared"])
def counts(request: pytest.FixtureRequest, tmp_path: Path) -> Counts:
    return LocalCounts() if request.param == "local" else SharedCounts(tmp_path / "counts" / "test")


@pytest.fixture(params=["local", "locked"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> SearchPlaces:
    return LocalPlaces() if request.param == "local" else LockedPlaces(tmp_path / "counts" / "test")


def run_child(act: Callable[[], bool]) -> bool:
    """Runs a function in a forked process, and returns its result."""
    pid = os.fork()
    if pid == 0:
        code = 2
        try:
            code = 0 if act() else 1
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in (0, 1)
    return code == 0


def test_count_is_found_as_it_was_stored_last(counts: Counts) -> None:
    with counts.locked():
        assert counts.find("ann") is None
        counts.put("ann", Count(amount=1, until=2.5))
        counts.put("böb\ud800", Count(amount=-7, until=1e18, is_reported=True))
        counts.put("ann", Count(amount=2))
        assert counts.find("ann") == Count(amount=2)
        assert counts.find("böb\ud800") == Count(amount=-7, until=1e18, is_reported=True)


def test_shared_counts_drop_what_was_stored_least_recently(tmp_path: Path) -> None:
    counts = SharedCounts(tmp_path / "test", buckets=1)
    with counts.locked():
        for number in range(WAYS):
            counts.put(str(number), Count(amount=number))
        counts.put("0", Count(amount=100))
        counts.put("another", Count(amount=200))
        assert [counts.find(key) for key in ("0", "1", "2", "another")] == [Count(amount=100), None, Count(amount=2), Count(amount=200)]


def test_shared_counts_of_a_process_that_was_killed_with_the_lock_go_on(tmp_path: Path) -> None:
    def die_with_the_lock() -> bool:
        other = SharedCounts(tmp_path / "test")
        with other.locked():
            other.put("ann", Count(amount=3))
            os.kill(os.getpid(), signal.SIGKILL)
        return False

    with pytest.raises(AssertionError):
        run_child(die_with_the_lock)
    counts = SharedCounts(tmp_path / "test")
    with counts.locked():
        assert counts.find("ann") == Count(amount=3)


def test_counts_and_places_without_a_file_are_those_of_the_process(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert isinstance(open_counts(tmp_path / "file" / "test"), LocalCounts)
    assert isinstance(open_counts(tmp_path / "test"), SharedCounts)
    assert isinstance(open_places(tmp_path / "file" / "test"), LocalPlaces)
    assert isinstance(open_places(tmp_path / "places"), LockedPlaces)


def test_throttles_of_two_processes_count_together(tmp_path: Path) -> None:
    bounds = ThrottleLimits(by_both=3)

    def throttle() -> Throttle:
        return Throttle(bounds, lambda: 0.0, SharedCounts(tmp_path / "test"))

    assert run_child(lambda: not any(throttle().begin("ann", "10.0.0.1").wait_seconds for _ in range(2)))
    own = throttle()
    assert [bool(own.begin("ann", "10.0.0.1").wait_seconds) for _ in range(3)] == [False, True, True]
    assert run_child(lambda: throttle().is_refusing("ann", "10.0.0.1") and not throttle().is_refusing("bob", "10.0.0.2"))


def test_places_are_taken_up_to_the_bound_of_each_owner(places: SearchPlaces) -> None:
    assert [places.take("ann", 2) for _ in range(3)] == [True, True, False]
    assert places.take("bob", 1)
    places.give_back("ann")
    assert [places.take("ann", 2) for _ in range(2)] == [True, False]


def test_process_takes_the_places_of_all_and_those_of_its_share_first(tmp_path: Path) -> None:
    path = tmp_path / "test"

    def take_the_rest() -> bool:
        other = LockedPlaces(path, number=1, processes=2)
        return [other.take("ann", 5) for _ in range(4)] == [True, True, True, False]

    def take_what_its_share_is_of_two() -> bool:
        return LockedPlaces(path, number=1, processes=2).take("ann", 2)

    own = LockedPlaces(path, number=0, processes=2)
    assert own.take("ann", 5)
    assert run_child(take_what_its_share_is_of_two)
    assert own.take("ann", 5)
    assert run_child(take_the_rest)


def test_places_of_all_processes_count_together_until_their_process_ends(tmp_path: Path) -> None:
    path = tmp_path / "counts" / "test"

    def take_some() -> bool:
        return [LockedPlaces(path).take("ann", 2), (other := LockedPlaces(path)).take("bob", 1), other.take("bob", 1)] == [
            True,
            True,
            False,
        ]

    own = LockedPlaces(path)
    assert own.take("ann", 2)
    assert run_child(lambda: (other := LockedPlaces(path)).take("ann", 2) and not other.take("ann", 2))
    assert run_child(take_some)
    assert own.take("ann", 2)
    assert not run_child(lambda: LockedPlaces(path).take("ann", 2))
    own.give_back("ann")
    assert run_child(lambda: LockedPlaces(path).take("ann", 2))
