"""Runs of pull sources: what they change, what a failure costs, and when they are due; on every database."""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedmill.adapters.inflight import MappedInFlight
from feedmill.adapters.store.engine import SqlStore
from feedmill.core.documents.urlstate import Rules
from feedmill.core.pulling.schedule import parse_schedule
from feedmill.model.errors import Conflict, NotFound
from feedmill.model.pulling import RunMode, RunRequest, RunState
from feedmill.ports import DeletedItem, EarlierRetrieval, FailedItem, ListedItem, RetrievableItem, RetrievedItem, SkippedItem
from feedmill.services.diagnosis import diagnose_url
from feedmill.services.feeds.feeding import Admission
from feedmill.services.isolation.faultpoints import injected
from feedmill.services.pulling import puller as puller_module
from feedmill.services.pulling.itemwatch import MAX_SET_ASIDE
from feedmill.services.pulling.puller import MAX_RESTARTS
from tests.builders.changes import OPEN, put
from tests.contract.feedharness import FeedHarness
from tests.contract.pullharness import NAME, PullHarness, Table, counts_of, url_of
from tests.migratedstore import open_migrated
from tests.thorough import count_examples
from tests.waiting import PATIENCE_SECONDS


def stop_at_the_second(stopped: threading.Event, number: int) -> None:
    if number == 1:
        stopped.set()


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def harness(store_of_service: SqlStore) -> PullHarness:
    return PullHarness(store=store_of_service)


# --- what a run changes ---------------------------------------------------------------------------------------------------------


def test_run_full_applies_what_differs_and_nothing_else(harness: PullHarness) -> None:
    harness.table.put(a="1", b="2", c="3")
    assert counts_of(harness.run()) == (3, 0, 0, 0, 0)
    versions = {url: document.version for url, document in harness.live().items()}
    harness.table.loaded.clear()
    harness.table.put(b="new", d="4")
    harness.table.remove("c")
    run = harness.run(is_full=True)
    assert (run.state, run.mode, counts_of(run)) == (RunState.COMPLETED, RunMode.FULL, (1, 1, 1, 1, 0))
    assert harness.texts() == harness.table.rows
    assert harness.table.loaded == ["b", "d"]
    assert harness.live()[url_of("a")].version == versions[url_of("a")]


def test_run_incremental_continues_after_a_full_one(harness: PullHarness) -> None:
    harness.table.put(a="1", b="2", c="3")
    assert harness.run().mode is RunMode.FULL
    harness.table.put(b="new")
    harness.table.remove("a")
    harness.table.loaded.clear()
    run = harness.run()
    assert (run.mode, counts_of(run)) == (RunMode.INCREMENTAL, (0, 1, 1, 0, 0))
    assert counts_of(harness.run()) == (0, 0, 0, 0, 0)
    assert harness.texts() == {"b": "new", "c": "3"}


def test_run_without_changes_to_list_is_full_each_time(harness: PullHarness) -> None:
    harness.is_incremental = False
    harness.run()
    assert harness.run().mode is RunMode.FULL


def test_run_names_itself_in_the_history_of_its_documents(harness: PullHarness) -> None:
    harness.table.put(a="1")
    run = harness.run()
    document = harness.live()[url_of("a")]
    with harness.store.reading() as unit:
        events = unit.documents.reader.list_events(document.id or 0)
        sources = unit.feeds.sources.list()
    assert [event.detail for event in events] == [f"run {run.id}"]
    assert [(source.name, source.kind, source.documents) for source in sources] == [(NAME, "content", 1)]


def test_run_dry_counts_the_same_and_changes_nothing(harness: PullHarness) -> None:
    harness.table.put(a="1", b="2", c="3")
    assert counts_of(harness.run(is_dry=True)) == (3, 0, 0, 0, 0)
    assert harness.live() == {}
    harness.run()
    harness.table.put(b="new", d="4")
    harness.table.remove("c")
    before = harness.texts()
    dry = [counts_of(harness.run(is_full=is_full, is_dry=True)) for is_full in (True, False)]
    assert harness.texts() == before
    assert dry == [(1, 1, 1, 1, 0), (1, 1, 1, 0, 0)]
    assert counts_of(harness.run(is_full=True)) == dry[0]


def test_run_dry_counts_what_pages_name_again_and_leaves_nothing(harness: PullHarness) -> None:
    harness.table.put(**{f"k{number}": "1" for number in range(5)})
    harness.run()
    harness.table.remove("k1")
    again = ListedItem(url=url_of("k0"), digest=b"1", load=lambda: pytest.fail("a dry run loads nothing"))
    gone = [DeletedItem(url=url_of(key)) for key in ("k2", "never")]
    harness.table.extra = [again, *gone, FailedItem(url=url_of("k3"), reason="bad")]
    run = harness.run(is_full=True, is_dry=True)
    # k1 is not listed any more, and k2 is named as deleted after it was listed
    assert counts_of(run) == (0, 0, 2, 4, 2)
    assert len(harness.live()) == 5
    with harness.store.writing() as unit:
        assert not unit.feeds.pulling.dry_items.remove_some(NAME, 1)


def test_run_dry_that_failed_or_was_killed_leaves_nothing_to_the_next(harness: PullHarness) -> None:
    harness.table.put(a="1", b="2", c="3")
    harness.table.fails_at = 1
    assert harness.run(is_dry=True).state is RunState.FAILED
    harness.table.fails_at = None

    def kill(number: int) -> None:
        if number == 1:
            harness.table.on_page = lambda _number: None
            raise Killed

    harness.table.on_page = kill
    with pytest.raises(Killed):
        harness.run(is_dry=True)
    harness.puller().turn()
    assert [(run.state, counts_of(run)[0]) for run in harness.runs()][1:] == [(RunState.COMPLETED, 3)]


def test_run_leaves_documents_of_other_sources_alone(harness: PullHarness) -> None:
    FeedHarness(store=harness.store, blobs=harness.blobs).push(put("other"), datasource="hr")
    harness.table.put(a="1")
    harness.run()
    harness.table.remove("a")
    harness.run(is_full=True)
    assert [document.datasource for document in harness.live().values()] == ["hr"]


def test_run_after_its_document_was_deleted_brings_it_again(harness: PullHarness) -> None:
    harness.table.put(a="1")
    harness.run()
    harness.admission = Admission(rules=Rules(refusal=lambda _url: "is refused", make_public=lambda _url: None))
    harness.table.put(a="2")
    assert counts_of(harness.run(is_full=True)) == (0, 0, 0, 0, 1)
    assert harness.live() == {}
    harness.admission = Admission(rules=Rules(refusal=lambda _url: None, make_public=lambda _url: None))
    assert counts_of(harness.run(is_full=True)) == (1, 0, 0, 0, 0)


def test_run_leaves_a_page_that_its_server_no_longer_has_to_the_crawler(harness: PullHarness) -> None:
    harness.table.is_crawled = True
    harness.table.put(a="1", b="1")
    assert counts_of(harness.run()) == (2, 0, 0, 0, 0)
    harness.lose("a")
    assert harness.live().keys() == {url_of("b")}
    assert counts_of(harness.run(is_full=True)) == (0, 0, 0, 2, 0)
    harness.table.put(a="2")
    assert counts_of(harness.run(is_full=True)) == (0, 1, 0, 1, 0)
    with harness.store.writing() as unit:
        unit.feeds.crawling.queue.remove_many([url_of("b")])
    harness.lose("b")
    assert counts_of(harness.run(is_full=True)) == (1, 0, 0, 1, 0)


def test_run_after_its_source_was_deleted_is_full(harness: PullHarness) -> None:
    harness.table.put(a="1")
    harness.run()
    with harness.store.writing() as unit:
        unit.feeds.sources.note_deleted(NAME)
    assert harness.run().mode is RunMode.FULL


def test_run_enforces_the_licence_limit(harness: PullHarness) -> None:
    harness.admission = Admission(rules=harness.admission.rules, max_documents=2)
    harness.table.put(a="1", b="2", c="3")
    harness.run()
    assert len(harness.live()) == 2


# --- errors ---------------------------------------------------------------------------------------------------------------------


def test_run_with_bad_items_loses_only_these(harness: PullHarness) -> None:
    harness.table.put(a="1", b="2", c="3")
    harness.run()
    harness.table.put(a="x", b="y", c="z")
    harness.table.bad_keys = {"b"}
    harness.table.extra = [SkippedItem(reason="a row without a key")]
    run = harness.run(is_full=True)
    assert (run.state, counts_of(run)) == (RunState.COMPLETED_WITH_ERRORS, (0, 2, 0, 0, 1))
    assert harness.texts() == {"a": "x", "b": "2", "c": "z"}
    assert [line.split(":")[0] for line in run.log] == ["http", "skipped"]
    harness.table.bad_keys = set()
    assert counts_of(harness.run(is_full=True)) == (0, 1, 0, 2, 0)


@pytest.mark.parametrize("step", ["load", "pull"])
def test_run_with_items_of_which_a_step_fails_leaves_their_documents(harness: PullHarness, step: str) -> None:
    harness.table.page_rows = 4
    harness.table.put(a="1", bad="2", c="3")
    harness.run()
    harness.table.put(a="x", bad="y", c="z", badnew="new")
    with injected(f"{step}=raise:{url_of('bad')}"):
        run = harness.run(is_full=True)
    assert (run.state, counts_of(run)) == (RunState.COMPLETED_WITH_ERRORS, (0, 2, 0, 0, 2))
    assert all(f"step {step} failed: RuntimeError" in line for line in run.log)
    assert harness.texts() == {"a": "x", "bad": "2", "c": "z"}
    assert counts_of(harness.run(is_full=True)) == (1, 1, 0, 2, 0)
    assert harness.texts() == harness.table.rows


def test_diagnosis_names_the_run_that_could_not_apply_a_document(harness: PullHarness) -> None:
    harness.table.put(a="1", bad="2")
    harness.table.bad_keys = {"bad"}
    first = harness.run()
    reason = f"run {first.id} of the pull source {NAME} could not apply it: step load failed: ValueError: bad is bad"
    found = diagnose_url(harness.store, OPEN, url_of("bad"))
    assert (found.searchable, found.causes) == (False, (reason,))
    assert not any("pull source" in cause for cause in diagnose_url(harness.store, OPEN, url_of("a")).causes)
    harness.table.bad_keys = set()
    harness.run(is_full=True)
    harness.table.put(bad="3")
    harness.table.bad_keys = {"bad"}
    later = harness.run()
    stays = f"{reason.replace(f'run {first.id}', f'run {later.id}')}; the document from before stays"
    assert stays in diagnose_url(harness.store, OPEN, url_of("bad")).causes
    harness.table.bad_keys = set()
    harness.run()
    assert not any("pull source" in cause for cause in diagnose_url(harness.store, OPEN, url_of("bad")).causes)


def test_run_whose_deletion_of_an_item_fails_deletes_the_others(harness: PullHarness) -> None:
    harness.table.put(a="1", bad="2", c="3")
    harness.run()
    harness.table.remove("a", "bad")
    with injected(f"delete=raise:{url_of('bad')}"):
        run = harness.run(is_full=True)
    assert (run.state, counts_of(run), len(run.log)) == (RunState.COMPLETED_WITH_ERRORS, (0, 0, 1, 1, 1), 1)
    assert set(harness.texts()) == {"bad", "c"}
    assert counts_of(harness.run(is_full=True)) == (0, 0, 1, 1, 0)


def test_run_incremental_with_errors_reads_the_same_changes_again(harness: PullHarness) -> None:
    harness.table.put(a="1", b="2")
    harness.run()
    harness.table.put(a="x", b="y")
    harness.table.bad_keys = {"b"}
    assert counts_of(harness.run()) == (0, 1, 0, 0, 1)
    harness.table.bad_keys = set()
    assert counts_of(harness.run()) == (0, 1, 0, 1, 0)


def test_run_with_an_item_twice_applies_the_first(harness: PullHarness) -> None:
    harness.table.put(a="1")
    again = Table(rows={"a": "2"})._item("a")
    harness.table.extra = [again]
    for is_dry in (True, False):
        run = harness.run(is_full=True, is_dry=is_dry)
        assert counts_of(run) == (1, 0, 0, 0, 1)
        assert "more than once" in run.log[0]
    assert harness.texts() == {"a": "1"}


def test_run_with_an_item_that_cannot_be_identified_deletes_nothing(harness: PullHarness) -> None:
    harness.table.put(a="1", b="2")
    harness.run()
    harness.table.remove("b")
    harness.table.extra = [FailedItem(url=None, reason="unreadable")]
    assert counts_of(harness.run(is_full=True)) == (0, 0, 0, 1, 1)
    harness.table.extra = [FailedItem(url=url_of("b"), reason="unreadable")]
    assert counts_of(harness.run(is_full=True)) == (0, 0, 0, 1, 1)
    assert set(harness.texts()) == {"a", "b"}


def test_run_with_an_unknown_deletion_does_nothing(harness: PullHarness) -> None:
    harness.run()
    harness.table.extra = [DeletedItem(url=url_of("never"))]
    assert counts_of(harness.run()) == (0, 0, 0, 0, 0)


def test_run_deletes_what_it_names_as_deleted_then_listed_stays(harness: PullHarness) -> None:
    harness.table.put(a="1")
    harness.run()
    listed = harness.table._item("a")
    assert isinstance(listed, ListedItem)
    harness.table.extra = [DeletedItem(url=listed.url), listed]
    assert counts_of(harness.run()) == (0, 0, 0, 1, 0)
    harness.table.extra = [listed, DeletedItem(url=listed.url)]
    assert counts_of(harness.run()) == (0, 0, 1, 1, 0)


# --- failures -------------------------------------------------------------------------------------------------------------------


def test_run_that_fails_deletes_nothing_and_goes_on_at_its_page(harness: PullHarness) -> None:
    harness.table.put(a="1", b="2", c="3", d="4", e="5")
    harness.run()
    harness.table.remove("a")
    harness.table.put(b="new")
    harness.table.fails_at = 1
    run = harness.run(is_full=True)
    assert (run.state, counts_of(run), run.reason) == (RunState.FAILED, (0, 1, 0, 1, 1), "the table does not answer")
    assert len(harness.texts()) == 5
    harness.table.fails_at = None
    harness.table.read_pages.clear()
    run = harness.run(is_full=True)
    assert harness.table.read_pages == [1]
    assert (run.state, counts_of(run)) == (RunState.COMPLETED, (0, 0, 1, 2, 0))
    assert harness.texts() == harness.table.rows


def test_run_that_fails_begins_again_where_the_source_cannot_resume(harness: PullHarness) -> None:
    harness.table.can_resume = False
    harness.table.put(a="1", b="2", c="3")
    harness.table.fails_at = 1
    assert harness.run().state is RunState.FAILED
    harness.table.remove("a")
    harness.table.fails_at = None
    assert counts_of(harness.run()) == (1, 0, 1, 1, 0)
    assert harness.texts() == harness.table.rows


def test_run_incremental_that_fails_keeps_its_point_in_time(harness: PullHarness) -> None:
    harness.table.put(a="1")
    harness.run()
    before = harness.state().since
    harness.table.put(b="2")
    harness.table.fails_at = 0
    assert harness.run().mode is RunMode.INCREMENTAL
    assert harness.state().since == before
    harness.table.fails_at = None
    assert counts_of(harness.run()) == (1, 0, 0, 0, 0)


def test_run_that_would_delete_too_much_is_held_until_forced(harness: PullHarness) -> None:
    harness.guard = 0.5
    harness.table.put(a="1", b="2", c="3", d="4")
    harness.run()
    harness.table.remove("a", "b", "c")
    harness.table.put(d="new", e="5")
    for is_full, is_dry in ((True, True), (True, False), (False, False)):
        run = harness.run(is_full=is_full, is_dry=is_dry)
        assert (run.state, run.held, run.counts.deleted) == (RunState.HELD, 3, 0)
    assert len(harness.texts()) == 5
    run = harness.run(is_forced=True)
    assert (run.mode, run.state, run.counts.deleted) == (RunMode.INCREMENTAL, RunState.COMPLETED, 3)
    assert harness.texts() == harness.table.rows


def test_run_that_deletes_exactly_the_permitted_share_is_not_held(harness: PullHarness) -> None:
    harness.guard = 0.5
    harness.table.put(a="1", b="2")
    harness.run()
    harness.table.remove("a")
    assert harness.run(is_full=True).counts.deleted == 1


# --- one run at a time ----------------------------------------------------------------------------------------------------------


def test_request_while_a_run_waits_is_a_conflict(harness: PullHarness) -> None:
    harness.requests.request_run(NAME, RunRequest())
    with pytest.raises(Conflict):
        harness.requests.request_run(NAME, RunRequest())


def test_request_during_a_run_begins_after_it(harness: PullHarness) -> None:
    harness.table.put(a="1")
    requested = []
    harness.requests.request_run(NAME, RunRequest())

    def request(_number: int) -> None:
        harness.table.on_page = lambda _number: None
        requested.append(harness.requests.request_run(NAME, RunRequest(is_full=True)).id)

    harness.table.on_page = request
    puller = harness.puller()
    puller.turn()
    assert harness.requests.get_run(requested[0]).state is RunState.REQUESTED
    puller.turn()
    assert counts_of(harness.requests.get_run(requested[0])) == (0, 0, 0, 1, 0)


def test_request_for_an_unknown_source_is_not_found(harness: PullHarness) -> None:
    with pytest.raises(NotFound):
        harness.requests.request_run("other", RunRequest())
    with pytest.raises(NotFound):
        harness.requests.list_runs("other")


def test_turn_of_another_process_waits_for_the_lease(harness: PullHarness) -> None:
    harness.table.put(a="1", b="2", c="3")
    run = harness.requests.request_run(NAME, RunRequest())
    begun: list[object] = []

    def other_turn(_number: int) -> None:
        begun.append(harness.puller("two").turn())

    harness.table.on_page = other_turn
    harness.puller("one").turn()
    assert begun == [False, False]
    assert harness.requests.get_run(run.id).state is RunState.COMPLETED


def test_run_whose_lease_was_taken_over_stops(harness: PullHarness) -> None:
    harness.table.put(a="1", b="2", c="3")
    run = harness.requests.request_run(NAME, RunRequest())

    def take_over(number: int) -> None:
        if number == 1:
            harness.pass_time(minutes=5)
            harness.table.on_page = lambda _number: None
            harness.puller("two").turn()

    harness.table.on_page = take_over
    harness.puller("one").turn()
    done = harness.requests.get_run(run.id)
    assert (done.state, counts_of(done)) == (RunState.COMPLETED, (3, 0, 0, 0, 0))
    assert done.finished_at == harness.now


@pytest.mark.parametrize("can_resume", [True, False])
def test_run_whose_process_was_killed_goes_on_in_the_next(harness: PullHarness, can_resume: bool) -> None:
    harness.table.can_resume = can_resume
    harness.table.put(a="1", b="2", c="3")
    run = harness.requests.request_run(NAME, RunRequest())

    def kill(number: int) -> None:
        if number == 1:
            harness.table.on_page = lambda _number: None
            raise Killed

    harness.table.on_page = kill
    with pytest.raises(Killed):
        harness.puller().turn()
    assert harness.requests.get_run(run.id).state is RunState.RUNNING
    harness.puller().turn()
    done = harness.requests.get_run(run.id)
    assert (done.state, counts_of(done)) == (RunState.COMPLETED, (3, 0, 0, 0, 0))


def test_source_that_has_waited_longest_is_run_first(harness: PullHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(puller_module, "AT_ONCE", 1)
    begun: list[str] = []
    works: list[Callable[[], None]] = []

    def open_table(name: str) -> Table:
        begun.append(name)
        return harness.table

    schedules = {"a": "every 1s", "b": "every 2s", "c": "every 1m"}
    setups = {
        name: replace(harness.setup, name=name, open=partial(open_table, name), schedule=parse_schedule(schedule))
        for name, schedule in schedules.items()
    }
    puller = harness.puller(start=works.append, setups=setups)
    puller.turn()
    for seconds in (61, 5, 5, 61, 5, 5):
        harness.pass_time(seconds=seconds)
        puller.turn()
        works.pop()()
    assert begun == ["a", "b", "c", "a", "b", "c"]


@pytest.mark.parametrize("can_resume", [True, False])
def test_run_that_is_stopped_goes_on_however_often(harness: PullHarness, can_resume: bool) -> None:
    harness.table.can_resume = can_resume
    harness.table.put(a="1", b="2", c="3", d="4", e="5")
    run = harness.requests.request_run(NAME, RunRequest())
    for _ in range(MAX_RESTARTS + 2):
        stopped = threading.Event()
        harness.table.on_page = partial(stop_at_the_second, stopped)
        harness.puller().work(stopped.is_set)
        waiting = harness.requests.get_run(run.id)
        assert (waiting.state, waiting.restarts, harness.state().lease_owner) == (RunState.REQUESTED, 0, "")
    harness.table.on_page = lambda _number: None
    harness.puller("two").turn()
    done = harness.requests.get_run(run.id)
    assert (done.state, counts_of(done), done.known) == (RunState.COMPLETED, (5, 0, 0, 0, 0), 0)


def test_run_that_waits_for_its_source_is_requested_again_at_the_stop(harness: PullHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(puller_module, "STOP_SECONDS", 0.0)
    harness.table.put(a="1", b="2", c="3")
    run = harness.requests.request_run(NAME, RunRequest())
    stopped, answers = threading.Event(), threading.Event()

    def wait(_number: int) -> None:
        stopped.set()
        assert answers.wait(PATIENCE_SECONDS)

    harness.table.on_page = wait
    threads: list[threading.Thread] = []

    def start(work: Callable[[], None]) -> None:
        threads.append(threading.Thread(target=work))
        threads[-1].start()

    harness.puller(start=start).work(stopped.is_set)
    assert harness.requests.get_run(run.id).state is RunState.REQUESTED
    answers.set()
    threads[0].join()
    assert harness.live() == {}
    assert harness.requests.get_run(run.id).state is RunState.REQUESTED


def test_dry_run_that_fails_neither_repeats_nor_delays(harness: PullHarness) -> None:
    harness.schedule = "0 3 * * *"
    harness.table.put(a="1")
    harness.table.fails_at = 0
    assert harness.run(is_dry=True).state is RunState.FAILED
    assert (harness.state().failures, harness.state().failed_at) == (0, None)


def test_run_that_kills_each_process_fails_at_last(harness: PullHarness) -> None:
    def kill(_number: int) -> None:
        raise Killed

    harness.table.on_page = kill
    run = harness.requests.request_run(NAME, RunRequest())
    for _ in range(MAX_RESTARTS + 1):
        with pytest.raises(Killed):
            harness.puller().turn()
    harness.puller().turn()
    assert harness.requests.get_run(run.id).state is RunState.FAILED


def test_run_that_goes_on_after_each_kill_is_completed(harness: PullHarness) -> None:
    harness.table.put(**{f"row{number}": "1" for number in range(2 * (MAX_RESTARTS + 3))})
    reached = 0

    def kill(number: int) -> None:
        nonlocal reached
        if number > reached:
            reached = number
            raise Killed

    harness.table.on_page = kill
    run = harness.requests.request_run(NAME, RunRequest())
    for _ in range(MAX_RESTARTS + 2):
        with pytest.raises(Killed):
            harness.puller().turn()
    harness.puller().turn()
    assert harness.requests.get_run(run.id).state is RunState.COMPLETED


def kill_in(harness: PullHarness, folder: Path, key: str, *, times: int = 1) -> None:
    """Ends the puller in a page, and leaves the note that it was working on something."""

    def kill(_number: int) -> None:
        raise Killed

    harness.in_flight = partial(MappedInFlight, folder)
    on_page, harness.table.on_page = harness.table.on_page, kill
    for _ in range(times):
        with pytest.raises(Killed):
            harness.puller().turn()
        MappedInFlight(folder, NAME).begin(key)
    harness.table.on_page = on_page


@pytest.mark.parametrize("step", ["load", "pull"])
def test_item_that_ends_the_process_is_set_aside_for_the_run_only(harness: PullHarness, tmp_path: Path, step: str) -> None:
    harness.table.put(a="1", bad="2", c="3")
    harness.run()
    harness.table.put(a="x", bad="y", c="z")
    run = harness.requests.request_run(NAME, RunRequest(is_full=True))
    kill_in(harness, tmp_path, f"pull {NAME} {url_of('bad')}", times=2)
    with injected(f"{step}=kill:{url_of('bad')}"):
        harness.puller().turn()
    done = harness.requests.get_run(run.id)
    assert (done.state, counts_of(done)) == (RunState.COMPLETED_WITH_ERRORS, (0, 2, 0, 0, 1))
    assert "the process ended 2 times" in done.log[-1]
    assert harness.texts() == {"a": "x", "bad": "2", "c": "z"}
    assert counts_of(harness.run(is_full=True)) == (0, 1, 0, 2, 0)
    assert harness.texts() == harness.table.rows


def test_item_that_ends_the_process_at_its_deletion_stays(harness: PullHarness, tmp_path: Path) -> None:
    harness.table.put(a="1", bad="2", c="3")
    harness.run()
    harness.table.remove("a", "bad")
    run = harness.requests.request_run(NAME, RunRequest(is_full=True))
    kill_in(harness, tmp_path, f"pull {NAME} {url_of('bad')}", times=2)
    with injected(f"delete=kill:{url_of('bad')}"):
        harness.puller().turn()
    done = harness.requests.get_run(run.id)
    assert (done.state, counts_of(done)) == (RunState.COMPLETED_WITH_ERRORS, (0, 0, 1, 1, 1))
    assert set(harness.texts()) == {"bad", "c"}
    assert counts_of(harness.run(is_full=True)) == (0, 0, 1, 1, 0)


def test_item_that_was_worked_on_when_the_process_ended_once_is_no_suspect_any_more(harness: PullHarness, tmp_path: Path) -> None:
    harness.table.put(a="1", b="2")
    run = harness.requests.request_run(NAME, RunRequest())
    kill_in(harness, tmp_path, f"pull {NAME} {url_of('a')}")
    harness.puller().turn()
    assert counts_of(harness.requests.get_run(run.id)) == (2, 0, 0, 0, 0)
    with harness.store.reading() as unit:
        assert unit.processing.interruptions.list_counts() == {}


def test_run_whose_items_end_the_process_one_after_the_other_fails(harness: PullHarness, tmp_path: Path) -> None:
    harness.table.put(a="1")
    run = harness.requests.request_run(NAME, RunRequest())
    for number in range(MAX_SET_ASIDE + 1):
        kill_in(harness, tmp_path, f"pull {NAME} {url_of(str(number))}", times=2)
    harness.puller().turn()
    done = harness.requests.get_run(run.id)
    assert (done.state, done.reason) == (
        RunState.FAILED,
        f"more than {MAX_SET_ASIDE} items of this run ended the process that worked on them",
    )


def test_run_after_a_batch_ended_the_process_retrieves_one_by_one(harness: PullHarness, tmp_path: Path) -> None:
    running, highest = 0, 0
    lock = threading.Lock()

    def retrieve(key: str, _earlier: EarlierRetrieval | None) -> RetrievedItem:
        nonlocal running, highest
        with lock:
            running += 1
            highest = max(highest, running)
        change = Table()._load(key, key)
        with lock:
            running -= 1
        return RetrievedItem(change=change, digest=key.encode())

    harness.parallel = 4
    keys = [f"d{number}" for number in range(9)]
    harness.table.extra = [RetrievableItem(url=url_of(key), digest=b"", retrieve=partial(retrieve, key)) for key in keys]
    run = harness.requests.request_run(NAME, RunRequest())
    kill_in(harness, tmp_path, f"pull {NAME} batch")
    assert counts_of(harness.requests.get_run(run.id)) == (0, 0, 0, 0, 0)
    with injected(f"pull=raise:{url_of('d5')}"):
        harness.puller().turn()
    assert (counts_of(harness.requests.get_run(run.id)), highest) == ((8, 0, 0, 0, 1), 1)


def test_turn_with_a_request_for_a_source_no_longer_there_fails_it(harness: PullHarness) -> None:
    with harness.store.writing() as unit:
        run = unit.feeds.pulling.runs.add("gone", RunRequest(), harness.now)
    harness.puller().turn()
    assert harness.requests.get_run(run.id).state is RunState.FAILED


def test_source_that_cannot_be_opened_fails_its_run(harness: PullHarness) -> None:
    run = harness.requests.request_run(NAME, RunRequest())
    puller = harness.puller()
    puller._setups = {NAME: type(harness.setup)(name=NAME, open=lambda: 1 // 0)}  # type: ignore[arg-type,return-value]
    puller.turn()
    assert "ZeroDivisionError" in harness.requests.get_run(run.id).reason
    assert harness.state().lease_owner == ""


# --- the schedule ---------------------------------------------------------------------------------------------------------------


def live_through(harness: PullHarness, *, minutes: int, step: int = 1) -> None:
    puller = harness.puller()
    for _ in range(0, minutes, step):
        puller.turn()
        harness.pass_time(minutes=step)


def test_turn_over_weeks_runs_by_the_schedules(harness: PullHarness) -> None:
    harness.schedule, harness.full_schedule = "0 */6 * * *", "30 1 * * sun"
    live_through(harness, minutes=60 * 24 * 15, step=30)
    runs = harness.runs()
    assert [run.mode for run in runs].count(RunMode.FULL) == 3
    assert 56 <= len(runs) <= 63
    full = [run.started_at for run in runs if run.mode is RunMode.FULL and run.started_at is not None]
    assert full[2] - full[1] == timedelta(days=7)


def test_turn_with_interval_runs_soon_then_after_it(harness: PullHarness) -> None:
    harness.schedule = "every 15m"
    live_through(harness, minutes=60)
    assert [run.started_at - harness.runs()[0].started_at for run in harness.runs()] == [  # type: ignore[operator]
        timedelta(minutes=minutes) for minutes in (0, 15, 30, 45)
    ]


def test_turn_after_failures_waits_longer_each_time_and_recovers(harness: PullHarness) -> None:
    harness.schedule = "every 15m"
    harness.table.fails_at = 0
    live_through(harness, minutes=40)
    starts = [run.started_at for run in harness.runs()]
    assert [(start - starts[0]).total_seconds() / 60 for start in starts] == [0, 1, 3, 7, 15, 31]  # type: ignore[operator]
    harness.table.fails_at = None
    live_through(harness, minutes=60)
    assert harness.state().failures == 0
    assert harness.runs()[-1].state is RunState.COMPLETED


def test_turn_with_a_paused_source_runs_only_on_request(harness: PullHarness) -> None:
    harness.schedule = "every 15m"
    harness.requests.pause(NAME, is_paused=True)
    live_through(harness, minutes=60)
    assert harness.runs() == []
    assert harness.run().state is RunState.COMPLETED
    harness.requests.pause(NAME, is_paused=False)
    live_through(harness, minutes=30)
    assert len(harness.runs()) > 1


def test_turn_without_schedule_repeats_no_failed_run(harness: PullHarness) -> None:
    harness.table.fails_at = 0
    harness.run()
    live_through(harness, minutes=60)
    assert len(harness.runs()) == 1


def test_list_sources_shows_state_and_next_run(harness: PullHarness) -> None:
    harness.schedule = "every 15m"
    assert [(source.last_run, source.next_run_at) for source in harness.requests.list_sources()] == [(None, None)]
    run = harness.run()
    (source,) = harness.requests.list_sources()
    assert (source.last_run, source.next_run_at) == (run, harness.now + timedelta(minutes=15))


# --- after anything, the documents are the table ----------------------------------------------------------------------------------

KEYS = st.sampled_from("abcdefg")
STEPS = st.one_of(
    st.tuples(st.just("put"), KEYS, st.text("xyz", min_size=1, max_size=2)),
    st.tuples(st.just("remove"), KEYS, st.just("")),
    st.tuples(st.sampled_from(["fail", "kill"]), st.sampled_from("0123"), st.sampled_from(["full", "incremental"])),
    st.tuples(st.just("run"), st.just(""), st.sampled_from(["full", "incremental"])),
)


@settings(max_examples=count_examples(25))
@given(steps=st.lists(STEPS, max_size=12), can_resume=st.booleans())
def test_runs_after_any_changes_and_failures_leave_the_table(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, str]], can_resume: bool
) -> None:
    harness = PullHarness(store=open_migrated(tmp_path_factory.mktemp("pull") / "store.sqlite"))
    table = harness.table
    table.can_resume = can_resume
    for name, key, value in steps:
        if name == "put":
            table.put(**{key: value})
        elif name == "remove" and key in table.rows:
            table.remove(key)
        elif name == "kill":
            run_and_kill(harness, int(key), is_full=value == "full")
        elif name in ("fail", "run"):
            table.fails_at = int(key) if name == "fail" else None
            before = set(harness.live())
            run = harness.run(is_full=value == "full")
            table.fails_at = None
            if run.state is RunState.FAILED:
                assert before <= set(harness.live())
            elif run.mode is RunMode.INCREMENTAL or not can_resume:
                assert harness.texts() == table.rows
    # a reading that continued may have missed what changed before its checkpoint; the next one does not
    harness.run(is_full=True)
    assert harness.run(is_full=True).state is RunState.COMPLETED
    assert harness.texts() == table.rows
    harness.store.close()


def run_and_kill(harness: PullHarness, page: int, *, is_full: bool) -> None:
    """Kills the process before a page of a run, if the run has so many; the next process takes the run to its end."""

    def kill(number: int) -> None:
        if number >= page:
            harness.table.on_page = lambda _number: None
            raise Killed

    harness.table.on_page = kill
    try:
        harness.run(is_full=is_full)
    except Killed:
        harness.puller().turn()
    harness.table.on_page = lambda _number: None
