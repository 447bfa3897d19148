"""Runs of a seedlist on a real store: servers that fail in the middle, malformed pages, dry runs, the guard."""

from collections.abc import Mapping
from typing import Any

import pytest

from feedmill.adapters.store.engine import SqlStore
from feedmill.model.errors import UpstreamFailure
from feedmill.model.pulling import RunState
from feedmill.services.pulling.seedlists import FetchedBody, SeedlistAddress, SeedlistSource
from tests.contract.pullharness import PullHarness, counts_of

HOST = "https://list.example.com"
PAGES = 9


class Seedlist:
    """A server of nine pages with two entries each, and the harness of the puller that reads them."""

    def __init__(self, store: SqlStore) -> None:
        self.pages = {number: [self.entry(2 * number), self.entry(2 * number + 1)] for number in range(1, PAGES + 1)}
        self.spoiled: dict[int, bytes | None] = {}
        self.changes: list[str] | None = None
        self.requested: list[str] = []
        self.harness = PullHarness(store=store, guard=0.2)
        address = SeedlistAddress(url=f"{HOST}/list?page=1")
        self.harness.table = _as_any(SeedlistSource("table", address, self.fetch, max_content_bytes=1_000))

    def entry(self, number: int, inside: str = "") -> str:
        return f"<entry><id>{number}</id><summary>words {number}</summary>{inside}</entry>"

    def fetch(self, url: str, headers: Mapping[str, str], max_bytes: int, seconds: float) -> FetchedBody:
        del headers, max_bytes, seconds
        query = url.partition("?")[2]
        self.requested.append(query)
        if "Timestamp" in query:
            body = self.write(self.changes or [], timestamp="later")
        else:
            number = int(query.removeprefix("page="))
            last = number == PAGES
            body = self.write(self.pages[number], timestamp="first" if last else "", following="" if last else f"?page={number + 1}")
            if number in self.spoiled:
                spoiled = self.spoiled[number]
                if spoiled is None:
                    raise UpstreamFailure("it closed the connection before the end of its answer")
                body = spoiled
        return FetchedBody(url=url, status=200, media_type="application/atom+xml", body=body)

    def write(self, entries: list[str], *, timestamp: str = "", following: str = "") -> bytes:
        link = f'<link rel="next" href="{following}"/>' if following else ""
        return f"<feed>{link}<timestamp>{timestamp}</timestamp>{''.join(entries)}</feed>".encode()

    def live(self) -> set[int]:
        return {int(url.rpartition("/")[2]) for url in self.harness.live()}


def _as_any(value: object) -> Any:
    return value


@pytest.fixture
def seedlist(store_of_service: SqlStore) -> Seedlist:
    return Seedlist(store_of_service)


@pytest.mark.parametrize(
    "page", [None, b"<feed><entry><id>14</id>", b"", b"<html><body>sign in", b"<feed>\xff\xfe</feed", b"<feed><entry></feed>"]
)
def test_run_resumes_at_page_seven_of_nine_and_deletes_nothing_before(seedlist: Seedlist, page: bytes | None) -> None:
    assert counts_of(seedlist.harness.run()) == (18, 0, 0, 0, 0)
    seedlist.pages[8] = [seedlist.entry(16, "<updated>2026-01-01T00:00:00Z</updated>")]
    seedlist.spoiled[7] = page
    failed = seedlist.harness.run(is_full=True)
    assert (failed.state, failed.counts.errors, failed.counts.deleted) == (RunState.FAILED, 1, 0)
    assert seedlist.live() == set(range(2, 20))
    assert seedlist.harness.state().since == "first"
    seedlist.spoiled.clear()
    seedlist.requested.clear()
    resumed = seedlist.harness.run(is_full=True)
    assert seedlist.requested == ["page=7", "page=8", "page=9"]
    assert (resumed.state, resumed.counts.deleted) == (RunState.COMPLETED, 1)
    assert seedlist.live() == set(range(2, 20)) - {17}


def test_dry_run_counts_what_a_run_then_does(seedlist: Seedlist) -> None:
    seedlist.harness.run()
    seedlist.pages[3] = [seedlist.entry(6, "<title>other</title>"), seedlist.entry(100)]
    seedlist.pages[4] = [seedlist.entry(8)]
    dry = seedlist.harness.run(is_full=True, is_dry=True)
    assert counts_of(dry) == (1, 1, 2, 15, 0)
    assert seedlist.live() == set(range(2, 20))
    assert counts_of(seedlist.harness.run(is_full=True)) == counts_of(dry)
    seedlist.changes = [seedlist.entry(6, '<action do="delete"/>'), seedlist.entry(8, "<title>new</title>"), seedlist.entry(101)]
    dry = seedlist.harness.run(is_dry=True)
    assert counts_of(dry) == (1, 1, 1, 0, 0)
    assert counts_of(seedlist.harness.run()) == counts_of(dry)


@pytest.mark.parametrize("is_dry", [False, True])
def test_guard_holds_a_list_that_lost_many_entries(seedlist: Seedlist, is_dry: bool) -> None:
    seedlist.harness.run()
    for number in (2, 3):
        seedlist.pages[number] = []
    held = seedlist.harness.run(is_full=True, is_dry=is_dry)
    assert (held.state, held.held, held.counts.deleted) == (RunState.HELD, 4, 0)
    assert seedlist.live() == set(range(2, 20))
    assert seedlist.harness.run(is_full=True, is_forced=True).counts.deleted == 4


def test_guard_holds_changes_that_delete_many_entries(seedlist: Seedlist) -> None:
    seedlist.harness.run()
    seedlist.changes = [seedlist.entry(number, '<action do="delete"/>') for number in range(2, 8)]
    held = seedlist.harness.run()
    assert (held.state, held.held, held.counts.deleted) == (RunState.HELD, 6, 0)
    assert seedlist.harness.run(is_forced=True).counts.deleted == 6


def test_entry_that_comes_twice_in_the_first_page_is_named(seedlist: Seedlist) -> None:
    seedlist.pages[1] = [seedlist.entry(2), seedlist.entry(2, "<title>again</title>"), seedlist.entry(3)]
    run = seedlist.harness.run()
    assert counts_of(run) == (18, 0, 0, 0, 1)
    assert "more than once" in run.log[0]


def test_entry_that_comes_again_in_a_later_page_replaces_the_earlier_one(seedlist: Seedlist) -> None:
    seedlist.pages[5] = [seedlist.entry(2, "<title>again</title>"), seedlist.entry(11)]
    run = seedlist.harness.run()
    assert counts_of(run) == (17, 1, 0, 0, 0)
    (document,) = [each for url, each in seedlist.harness.live().items() if url.endswith("/2")]
    assert document.attributes.title == "again"


def test_value_of_the_wrong_type_costs_only_itself(seedlist: Seedlist) -> None:
    typed = '<fieldInfo id="price" type="int"/><fieldInfo id="day" type="date"/><fieldInfo id="odd" type="colour" returnable="maybe"/>'
    values = '<field id="price">many</field><field id="day">1168946372000</field><field id="odd">x</field><updated>yesterday</updated>'
    seedlist.pages[1] = [seedlist.entry(2, typed + values), seedlist.entry(3)]
    run = seedlist.harness.run()
    assert counts_of(run) == (18, 0, 0, 0, 0)
    (document,) = [each for url, each in seedlist.harness.live().items() if url.endswith("/2")]
    assert dict(document.metadata) | {"summary": ""} == {
        "price": "many",
        "day": "2007-01-16T11:19:32+00:00",
        "odd": "x",
        "summary": "",
    }
    assert document.attributes.undisplayed == ("odd",)
    assert document.attributes.last_modified is None
    assert any("yesterday" in line for line in run.log)
