"""The store's groups database; one suite for every database."""

from collections.abc import Sequence

import pytest

from feedmill.adapters.store.engine import SqlStore
from feedmill.core.access.groups import resolve_groups
from feedmill.core.access.principals import exact_key, folded_key, own_keys, read_subject, signed_in_keys
from feedmill.model.access import Principal, Scope
from feedmill.model.change import PutGroup, SourcePosition
from feedmill.model.feed import FeedKind
from feedmill.model.identity import Identity, PrincipalKey, Subject
from tests.builders.feeds import add_feed, make_lease
from tests.builders.times import NOW, minutes

USER, GROUP = Scope.USER, Scope.GROUP


def user(name: str, *, sensitive: bool = True, namespace: str = "Default") -> Principal:
    return Principal(scope=USER, name=name, case_sensitive=sensitive, namespace=namespace)


def group(name: str, *, sensitive: bool = True, namespace: str = "Default") -> Principal:
    return Principal(scope=GROUP, name=name, case_sensitive=sensitive, namespace=namespace)


def define(name: str, *members: Principal) -> PutGroup:
    return PutGroup(place=SourcePosition(record=1, line=1), group=group(name), members=members)


def load(store: SqlStore, feed_id: int, *definitions: PutGroup, source: str = "src", whole: bool = False) -> None:
    """Builds a snapshot and publishes it."""
    with store.writing() as unit:
        unit.groups.snapshot_builder.build(feed_id, source, is_full=whole)
        unit.groups.snapshot_builder.define_many(feed_id, definitions)
    with store.writing() as unit:
        unit.groups.snapshot_builder.publish(feed_id)


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
    load(store, 1, define("a", user("ann")), define("b", user("ann"), user("bob")), define("c", user("bob")))
    ann, bob = exact_key(read_subject(USER, "ann")), exact_key(read_subject(USER, "bob"))
    with store.reading() as unit:
        found = unit.groups.memberships.find_parents([ann, bob])
    a, b, c = (Subject(scope=GROUP, name=name) for name in "abc")
    assert sorted(found, key=str) == sorted([(ann, a), (ann, b), (bob, b), (bob, c)], key=str)
    with store.reading() as unit:
        assert unit.groups.memberships.find_parents([]) == []


def test_find_parents_with_many_keys_asks_in_batches(store: SqlStore) -> None:
    load(store, 1, *(define(f"g{number}", user(f"u{number}")) for number in range(1_200)))
    assert len(parents(store, *(exact_key(read_subject(USER, f"u{number}")) for number in range(1_200)))) == 1_200


def test_find_parents_letter_case_is_the_members_affair(store: SqlStore) -> None:
    load(store, 1, define("exact", user("Ann")), define("any", user("ANN", sensitive=False)))
    assert groups_of(store, "Ann") == ["any", "exact"]
    assert groups_of(store, "aNn") == ["any"]
    assert parents(store, folded_key(read_subject(USER, "ann"))) == ["any"]


def test_find_parents_distinguishes_scopes_namespaces_domains_and_lengths(store: SqlStore) -> None:
    other = define("other", user("ann", namespace="other"))
    load(store, 1, define("groups", group("ann")), other, define("domain", user("CORP\\ann")), define("joined", user("1:ann")))
    assert groups_of(store, "ann") == []
    assert groups_of(store, "ann@CORP") == ["domain"]
    assert groups_of(store, "ann@CORP.example.com") == ["domain"]
    assert parents(store, exact_key(Subject(scope=USER, name="ann", namespace="other"))) == ["other"]
    assert parents(store, *own_keys(Subject(scope=GROUP, name="ann"))) == ["groups"]


def test_find_parents_as_look_up_resolves_circles_and_namespaces(store: SqlStore) -> None:
    nested = PutGroup(place=SourcePosition(record=1, line=1), group=group("far", namespace="B"), members=(group("a"),))
    load(store, 1, define("a", user("ann"), group("far", namespace="B")), nested)
    with store.reading() as unit:
        identity = resolve_groups(Identity(users=(read_subject(USER, "ann"),)), unit.groups.memberships.find_parents)
    assert list(identity.reached) == [Subject(scope=GROUP, name="a"), Subject(scope=GROUP, name="far", namespace="B")]


def test_snapshot_before_publishing_is_not_seen_and_dropped_never(store: SqlStore) -> None:
    load(store, 1, define("a", user("ann")))
    for feed_id, end in ((2, "drop"), (3, "publish")):
        with store.writing() as unit:
            unit.groups.snapshot_builder.build(feed_id, "src", is_full=True)
            assert unit.groups.snapshot_builder.define_many(feed_id, [define("b", user("ann"), user("bob"))]) == 2
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
        ([define("a", user("ann")), define("b", user("ann"), user("bob"))], ["a", "b"], 3),
        ([define("b", user("bob"))], ["a"], 2),
        ([define("a"), define("never")], [], 1),
        ([define("a", user("ann"))], ["a"], 2),
        ([define("a", user("x")), define("a", user("ann"), user("ann"))], ["a"], 2),
        ([define("a"), define("b")], [], 0),
    ]
    for feed_id, (definitions, expected, count) in enumerate(steps, start=1):
        load(store, feed_id, *definitions)
        if pruned:
            prune(store)
        assert (groups_of(store, "ann"), memberships(store)) == (expected, count)
    prune(store)
    assert prune(store) == 0
    assert groups_of(store, "bob") == []


def test_publish_full_snapshot_replaces_its_source_alone(store: SqlStore) -> None:
    load(store, 1, define("shared", user("ann")), source="one")
    load(store, 2, define("shared", user("bob")), define("b", user("ann")), source="two")
    assert (groups_of(store, "ann"), groups_of(store, "bob"), memberships(store)) == (["b", "shared"], ["shared"], 3)
    load(store, 3, define("c", user("ann")), define("gone"), source="one", whole=True)
    assert (groups_of(store, "ann"), groups_of(store, "bob"), memberships(store)) == (["b", "c"], ["shared"], 3)
    load(store, 4, source="two", whole=True)
    load(store, 5, source="never", whole=True)
    assert (groups_of(store, "ann"), groups_of(store, "bob"), memberships(store)) == (["c"], [], 1)
    assert prune(store) == 3
    assert groups_of(store, "ann") == ["c"]


def test_define_many_again_replaces_what_the_snapshot_has(store: SqlStore) -> None:
    load(store, 1, define("a", user("old"), user("older")))
    with store.writing() as unit:
        unit.groups.snapshot_builder.build(2, "src", is_full=False)
        unit.groups.snapshot_builder.define_many(2, [define("a", user("x"), user("y"), user("z"))])
        assert unit.groups.snapshot_builder.define_many(2, [define("a", user("ann"))]) == 1
        assert unit.groups.snapshot_builder.expected_memberships(2) == 1
        assert unit.groups.snapshot_builder.extend(2, group("a"), [user("ann"), user("bob"), user("bob")]) == 2
        unit.groups.snapshot_builder.publish(2)
    assert (groups_of(store, "x"), groups_of(store, "bob"), groups_of(store, "old")) == ([], ["a"], [])
    assert memberships(store) == 2


def test_copy_definitions_copies_what_the_snapshot_does_not_define(store: SqlStore) -> None:
    load(store, 1, define("current", user("ann"), user("bob")), define("new", user("ann")), define("swept", user("ann")))
    with store.writing() as unit:
        unit.groups.snapshot_builder.build(2, "src", is_full=True)
        unit.groups.snapshot_builder.define_many(2, [define("new", user("bob"))])
        unit.groups.snapshot_builder.copy_definitions(2, [group("current"), group("new"), group("unknown")])
        unit.groups.snapshot_builder.publish(2)
    assert (groups_of(store, "ann"), groups_of(store, "bob"), memberships(store)) == (["current"], ["current", "new"], 3)


def test_trim_dead_takes_a_large_definition_piece_by_piece(store: SqlStore) -> None:
    load(store, 1, define("big", *(user(f"u{number}") for number in range(700))))
    load(store, 2, whole=True)
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
