"""A groups feed on its way through the feeder, on a real store: what counts, what is stored, where it goes on."""

from pathlib import Path

import pytest

from feedmill.adapters.store.schema import group_definitions, group_members, group_snapshots
from feedmill.core.access.principals import signed_in_keys
from feedmill.model.access import Scope
from feedmill.model.change import PutGroup
from feedmill.model.feed import Feed, FeedKind, FeedState, Phase
from feedmill.model.identity import Subject
from feedmill.services.feeds.groupcleaning import clean_groups
from feedmill.services.feeds.groupsrun import AT_CAPACITY, GroupsLimits, GroupsRun
from tests.builders.groups import make_groups_feed, make_membership
from tests.contract.feedharness import FeedHarness, open_harness

FULL, INCREMENTAL, CLEANUP = FeedKind.GROUPS_FULL, FeedKind.GROUPS_INCREMENTAL, FeedKind.GROUPS_CLEANUP
NO_GROUP = make_membership("d", ["ann"], scope="USER")
SMALL = GroupsLimits(memberships=3, definitions=2, max_memberships=11)


def xml(**groups: str) -> bytes:
    """Returns a feed of groups, each with its users' names."""
    return make_groups_feed(*(make_membership(group, users.split()) for group, users in groups.items()))


def begin(harness: FeedHarness, data: bytes = b"", kind: FeedKind = FULL, source: str = "src") -> int:
    feed_id = harness.receive([], datasource=source, kind=kind)
    harness.groups[feed_id] = data
    return feed_id


def finish(harness: FeedHarness, feed_id: int, limits: GroupsLimits = SMALL) -> Feed:
    run = GroupsRun(harness.feed(feed_id), harness.tools, limits)
    while not run.feed.phase.is_past_feeder:
        run.step()
    assert harness.feed(feed_id) == run.feed
    return run.feed


def push(harness: FeedHarness, data: bytes = b"", kind: FeedKind = FULL, source: str = "src") -> Feed:
    return finish(harness, begin(harness, data, kind, source))


def groups_of(harness: FeedHarness, user: str) -> list[str]:
    with harness.store.reading() as unit:
        found = unit.groups.memberships.find_parents(list(signed_in_keys(Subject(scope=Scope.USER, name=user))))
    return sorted(subject.name for _, subject in found)


def rows_left(harness: FeedHarness) -> list[int]:
    """Counts snapshots, definitions and members in the store, seen or not."""
    with harness.store.writer.begin() as connection:
        return [len(connection.execute(table.select()).all()) for table in (group_snapshots, group_definitions, group_members)]


def test_run_full_feed_in_many_slices_is_published_at_the_end(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    push(harness, xml(old="ann"))
    feed_id = begin(harness, xml(a="ann bob", b="ann", c="ann bob cid", d=""))
    run = GroupsRun(harness.feed(feed_id), harness.tools, SMALL)
    while run.feed.phase is not Phase.SWEEP:
        run.step()
        assert groups_of(harness, "ann") == ["old"]
    feed = finish(harness, feed_id)
    assert (feed.state, feed.records, feed.included, feed.errors) == (FeedState.COMPLETED, 4, 4, 0)
    assert feed.searchable_at is not None
    assert groups_of(harness, "ann") == ["a", "b", "c"]


@pytest.mark.parametrize("steps", range(1, 9))
def test_run_restarted_after_any_step_comes_to_the_same(tmp_path: Path, steps: int) -> None:
    harness = open_harness(tmp_path)
    push(harness, xml(a="ann", old="ann"))
    memberships = [("a", "bob"), ("big", "u1 u2 u3 u4 u5 u6 ann"), ("b", "ann"), ("c", "ann")]
    feed_id = begin(
        harness, make_groups_feed(*(make_membership(name, users.split()) for name, users in memberships), NO_GROUP), INCREMENTAL
    )
    run = GroupsRun(harness.feed(feed_id), harness.tools, SMALL)
    for _ in range(steps):
        if not run.feed.phase.is_past_feeder:
            run.step()
    feed = finish(harness, feed_id, GroupsLimits(memberships=4, definitions=1))
    assert (feed.state, feed.included, feed.errors) == (FeedState.COMPLETED_WITH_ERRORS, 4, 1)
    assert (groups_of(harness, "ann"), groups_of(harness, "u6")) == (["b", "big", "c", "old"], ["big"])
    with harness.store.reading() as unit:
        assert unit.groups.memberships.count_memberships() == 1 + 1 + 7 + 1 + 1


def test_run_large_group_killed_between_its_pieces_is_put_again(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    feed_id = begin(harness, xml(big="u1 u2 u3 u4 u5 u6 u7"))
    run = GroupsRun(harness.feed(feed_id), harness.tools, SMALL)
    run.step()
    with harness.store.writing() as unit:
        unit.groups.snapshot_builder.begin_snapshot(feed_id, "src", is_full=True)
        [change] = harness.tools.groups_reader(run.feed).changes(0)
        assert isinstance(change, PutGroup)
        unit.groups.snapshot_builder.define_many(feed_id, [change])
    finish(harness, feed_id)
    with harness.store.reading() as unit:
        assert unit.groups.memberships.count_memberships() == 7


@pytest.mark.parametrize("kind", [FULL, INCREMENTAL])
def test_run_membership_in_error_keeps_what_its_group_had(tmp_path: Path, kind: FeedKind) -> None:
    harness = open_harness(tmp_path)
    push(harness, xml(stays="ann", new="ann"))
    in_error = make_membership("stays", ["bob"], more='<principal scope="X">eve</principal>')
    feed = push(harness, make_groups_feed(in_error, make_membership("new", ["bob"])), kind)
    assert (feed.state, feed.included, feed.errors) == (FeedState.COMPLETED_WITH_ERRORS, 1, 1)
    assert (groups_of(harness, "ann"), groups_of(harness, "bob")) == (["stays"], ["new"])
    [entry] = harness.log(feed.id)
    assert (entry.record, entry.line) == (1, 1)


@pytest.mark.parametrize("kind", [FULL, INCREMENTAL])
@pytest.mark.parametrize("data", [make_groups_feed(NO_GROUP), xml(a="ann")[:-5], b"<gsafeed/>"])
def test_run_feed_that_fails_changes_nothing(tmp_path: Path, kind: FeedKind, data: bytes) -> None:
    harness = open_harness(tmp_path)
    push(harness, xml(stays="ann"))
    feed = push(harness, data, kind)
    assert (feed.state, feed.phase, feed.included) == (FeedState.FAILED_IN_ERROR, Phase.DONE, 0)
    assert groups_of(harness, "ann") == ["stays"]


@pytest.mark.parametrize("data", [xml(a="u1 u2 u3 u4", b="u1 u2 u3"), xml(a=" ".join(f"u{number}" for number in range(40)), b="u1")])
def test_run_beyond_capacity_fails_with_the_documented_text_and_applies_nothing(tmp_path: Path, data: bytes) -> None:
    harness = open_harness(tmp_path)
    push(harness, xml(stays="ann bob cid dan eve"), source="other")
    feed = push(harness, data)
    assert (feed.state, feed.included) == (FeedState.FAILED_IN_ERROR, 0)
    assert [entry.reason for entry in harness.log(feed.id)] == [AT_CAPACITY]
    assert (groups_of(harness, "u1"), groups_of(harness, "ann")) == ([], ["stays"])
    assert push(harness, xml(stays="u1 u2 u3 u4 u5 u6 u7 u8 u9 u0"), source="other").state is FeedState.COMPLETED
    assert groups_of(harness, "u1") == ["stays"]


def test_run_cleanup_and_empty_feeds_say_what_a_source_has(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    push(harness, xml(a="ann"), INCREMENTAL, "one")
    push(harness, b"<xmlgroups/>", INCREMENTAL, "one")
    push(harness, b"<xmlgroups/>", FULL, "two")
    assert groups_of(harness, "ann") == ["a"]
    feed = push(harness, kind=CLEANUP, source="one")
    assert (feed.state, feed.records, groups_of(harness, "ann")) == (FeedState.COMPLETED, 0, [])


def test_clean_groups_leaves_what_is_seen(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    push(harness, xml(a="ann bob", b="ann u1 u2 u3 u4 u5 u6 u7"))
    push(harness, xml(a="ann", c="ann"))
    push(harness, xml(a="", b="bob"), INCREMENTAL)
    push(harness, make_groups_feed(NO_GROUP))
    for _ in range(2):
        list(clean_groups(harness.store, members_at_once=2))
    assert (groups_of(harness, "ann"), groups_of(harness, "bob")) == (["c"], ["b"])
    assert rows_left(harness) == [2, 2, 2]
