import pytest

from feedmill.ports.counts import LocalCounts
from feedmill.services.signin.throttle import Throttle, ThrottleLimits

BOUNDS = ThrottleLimits(by_both=3, by_address=6, by_name=9, window_seconds=60)


class ManualClock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def fail(throttle: Throttle, name: str, address: str, times: int) -> int:
    """Returns how many attempts were let through."""
    return sum(not throttle.begin(name, address).wait_seconds for _ in range(times))


def test_throttle_lets_through_as_many_failures_as_its_bound(clock: ManualClock) -> None:
    throttle = Throttle(BOUNDS, clock)
    assert fail(throttle, "ann", "10.0.0.1", 10) == 3
    assert throttle.begin("ann", "10.0.0.1").wait_seconds == 60
    clock.now = 60
    assert fail(throttle, "ann", "10.0.0.1", 10) == 3


def test_throttle_reports_the_first_refusal_only(clock: ManualClock) -> None:
    throttle = Throttle(BOUNDS, clock)
    fail(throttle, "ann", "10.0.0.1", 3)
    assert [throttle.begin("ann", "10.0.0.1").is_first for _ in range(3)] == [True, False, False]


def test_throttle_counts_an_address_over_all_names_and_a_name_over_all_addresses(clock: ManualClock) -> None:
    throttle = Throttle(BOUNDS, clock)
    assert sum(fail(throttle, f"user{number}", "10.0.0.1", 1) for number in range(20)) == 6
    assert sum(fail(throttle, "ann", f"10.0.1.{number}", 1) for number in range(20)) == 9
    assert fail(throttle, "bob", "10.0.2.1", 1) == 1


def test_throttle_counts_the_addresses_of_one_host_as_one(clock: ManualClock) -> None:
    throttle = Throttle(BOUNDS, clock)
    assert sum(fail(throttle, "ann", f"2001:db8::{number}", 1) for number in range(1, 10)) == 3
    assert fail(throttle, "bob", "::ffff:10.0.0.1", 3) == 3
    assert fail(throttle, "bob", "10.0.0.1", 3) == 0


def test_throttle_counts_a_shared_address_by_name_alone(clock: ManualClock) -> None:
    throttle = Throttle(BOUNDS, clock)
    assert sum(fail(throttle, f"user{number}", "", 1) for number in range(20)) == 20
    assert fail(throttle, "ann", "", 10) == 3


def test_throttle_forgets_the_guesses_of_who_succeeded(clock: ManualClock) -> None:
    throttle = Throttle(BOUNDS, clock)
    for _ in range(5):
        assert fail(throttle, "ann", "10.0.0.1", 2) == 2
        throttle.take_back("ann", "10.0.0.1", has_succeeded=True)
        clock.now += 1
    assert fail(throttle, "bob", "10.0.0.1", 9) == 1


def test_throttle_admits_users_where_they_signed_in_before_when_others_guess_their_names(clock: ManualClock) -> None:
    throttle = Throttle(BOUNDS, clock)
    assert fail(throttle, "ann", "10.0.0.1", 1) == 1
    throttle.take_back("ann", "10.0.0.1", has_succeeded=True)
    for number in range(20):
        fail(throttle, "ann", f"10.0.1.{number}", 3)
    assert fail(throttle, "ann", "10.0.2.1", 1) == 0
    assert fail(throttle, "ann", "10.0.0.1", 10) == 3
    throttle.take_back("bob", "", has_succeeded=True)
    assert fail(throttle, "bob", "", 10) == 3


def test_throttle_remembers_a_bounded_number_of_counts(clock: ManualClock) -> None:
    counts = LocalCounts(50)
    throttle = Throttle(BOUNDS, clock, counts)
    for number in range(500):
        throttle.begin(f"user{number}", f"10.0.{number // 250}.{number % 250}")
    assert len(counts) <= 50
