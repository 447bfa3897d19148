"""The groups of a time: what is told of it afterwards is what was told then."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from feedhouse import FeedHouse, open_house
from grouphouse import Definitions, push
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedmill.adapters.store.schema import group_changes, group_names, group_publications
from feedmill.core.groupresolution import resolve_groups
from feedmill.core.principals import own_keys, signed_in_keys
from feedmill.model.access import Scope
from feedmill.model.feed import FeedKind
from feedmill.model.identity import Identity, PrincipalKey, Subject
from feedmill.ports import ComparedTo, ForgottenTo
from feedmill.services.feeds.groupcleaning import clean_groups
from feedmill.services.feeds.groupsrun import GroupsLimits

FULL, INCREMENTAL, CLEANUP = FeedKind.GROUPS_FULL, FeedKind.GROUPS_INCREMENTAL, FeedKind.GROUPS_CLEANUP
USERS, GROUPS, SOURCES = ("ann", "bob", "cid"), ("a", "b", "c"), ("one", "two")
ASKERS = [Subject(scope=Scope.USER, name=name) for name in USERS] + [Subject(scope=Scope.GROUP, name=name) for name in GROUPS]
SMALL = GroupsLimits(memberships=3, definitions=2)

Feeds = list[tuple[str, FeedKind, Definitions, bool]]


def keys_of(subjects: Sequence[Subject]) -> list[PrincipalKey]:
    return [key for subject in subjects for key in (*signed_in_keys(subject), *own_keys(subject))]


def look(house: FeedHouse, at: datetime | None = None) -> set[tuple[PrincipalKey, Subject]]:
    """Gives all memberships, of now or of a time."""
    keys = list(dict.fromkeys(keys_of(ASKERS)))
    with house.store.reading() as unit:
        found = unit.groups.find_parents(keys) if at is None else unit.group_history.find_parents_at(keys, at)
    assert len(found) == len(set(found))
    return set(found)


def names_at(house: FeedHouse, user: str, at: datetime) -> list[str]:
    asker = Identity(users=(Subject(scope=Scope.USER, name=user),))
    with house.store.reading() as unit:
        return sorted(group.name for group in resolve_groups(asker, lambda keys: unit.group_history.find_parents_at(keys, at)).reached)


def count_changes(house: FeedHouse) -> int:
    with house.store.writer.begin() as connection:
        return len(connection.execute(group_changes.select()).all())


def forget(house: FeedHouse, before: datetime, limit: int = 2) -> None:
    reached: ForgottenTo | None = ForgottenTo()
    while reached is not None:
        with house.store.writing() as unit:
            reached = unit.group_history.forget(before, reached, limit)


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
    new_house: Callable[[], FeedHouse], feeds: Feeds, small: bool, forgotten: int
) -> None:
    check_groups(new_house(), feeds, small=small, forgotten=forgotten)


@pytest.mark.slow
@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(feeds=FEEDS, small=st.booleans(), forgotten=st.integers(0, 8))
def test_groups_of_any_time_are_those_that_were_seen_then_at_length(
    new_house: Callable[[], FeedHouse], feeds: Feeds, small: bool, forgotten: int
) -> None:
    check_groups(new_house(), feeds, small=small, forgotten=forgotten)


def check_groups(house: FeedHouse, feeds: Feeds, *, small: bool, forgotten: int) -> None:
    remembered = [(house.clock(), look(house))]
    for source, kind, definitions, cleans in feeds:
        push(house, source, kind, definitions, SMALL if small else None)
        if cleans:
            list(clean_groups(house.store))
        remembered.append((house.clock(), look(house)))
    for at, seen in remembered:
        assert look(house, at) == seen
    kept = remembered[min(forgotten, len(remembered) - 1) :]
    forget(house, kept[0][0])
    for at, seen in kept:
        assert look(house, at) == seen
    house.store.close()


def test_history_of_replacement_under_another_name_keeps_nothing(tmp_path: Path) -> None:
    house = open_house(tmp_path)
    groups = {"a": ["ann", "bob"], "b": ["A"]}
    push(house, "src-REPL1", INCREMENTAL, groups)
    first = count_changes(house)
    assert first == len(groups)
    for new, old in [("src-REPL2", "src-REPL1"), ("src-REPL1", "src-REPL2")] * 3:
        push(house, new, INCREMENTAL, groups)
        push(house, old, CLEANUP)
        list(clean_groups(house.store))
    assert count_changes(house) == first


@pytest.mark.parametrize("limits", [SMALL, GroupsLimits()])
def test_history_keeps_a_row_for_each_membership_that_changes(tmp_path: Path, limits: GroupsLimits) -> None:
    house = open_house(tmp_path)
    before = house.clock()
    push(house, "src", FULL, {"big": [f"u{number}" for number in range(20)] + ["ann"]}, limits)
    between = push(house, "src", FULL, {"big": [f"u{number}" for number in range(20)] + ["bob"]}, limits)
    assert count_changes(house) == 3
    after = push(house, "src", CLEANUP, limits=limits)
    assert count_changes(house) == 3 + 21
    assert [names_at(house, "u7", at) for at in (before, between, after)] == [[], ["big"], []]
    assert [names_at(house, "bob", at) for at in (before, between, after)] == [[], ["big"], []]


def test_history_of_a_layer_given_up_is_forgotten_and_one_being_built_is_kept(tmp_path: Path) -> None:
    house = open_house(tmp_path)
    start = push(house, "src", FULL, {"a": ["ann"]})
    given_up, building = (house.receive([], datasource="src", kind=FULL) for _ in range(2))
    for feed_id in (given_up, building):
        with house.store.writing() as unit:
            unit.group_layers.build(feed_id, "src", whole=True)
            reached = unit.group_history.compare(feed_id, ComparedTo(), 100)
            while reached is not None:
                reached = unit.group_history.compare(feed_id, reached, 100)
    with house.store.writing() as unit:
        unit.group_layers.drop(given_up)
    assert names_at(house, "ann", start - timedelta(seconds=1)) == ["a"]
    forget(house, start - timedelta(days=1))
    assert count_changes(house) == 2
    with house.store.writing() as unit:
        unit.group_layers.publish(building)
        unit.group_history.publish(building, "src", at=house.clock())
    assert (names_at(house, "ann", start), names_at(house, "ann", house.now)) == (["a"], [])
    forget(house, house.clock())
    with house.store.writer.begin() as connection:
        assert [len(connection.execute(each.select()).all()) for each in (group_changes, group_names, group_publications)] == [0, 0, 0]


def test_history_with_a_clock_set_back_keeps_the_order(tmp_path: Path) -> None:
    house = open_house(tmp_path)
    first = push(house, "src", FULL, {"a": ["ann"]})
    house.now -= timedelta(days=1)
    push(house, "src", FULL, {"b": ["ann"]})
    assert names_at(house, "ann", first) == ["b"]
    assert names_at(house, "ann", house.now) == []
