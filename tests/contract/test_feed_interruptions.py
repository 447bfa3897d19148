"""A record that ends the feeder's process twice is in error; all other records are applied."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from feedmill.adapters.inflight import MappedInFlight
from feedmill.adapters.store.sqlite import open_sqlite
from feedmill.core.documents.admission import build_rules
from feedmill.model.access import AccessClass
from feedmill.model.feed import FeedKind, FeedState, NewFeed
from feedmill.services.feeds.feeder import Feeder, FeederLane
from feedmill.services.feeds.recordwatch import MAX_READINGS, Caution, FeedDeferred, RecordWatch
from feedmill.services.isolation.attempts import Attempts
from feedmill.services.isolation.faultpoints import injected
from feedmill.services.sweeps.admissionsweep import AdmissionSweep
from tests.builders.changes import put, url
from tests.builders.groups import make_groups_feed, make_membership
from tests.childprocess import is_killed
from tests.contract.feedharness import FeedHarness
from tests.contract.markedrecords import MARKED, name_of, records
from tests.fakes import SilentNotifier

MAX_DEATHS = 20


def live_as_feeder(harness: FeedHarness, folder: Path) -> None:
    """Is one life of the feeder's process, which has been at work for a while."""
    store = open_sqlite(folder / "store.sqlite")
    own = replace(harness, store=store)
    notes = MappedInFlight(folder / "inflight", "feeder")
    attempts = Attempts(store, notes, own.clock)
    attempts._begun_at_seconds -= 100
    feeder = Feeder(FeederLane(owner="one"), replace(own.tools, caution=Caution(attempts=attempts, notes=notes)), SilentNotifier())
    while feeder.turn():
        pass


def live_as_sweep(harness: FeedHarness, folder: Path) -> None:
    """Is one life of the feeder's process, which sweeps for changed settings."""
    store = open_sqlite(folder / "store.sqlite")
    notes = MappedInFlight(folder / "inflight", "feeder")
    attempts = Attempts(store, notes, harness.clock)
    attempts._begun_at_seconds -= 100
    caution = Caution(attempts=attempts, notes=notes)
    sweep = AdmissionSweep(store, lambda: harness.admission, lambda: "changed", SilentNotifier(), harness.clock, caution=caution)
    while sweep.step():
        pass


def feed_with(harness: FeedHarness, folder: Path, faults: str, live: Callable[[FeedHarness, Path], None] = live_as_feeder) -> int:
    """Starts the feeder again and again until it has nothing to do; returns how often it died."""
    with injected(faults):
        for deaths in itertools.count():
            if not is_killed(lambda: live(harness, folder)):
                return deaths
            assert deaths < MAX_DEATHS
    raise AssertionError


def left_over(harness: FeedHarness) -> dict[str, int]:
    with harness.store.reading() as unit:
        return unit.processing.interruptions.list_counts()


@pytest.mark.parametrize("step", ["content", "apply", "class", "store"])
def test_records_that_end_the_process_cost_two_deaths_each_and_themselves(harness: FeedHarness, tmp_path: Path, step: str) -> None:
    bad, other = harness.receive(records()), harness.receive([put("other")], datasource="other")
    assert feed_with(harness, tmp_path, f"{step}=kill:marked") == 6
    feed = harness.feed(bad)
    assert (feed.state, feed.included, feed.errors, feed.applied) == (FeedState.COMPLETED_WITH_ERRORS, 197, 3, 200)
    assert [(entry.line, entry.url) for entry in harness.log(bad)] == [(number + 1, url(name_of(number))) for number in MARKED]
    assert {entry.reason for entry in harness.log(bad)} == {f"step {step} failed: the process ended 2 times while it worked on this item"}
    assert harness.feed(other).state is FeedState.COMPLETED
    assert len(harness.live()) == 198
    assert left_over(harness) == {}


def test_full_feed_keeps_what_such_records_name(harness: FeedHarness, tmp_path: Path) -> None:
    harness.push(*records(), put("unnamed"))
    harness.receive(records(whole=True), kind=FeedKind.FULL)
    assert feed_with(harness, tmp_path, "apply=kill:marked") == 6
    assert set(harness.live()) == {url(name_of(number)) for number in range(200)}


def test_document_whose_removal_ends_the_process_stays(harness: FeedHarness, tmp_path: Path) -> None:
    harness.push(*records())
    full = harness.receive([put("new", whole=True)], kind=FeedKind.FULL)
    assert feed_with(harness, tmp_path, "sweep=kill:marked") == 6
    assert set(harness.live()) == {url("new"), *(url(name_of(number)) for number in MARKED)}
    assert (harness.feed(full).state, harness.feed(full).errors) == (FeedState.COMPLETED_WITH_ERRORS, 3)


def test_documents_whose_eviction_ends_the_process_stay_and_others_go(harness: FeedHarness, tmp_path: Path) -> None:
    harness.push(*records())
    harness.admission = replace(harness.admission, max_documents=200)
    new = harness.receive([put(f"new{number}") for number in range(150)])
    assert feed_with(harness, tmp_path, "eviction=kill:marked") == 4
    assert (harness.feed(new).state, harness.feed(new).included) == (FeedState.COMPLETED, 150)
    live = set(harness.live())
    assert len(live) == 200
    assert live >= {url(name_of(number)) for number in MARKED}


@pytest.mark.parametrize("step", ["admission", "class"])
def test_documents_that_end_the_sweep_of_changed_settings_are_hidden(harness: FeedHarness, tmp_path: Path, step: str) -> None:
    harness.push(*records())
    rules = build_rules(["/"], ("docs.test/good7",), (), ("hr",))
    harness.admission = replace(harness.admission, rules=rules)
    assert feed_with(harness, tmp_path, f"{step}=kill:marked", live_as_sweep) == 6
    classes = {url: harness.document(url).access_class for url in harness.live()}
    assert {one for one, number in classes.items() if number == AccessClass.CLOSED} >= {url(name_of(number)) for number in MARKED}
    assert url("good7") not in classes


def test_scan_that_ends_the_process_ends_the_feed(harness: FeedHarness, tmp_path: Path) -> None:
    bad, other = harness.receive(records()), harness.receive([put("other")], datasource="other")
    assert feed_with(harness, tmp_path, "scan=kill:hr") == MAX_READINGS
    assert (harness.feed(bad).state, harness.feed(other).state) == (FeedState.FAILED_IN_ERROR, FeedState.COMPLETED)
    assert [entry.reason for entry in harness.log(bad)] == ["step read failed: the process ended while it read this feed"]


def test_memberships_that_end_the_process_cost_themselves(harness: FeedHarness, tmp_path: Path) -> None:
    with harness.store.writing() as unit:
        feed_id = unit.feeds.queue.add(
            NewFeed(datasource="g", kind=FeedKind.GROUPS_FULL, file="", size_bytes=1, received_at=harness.clock())
        )
    harness.groups[feed_id] = make_groups_feed(*(make_membership(name_of(number), ["bob"]) for number in range(200)))
    assert feed_with(harness, tmp_path, "groups=kill:marked") == 6
    feed = harness.feed(feed_id)
    assert (feed.state, feed.included, feed.errors) == (FeedState.COMPLETED_WITH_ERRORS, 197, 3)


def test_record_that_an_administrator_interrupts_is_applied(harness: FeedHarness, tmp_path: Path) -> None:
    feed_id = harness.receive(records())
    MappedInFlight(tmp_path / "inflight", "feeder").begin(f"feed {feed_id} 5 apply")
    assert feed_with(harness, tmp_path, "") == 0
    assert (harness.feed(feed_id).state, harness.feed(feed_id).included) == (FeedState.COMPLETED, 200)
    assert left_over(harness) == {}


def test_feed_of_such_a_record_waits_until_others_were_worked_on(harness: FeedHarness, tmp_path: Path) -> None:
    feed_id = harness.receive(records())
    watch = watch_of(harness, tmp_path, f"feed {feed_id} 5 apply", feed_id)
    with pytest.raises(FeedDeferred):
        watch.find_limit(0, 100)
    assert watch.caution is not None
    watch.caution.attempts._begun_at_seconds -= 100
    assert [watch.find_limit(applied, 100) for applied in (0, 4, 5)] == [4, 1, 100]


def watch_of(harness: FeedHarness, folder: Path, left: str, feed_id: int) -> RecordWatch:
    """Makes what watches a feed's records in a process whose predecessor left an item."""
    notes = MappedInFlight(folder / "inflight", "feeder")
    notes.begin(left)
    return RecordWatch(feed_id, Caution(attempts=Attempts(harness.store, notes, harness.clock), notes=notes))
