"""The store's groups database; one suite for every database."""

from collections.abc import Sequence

import pytest

from feedmill.adapters.store.engine import SqlStore
from feedmill.core.access.groups import resolve_groups
from feedmill.core.access.principals import exact_key, folded_key, own_keys, read_subject, signed_in_keys
from feedmill.model.access import Scope
from feedmill.model.change import PutGroup
from feedmill.model.feed import FeedKind
from feedmill.model.identity import Identity, PrincipalKey, Subject
from tests.builders.access import group_principal, user_principal
from tests.builders.feeds import add_feed, make_lease
from tests.builders.groups import define_group, publish_groups
from tests.builders.times import NOW, minutes

USER, GROUP = Scope.USER, Scope.GROUP


def parents(store: SqlStore, *keys: PrincipalKey) -> list[str]:
    with store.reading() as unit:
        return sorted(subject.name for _, subject in unit.groups.memberships.find_parents(keys))


def groups_of(store: SqlStore, name: str) -> list[str]:
    return parents(store, *signed_in_keys(read_subject(USER, name)))


def memberships(store: SqlStore) -> int:
    with store.reading() as unit:
        return unit.groups.memberships.count_memberships()


def prune(store: SqlStore) -> int:
    """Removes all that is dead and counts it."""
    removed = 0
    with store.writing() as unit:
        while dead := unit.groups.garbage.list_dead(after=0, limit=1_000):
            unit.groups.garbage.remove_dead([each.id for each in dead])
            removed += len(dead)
        unit.groups.garbage.remove_empty_snapshots()
    return removed


def test_find_parents_returns_each_key_with_each_of_its_groups(store: SqlStore) -> None:
    publish_groups(
        store,
        1,
        define_group("a", user_principal("ann")),
        define_group("b", user_principal("ann"), user_principal("bob")),
        define_group("c", user_principal("bob")),
    )
    ann, bob = exact_key(read_subject(USER, "ann")), exact_key(read_subject(USER, "bob"))
    with store.reading() as unit:
        found = unit.groups.memberships.find_parents([ann, bob])
    a, b, c = (Subject(scope=GROUP, name=name) for name in "abc")
    assert sorted(found, key=str) == sorted([(ann, a), (ann, b), (bob, b), (bob, c)], key=str)
    with store.reading() as unit:
        assert unit.groups.memberships.find_parents([]) == []


def test_find_parents_with_many_keys_asks_in_batches(store: SqlStore) -> None:
    publish_groups(store, 1, *(define_group(f"g{number}", user_principal(f"u{number}")) for number in range(1_200)))
    assert len(parents(store, *(exact_key(read_subject(USER, f"u{number}")) for number in range(1_200)))) == 1_200


def test_find_parents_letter_case_is_the_members_affair(store: SqlStore) -> None:
    publish_groups(store, 1, define_group("exact", user_principal("Ann")), define_group("any", user_principal("ANN", fold=True)))
    assert groups_of(store, "Ann") == ["any", "exact"]
    assert groups_of(store, "aNn") == ["any"]
    assert parents(store, folded_key(read_subject(USER, "ann"))) == ["any"]


def test_find_parents_distinguishes_scopes_namespaces_domains_and_lengths(store: SqlStore) -> None:
    other = define_group("other", user_principal("ann", namespace="other"))
    publish_groups(
        store,
        1,
        define_group("groups", group_principal("ann")),
        other,
        define_group("domain", user_principal("CORP\\ann")),
        define_group("joined", user_principal("1:ann")),
    )
    assert groups_of(store, "ann") == []
    assert groups_of(store, "ann@CORP") == ["domain"]
    assert groups_of(store, "ann@CORP.example.com") == ["domain"]
    assert parents(store, exact_key(Subject(scope=USER, name="ann", namespace="other"))) == ["other"]
    assert parents(store, *own_keys(Subject(scope=GROUP, name="ann"))) == ["groups"]


def test_find_parents_as_look_up_resolves_circles_and_namespaces(store: SqlStore) -> None:
    nested = define_group("far", group_principal("a"), namespace="B")
    publish_groups(store, 1, define_group("a", user_principal("ann"), group_principal("far", namespace="B")), nested)
    with store.reading() as unit:
        identity = resolve_groups(Identity(users=(read_subject(USER, "ann"),)), unit.groups.memberships.find_parents)
    assert list(identity.reached) == [Subject(scope=GROUP, name="a"), Subject(scope=GROUP, name="far", namespace="B")]


def test_snapshot_before_publishing_is_not_seen_and_dropped_never(store: SqlStore) -> None:
    publish_groups(store, 1, define_group("a", user_principal("ann")))
    for feed_id, end in ((2, "drop"), (3, "publish")):
        with store.writing() as unit:
            unit.groups.snapshot_builder.begin_snapshot(feed_id, "src", is_full=True)
            assert unit.groups.snapshot_builder.define_many(feed_id, [define_group("b", user_principal("ann"), user_principal("bob"))]) == 2
        assert (groups_of(store, "ann"), memberships(store)) == (["a"], 1)
        with store.writing() as unit:
            assert unit.groups.snapshot_builder.expected_memberships(feed_id) == 2
            getattr(unit.groups.snapshot_builder, end)(feed_id)
    assert (groups_of(store, "ann"), memberships(store)) == (["b"], 2)
    with store.reading() as unit:
        assert unit.groups.snapshots.generation() == 3


@pytest.mark.parametrize("pruned", [False, True])
def test_publish_incremental_snapshots_newest_definition_counts(store: SqlStore, pruned: bool) -> None:
    steps: Sequence[tuple[list[PutGroup], list[str], int]] = [
        ([define_group("a", user_principal("ann")), define_group("b", user_principal("ann"), user_principal("bob"))], ["a", "b"], 3),
        ([define_group("b", user_principal("bob"))], ["a"], 2),
        ([define_group("a"), define_group("never")], [], 1),
        ([define_group("a", user_principal("ann"))], ["a"], 2),
        ([define_group("a", user_principal("x")), define_group("a", user_principal("ann"), user_principal("ann"))], ["a"], 2),
        ([define_group("a"), define_group("b")], [], 0),
    ]
    for feed_id, (definitions, expected, count) in enumerate(steps, start=1):
        publish_groups(store, feed_id, *definitions)
        if pruned:
            prune(store)
        assert (groups_of(store, "ann"), memberships(store)) == (expected, count)
    prune(store)
    assert prune(store) == 0
    assert groups_of(store, "bob") == []


def test_publish_full_snapshot_replaces_its_source_alone(store: SqlStore) -> None:
    publish_groups(store, 1, define_group("shared", user_principal("ann")), source="one")
    publish_groups(store, 2, define_group("shared", user_principal("bob")), define_group("b", user_principal("ann")), source="two")
    assert (groups_of(store, "ann"), groups_of(store, "bob"), memberships(store)) == (["b", "shared"], ["shared"], 3)
    publish_groups(store, 3, define_group("c", user_principal("ann")), define_group("gone"), source="one", is_full=True)
    assert (groups_of(store, "ann"), groups_of(store, "bob"), memberships(store)) == (["b", "c"], ["shared"], 3)
    publish_groups(store, 4, source="two", is_full=True)
    publish_groups(store, 5, source="never", is_full=True)
    assert (groups_of(store, "ann"), groups_of(store, "bob"), memberships(store)) == (["c"], [], 1)
    assert prune(store) == 3
    assert groups_of(store, "ann") == ["c"]


def test_define_many_again_replaces_what_the_snapshot_has(store: SqlStore) -> None:
    publish_groups(store, 1, define_group("a", user_principal("old"), user_principal("older")))
    with store.writing() as unit:
        unit.groups.snapshot_builder.begin_snapshot(2, "src", is_full=False)
        unit.groups.snapshot_builder.define_many(2, [define_group("a", user_principal("x"), user_principal("y"), user_principal("z"))])
        assert unit.groups.snapshot_builder.define_many(2, [define_group("a", user_principal("ann"))]) == 1
        assert unit.groups.snapshot_builder.expected_memberships(2) == 1
        assert (
            unit.groups.snapshot_builder.extend(
                2, group_principal("a"), [user_principal("ann"), user_principal("bob"), user_principal("bob")]
            )
            == 2
        )
        unit.groups.snapshot_builder.publish(2)
    assert (groups_of(store, "x"), groups_of(store, "bob"), groups_of(store, "old")) == ([], ["a"], [])
    assert memberships(store) == 2


def test_copy_definitions_copies_what_the_snapshot_does_not_define(store: SqlStore) -> None:
    publish_groups(
        store,
        1,
        define_group("current", user_principal("ann"), user_principal("bob")),
        define_group("new", user_principal("ann")),
        define_group("swept", user_principal("ann")),
    )
    with store.writing() as unit:
        unit.groups.snapshot_builder.begin_snapshot(2, "src", is_full=True)
        unit.groups.snapshot_builder.define_many(2, [define_group("new", user_principal("bob"))])
        unit.groups.snapshot_builder.copy_definitions(2, [group_principal("current"), group_principal("new"), group_principal("unknown")])
        unit.groups.snapshot_builder.publish(2)
    assert (groups_of(store, "ann"), groups_of(store, "bob"), memberships(store)) == (["current"], ["current", "new"], 3)


def test_find_definitions_returns_those_that_count_by_source(store: SqlStore) -> None:
    publish_groups(store, 1, define_group("a", user_principal("ann")), define_group("b", user_principal("ann")), source="one")
    publish_groups(store, 2, define_group("a", user_principal("ann"), user_principal("bob")), source="one")
    publish_groups(store, 3, define_group("a", user_principal("eve")), source="two")
    publish_groups(store, 4, define_group("b"), source="one")
    with store.writing() as unit:
        unit.groups.snapshot_builder.begin_snapshot(5, "three", is_full=True)
        unit.groups.snapshot_builder.define_many(5, [define_group("a", user_principal("bob"))])
    with store.reading() as unit:
        found = [unit.groups.memberships.find_definitions(Subject(scope=GROUP, name=name)) for name in ("a", "b", "A")]
    assert [[(each.source, each.feed_id, each.memberships) for each in listed] for listed in found] == [
        [("one", 2, 2), ("two", 3, 1)],
        [],
        [],
    ]


def test_trim_dead_takes_a_large_definition_piece_by_piece(store: SqlStore) -> None:
    publish_groups(store, 1, define_group("big", *(user_principal(f"u{number}") for number in range(700))))
    publish_groups(store, 2, is_full=True)
    with store.writing() as unit:
        [dead] = unit.groups.garbage.list_dead(after=0, limit=10)
        assert dead.memberships == 700
        assert [unit.groups.garbage.trim_dead(dead.id, 600) for _ in range(3)] == [600, 100, 0]
        unit.groups.garbage.remove_dead([dead.id])
        assert unit.groups.garbage.list_dead(after=0, limit=10) == []


def test_claim_with_groups_feeds_takes_them_in_one_order_whatever_their_source(store: SqlStore) -> None:
    first = add_feed(store, "one", kind=FeedKind.GROUPS_INCREMENTAL)
    add_feed(store, "two", kind=FeedKind.GROUPS_FULL)
    documents = add_feed(store, "one", kind=FeedKind.FULL)
    with store.writing() as unit:
        claimed = unit.feeds.queue.claim(make_lease(until=NOW + minutes(5)), now=NOW, limit=10)
        assert [feed.id for feed in claimed] == [first.id, documents.id]
        assert [(source.name, source.feeds) for source in unit.feeds.sources.list()] == [("one", 1)]
