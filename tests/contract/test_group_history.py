"""The groups of a time: the answer for it afterwards is the answer of that time."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedmill.adapters.store.schema import group_changes, group_names, group_publications
from feedmill.core.access.groups import resolve_groups
from feedmill.core.access.principals import own_keys, signed_in_keys
from feedmill.model.access import Scope
from feedmill.model.feed import FeedKind
from feedmill.model.identity import Identity, PrincipalKey, Subject
from feedmill.ports import ComparisonCursor, PurgeCursor
from feedmill.services.feeds.groupcleaning import clean_groups
from feedmill.services.feeds.groupsrun import GroupsLimits
from tests.contract.feedharness import FeedHarness, open_harness
from tests.contract.groupharness import Definitions, push
from tests.thorough import count_examples

FULL, INCREMENTAL, CLEANUP = FeedKind.GROUPS_FULL, FeedKind.GROUPS_INCREMENTAL, FeedKind.GROUPS_CLEANUP
USERS, GROUPS, SOURCES = ("ann", "bob", "cid"), ("a", "b", "c"), ("one", "two")
ASKERS = [Subject(scope=Scope.USER, name=name) for name in USERS] + [Subject(scope=Scope.GROUP, name=name) for name in GROUPS]
SMALL = GroupsLimits(memberships=3, definitions=2)

Feeds = list[tuple[str, FeedKind, Definitions, bool]]


def keys_of(subjects: Sequence[Subject]) -> list[PrincipalKey]:
    return [key for subject in subjects for key in (*signed_in_keys(subject), *own_keys(subject))]


def look(harness: FeedHarness, at: datetime | None = None) -> set[tuple[PrincipalKey, Subject]]:
    """Returns all memberships, of now or of a time."""
    keys = list(dict.fromkeys(keys_of(ASKERS)))
    with harness.store.reading() as unit:
        found = unit.groups.memberships.find_parents(keys) if at is None else unit.groups.history.find_parents_at(keys, at)
    assert len(found) == len(set(found))
    return set(found)


def names_at(harness: FeedHarness, user: str, at: datetime) -> list[str]:
    current_user = Identity(users=(Subject(scope=Scope.USER, name=user),))
    with harness.store.reading() as unit:
        return sorted(
            group.name for group in resolve_groups(current_user, lambda keys: unit.groups.history.find_parents_at(keys, at)).reached
        )


def count_changes(harness: FeedHarness) -> int:
    with harness.store.writer.begin() as connection:
        return len(connection.execute(group_changes.select()).all())


def forget(harness: FeedHarness, before: datetime, limit: int = 2) -> None:
    reached: PurgeCursor | None = PurgeCursor()
    while reached is not None:
        with harness.store.writing() as unit:
            reached = unit.groups.history.forget(before, reached, limit)


FEEDS = st.lists(
    st.tuples(
        st.sampled_from(SOURCES),
        st.sampled_from([FULL, INCREMENTAL, INCREMENTAL, CLEANUP]),
        st.dictionaries(st.sampled_from(GROUPS), st.lists(st.sampled_from([*USERS, *map(str.upper, GROUPS)]), max_size=4), max_size=3),
        st.booleans(),
    ),
    max_size=8,
)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(feeds=FEEDS, small=st.booleans(), forgotten=st.integers(0, 8))
def test_groups_of_any_time_are_those_that_were_seen_then(
    new_harness: Callable[[], FeedHarness], feeds: Feeds, small: bool, forgotten: int
) -> None:
    check_groups(new_harness(), feeds, small=small, forgotten=forgotten)


@pytest.mark.slow
@settings(max_examples=count_examples(400), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(feeds=FEEDS, small=st.booleans(), forgotten=st.integers(0, 8))
def test_groups_of_any_time_are_those_that_were_seen_then_at_length(
    new_harness: Callable[[], FeedHarness], feeds: Feeds, small: bool, forgotten: int
) -> None:
    check_groups(new_harness(), feeds, small=small, forgotten=forgotten)


def check_groups(harness: FeedHarness, feeds: Feeds, *, small: bool, forgotten: int) -> None:
    remembered = [(harness.clock(), look(harness))]
    for source, kind, definitions, cleans in feeds:
        push(harness, source, kind, definitions, SMALL if small else None)
        if cleans:
            list(clean_groups(harness.store))
        remembered.append((harness.clock(), look(harness)))
    for at, seen in remembered:
        assert look(harness, at) == seen
    remaining = remembered[min(forgotten, len(remembered) - 1) :]
    forget(harness, remaining[0][0])
    for at, seen in remaining:
        assert look(harness, at) == seen
    harness.store.close()


def test_history_of_replacement_under_another_name_keeps_nothing(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    groups = {"a": ["ann", "bob"], "b": ["A"]}
    push(harness, "src-REPL1", INCREMENTAL, groups)
    first = count_changes(harness)
    assert first == len(groups)
    for new, old in [("src-REPL2", "src-REPL1"), ("src-REPL1", "src-REPL2")] * 3:
        push(harness, new, INCREMENTAL, groups)
        push(harness, old, CLEANUP)
        list(clean_groups(harness.store))
    assert count_changes(harness) == first


@pytest.mark.parametrize("limits", [SMALL, GroupsLimits()])
def test_history_keeps_a_row_for_each_membership_that_changes(tmp_path: Path, limits: GroupsLimits) -> None:
    harness = open_harness(tmp_path)
    before = harness.clock()
    push(harness, "src", FULL, {"big": [f"u{number}" for number in range(20)] + ["ann"]}, limits)
    between = push(harness, "src", FULL, {"big": [f"u{number}" for number in range(20)] + ["bob"]}, limits)
    assert count_changes(harness) == 3
    after = push(harness, "src", CLEANUP, limits=limits)
    assert count_changes(harness) == 3 + 21
    assert [names_at(harness, "u7", at) for at in (before, between, after)] == [[], ["big"], []]
    assert [names_at(harness, "bob", at) for at in (before, between, after)] == [[], ["big"], []]


def test_history_of_an_abandoned_snapshot_is_removed_and_of_one_being_built_is_not(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    start = push(harness, "src", FULL, {"a": ["ann"]})
    given_up, building = (harness.receive([], datasource="src", kind=FULL) for _ in range(2))
    for feed_id in (given_up, building):
        with harness.store.writing() as unit:
            unit.groups.snapshot_builder.begin_snapshot(feed_id, "src", is_full=True)
            reached = unit.groups.history.compare(feed_id, ComparisonCursor(), 100)
            while reached is not None:
                reached = unit.groups.history.compare(feed_id, reached, 100)
    with harness.store.writing() as unit:
        unit.groups.snapshot_builder.drop(given_up)
    assert names_at(harness, "ann", start - timedelta(seconds=1)) == ["a"]
    forget(harness, start - timedelta(days=1))
    assert count_changes(harness) == 2
    with harness.store.writing() as unit:
        unit.groups.snapshot_builder.publish(building)
        unit.groups.history.publish(building, "src", at=harness.clock())
    assert (names_at(harness, "ann", start), names_at(harness, "ann", harness.now)) == (["a"], [])
    forget(harness, harness.clock())
    with harness.store.writer.begin() as connection:
        assert [len(connection.execute(each.select()).all()) for each in (group_changes, group_names, group_publications)] == [0, 0, 0]


def test_history_with_a_clock_set_back_keeps_the_order(tmp_path: Path) -> None:
    harness = open_harness(tmp_path)
    first = push(harness, "src", FULL, {"a": ["ann"]})
    harness.now -= timedelta(days=1)
    push(harness, "src", FULL, {"b": ["ann"]})
    assert names_at(harness, "ann", first) == ["b"]
    assert names_at(harness, "ann", harness.now) == []
