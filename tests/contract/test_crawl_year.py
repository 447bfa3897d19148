"""A year of the schedule: what is in the index on each day, by a clock that the test turns. The servers are a table in memory."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise

import pytest

from feedmill.core.crawling.schedule import RETRIES, FrequencyRules
from feedmill.core.urls.patterns import PatternSet
from feedmill.model.crawling import CrawlState
from feedmill.services.keyvalues import CRAWL_PAUSED
from tests.builders.crawling import mention, url_of
from tests.contract.crawlharness import CrawlHarness
from tests.migratedstore import open_migrated

DAYS = 365
MONTH = sum(RETRIES, timedelta()).days
PAUSED = range(250, 320)
OUTAGE = range(80, 100)
BACK = range(100, 135)
CLOSED = range(200, 215)
FORBIDDEN = range(150, 200)
NAMED = 330
NEWS = range(30)
FAILURES = (CrawlState.HTTP_SERVER_ERROR, CrawlState.CONNECTION_TIMED_OUT, CrawlState.AUTHENTICATION_FAILED, CrawlState.OTHER_ERROR)

Answer = Callable[[int], str | CrawlState | None]
"""What a server says on a day: a body, a failure, or None if there is no such page."""


def body(text: str = "always the same") -> Answer:
    return lambda _day: text


def changes_every(days: int) -> Answer:
    return lambda day: f"version {day // days}"


def fails(*days: range, state: CrawlState = CrawlState.HTTP_SERVER_ERROR) -> Answer:
    return lambda day: state if any(day in each for each in days) else "a body"


def is_missing(days: range) -> Answer:
    return lambda day: None if day in days else "a body"


def at_random(seed: int) -> Answer:
    """Returns a server that changes its mind every few days or weeks."""
    dice, answers = random.Random(seed), list[str | CrawlState | None]()
    while len(answers) < DAYS:
        said = dice.choice([f"body {dice.random()}", f"body {dice.random()}", None, dice.choice(FAILURES), dice.choice(FAILURES)])
        answers += [said] * dice.choice([1, 3, 10, 40, 60])
    return answers.__getitem__


PAGES: dict[str, Answer] = {
    "/steady": body(),
    "/weekly": changes_every(7),
    "/news/a": changes_every(1),
    "/archive/a": changes_every(1),
    "/forced/a": body(),
    "/deleted": is_missing(range(100, DAYS)),
    "/back": is_missing(BACK),
    "/flaky": fails(range(40, 55), range(248, 249), range(320, 322)),
    "/broken": fails(range(60, DAYS)),
    "/forbidden/a": body(),
    "http://out.test/1": fails(OUTAGE, state=CrawlState.CONNECTION_REFUSED),
    "http://out.test/2": fails(OUTAGE, state=CrawlState.CONNECTION_REFUSED),
    "http://shut.test/1": body(),
} | {f"http://random.test/{seed}": at_random(seed) for seed in range(6)}


@dataclass
class Year:
    """What happened on which day, by URL as it stands in ``PAGES``."""

    harness: CrawlHarness
    fetched: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    live: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    conditional: dict[str, set[bool]] = field(default_factory=lambda: defaultdict(set))

    def live_through(self) -> None:
        """Lives through the year, one crawl a day."""
        self.harness.add(*PAGES)
        for day in range(DAYS):
            self._answer(day)
            if day in (PAUSED.start, PAUSED.stop):
                self._pause(day in PAUSED)
            if day == NAMED:
                self.harness.add(mention("/steady", is_request=True))
            self._drop_news(day)
            if self._is_due():
                self.harness.servers.requests.clear()
                self.harness.notifier.is_idle = False
                self.harness.crawler().work(lambda: self.harness.notifier.is_idle)
                self._note_requests(day)
            for path in self.harness.list_live(PAGES):
                self.live[path].add(day)
            self.harness.clock.turn(days=1)

    def _answer(self, day: int) -> None:
        servers = self.harness.servers
        for path, answer in PAGES.items():
            said = answer(day)
            if said is None:
                servers.pages.pop(url_of(path), None)
            elif isinstance(said, CrawlState):
                servers.put(path, state=said, reason="it fails")
            else:
                servers.put(path, f"{path} {said}", etag=f'"{said}"')
        servers.put("/robots.txt", "User-agent: *\nDisallow: /forbidden/\n" if day in FORBIDDEN else "")
        states = {"out.test": (OUTAGE, CrawlState.CONNECTION_REFUSED), "shut.test": (CLOSED, CrawlState.HTTP_SERVER_ERROR)}
        for host, (days, state) in states.items():
            servers.put(f"http://{host}/robots.txt", state=state if day in days else CrawlState.CRAWLED)

    def _pause(self, is_paused: bool) -> None:
        with self.harness.store.writing() as unit:
            unit.state.key_values.put(CRAWL_PAUSED, "1" if is_paused else "")

    def _is_due(self) -> bool:
        """Returns whether the crawler would fetch anything; the crawl of a day without costs the most of a test's time."""
        with self.harness.store.reading() as unit:
            return unit.feeds.crawling.reports.count_waiting(self.harness.clock())[0] > 0

    def _drop_news(self, day: int) -> None:
        """Forgets the page that is fetched every day."""
        if day == NEWS.stop:
            with self.harness.store.writing() as unit:
                unit.feeds.crawling.queue.remove_many([url_of("/news/a")])

    def _note_requests(self, day: int) -> None:
        for request in self.harness.servers.requests:
            path = request.url.removeprefix("http://web.test")
            self.fetched[path].append(day)
            self.conditional[path].add(bool(request.etag))

    def count(self, path: str, days: range = range(DAYS)) -> int:
        return sum(day in days for day in self.fetched[path])


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> Year:
    """A year of some sites, which the tests of this file read."""
    store = open_migrated(tmp_path_factory.mktemp("year") / "store.sqlite")
    lived = Year(
        CrawlHarness(
            store=store,
            frequency=FrequencyRules(frequently=PatternSet(["web.test/news/"]), seldom=PatternSet(["web.test/archive/"])),
            force=PatternSet(["web.test/forced/"]),
        )
    )
    lived.live_through()
    store.close()
    return lived


def test_page_that_never_changes_is_fetched_ever_more_seldom(year: Year) -> None:
    assert 8 <= year.count("/steady", range(NAMED)) <= 20
    assert max(later - earlier for earlier, later in pairs(year.fetched["/steady"]) if later < PAUSED.start) <= 30
    assert year.live["/steady"] == set(range(DAYS))


def test_page_that_changes_every_week_is_fetched_twice_as_often(year: Year) -> None:
    crawled = DAYS - len(PAUSED)
    assert 1.4 * crawled / 7 <= year.count("/weekly") <= 3 * crawled / 7


def test_page_is_fetched_by_the_pattern_of_its_frequency(year: Year) -> None:
    assert year.fetched["/news/a"] == list(NEWS)
    assert year.count("/archive/a") <= 12
    assert year.conditional["/forced/a"] == {False}
    assert year.conditional["/steady"] == {False, True}


def test_mention_of_a_web_feed_begins_the_schedule_again(year: Year) -> None:
    assert [day - NAMED for day in year.fetched["/steady"] if day >= NAMED][:2] == [0, 1]


def test_page_that_is_gone_leaves_the_index_at_the_next_fetch_and_comes_back(year: Year) -> None:
    deleted = next(day for day in year.fetched["/deleted"] if day >= 100)
    assert year.live["/deleted"] == set(range(deleted))
    assert [day - deleted for day in year.fetched["/deleted"] if day >= deleted] == [0, 1, 4, 11, 32]
    missed = [day for day in range(DAYS) if day not in year.live["/back"]]
    assert missed == list(range(missed[0], missed[0] + len(missed)))
    assert all(day in year.live["/back"] for day in year.fetched["/back"] if day not in BACK)


def test_page_that_fails_for_two_weeks_stays(year: Year) -> None:
    assert year.live["/flaky"] == set(range(DAYS))


def test_page_that_fails_for_a_month_is_removed_at_the_fourth_retry(year: Year) -> None:
    first = next(day for day in year.fetched["/broken"] if day >= 60)
    assert [day - first for day in year.fetched["/broken"] if day >= 60] == [0, 1, 4, 11, 32]
    assert year.live["/broken"] == set(range(first + MONTH))


def test_outage_of_a_host_removes_nothing(year: Year) -> None:
    assert all(year.live[path] == set(range(DAYS)) for path in PAGES if "out.test" in path)


def test_page_that_robots_txt_forbids_is_removed_until_it_is_allowed_again(year: Year) -> None:
    missed = [day for day in range(DAYS) if day not in year.live["/forbidden/a"]]
    assert missed == list(range(missed[0], missed[-1] + 1))
    assert missed[0] >= FORBIDDEN.start
    assert missed[-1] < FORBIDDEN.stop + 7
    assert year.count("/forbidden/a", FORBIDDEN) == 0


def test_site_whose_robots_txt_fails_is_closed_and_stays(year: Year) -> None:
    assert year.live["http://shut.test/1"] == set(range(DAYS))
    assert year.count("http://shut.test/1", CLOSED) == 0
    assert year.count("http://shut.test/robots.txt", CLOSED) > 0


def test_paused_crawler_fetches_and_removes_nothing(year: Year) -> None:
    assert sum(year.count(path, PAUSED) for path in year.fetched) == 0
    assert all({day in days for day in PAUSED} != {True, False} for days in year.live.values())


@pytest.mark.parametrize("path", [path for path in PAGES if "random.test" in path])
def test_index_holds_what_the_last_fetches_found(year: Year, path: str) -> None:
    """A success makes a document, a 404 ends it, and any other failure ends it when all fetches of a month have failed."""
    is_live, failing_since = False, None
    for day in range(DAYS):
        if day in year.fetched[path]:
            said = PAGES[path](day)
            if isinstance(said, CrawlState):
                failing_since = day if failing_since is None else failing_since
                is_live = is_live and day - failing_since < MONTH
            else:
                is_live, failing_since = said is not None, None
        assert (day in year.live[path]) == is_live, day


def pairs(days: list[int]) -> Iterator[tuple[int, int]]:
    return pairwise(days)
