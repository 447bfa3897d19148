from feedmill.model.decision import Verdict
from feedmill.services.authorization.cache import AuthorizationCache
from tests.builders.access import identity

ANN = identity("ann")
BOB = identity("bob")


class Clock:
    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def test_decision_is_cached_for_one_user_until_it_expires() -> None:
    clock = Clock()
    cache = AuthorizationCache(clock, seconds=10.0, entries=9)
    cache.put(ANN, "http://a/", Verdict.DENY)
    assert (cache.find_verdict(ANN, "http://a/"), cache.find_verdict(BOB, "http://a/"), cache.find_verdict(ANN, "http://b/")) == (
        Verdict.DENY,
        None,
        None,
    )
    clock.seconds = 109.9
    assert cache.find_verdict(ANN, "http://a/") is Verdict.DENY
    clock.seconds = 110.0
    assert cache.find_verdict(ANN, "http://a/") is None
    assert len(cache) == 0


def test_decision_that_is_used_again_expires_no_later() -> None:
    clock = Clock()
    cache = AuthorizationCache(clock, seconds=10.0, entries=9)
    cache.put(ANN, "http://a/", Verdict.PERMIT)
    for clock.seconds in (103.0, 106.0, 109.0):
        assert cache.find_verdict(ANN, "http://a/") is Verdict.PERMIT
    clock.seconds = 111.0
    assert cache.find_verdict(ANN, "http://a/") is None


def test_newer_decision_replaces_the_older_one_and_its_time() -> None:
    clock = Clock()
    cache = AuthorizationCache(clock, seconds=10.0, entries=9)
    cache.put(ANN, "http://a/", Verdict.PERMIT)
    clock.seconds = 105.0
    cache.put(ANN, "http://a/", Verdict.DENY)
    clock.seconds = 114.0
    assert cache.find_verdict(ANN, "http://a/") is Verdict.DENY


def test_decision_that_was_not_used_for_longest_is_evicted_first() -> None:
    cache = AuthorizationCache(Clock(), seconds=10.0, entries=2)
    cache.put(ANN, "http://a/", Verdict.PERMIT)
    cache.put(ANN, "http://b/", Verdict.PERMIT)
    cache.find_verdict(ANN, "http://a/")
    cache.put(ANN, "http://c/", Verdict.PERMIT)
    assert [cache.find_verdict(ANN, f"http://{name}/") for name in "abc"] == [Verdict.PERMIT, None, Verdict.PERMIT]
    assert len(cache) == 2


def test_nothing_is_cached_without_time_entries_or_decision() -> None:
    for cache in (AuthorizationCache(Clock(), seconds=0.0, entries=9), AuthorizationCache(Clock(), seconds=9.0, entries=0)):
        cache.put(ANN, "http://a/", Verdict.PERMIT)
        assert cache.find_verdict(ANN, "http://a/") is None
    cache = AuthorizationCache(Clock(), seconds=9.0, entries=9)
    cache.put(ANN, "http://a/", Verdict.INDETERMINATE)
    assert len(cache) == 0
