"""The crawl queue, on every database: one entry a URL, leases by site, what a mention changes."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bench import crawlqueue
from feedmill.adapters.store.engine import SqlStore
from feedmill.model.crawling import CrawlEntry, CrawlGroup, CrawlMention, CrawlSite, CrawlState, CrawlUrgency, FetchRecord
from tests.builders.crawling import NOW, mention, url_of
from tests.migratedstore import open_migrated

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
LEASE = timedelta(minutes=10)
SITE = "http://web.test"


def add(store: SqlStore, *mentions: CrawlMention | str, now: datetime = NOW) -> int:
    with store.writing() as unit:
        return unit.feeds.crawling.queue.add_many([mention(each) if isinstance(each, str) else each for each in mentions], now)


def lease(
    store: SqlStore,
    *,
    owner: str = "one",
    now: datetime = NOW,
    limit: int = 100,
    default: int = 100,
    capacity: dict[str, int] | None = None,
) -> list[CrawlEntry]:
    with store.writing() as unit:
        by_site = {f"http://{host}.test": count for host, count in (capacity or {}).items()}
        return unit.feeds.crawling.queue.lease_due(owner, now, now + LEASE, capacity=by_site, default_capacity=default, limit=limit)


def paths(entries: list[CrawlEntry]) -> list[str]:
    return [entry.url.removeprefix(SITE) for entry in entries]


def save(store: SqlStore, *entries: CrawlEntry) -> None:
    with store.writing() as unit:
        unit.feeds.crawling.queue.save_many(entries)


def find(store: SqlStore, path: str = "/a") -> CrawlEntry:
    with store.reading() as unit:
        return unit.feeds.crawling.queue.find_many([url_of(path)])[url_of(path)]


def crawled(entry: CrawlEntry, *, due_at: datetime | None = NOW + DAY, now: datetime = NOW) -> CrawlEntry:
    return replace(entry, urgency=CrawlUrgency.SCHEDULED, state=CrawlState.CRAWLED, crawled_at=now, due_at=due_at, interval_seconds=86_400)


# --- mentions -------------------------------------------------------------------------------------------------------------------


def test_depths_are_those_of_the_known_urls(store: SqlStore) -> None:
    add(store, mention("/a", depth=2), mention("/b"))
    with store.reading() as unit:
        depths = unit.feeds.crawling.urls.find_depths([url_of("/a"), url_of("/b"), url_of("/unknown")])
        assert unit.feeds.crawling.urls.find_depths([]) == {}
    assert depths == {url_of("/a"): 2, url_of("/b"): 0}


def test_add_with_new_urls_makes_one_entry_each(store: SqlStore) -> None:
    assert add(store, "/a", mention("/a", depth=3, referrer="http://web.test/"), "/b") == 2
    assert add(store, "/b", "/c") == 1
    entry = find(store)
    assert (entry.site, entry.state, entry.urgency, entry.added_at, entry.due_at) == (SITE, CrawlState.WAITING, CrawlUrgency.NEW, NOW, NOW)
    assert (entry.referrer, entry.depth, entry.history, entry.lease_owner) == ("http://web.test/", 0, (), "")


@pytest.mark.parametrize(
    "url", ["http://web.test/" + "ü日" * 900, "http://web.test/a b%20%c3", "smb://files/x", "nonsense", "mailto:a@b.c"]
)
def test_add_with_any_url_finds_it_as_it_was_given(store: SqlStore, url: str) -> None:
    add(store, url)
    with store.reading() as unit:
        assert list(unit.feeds.crawling.queue.find_many([url])) == [url]
        assert [entry.url for entry in unit.feeds.crawling.reports.list_entries()] == [url]


def test_add_with_a_url_that_no_database_takes_ignores_it(store: SqlStore) -> None:
    assert add(store, "http://web.test/\0", "http://web.test/\ud800", "/a") == 1


def test_add_request_for_a_crawled_url_makes_it_due_as_if_new(store: SqlStore) -> None:
    add(store, mention("/a", pagerank=80))
    save(store, crawled(*lease(store)))
    add(store, mention("/a", is_request=True), now=NOW + HOUR)
    entry = find(store)
    assert (entry.urgency, entry.due_at, entry.interval_seconds, entry.pagerank) == (CrawlUrgency.NEW, NOW + HOUR, 0, 80)
    assert entry.state is CrawlState.CRAWLED


def test_add_link_to_a_crawled_url_changes_only_who_refers_to_it(store: SqlStore) -> None:
    add(store, mention("/a", depth=4))
    save(store, crawled(*lease(store)))
    add(store, mention("/a", depth=2, referrer="http://web.test/x"), now=NOW + HOUR)
    entry = find(store)
    assert (entry.due_at, entry.urgency, entry.depth, entry.referrer) == (NOW + DAY, CrawlUrgency.SCHEDULED, 2, "http://web.test/x")


def test_add_once_for_a_crawled_url_asks_for_nothing_unless_immediate(store: SqlStore) -> None:
    add(store, mention("/a", is_once=True, is_request=True))
    save(store, crawled(*lease(store), due_at=None))
    add(store, mention("/a", is_once=True, is_request=True), now=NOW + HOUR)
    assert find(store).due_at is None
    add(store, mention("/a", is_once=True, is_request=True, is_immediate=True), now=NOW + 2 * HOUR)
    assert (find(store).due_at, find(store).urgency) == (NOW + 2 * HOUR, CrawlUrgency.IMMEDIATE)


@pytest.mark.parametrize(
    ("changed_at", "due_at"),
    [(NOW - HOUR, NOW + DAY), (NOW + HOUR, NOW + 2 * HOUR), (NOW + 3 * HOUR, NOW + DAY)],
    ids=["earlier", "since", "in the future"],
)
def test_add_hint_of_a_change_makes_a_crawled_url_due(store: SqlStore, changed_at: datetime, due_at: datetime) -> None:
    add(store, "/a")
    save(store, crawled(*lease(store)))
    add(store, mention("/a", changed_at=changed_at), now=NOW + 2 * HOUR)
    assert find(store).due_at == due_at


def test_add_request_during_a_fetch_has_it_fetched_again(store: SqlStore) -> None:
    add(store, "/a")
    (entry,) = lease(store)
    add(store, mention("/a", is_request=True, is_immediate=True), now=NOW + HOUR)
    assert lease(store, owner="one", now=NOW + timedelta(minutes=1)) == []
    save(store, crawled(entry))
    assert (find(store).due_at, find(store).urgency, find(store).state) == (NOW + HOUR, CrawlUrgency.IMMEDIATE, CrawlState.CRAWLED)
    (again,) = lease(store, now=NOW + HOUR)
    save(store, crawled(again, due_at=NOW + 2 * DAY))
    assert find(store).due_at == NOW + 2 * DAY


def test_add_request_for_what_waits_keeps_its_turn(store: SqlStore) -> None:
    add(store, mention("/a", is_request=True, is_immediate=True))
    add(store, mention("/a", is_request=True), now=NOW + HOUR)
    assert (find(store).due_at, find(store).urgency) == (NOW, CrawlUrgency.IMMEDIATE)


# --- leases ---------------------------------------------------------------------------------------------------------------------


def test_lease_orders_by_urgency_then_pagerank_then_age(store: SqlStore) -> None:
    add(store, "/due", now=NOW - DAY)
    save(store, crawled(*lease(store, now=NOW - DAY), due_at=NOW - HOUR))
    add(store, "/older", now=NOW - HOUR)
    add(store, "/newer", mention("/best", pagerank=100), mention("/low", pagerank=68))
    add(store, mention("/now", is_request=True, is_immediate=True))
    assert paths(lease(store)) == ["/now", "/best", "/older", "/newer", "/low", "/due"]


def test_lease_assigns_each_entry_to_one_owner(store: SqlStore) -> None:
    add(store, *(f"http://{host}.test/{number}" for host in "ab" for number in range(3)))
    first = lease(store, owner="one", limit=2)
    assert {entry.lease_owner for entry in first} == {"one"}
    second = lease(store, owner="two")
    assert {entry.site for entry in first}.isdisjoint(entry.site for entry in second)
    assert len(second) == 3


def test_lease_respects_the_capacity_of_each_site(store: SqlStore) -> None:
    add(store, *(f"http://{host}.test/{number}" for host in "abc" for number in range(5)))
    found = lease(store, default=2, capacity={"a": 0, "b": 3})
    assert sorted(entry.site for entry in found) == ["http://b.test"] * 3 + ["http://c.test"] * 2
    assert lease(store, default=0, capacity={"a": 1, "b": 0})[0].site == "http://a.test"


def test_lease_with_many_full_sites_finds_the_others(store: SqlStore) -> None:
    add(store, *(f"http://full{number}.test/" for number in range(20)), now=NOW - DAY)
    add(store, "/a")
    found = lease(store, limit=1, capacity={f"full{number}": 0 for number in range(20)})
    assert paths(found) == ["/a"]


def test_lease_that_expired_is_taken_by_another_owner(store: SqlStore) -> None:
    add(store, "/a")
    (entry,) = lease(store, owner="one")
    assert lease(store, owner="two", now=NOW + LEASE / 2) == []
    (taken,) = lease(store, owner="two", now=NOW + LEASE)
    assert taken.lease_owner == "two"
    save(store, crawled(entry))
    assert (find(store).state, find(store).lease_owner) == (CrawlState.WAITING, "two")


def test_release_returns_the_leases_of_a_process(store: SqlStore) -> None:
    add(store, "/a", "/b", "http://other.test/")
    assert len(lease(store, owner="one")) == 3
    with store.writing() as unit:
        assert unit.feeds.crawling.queue.release("two") == 0
        assert unit.feeds.crawling.queue.release("one") == 3
    assert len(lease(store, owner="two")) == 3


def test_lease_waits_until_entries_are_due(store: SqlStore) -> None:
    add(store, "/a", "/b")
    first, second = lease(store)
    save(store, crawled(first), crawled(second, due_at=None))
    assert lease(store, now=NOW + HOUR) == []
    assert paths(lease(store, now=NOW + DAY)) == ["/a"]


def test_lease_waits_until_a_site_is_free(store: SqlStore) -> None:
    add(store, "/a", mention("/now", is_request=True, is_immediate=True))
    with store.writing() as unit:
        unit.feeds.crawling.sites.save_many([CrawlSite(site=SITE, free_at=NOW + HOUR)])
    assert lease(store) == []
    assert paths(lease(store, now=NOW + HOUR)) == ["/now", "/a"]


def test_lease_of_a_failing_site_is_for_immediate_urls_only(store: SqlStore) -> None:
    add(store, "/a", mention("/now", is_request=True, is_immediate=True))
    failing = CrawlSite(site=SITE, retry_at=NOW + HOUR, failures=3, failed_at=NOW, reason="connection refused")
    with store.writing() as unit:
        unit.feeds.crawling.sites.save_many([failing])
    assert paths(lease(store)) == ["/now"]
    assert lease(store) == []
    with store.writing() as unit:
        assert unit.feeds.crawling.sites.list_failing(10) == [failing]
        unit.feeds.crawling.sites.save_many([CrawlSite(site=SITE)])
    assert paths(lease(store)) == ["/a"]


def test_sites_are_found_as_they_were_stored(store: SqlStore) -> None:
    site = CrawlSite(site="http://new.test", free_at=NOW, robots=b"User-agent: *\n", robots_state=CrawlState.CRAWLED, robots_at=NOW)
    with store.writing() as unit:
        unit.feeds.crawling.sites.save_many([site])
        assert unit.feeds.crawling.sites.find_many(["http://new.test", "http://no.test"]) == {"http://new.test": site}


# --- storing and reading --------------------------------------------------------------------------------------------------------


def test_save_stores_the_last_ten_fetches_and_ends_the_lease(store: SqlStore) -> None:
    add(store, "/a")
    (entry,) = lease(store)
    history = tuple(
        FetchRecord(at=NOW + n * HOUR, state=CrawlState.HTTP_SERVER_ERROR, http_status=500, size_bytes=n, seconds=0.25, reason="it failed")
        for n in range(12)
    )
    history = (*history[:-1], replace(history[-1], redirected_to="http://web.test/b"))
    given = replace(
        crawled(entry), etag='"x"', modified="yesterday", checksum=b"sum", changed_at=NOW, failures=2, failed_at=NOW, history=history
    )
    save(store, given)
    assert find(store) == replace(given, history=history[2:], lease_owner="", lease_expires_at=None)


def test_save_of_a_removed_entry_does_nothing(store: SqlStore) -> None:
    add(store, "/a")
    (entry,) = lease(store)
    with store.writing() as unit:
        unit.feeds.crawling.queue.remove_many([entry.url])
        unit.feeds.crawling.queue.save_many([entry])
        assert unit.feeds.crawling.queue.find_many([entry.url]) == {}


def test_find_by_checksum_names_the_first_url(store: SqlStore) -> None:
    add(store, "/b", now=NOW - HOUR)
    add(store, "/a")
    save(store, *(replace(crawled(entry), checksum=b"same") for entry in lease(store)))
    with store.reading() as unit:
        assert unit.feeds.crawling.queue.find_by_checksum([b"same", b"other"], [SITE]) == {b"same": url_of("/b")}
        assert unit.feeds.crawling.queue.find_by_checksum([b"same"], ["http://other.test"]) == {}


def test_duplicates_are_listed_by_their_original(store: SqlStore) -> None:
    add(store, "/b", now=NOW - HOUR)
    add(store, "/a")
    entries = {entry.url: replace(crawled(entry), checksum=b"same") for entry in lease(store)}
    save(store, replace(entries[url_of("/b")], duplicate_of=url_of("/a")), entries[url_of("/a")])
    with store.reading() as unit:
        queue, reports = unit.feeds.crawling.queue, unit.feeds.crawling.reports
        assert queue.find_by_checksum([b"same"], [SITE]) == {b"same": url_of("/a")}
        assert reports.list_duplicates([url_of("/a"), url_of("/b")], 10) == [url_of("/b")]
        assert queue.find_many([url_of("/b")])[url_of("/b")].duplicate_of == url_of("/a")


def test_list_entries_pages_through_what_begins_with_a_prefix(store: SqlStore) -> None:
    long = "/p/" + "x" * 300
    add(store, "/p/b", "/p/a", "/p/ä", "/q", f"{long}2", f"{long}1", "/P/a")
    listed = ["/p/a", "/p/b", f"{long}1", f"{long}2", "/p/ä"]
    with store.reading() as unit:
        reports = unit.feeds.crawling.reports
        assert paths(reports.list_entries(prefix=url_of("/p/"))) == listed
        assert paths(reports.list_entries(prefix=url_of(long))) == listed[2:4]
        found: list[str] = []
        while page := reports.list_entries(prefix=url_of("/p/"), after=url_of(found[-1]) if found else "", limit=2):
            found += paths(page)
        assert found == listed


def test_counts_are_by_site_and_group(store: SqlStore) -> None:
    add(store, "/a", "/b", "/c", "http://other.test/")
    found = {entry.url: entry for entry in lease(store)}
    save(store, crawled(found[url_of("/a")]), replace(found[url_of("/b")], state=CrawlState.NOT_FOUND, due_at=None))
    with store.reading() as unit:
        counts = unit.feeds.crawling.reports.count_by_site()
        assert counts[SITE] == {CrawlGroup.CRAWLED: 1, CrawlGroup.ERROR: 1, CrawlGroup.WAITING: 1, CrawlGroup.EXCLUDED: 0}
        assert paths(unit.feeds.crawling.reports.list_entries(group=CrawlGroup.ERROR)) == ["/b"]
        assert unit.feeds.crawling.reports.count_waiting(NOW) == (0, None)
        assert unit.feeds.crawling.reports.count_waiting(NOW + DAY) == (1, NOW + DAY)


def test_urls_of_the_benchmark_are_all_leased_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crawlqueue.measure(tmp_path, 300)
    store = open_migrated(tmp_path / "store.sqlite")
    with store.reading() as unit:
        entries = unit.feeds.crawling.reports.list_entries(limit=1_000)
    store.close()
    assert (len(entries), {len(entry.history) for entry in entries}) == (300, {1})
    assert capsys.readouterr().out.count("a second") == 1


def test_site_is_leased_by_one_process_at_a_time(store: SqlStore) -> None:
    until = NOW + timedelta(minutes=1)
    with store.writing() as unit:
        sites = unit.feeds.crawling.sites
        unknown = sites.lease("one", "http://new.test", NOW, until)
        assert unknown is not None
        assert (unknown.site, unknown.robots_at) == ("http://new.test", None)
        assert sites.lease("two", "http://new.test", NOW, until) is None
        assert sites.lease("one", "http://new.test", NOW, until) is not None
        assert [site.site for site in sites.list_leased("one")] == ["http://new.test"]
    with store.writing() as unit:
        assert unit.feeds.crawling.sites.lease("two", "http://new.test", until, until + timedelta(minutes=1)) is not None
        assert unit.feeds.crawling.sites.list_leased("one") == []
