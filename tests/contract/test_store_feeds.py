"""The store's feeds, data sources and facts; one suite for every database."""

from dataclasses import replace
from typing import Any

import pytest

from feedmill.adapters.store.engine import SqlStore
from feedmill.model.document import DocumentState
from feedmill.model.errors import NotFound
from feedmill.model.feed import DataSource, Feed, FeedKind, FeedState, LogEntry, LogLevel, Phase
from tests.builders.documents import make_document, save
from tests.builders.feeds import add_feed, make_lease
from tests.builders.times import NOW, minutes


def claim(store: SqlStore, owner: str = "one", *, now_minutes: float = 0, limit: int = 10, **given: int) -> list[int]:
    now = NOW + minutes(now_minutes)
    lease = make_lease(owner, until=now + minutes(5), **given)
    with store.writing() as unit:
        listed = [feed.id for feed in unit.feeds.queue.list_claimable(lease, now=now, limit=limit)]
        claimed = [feed.id for feed in unit.feeds.queue.claim(lease, now=now, limit=limit)]
    assert listed == claimed
    return claimed


def done(**given: Any) -> dict[str, Any]:
    return {"phase": Phase.DONE, "state": FeedState.COMPLETED, "searchable_at": NOW, **given}


# --- feeds ----------------------------------------------------------------------------------------------------------------------


def test_add_with_new_feed_returns_it_as_received(store: SqlStore) -> None:
    feed = add_feed(store, "hr", kind=FeedKind.INCREMENTAL, format="gsafeed", file="a.xml", size_bytes=3_000_000_000, client="::1")
    with store.reading() as unit:
        found = unit.feeds.reader.get(feed.id)
    assert found == Feed(
        id=feed.id,
        datasource="hr",
        kind=FeedKind.INCREMENTAL,
        format="gsafeed",
        file="a.xml",
        size_bytes=3_000_000_000,
        received_at=NOW,
        client="::1",
        state=FeedState.RECEIVED,
        phase=Phase.SCAN,
    )


def test_add_with_several_feeds_assigns_growing_ids_never_used_again(store: SqlStore) -> None:
    ids = [add_feed(store).id for _ in range(3)]
    with store.writing() as unit:
        unit.feeds.upkeep.remove(ids)
    assert ids == sorted(set(ids))
    assert add_feed(store).id > ids[-1]


def test_get_with_unknown_id_is_not_found(store: SqlStore) -> None:
    with store.reading() as unit, pytest.raises(NotFound):
        unit.feeds.reader.get(7)


def test_save_with_progress_keeps_all_of_it(store: SqlStore) -> None:
    feed = add_feed(store)
    changed = replace(
        feed,
        state=FeedState.COMPLETED_WITH_ERRORS,
        phase=Phase.DONE,
        repaired_file="b.xml",
        records=5_000_000_000,
        applied=4,
        included=3,
        errors=2,
        acls=1,
        logged=0,
        finished_at=NOW + minutes(1),
        searchable_at=NOW + minutes(2),
    )
    with store.writing() as unit:
        unit.feeds.queue.save(changed)
    with store.reading() as unit:
        assert unit.feeds.reader.get(feed.id) == changed


def test_list_newest_with_source_and_limit_lists_those(store: SqlStore) -> None:
    ids = [add_feed(store, name).id for name in ("a", "b", "a", "a")]
    with store.reading() as unit:
        assert [feed.id for feed in unit.feeds.reader.list_newest(None, 3)] == [ids[3], ids[2], ids[1]]
        assert [feed.id for feed in unit.feeds.reader.list_newest("a", 2)] == [ids[3], ids[2]]
        assert unit.feeds.reader.list_newest("none", 2) == []


def test_count_waiting_with_every_phase_counts_the_unapplied(store: SqlStore) -> None:
    for phase in Phase:
        add_feed(store, phase=phase)
    with store.reading() as unit:
        assert unit.feeds.reader.count_waiting() == 3


def test_log_with_several_saves_is_listed_in_order(store: SqlStore) -> None:
    feed = add_feed(store)
    entries = [LogEntry(level=LogLevel.ERROR, reason=f"reason {n}", record=n, line=10**10 + n, url=f"http://a/{n}") for n in range(5)]
    whole = LogEntry(level=LogLevel.NOTICE, reason="the feed \0 as a whole")
    with store.writing() as unit:
        unit.feeds.queue.save(replace(feed, logged=2), entries[:2])
    with store.writing() as unit:
        unit.feeds.queue.save(replace(feed, logged=6), [*entries[2:], whole])
    with store.reading() as unit:
        assert unit.feeds.log.list_log(feed.id, 4) == entries[:4]
        last = unit.feeds.log.list_log(feed.id, 100)[5]
    assert last == replace(whole, reason="the feed ␀ as a whole")


def test_list_unsettled_with_every_phase_lists_applied_ones_not_searchable(store: SqlStore) -> None:
    wanted = [add_feed(store, phase=Phase.SETTLE).id, add_feed(store, phase=Phase.DONE).id]
    add_feed(store, phase=Phase.SWEEP)
    add_feed(store, **done())
    with store.reading() as unit:
        assert [feed.id for feed in unit.feeds.reader.list_unsettled()] == wanted


def test_list_prunable_with_many_feeds_spares_the_newest_of_each_source(store: SqlStore) -> None:
    old = [add_feed(store, "a", **done()).id for _ in range(3)]
    add_feed(store, "a", phase=Phase.APPLY)
    newer = [add_feed(store, "a", **done()).id for _ in range(2)]
    add_feed(store, "b", **done())
    with store.reading() as unit:
        assert {feed.id for feed in unit.feeds.upkeep.list_prunable(2)} == set(old)
        assert {feed.id for feed in unit.feeds.upkeep.list_prunable(0)} >= {*old, *newer}
        assert unit.feeds.upkeep.list_prunable(10) == []


def test_remove_with_thousands_of_ids_forgets_feeds_and_logs(store: SqlStore) -> None:
    gone, remaining = add_feed(store), add_feed(store)
    entry = LogEntry(level=LogLevel.ERROR, reason="x")
    with store.writing() as unit:
        for feed in (gone, remaining):
            unit.feeds.queue.save(replace(feed, logged=1), [entry])
        unit.feeds.upkeep.remove([gone.id, *range(1000, 41_000)])
    with store.reading() as unit:
        assert [feed.id for feed in unit.feeds.reader.list_newest(None, 10)] == [remaining.id]
        assert (unit.feeds.log.list_log(gone.id, 10), unit.feeds.log.list_log(remaining.id, 10)) == ([], [entry])


# --- claims ---------------------------------------------------------------------------------------------------------------------


def test_claim_with_several_sources_takes_the_first_of_each(store: SqlStore) -> None:
    ids = [add_feed(store, name).id for name in ("a", "a", "b", "b", "c")]
    assert claim(store, limit=2) == [ids[0], ids[2]]
    assert claim(store, "two") == [ids[4]]
    assert claim(store, "three") == []


def test_claim_with_applied_feed_moves_on_to_the_next_of_its_source(store: SqlStore) -> None:
    first, second = add_feed(store), add_feed(store)
    assert claim(store) == [first.id]
    with store.writing() as unit:
        unit.feeds.queue.save(replace(first, phase=Phase.SETTLE))
    assert claim(store) == [second.id]


def test_claim_with_running_lease_is_only_renewed_by_its_owner(store: SqlStore) -> None:
    feed = add_feed(store)
    assert claim(store, "one") == [feed.id]
    assert claim(store, "two", now_minutes=4) == []
    assert claim(store, "one", now_minutes=4) == [feed.id]
    assert claim(store, "two", now_minutes=8) == []
    assert claim(store, "two", now_minutes=9.1) == [feed.id]
    assert claim(store, "one", now_minutes=10) == []


def test_claim_with_size_bounds_takes_only_heads_of_that_size(store: SqlStore) -> None:
    large = add_feed(store, "a", size_bytes=100)
    add_feed(store, "a", size_bytes=1)
    small = add_feed(store, "b", size_bytes=99)
    assert claim(store, "quick", max_bytes=100) == [small.id]
    assert claim(store, "bulk", min_bytes=100) == [large.id]


def test_release_with_owner_frees_what_he_holds(store: SqlStore) -> None:
    mine, other = add_feed(store, "a"), add_feed(store, "b")
    assert claim(store, "one", limit=1) == [mine.id]
    assert claim(store, "two") == [other.id]
    with store.writing() as unit:
        unit.feeds.queue.release("one")
    assert claim(store, "three") == [mine.id]


# --- data sources ---------------------------------------------------------------------------------------------------------------


def test_sources_with_feeds_and_documents_are_listed_with_counts(store: SqlStore) -> None:
    add_feed(store, "b")
    add_feed(store, "b", kind=FeedKind.INCREMENTAL)
    add_feed(store, "a", kind=FeedKind.METADATA_AND_URL)
    gone = make_document("http://x/3", datasource="b", state=DocumentState.GONE)
    save(store, make_document("http://x/1", datasource="b"), make_document("http://x/2", datasource="b"), gone)
    with store.reading() as unit:
        assert unit.feeds.sources.list() == [
            DataSource(name="a", kind="web", documents=0, feeds=1),
            DataSource(name="b", kind="content", documents=2, feeds=2),
        ]


def test_mark_deleted_with_source_shows_until_fed_again(store: SqlStore) -> None:
    add_feed(store, "a", **done())
    add_feed(store, "a", kind=FeedKind.DELETE_SOURCE, phase=Phase.SWEEP)
    with store.writing() as unit:
        unit.feeds.sources.note_deleted("a")
        assert [source.kind for source in unit.feeds.sources.list()] == ["deleted"]
    add_feed(store, "a", kind=FeedKind.INCREMENTAL)
    with store.reading() as unit:
        assert [source.kind for source in unit.feeds.sources.list()] == ["content"]


def test_mark_deleted_with_source_fed_again_meanwhile_does_not_show(store: SqlStore) -> None:
    add_feed(store, "a", kind=FeedKind.DELETE_SOURCE, phase=Phase.SWEEP)
    add_feed(store, "a")
    with store.writing() as unit:
        unit.feeds.sources.note_deleted("a")
        assert [source.kind for source in unit.feeds.sources.list()] == ["content"]


def test_forget_with_source_spares_feeds_being_applied(store: SqlStore) -> None:
    add_feed(store, "a", **done())
    add_feed(store, "a", phase=Phase.SETTLE)
    destroy = add_feed(store, "a", kind=FeedKind.DESTROY_SOURCE, phase=Phase.APPLY)
    other = add_feed(store, "b", **done())
    with store.writing() as unit:
        unit.feeds.sources.forget("a")
        assert [source.name for source in unit.feeds.sources.list()] == ["b"]
        assert {feed.id for feed in unit.feeds.reader.list_newest(None, 10)} == {destroy.id, other.id}


def test_forget_with_source_fed_again_meanwhile_keeps_its_name(store: SqlStore) -> None:
    add_feed(store, "a", kind=FeedKind.DESTROY_SOURCE, phase=Phase.APPLY)
    fed = add_feed(store, "a")
    with store.writing() as unit:
        unit.feeds.sources.forget("a")
        assert [source.name for source in unit.feeds.sources.list()] == ["a"]
        assert unit.feeds.reader.get(fed.id) == fed


# --- facts ----------------------------------------------------------------------------------------------------------------------


def test_facts_with_values_give_the_last_one(store: SqlStore) -> None:
    with store.writing() as unit:
        assert unit.state.key_values.get("a") is None
        unit.state.key_values.put("a", "1")
        unit.state.key_values.put("b", "")
        unit.state.key_values.put("a", "2 😀")
    with store.reading() as unit:
        assert (unit.state.key_values.get("a"), unit.state.key_values.get("b")) == ("2 😀", "")
