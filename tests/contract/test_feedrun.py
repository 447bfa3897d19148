from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from feedmill.core.documents.lifecycle import PUBLIC_NOW
from feedmill.model.change import Change
from feedmill.model.document import Attributes, EventKind
from feedmill.model.errors import BadFeed, Busy, NotFound
from feedmill.model.feed import FeedKind, FeedState, LogLevel, Phase
from feedmill.ports import IndexTask, Lane, Stage
from feedmill.services.feeds.feeding import Admission
from feedmill.services.feeds.feedrun import FeedRun
from feedmill.services.feeds.progress import LOG_ENTRIES, ended
from tests.builders.access import STAFF
from tests.builders.changes import OPEN, delete, faulty, put, put_acl, url
from tests.contract.feedharness import BEGIN, FeedHarness, is_live, open_harness
from tests.contract.fuses import LosingStore


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[FeedHarness]:
    made = open_harness(tmp_path, changes_a_slice=3)
    yield made
    made.store.close()


def limit(harness: FeedHarness, documents: int) -> None:
    harness.admission = Admission(rules=OPEN, max_documents=documents)


def names(harness: FeedHarness) -> set[str]:
    return {found.removeprefix("http://docs.test/") for found in harness.live()}


# --- counts, states, log --------------------------------------------------------------------------------------------------------


def test_feed_of_several_slices_is_applied_in_its_order(harness: FeedHarness) -> None:
    changes: list[Change] = [put("a", "1"), put("b", "1"), delete("a"), put("a", "2"), put("b", "2"), delete("b"), put("a", "3")]

    feed = harness.push(*changes)

    assert (feed.state, feed.records, feed.applied, feed.included, feed.errors) == (FeedState.COMPLETED, 7, 7, 7, 0)
    assert names(harness) == {"a"}
    content = harness.document(url("a")).content
    assert content is not None
    assert harness.blobs.read(content) == b"3"
    assert harness.document(url("a")).version == 4


@pytest.mark.parametrize(
    ("changes", "state", "counts"),
    [
        ([put("a"), faulty("b")], FeedState.COMPLETED_WITH_ERRORS, (1, 1, 0)),
        ([faulty("a"), faulty(None)], FeedState.FAILED_IN_ERROR, (0, 2, 0)),
        ([faulty("a"), put_acl("f")], FeedState.COMPLETED_WITH_ERRORS, (0, 1, 1)),
        ([faulty("f", record=0), put("a")], FeedState.COMPLETED_WITH_ERRORS, (1, 1, 0)),
        ([], FeedState.COMPLETED, (0, 0, 0)),
    ],
)
def test_feed_ends_in_the_state_of_its_counts(
    harness: FeedHarness, changes: list[Change], state: FeedState, counts: tuple[int, int, int]
) -> None:
    feed = harness.push(*changes)

    assert (feed.state, feed.phase) == (state, Phase.DONE)
    assert (feed.included, feed.errors, feed.acls) == counts
    assert [entry.level for entry in harness.log(feed.id)] == [LogLevel.ERROR] * feed.errors


def test_feed_that_is_not_well_formed_changes_nothing_and_names_the_line(harness: FeedHarness) -> None:
    harness.push(put("a"))
    feed_id = harness.receive([delete("a")], kind=FeedKind.FULL)
    harness.faults[feed_id] = BadFeed("a tag is never closed", line=17)

    feed = harness.run(feed_id)

    assert (feed.state, feed.applied) == (FeedState.FAILED_IN_ERROR, 0)
    assert [(entry.line, entry.reason) for entry in harness.log(feed_id)] == [(17, "a tag is never closed")]
    assert names(harness) == {"a"}


def test_feed_whose_bytes_are_lost_between_slices_ends_without_a_sweep(harness: FeedHarness) -> None:
    harness.push(put("old"))
    feed_id = harness.receive([put(f"d{number}", whole=True) for number in range(5)], kind=FeedKind.FULL)
    run = FeedRun(harness.feed(feed_id), harness.tools)
    run.step()
    run.step()
    harness.faults[feed_id] = NotFound("it is gone")

    feed = harness.run(feed_id)

    assert (feed.state, feed.included, feed.errors) == (FeedState.COMPLETED_WITH_ERRORS, 3, 1)
    assert "old" in names(harness)
    assert "push it again" in harness.log(feed_id)[-1].reason


def test_log_beyond_its_limit_is_cut_and_counts_stay_whole(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    feed = harness.push(*[faulty(None, record=number) for number in range(1, LOG_ENTRIES + 701)], put("a"))

    log = harness.log(feed.id)
    assert (feed.errors, feed.included, feed.logged) == (LOG_ENTRIES + 700, 1, LOG_ENTRIES)
    assert len(log) == LOG_ENTRIES
    assert (log[-1].level, log[-2].record) == (LogLevel.NOTICE, LOG_ENTRIES - 1)
    harness.store.close()


# --- marks ----------------------------------------------------------------------------------------------------------------------


def index_tasks(harness: FeedHarness) -> dict[str, IndexTask]:
    with harness.store.reading() as unit:
        documents = unit.documents.reader.find_by_id(range(1, 20))
        found = unit.processing.index_tasks.find_many(list(documents))
    return {documents[key].url.removeprefix("http://docs.test/"): task for key, task in found.items()}


def test_marks_say_what_each_document_waits_for(harness: FeedHarness) -> None:
    feed = harness.push(put("a"), put("b", None, metadata=(("k", "v"),)), put("c"), delete("c"), faulty("d"))

    found = index_tasks(harness)
    assert {name: task.stage for name, task in found.items()} == {"a": Stage.EXTRACT, "b": Stage.INDEX, "c": Stage.INDEX}
    assert {(task.feed_id, task.datasource, task.lane) for task in found.values()} == {(feed.id, "hr", Lane.QUICK)}
    assert harness.document(url("c")).version == found["c"].version


@pytest.mark.parametrize("between", [[], [delete("a")]])
def test_feed_that_protects_a_document_is_not_completed_before_the_index_obeys(harness: FeedHarness, between: list[Change]) -> None:
    harness.push(put("a"), put("b"))
    harness.index_all()

    feed = harness.push(*between, put("a", acl=STAFF), put("b"))

    assert (feed.state, feed.phase, feed.searchable_at) == (FeedState.IN_PROGRESS, Phase.SETTLE, None)
    assert {name: task.revokes_access for name, task in index_tasks(harness).items()} == {"a": True, "b": False}
    done = ended(feed, is_obeyed=True, searchable_at=None)
    assert (done.state, done.phase) == (FeedState.COMPLETED, Phase.DONE)


def test_feed_without_anything_to_index_is_searchable_at_its_end(harness: FeedHarness) -> None:
    feed = harness.push(delete("a"), put_acl("f"))

    assert feed.searchable_at is not None
    assert feed.searchable_at == feed.finished_at


# --- full feeds -----------------------------------------------------------------------------------------------------------------


def test_full_feed_sweeps_what_it_does_not_name_and_only_its_own(harness: FeedHarness) -> None:
    harness.push(put("a"), put("b"), put("c"), put("d"), put("e"), put_acl("f"), put_acl("g"))
    harness.push(put("theirs"), put_acl("b"), put_acl("h"), datasource="wiki")

    feed = harness.push(put("a", whole=True), faulty("c"), delete("d"), put_acl("g"), kind=FeedKind.FULL)

    assert names(harness) == {"a", "c", "theirs"}
    assert set(harness.acls(*map(url, "abcdefgh"))) == {url("b"), url("g"), url("h")}
    assert [event.kind for event in harness.events(url("e"))] == [EventKind.FED, EventKind.SWEPT]
    assert f"feed {feed.id} " in harness.events(url("e"))[-1].detail
    assert (feed.included, feed.errors, feed.acls) == (2, 1, 1)


def test_full_feed_without_records_empties_its_source(harness: FeedHarness) -> None:
    harness.push(*[put(f"d{number}") for number in range(8)])
    harness.push(put("theirs"), datasource="wiki")

    feed = harness.push(kind=FeedKind.FULL)

    assert feed.state is FeedState.COMPLETED
    assert names(harness) == {"theirs"}


def test_full_feed_with_errors_alone_sweeps_nothing(harness: FeedHarness) -> None:
    harness.push(put("a"), put_acl("f"))

    feed = harness.push(faulty("x"), faulty(None), kind=FeedKind.FULL)

    assert feed.state is FeedState.FAILED_IN_ERROR
    assert names(harness) == {"a"}
    assert url("f") in harness.acls(url("f"))


def test_full_feed_keeps_acls_of_urls_that_a_record_names(harness: FeedHarness) -> None:
    harness.push(put("a", acl=STAFF), put("b", acl=STAFF), put("c", acl=STAFF))
    harness.push(put("theirs"), datasource="wiki")
    harness.push(put_acl("theirs"))

    harness.push(put("a", whole=True), faulty("b"), delete("theirs"), kind=FeedKind.FULL)

    assert set(harness.acls(*map(url, ("a", "b", "c", "theirs")))) == {url("a"), url("b"), url("theirs")}
    assert harness.document(url("a")).secure


def test_full_feed_that_sweeps_the_acl_of_anothers_document_warns(harness: FeedHarness) -> None:
    harness.push(put("theirs"), datasource="wiki")
    harness.push(put_acl("theirs"))

    feed = harness.push(put("a", whole=True), kind=FeedKind.FULL)

    assert not harness.document(url("theirs")).secure
    assert [(entry.level, entry.reason, entry.url) for entry in harness.log(feed.id)] == [(LogLevel.WARNING, PUBLIC_NOW, url("theirs"))]
    assert harness.events(url("theirs"))[-1].kind is EventKind.ACL_CHANGED


# --- deleting a source ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [FeedKind.DELETE_SOURCE, FeedKind.DESTROY_SOURCE])
def test_source_that_is_deleted_loses_documents_and_acls(harness: FeedHarness, kind: FeedKind) -> None:
    harness.push(*[put(f"d{number}", acl=STAFF) for number in range(4)], put_acl("f"))
    harness.push(put("theirs"), put_acl("d1"), datasource="wiki")

    feed = harness.push(kind=kind)

    assert feed.state is FeedState.COMPLETED
    assert names(harness) == {"theirs"}
    assert set(harness.acls(url("f"), *[url(f"d{number}") for number in range(4)])) == {url("d1")}
    assert harness.events(url("d0"))[-1].kind is EventKind.SOURCE_DELETED
    with harness.store.reading() as unit:
        sources = {source.name: (source.kind, source.feeds) for source in unit.feeds.sources.list()}
    assert sources["wiki"] == ("content", 1)
    assert sources.get("hr") == (("deleted", 2) if kind is FeedKind.DELETE_SOURCE else None)


@pytest.mark.parametrize("kind", [FeedKind.DELETE_SOURCE, FeedKind.DESTROY_SOURCE])
def test_source_that_is_fed_again_before_it_is_deleted_lives_on(harness: FeedHarness, kind: FeedKind) -> None:
    harness.push(put("a"))
    harness.index_all()
    harness.push(put("a", acl=STAFF))
    deletion = harness.receive([], kind=kind)
    later = harness.receive([put("b")])

    harness.run(deletion)
    harness.run(later)

    with harness.store.reading() as unit:
        assert [(source.name, source.kind, source.documents) for source in unit.feeds.sources.list()] == [("hr", "content", 1)]
    assert names(harness) == {"b"}


def test_source_that_is_destroyed_goes_with_feeds_that_the_index_does_not_obey_yet(harness: FeedHarness) -> None:
    harness.push(put("a"))
    harness.index_all()
    assert harness.push(put("a", acl=STAFF)).phase is Phase.SETTLE

    harness.push(kind=FeedKind.DESTROY_SOURCE)

    with harness.store.reading() as unit:
        assert unit.feeds.sources.list() == []
        assert [feed.kind for feed in unit.feeds.reader.list_newest("hr", 10)] == [FeedKind.DESTROY_SOURCE]


# --- the licence ----------------------------------------------------------------------------------------------------------------


def test_licence_evicts_unlocked_then_low_rank_then_old_documents(harness: FeedHarness) -> None:
    locked, low, high = Attributes(lock=True, pagerank=68), Attributes(pagerank=95), Attributes(pagerank=97)
    harness.push(put("locked", attributes=locked), put("high", attributes=high), put("default"), put("low", attributes=low), put("later"))
    harness.push(put("default"))

    gone = []
    for documents in (4, 3, 2, 1):
        limit(harness, documents)
        before = names(harness)
        harness.push(put("high", attributes=high))
        gone.append((before - names(harness)).pop())

    assert gone == ["low", "later", "default", "high"]
    assert [event.kind for event in harness.events(url("low"))] == [EventKind.FED, EventKind.PUSHED_OUT]


def test_licence_knows_the_older_update_inside_one_slice(harness: FeedHarness) -> None:
    harness.push(put("a"), put("b"))
    limit(harness, 2)

    feed = harness.push(put("c"), put("b"), put("a"))

    assert feed.included == 3
    assert names(harness) == {"a", "b"}


def test_licence_counts_documents_only_and_spares_other_sources_acls(harness: FeedHarness) -> None:
    limit(harness, 2)
    harness.push(put_acl("f"), put_acl("g"), put_acl("h"), put("a"), put("b"))

    assert names(harness) == {"a", "b"}


def test_licence_lets_a_full_feed_replace_documents_of_higher_rank(harness: FeedHarness) -> None:
    limit(harness, 5)
    ranked = Attributes(pagerank=99)
    harness.push(*[put(f"old{number}", attributes=ranked) for number in range(5)])

    harness.push(*[put(f"new{number}", whole=True) for number in range(7)], kind=FeedKind.FULL)

    assert names(harness) == {f"new{number}" for number in range(2, 7)}


# --- being cut short ------------------------------------------------------------------------------------------------------------


STORY: list[tuple[str, FeedKind, list[Change]]] = [
    ("hr", FeedKind.INCREMENTAL, [put("a", "1"), put("b"), put("c"), put("d", acl=STAFF), put_acl("f"), faulty("g"), put("a", "2")]),
    ("wiki", FeedKind.FULL, [put("b", "theirs", whole=True), put("w", whole=True), put("x", whole=True), put_acl("d")]),
    ("hr", FeedKind.FULL, [put("a", "3", whole=True), faulty("c"), delete("e"), put("e", whole=True), faulty("h", record=0)]),
    ("wiki", FeedKind.INCREMENTAL, [put("a", None, metadata=(("k", "v"),)), delete("x"), put("y"), put("z")]),
    ("wiki", FeedKind.DELETE_SOURCE, []),
    ("hr", FeedKind.INCREMENTAL, [put("y"), delete("c"), put("b", acl=STAFF)]),
]


def snapshot(harness: FeedHarness) -> object:
    """All that must not depend on when a feeder was killed."""
    urls = [url(name) for name in "abcdefghwxyz"]
    with harness.store.reading() as unit:
        documents = unit.documents.reader.find_many(urls)
        events = {found.url: unit.documents.reader.list_events(found.id or 0) for found in documents.values()}
        acls = unit.access.acls.find_many(urls)
    return (
        {
            name: (is_live(d), d.datasource, d.version, d.metadata, d.secure, d.events, d.content and harness.blobs.read(d.content))
            for name, d in documents.items()
        },
        {name: [(event.kind, event.feed_id, event.line) for event in happened] for name, happened in events.items()},
        acls,
        [replace(harness.feed(feed_id), received_at=BEGIN, finished_at=None, searchable_at=None) for feed_id in harness.feeds],
        [harness.log(feed_id) for feed_id in harness.feeds],
        {name: (task.version, task.stage, task.feed_id, task.revokes_access) for name, task in index_tasks(harness).items()},
    )


def run_story(harness: FeedHarness, kill_every: int) -> int:
    """Runs the story; each ``kill_every`` th step is undone at its commit, or its run dropped right after it. Counts the steps."""
    store = LosingStore(harness.store)
    steps = 0
    for datasource, kind, changes in STORY:
        feed_id = harness.receive(changes, datasource=datasource, kind=kind)
        run = FeedRun(harness.feed(feed_id), replace(harness.tools, store=store))
        while not run.feed.phase.is_past_feeder:
            steps += 1
            is_killed = kill_every > 0 and steps % kill_every == 0
            store.doomed = {store.writes + 1} if is_killed and steps % (2 * kill_every) else ()
            with suppress(Busy):
                run.step()
            if is_killed:
                run = FeedRun(harness.feed(feed_id), replace(harness.tools, store=store))
    return steps


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> object:
    harness = open_harness(tmp_path_factory.mktemp("undisturbed"), changes_a_slice=2)
    assert run_story(harness, 0) > 20
    state = snapshot(harness)
    harness.store.close()
    return state


@pytest.mark.parametrize("kill_every", [1, 2, 3, 5, 7, 11])
def test_run_killed_at_any_step_comes_to_the_same_end(tmp_path: Path, undisturbed: object, kill_every: int) -> None:
    harness = open_harness(tmp_path, changes_a_slice=2)

    run_story(harness, kill_every)

    assert snapshot(harness) == undisturbed
    harness.store.close()
