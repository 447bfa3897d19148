"""When URLs are fetched again: years pass in a test."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.core.crawling.hostload import UNBOUNDED, HostLoad, HostLoads, LoadException
from feedmill.core.crawling.schedule import RETRIES, Frequency, FrequencyRules, schedule
from feedmill.core.urls.patterns import PatternSet
from feedmill.model.crawling import CrawlEntry, CrawlState, FetchRecord
from tests.builders.crawling import NOW, make_crawl_entry

DAY = timedelta(days=1)
Visits = list[tuple[datetime, CrawlEntry, bool]]


def live(entry: CrawlEntry, answer: Callable[[datetime], tuple[CrawlState, bool]], frequency: Frequency, length: timedelta) -> Visits:
    """Fetches an entry whenever it is due, for a length of time."""
    visits: Visits = []
    while entry.due_at is not None and entry.due_at < NOW + length:
        at = entry.due_at
        state, is_changed = answer(at)
        following = schedule(entry, FetchRecord(at=at, state=state), frequency, is_changed=is_changed)
        entry = following.entry
        visits.append((at, entry, following.removes))
    return visits


def changes_every(period: timedelta) -> Callable[[datetime], tuple[CrawlState, bool]]:
    seen = -1

    def answer(at: datetime) -> tuple[CrawlState, bool]:
        nonlocal seen
        version = (at - NOW) // period
        is_changed, seen = version != seen, version
        return (CrawlState.CRAWLED if is_changed else CrawlState.CRAWLED_FROM_CACHE), is_changed

    return answer


@pytest.mark.parametrize(
    ("frequency", "period", "least", "most"),
    [
        (Frequency.NORMAL, timedelta(days=2), 300, 450),
        (Frequency.NORMAL, timedelta(days=1_000), 14, 40),
        (Frequency.NORMAL, timedelta(minutes=1), 8_000, 8_800),
        (Frequency.FREQUENT, timedelta(days=1_000), 360, 500),
        (Frequency.SELDOM, timedelta(minutes=1), 11, 14),
    ],
)
def test_schedule_of_a_year_follows_the_changes(frequency: Frequency, period: timedelta, least: int, most: int) -> None:
    visits = live(make_crawl_entry(), changes_every(period), frequency, timedelta(days=365))
    assert least <= len(visits) <= most
    assert not any(removes for _, _, removes in visits)


def test_schedule_of_failures_removes_after_a_month() -> None:
    entry = schedule(make_crawl_entry(), FetchRecord(at=NOW, state=CrawlState.CRAWLED), Frequency.NORMAL).entry
    visits = live(entry, lambda _at: (CrawlState.CONNECTION_TIMED_OUT, False), Frequency.NORMAL, timedelta(days=400))
    assert [(at - NOW).days for at, _, _ in visits] == [1, 2, 5, 12, 33]
    assert [removes for _, _, removes in visits] == [False, False, False, False, True]


def test_schedule_of_an_endless_redirect_removes_after_a_month_and_tries_again() -> None:
    visits = live(make_crawl_entry(), lambda _at: (CrawlState.LONG_REDIRECT_CHAIN, False), Frequency.NORMAL, timedelta(days=60))
    assert [(at - NOW).days for at, _, _ in visits] == [0, 1, 4, 11, 32, 39, 40, 43, 50]
    assert [removes for _, _, removes in visits].count(True) == 1


def test_schedule_of_a_page_without_index_that_is_kept_follows_its_changes() -> None:
    following = schedule(make_crawl_entry(), FetchRecord(at=NOW, state=CrawlState.DISALLOWED_BY_META_TAG), Frequency.NORMAL)
    assert (following.removes, following.entry.due_at, following.entry.crawled_at) == (False, NOW + DAY, NOW)


def test_schedule_of_retries_that_come_late_keeps_their_times_apart() -> None:
    """The crawler was paused for months after a first failure, and then the server failed for an hour."""
    entry = schedule(make_crawl_entry(), FetchRecord(at=NOW, state=CrawlState.HTTP_SERVER_ERROR), Frequency.NORMAL).entry
    late = NOW + 200 * DAY
    following = schedule(entry, FetchRecord(at=late, state=CrawlState.HTTP_SERVER_ERROR), Frequency.NORMAL)
    assert (following.entry.failures, following.entry.due_at, following.removes) == (2, late + 3 * DAY, False)
    again = schedule(following.entry, FetchRecord(at=late + DAY, state=CrawlState.HTTP_SERVER_ERROR), Frequency.NORMAL)
    assert (again.entry.failures, again.entry.due_at, again.removes) == (2, late + 3 * DAY, False)


FAILING = (CrawlState.HTTP_SERVER_ERROR, CrawlState.HTTP_CLIENT_ERROR, CrawlState.CONNECTION_TIMED_OUT, CrawlState.ROBOTS_TXT_UNREACHABLE)
SUCCEEDING = (CrawlState.CRAWLED, CrawlState.CRAWLED_FROM_CACHE, CrawlState.ROBOTS_NOINDEX)
GONE = (CrawlState.NOT_FOUND, CrawlState.DISALLOWED_BY_ROBOTS_TXT, CrawlState.OFF_DOMAIN_REDIRECT)


@given(
    fetches=st.lists(
        st.tuples(
            st.sampled_from([*FAILING, *FAILING, *SUCCEEDING, *GONE]),
            st.one_of(st.just(timedelta()), st.timedeltas(-21 * DAY, 60 * DAY)),
            st.booleans(),
        ),
        max_size=20,
    ),
    frequency=st.sampled_from(Frequency),
)
def test_schedule_of_any_history_removes_by_the_rules_alone(
    fetches: list[tuple[CrawlState, timedelta, bool]], frequency: Frequency
) -> None:
    """Fetches come when they are due, or earlier, because a feed asks for them, or later, because the server is busy or stopped."""
    entry, now = make_crawl_entry(), NOW
    failing_since: datetime | None = None
    for state, shift, is_changed in fetches:
        now = max(now, (entry.due_at or now) + shift)
        following = schedule(entry, FetchRecord(at=now, state=state), frequency, is_changed=is_changed)
        entry = following.entry
        if state in SUCCEEDING:
            _, shortest, longest = frequency.value
            assert not following.removes
            assert entry.due_at is not None
            assert shortest <= entry.due_at - now <= longest
            failing_since = None
        elif state in GONE:
            assert following.removes
            assert entry.due_at is None or entry.due_at >= now + min(RETRIES)
            failing_since = failing_since or now if state is CrawlState.NOT_FOUND and entry.failures else None
        else:
            failing_since = failing_since or now
            assert following.removes == (entry.due_at is None)
            if following.removes:
                assert now - failing_since >= sum(RETRIES, timedelta())
                failing_since = None
            else:
                assert entry.due_at is not None
                assert entry.due_at > now
                # what is fetched when it is due is given up after five failures, however often it was fetched in between
                assert entry.failures <= len(RETRIES)


def test_schedule_of_extra_failures_does_not_remove_earlier() -> None:
    entry = make_crawl_entry()
    for hour in range(20):
        following = schedule(entry, FetchRecord(at=NOW + timedelta(hours=hour), state=CrawlState.HTTP_SERVER_ERROR), Frequency.NORMAL)
        assert (following.entry.failures, following.entry.due_at, following.removes) == (1, NOW + DAY, False)
        entry = following.entry
    assert len(entry.history) == 10


@pytest.mark.parametrize(
    ("state", "removes", "is_due_again"),
    [
        (CrawlState.NOT_FOUND, True, True),
        (CrawlState.DISALLOWED_BY_ROBOTS_TXT, True, True),
        (CrawlState.NOT_IN_URLS_TO_CRAWL, True, False),
        (CrawlState.UNHANDLED_PROTOCOL, False, False),
        (CrawlState.ROBOTS_TXT_UNREACHABLE, False, True),
        (CrawlState.LONG_REDIRECT_CHAIN, False, True),
        (CrawlState.HTTP_CLIENT_ERROR, False, True),
    ],
)
def test_schedule_of_a_state_removes_at_once_or_never_at_once(state: CrawlState, removes: bool, is_due_again: bool) -> None:
    following = schedule(make_crawl_entry(), FetchRecord(at=NOW, state=state), Frequency.NORMAL)
    assert (following.removes, following.entry.due_at is not None, following.entry.state) == (removes, is_due_again, state)


def test_schedule_of_a_url_that_is_crawled_once_ends() -> None:
    entry = make_crawl_entry(is_once=True)
    failed = schedule(entry, FetchRecord(at=NOW, state=CrawlState.HTTP_SERVER_ERROR), Frequency.NORMAL).entry
    assert failed.due_at == NOW + DAY
    assert schedule(failed, FetchRecord(at=NOW, state=CrawlState.CRAWLED), Frequency.NORMAL).entry.due_at is None


def test_frequency_is_that_of_the_patterns() -> None:
    rules = FrequencyRules(frequently=PatternSet(["web.test/news/"], []), seldom=PatternSet(["web.test/"], []))
    urls = ("http://web.test/news/a", "http://web.test/a", "http://other.test/")
    assert [rules.find(url) for url in urls] == [Frequency.FREQUENT, Frequency.SELDOM, Frequency.NORMAL]
    assert FrequencyRules(frequently=PatternSet([], []), seldom=PatternSet([], [])).find(urls[0]) is Frequency.NORMAL


@pytest.mark.parametrize(
    ("default", "delay", "load"),
    [
        (4.0, 0.0, HostLoad(at_once=4)),
        (2.4, 0.0, HostLoad(at_once=2)),
        (0.5, 0.0, HostLoad(at_once=1, pause_seconds=2.0)),
        (0.5, 3.0, HostLoad(at_once=1, pause_seconds=3.0)),
        (0.0, 0.0, HostLoad(at_once=UNBOUNDED)),
        (0.0, 3.0, HostLoad(at_once=1, pause_seconds=3.0)),
    ],
)
def test_host_load_by_default(default: float, delay: float, load: HostLoad) -> None:
    assert HostLoads(default=default).find("http://web.test", 12, delay_seconds=delay) == load


def test_host_load_of_an_exception_holds_in_its_hours() -> None:
    night = LoadException(host="web.test", start_hour=22, end_hour=6, load=9)
    never = LoadException(host="*", start_hour=8, end_hour=9, load=0)
    loads = HostLoads(default=1, exceptions=(night, never))
    assert [loads.find("http://web.test:81", hour).at_once for hour in (23, 5, 6, 8, 9)] == [9, 9, 1, 0, 1]
    assert loads.find("http://other.test", 23).at_once == 1
