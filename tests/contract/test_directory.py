"""What a user may see, worked out at once for all documents, compared with the reference evaluator."""

import random
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from feedmill.adapters.store.engine import SqlStore
from feedmill.adapters.store.migrate import migrate
from feedmill.adapters.store.sqlite import open_sqlite
from feedmill.core.access.classes import access_key, in_one_order
from feedmill.core.access.evaluator import decide
from feedmill.core.access.groups import FindGroups, resolve_groups
from feedmill.core.access.principals import read_subject
from feedmill.model.access import ANONYMOUS, Access, AccessClass, AccessKey, Acl, Entry, InheritanceType, Principal, Scope
from feedmill.model.change import PutGroup, SourcePosition
from feedmill.model.decision import Verdict
from feedmill.model.document import BlobRef, DocumentState, Text
from feedmill.model.errors import Denied
from feedmill.model.identity import ANONYMOUS_IDENTITY, Identity, PrincipalKey, Subject
from feedmill.model.policyacl import PolicyAcl
from feedmill.services.access.accessreview import AccessReview
from feedmill.services.access.explaining import AccessQuestion, Explaining
from feedmill.services.access.grouptable import GroupTable
from feedmill.services.access.permissioncache import PermissionCache
from feedmill.services.access.resulttrimming import read_chains
from feedmill.services.access.snapshotpreloading import SnapshotPreloader
from tests.builders.access import acl, deny, group_principal, identity, make_stored_acl, permit, user_principal
from tests.builders.documents import make_document
from tests.builders.groups import define_group, publish_groups
from tests.builders.times import NOW, minutes
from tests.waiting import PATIENCE_SECONDS

NAMES = ("ann", "Ann", "CORP\\ann", "ann@corp.example.com", "eng", "ENG", "staff", "stra\u00dfe", "STRASSE", " ")
SPACES = ("Default", "default", "hr")
URLS = tuple(f"http://a/{number}" for number in range(8))
ANN = identity("ann")


def explaining_of(store: SqlStore) -> Explaining:
    return Explaining(store, lambda: NOW, minutes(60 * 24))


def put_acls(store: SqlStore, acls: dict[str, Acl | None]) -> None:
    with store.writing() as unit:
        unit.access.acls.save_many([make_stored_acl(url, acl=acl) for url, acl in acls.items() if acl is not None], at=NOW)
        unit.access.acls.remove_many([url for url, acl in acls.items() if acl is None], at=NOW)


def seen(store: SqlStore, directory: PermissionCache, who: Identity) -> set[str]:
    """Returns the URLs whose class a user may see."""
    permitted = directory.classes_of(who).permitted
    with store.reading() as unit:
        return {url for url, number in unit.access.acls.find_classes(list(URLS)).items() if number in permitted}


def test_directory_of_an_anonymous_user_needs_no_store(store: SqlStore) -> None:
    assert PermissionCache(store).classes_of(ANONYMOUS_IDENTITY) is ANONYMOUS


def test_directory_folder_acl_that_changes_counts_at_once(store: SqlStore) -> None:
    folder, document, *_ = URLS
    directory = PermissionCache(store)
    put_acls(store, {document: Acl(inherit_from=folder)})
    assert seen(store, directory, ANN) == set()
    open_folder = acl(permit("ann"), rule=InheritanceType.CHILD_OVERRIDES)
    put_acls(store, {folder: open_folder})
    assert seen(store, directory, ANN) == {folder, document}
    put_acls(store, {folder: acl(deny("ann"), rule=InheritanceType.CHILD_OVERRIDES)})
    assert seen(store, directory, ANN) == set()
    put_acls(store, {folder: open_folder})
    put_acls(store, {folder: None})
    assert seen(store, directory, ANN) == set()


def test_directory_groups_that_change_count_at_once(store: SqlStore) -> None:
    put_acls(store, {URLS[0]: acl(permit("staff", scope=Scope.GROUP))})
    directory = PermissionCache(store)
    assert seen(store, directory, ANN) == set()
    publish_groups(store, 1, define_group("staff", group_principal("eng")), define_group("eng", user_principal("ANN", fold=True)))
    assert seen(store, directory, ANN) == {URLS[0]}
    publish_groups(store, 2, define_group("eng", user_principal("bob")))
    assert seen(store, directory, ANN) == set()
    publish_groups(store, 3, define_group("staff", user_principal("ann")), is_full=True)
    assert seen(store, directory, ANN) == {URLS[0]}
    publish_groups(store, 4, is_full=True)
    assert seen(store, directory, ANN) == set()


def test_directory_class_newer_than_a_set_is_not_in_it(store: SqlStore) -> None:
    directory = PermissionCache(store)
    put_acls(store, {URLS[0]: acl(permit("ann"))})
    before = directory.classes_of(ANN).permitted
    put_acls(store, {URLS[1]: acl(permit("ann"), permit("bob"))})
    with store.reading() as unit:
        number = unit.access.acls.find_classes([URLS[1]])[URLS[1]]
    assert number not in before
    assert number in directory.classes_of(ANN).permitted
    assert -1 not in before


def test_classes_that_nothing_decides_are_found_whoever_asks(store: SqlStore) -> None:
    directory = PermissionCache(store)
    put_acls(store, {URLS[0]: acl(permit("ann")), URLS[1]: Acl(), URLS[2]: Acl(inherit_from=URLS[3])})
    with store.writing() as unit:
        policy = unit.access.policies.replace([PolicyAcl(pattern="a/")]).policies[0]
        ruled = unit.access.classes.number_many([AccessKey(acl=None, policy_number=policy.number)])
        classes = unit.access.acls.find_classes(list(URLS))
    undecided = directory.undecided()
    assert AccessClass.PUBLIC not in undecided
    assert AccessClass.CLOSED in undecided
    assert [classes[url] in undecided for url in URLS[:3]] == [False, True, True]
    assert not set(ruled.values()) & set(undecided)
    put_acls(store, {URLS[3]: acl(permit("ann"), rule=InheritanceType.CHILD_OVERRIDES)})
    assert classes[URLS[2]] not in directory.undecided()


def test_directory_keeps_within_its_bound_and_answers_the_same(store: SqlStore) -> None:
    put_acls(store, {url: acl(permit(f"user{number}")) for number, url in enumerate(URLS)})
    directory = PermissionCache(store, cache_bytes=1)
    for _ in range(2):
        for number, url in enumerate(URLS):
            assert seen(store, directory, identity(f"user{number}")) == {url}


def test_directory_that_refreshes_reads_before_a_request_and_ends_on_its_event(store: SqlStore) -> None:
    put_acls(store, {URLS[0]: acl(permit("ann"))})
    directory, is_over = PermissionCache(store), threading.Event()
    following = threading.Thread(target=directory.refresh_regularly, args=(is_over, 0.01))
    following.start()
    publish_groups(store, 1, define_group("staff", user_principal("ann")))
    assert seen(store, directory, ANN) == {URLS[0]}
    is_over.set()
    following.join(PATIENCE_SECONDS)
    assert not following.is_alive()


@pytest.mark.parametrize("grown", [False, True])
@pytest.mark.parametrize("redefined", [False, True])
def test_groups_read_ahead_are_those_that_are_published(store: SqlStore, grown: bool, redefined: bool) -> None:
    directory = PermissionCache(store)
    put_acls(store, {url: acl(permit(f"group{number}", scope=Scope.GROUP)) for number, url in enumerate(URLS)})
    with store.writing() as unit:
        unit.groups.snapshot_builder.begin_snapshot(1, "src", is_full=True)
        unit.groups.snapshot_builder.define_many(1, [define_group(f"group{number}", user_principal("bob")) for number in range(4)])
    directory.read_ahead(threading.Event())
    with store.writing() as unit:
        unit.groups.snapshot_builder.define_many(1, [define_group("group4", user_principal("ann"))])
        if grown:
            unit.groups.snapshot_builder.extend(1, group_principal("group0"), [user_principal("ann")])
        if redefined:
            unit.groups.snapshot_builder.define_many(1, [define_group("group1"), define_group("group4", user_principal("ann"))])
            unit.groups.snapshot_builder.define_many(1, [define_group("group5", user_principal("ann"))])
    assert seen(store, directory, ANN) == set()
    directory.read_ahead(threading.Event())
    with store.writing() as unit:
        unit.groups.snapshot_builder.publish(1)
    expected = {URLS[4]} | ({URLS[0]} if grown else set()) | ({URLS[5]} if redefined else set())
    assert seen(store, directory, ANN) == expected == seen(store, PermissionCache(store), ANN)
    bob = identity("bob")
    assert seen(store, directory, bob) == {url for url in URLS[:4] if not (redefined and url == URLS[1])}


def test_older_transaction_reads_no_snapshot_ahead_that_was_taken(store: SqlStore) -> None:
    preloader = SnapshotPreloader()
    with store.writing() as unit:
        unit.groups.snapshot_builder.begin_snapshot(1, "src", is_full=True)
        unit.groups.snapshot_builder.define_many(1, [define_group(f"group{number}", user_principal("bob")) for number in range(4)])
    with store.reading() as older:
        assert older.groups.snapshots.list_building() == [1]
        with store.writing() as unit:
            unit.groups.snapshot_builder.publish(1)
        with store.reading() as newer:
            assert len(preloader.pop_load(newer.groups.snapshots, 1).definitions) == 4
        preloader.read_slice(older.groups.snapshots)
    assert len(preloader) == 0


def test_directory_refuses_who_is_in_too_many_groups(store: SqlStore) -> None:
    publish_groups(store, 1, *(define_group(f"group{number}", user_principal("ann")) for number in range(4)))
    table = GroupTable(max_groups=3)
    with store.reading() as unit:
        table.refresh(unit.groups.snapshots)
    with pytest.raises(Denied, match="more than 3 groups"):
        table.resolve(ANN)


def test_groups_of_a_source_are_counted_as_they_hold_before_replaced_ones_are_removed(store: SqlStore) -> None:
    ann, bob = user_principal("ann"), user_principal("bob")
    publish_groups(store, 1, define_group("eng", ann, bob), define_group("staff", ann), define_group("crew", ann))
    publish_groups(store, 2, define_group("eng", ann), define_group("crew"), is_full=False)
    with store.reading() as unit:
        assert unit.groups.memberships.count_by_source() == {"src": (2, 2)}
        assert {definition.memberships for definition in unit.groups.memberships.find_definitions(read_subject(Scope.GROUP, "eng"))} == {1}


@pytest.mark.parametrize("store", ["sqlite", pytest.param("postgres", marks=pytest.mark.thorough)], indirect=True)
def test_group_of_very_many_members_is_read_whole(store: SqlStore) -> None:
    members = 50_001
    staff = define_group("staff", user_principal("ann"), *(user_principal(f"user{number}") for number in range(members)))
    publish_groups(store, 1, staff, define_group("few", user_principal("ann"), group_principal("staff")))
    table = GroupTable()
    with store.reading() as unit:
        table.refresh(unit.groups.snapshots)
        assert unit.groups.snapshots.measure_snapshot(1) == (2, members + 3)
    for name, expected in {
        "ann": {"staff", "few"},
        "user0": {"staff", "few"},
        f"user{members - 1}": {"staff", "few"},
        "bob": set(),
    }.items():
        reached = table.resolve(identity(name)).reached
        assert {each.name for each in reached} == expected


@pytest.mark.parametrize("seed", range(2))
def test_table_without_what_was_struck_out_finds_the_same(store: SqlStore, seed: int) -> None:
    chance = random.Random(seed)
    table, put_back = GroupTable(struck_out_at_least=0), 0
    for feed_id in range(1, 16):
        with store.writing() as unit:
            unit.groups.snapshot_builder.begin_snapshot(feed_id, chance.choice("ab"), is_full=chance.random() < 0.3)
            unit.groups.snapshot_builder.define_many(feed_id, groups_by_chance(chance))
            unit.groups.snapshot_builder.publish(feed_id)
        is_late = chance.random() < 0.3
        put = table.prepare_merge() if is_late else None
        with store.reading() as unit:
            table.refresh(unit.groups.snapshots)
            put = put if is_late else table.prepare_merge()
            put_back += put is not None
            if put is not None:
                put()
            for who in [an_identity(chance) for _ in range(5)]:
                assert set(table.resolve(who).reached) == set(resolve_groups(who, unit.groups.memberships.find_parents).reached)
    assert put_back > 1


# --- the set evaluator and the reference ----------------------------------------------------------------------------------------


def a_principal(chance: random.Random) -> Principal:
    return Principal(
        scope=chance.choice(list(Scope)),
        name=chance.choice(NAMES),
        namespace=chance.choice(SPACES),
        case_sensitive=chance.random() < 0.5,
        unqualified=chance.random() < 0.2,
    )


def an_acl_by_chance(chance: random.Random) -> Acl:
    entries = [Entry(access=chance.choice(list(Access)), principal=a_principal(chance)) for _ in range(chance.randrange(4))]
    parent = chance.choice(URLS) if chance.random() < 0.6 else None
    return Acl(entries=tuple(entries), inheritance_type=chance.choice(list(InheritanceType)), inherit_from=parent)


def an_identity(chance: random.Random) -> Identity:
    spaces = chance.sample(SPACES, chance.randrange(1, 3))
    users = tuple(read_subject(Scope.USER, chance.choice(NAMES[:4]), space) for space in spaces)
    groups = tuple(read_subject(Scope.GROUP, chance.choice(NAMES), chance.choice(SPACES)) for _ in range(chance.randrange(3)))
    return Identity(users=users, groups=tuple(dict.fromkeys(groups)))


def groups_by_chance(chance: random.Random) -> list[PutGroup]:
    made = []
    for name in chance.sample(NAMES[:-1], chance.randrange(5)):
        members = tuple(each for each in (a_principal(chance) for _ in range(chance.randrange(4))) if each.name.strip())
        owner = Principal(scope=Scope.GROUP, name=name, namespace=chance.choice(SPACES))
        made.append(PutGroup(place=SourcePosition(record=1, line=1), group=owner, members=members))
    return made


def compare(store: SqlStore, rounds: int, seed: int, identities: int = 12) -> int:
    """Changes ACLs and groups by chance, and compares what identities by chance may see with what the reference says; counts both together.

    A case is one identity before one forest of ACLs and groups: every ACL of it is decided.
    """
    chance = random.Random(seed)
    directory, cases = PermissionCache(store), 0
    for feed_id in range(1, rounds + 1):
        put_acls(store, {url: an_acl_by_chance(chance) if chance.random() < 0.8 else None for url in chance.sample(URLS, 5)})
        if chance.random() < 0.4:
            source, whole = chance.choice("ab"), chance.random() < 0.3
            for _ in range(chance.randrange(1, 4)):
                with store.writing() as unit:
                    unit.groups.snapshot_builder.begin_snapshot(feed_id, source, is_full=whole)
                    unit.groups.snapshot_builder.define_many(feed_id, groups_by_chance(chance))
                if chance.random() < 0.7:
                    directory.read_ahead(threading.Event())
            with store.writing() as unit:
                unit.groups.snapshot_builder.publish(feed_id)
        cases += compare_now(store, directory, [an_identity(chance) for _ in range(identities)])
    return cases


def compare_now(store: SqlStore, directory: PermissionCache, identities: Sequence[Identity]) -> int:
    with store.reading() as unit:
        classes = unit.access.acls.find_classes(list(URLS))
        acls = read_chains(unit, URLS)
        undecided, find_parents = directory.undecided(), remembering(unit.groups.memberships.find_parents)
        for who in identities:
            permitted = directory.classes_of(who).permitted
            resolved = resolve_groups(who, find_parents)
            identity = directory.principal_keys_of(who).identity
            assert set(identity.reached) == set(resolved.reached)
            assert all(directory.principal_keys_of(who).trace(each)[0] in (*who.users, *who.groups) for each in identity.reached)
            for url in classes:
                expected = decide(url, resolved, acls.get)
                assert (classes[url] in permitted) is (expected.verdict is Verdict.PERMIT), (who, acls, expected)
                assert (classes[url] in undecided) is (expected.verdict is Verdict.INDETERMINATE), (who, acls, expected)
    return len(identities)


def remembering(find: FindGroups) -> FindGroups:
    """Asks a snapshot for the groups of each key once, since thousands of identities ask for the same ones."""
    known: dict[PrincipalKey, list[Subject]] = {}

    def find_once(keys: Sequence[PrincipalKey]) -> list[tuple[PrincipalKey, Subject]]:
        unknown = [key for key in keys if key not in known]
        known.update((key, []) for key in unknown)
        for key, group in find(unknown) if unknown else ():
            known[key].append(group)
        return [(key, group) for key in keys for group in known[key]]

    return find_once


def test_set_evaluator_agrees_with_the_reference(store: SqlStore) -> None:
    assert compare(store, 25, seed=1) == 300


@pytest.mark.slow
def test_set_evaluator_agrees_with_the_reference_a_million_times(tmp_path: Path) -> None:
    cases, seeds, began = 0, 0, time.monotonic()
    while cases < 1_000_000:
        store = open_sqlite(tmp_path / f"{seeds}.sqlite")
        migrate(store)
        cases += compare(store, 125, seeds, identities=80)
        store.close()
        seeds += 1
        print(
            f"{cases:,} cases of a forest and an identity are equal, seeds 0 to {seeds - 1}, {time.monotonic() - began:,.0f} s", flush=True
        )


# --- what makes a class ---------------------------------------------------------------------------------------------------------


def test_acls_that_say_the_same_make_one_class(store: SqlStore) -> None:
    first = acl(permit("ann"), deny("bob"), permit("  "))
    second = acl(deny("bob"), permit("ann"), permit("ann"))
    keys = [AccessKey(acl=in_one_order(each)) for each in (first, second)]
    assert keys[0] == keys[1]
    with store.writing() as unit:
        numbers = unit.access.classes.number_many([*keys, AccessKey(acl=first, policy_number=7), AccessKey(acl=None, policy_number=7)])
    assert len(numbers) == len(set(numbers.values())) == 3
    assert min(numbers.values()) > 1
    with store.writing() as unit:
        assert unit.access.classes.number_many(keys)[keys[0]] == numbers[keys[0]]
        assert unit.access.classes.get_many(list(numbers.values())) == {number: key for key, number in numbers.items()}


def test_number_of_a_class_that_is_gone_is_not_given_again(store: SqlStore) -> None:
    key, other = AccessKey(acl=acl(permit("ann"))), AccessKey(acl=acl(permit("bob")))
    with store.writing() as unit:
        first = unit.access.classes.number_many([key])[key]
        assert unit.access.classes.remove_unused(after=0, limit=10) == first
        assert unit.access.classes.remove_unused(after=first, limit=10) is None
        assert unit.access.classes.get_many([first]) == {}
        assert unit.access.classes.number_many([other])[other] > first


def test_class_in_use_is_not_removed(store: SqlStore) -> None:
    put_acls(store, {URLS[0]: acl(permit("ann"))})
    used = AccessKey(acl=acl(permit("bob")))
    with store.writing() as unit:
        number = unit.access.classes.number_many([used])[used]
        unit.documents.writer.save_many([make_document(URLS[1], secure=True, access_class=number)])
        newest = unit.access.classes.newest()
        unit.access.classes.remove_unused(after=0, limit=10)
        assert len(unit.access.classes.get_many(range(newest + 1))) == 2


def test_versions_that_did_not_hold_any_more_are_forgotten(store: SqlStore) -> None:
    first, second, third = (acl(permit(name)) for name in ("ann", "bob", "eve"))
    with store.writing() as unit:
        unit.access.acls.save_many(
            [make_stored_acl(URLS[0], acl=first), make_stored_acl(URLS[1], acl=first), make_stored_acl(URLS[2], acl=first)],
            at=NOW - minutes(9),
        )
        unit.access.acls.save_many([make_stored_acl(URLS[0], acl=first, seen_feed_id=7)], at=NOW - minutes(8))
        unit.access.acls.save_many([make_stored_acl(URLS[0], acl=second)], at=NOW - minutes(7))
        unit.access.acls.remove_many([URLS[1], "http://none/"], at=NOW - minutes(6), feed_id=3)
        unit.access.acls.save_many([make_stored_acl(URLS[0], acl=third)], at=NOW)
        versions = unit.access.acl_versions.list_versions(after=0, limit=10)
        assert [(each.url, each.at) for each in versions[3:]] == [(URLS[0], NOW - minutes(7)), (URLS[1], NOW - minutes(6)), (URLS[0], NOW)]
        assert (versions[4].access_class, versions[4].feed_id) == (None, 3)
        last = unit.access.acl_versions.forget_versions(NOW - minutes(1), after=0, limit=10)
        assert last == versions[4].number
        assert unit.access.acl_versions.forget_versions(NOW - minutes(1), after=last, limit=10) is None
        assert [each.number for each in unit.access.acl_versions.list_versions(after=0, limit=10)] == [
            versions[2].number,
            versions[3].number,
            versions[5].number,
        ]
        assert unit.access.acl_versions.newest_version() == versions[5].number


def test_access_key_of_a_document_is_public_closed_or_its_acl() -> None:
    document = make_document(URLS[0])
    acl = Acl(entries=(permit("ann"),))
    assert access_key(document, None) == 0
    assert access_key(make_document(URLS[0], secure=True), None) == 1
    assert access_key(make_document(URLS[0], secure=True), acl) == AccessKey(acl=acl)
    assert access_key(make_document(URLS[0], secure=True), None, 3) == AccessKey(acl=None, policy_number=3)


# --- what administrators ask ----------------------------------------------------------------------------------------------------


def test_explain_at_a_time_goes_by_the_acls_that_held_then(store: SqlStore) -> None:
    folder, document, *_ = URLS
    opened = acl(permit("ann"), rule=InheritanceType.CHILD_OVERRIDES)
    with store.writing() as unit:
        unit.access.acls.save_many([make_stored_acl(document, acl=Acl(inherit_from=folder))], at=NOW - minutes(9))
        unit.access.acls.save_many([make_stored_acl(folder, acl=opened)], at=NOW - minutes(6))
        unit.access.acls.save_many([make_stored_acl(folder, acl=replace(opened, entries=(deny("ann"),)))], at=NOW - minutes(4))
        unit.access.acls.remove_many([document], at=NOW - minutes(2))
    explaining, question = explaining_of(store), AccessQuestion(url=document, identity=ANN)
    decisions = [explaining.explain(question, at=NOW - minutes(ago)) for ago in (10, 8, 6, 5, 3, 1)]
    assert [each.verdict.value for each in decisions] == ["INDETERMINATE", "INDETERMINATE", "PERMIT", "PERMIT", "DENY", "INDETERMINATE"]
    assert [len(each.path) for each in decisions] == [0, 1, 2, 2, 2, 0]
    assert explaining.explain(question).path == ()


def test_everybody_named_is_listed_with_what_the_chain_says_to_him(store: SqlStore) -> None:
    folder, document, *_ = URLS
    parent = acl(permit("staff", scope=Scope.GROUP), deny("bob"), rule=InheritanceType.PARENT_OVERRIDES)
    put_acls(store, {document: acl(permit("ann"), permit("bob"), parent=folder), folder: parent})
    named = {(each.scope.value, each.name): verdict.value for each, verdict in explaining_of(store).list_named(document)}
    assert named == {("user", "ann"): "PERMIT", ("user", "bob"): "DENY", ("group", "staff"): "PERMIT"}
    assert explaining_of(store).list_named("http://none/") == []


def test_review_lists_what_no_user_sees_what_is_public_and_unknown_groups(store: SqlStore) -> None:
    acls = {
        URLS[0]: acl(permit("ann"), permit("Staff", scope=Scope.GROUP), permit("ghosts", scope=Scope.GROUP)),
        URLS[1]: Acl(inherit_from="http://missing/"),
        URLS[2]: acl(permit("ann"), deny("ann")),
        URLS[3]: acl(deny("ann"), permit("ann"), parent=URLS[0]),
    }
    put_acls(store, dict(acls))
    publish_groups(store, 1, define_group("Staff", user_principal("ann")))
    with store.writing() as unit:
        classes = unit.access.acls.find_classes(list(acls))
        guarded = [make_document(url, secure=True, access_class=classes[url]) for url in acls]
        others = [make_document(URLS[4], secure=True), make_document(URLS[5]), make_document(URLS[6], datasource="other")]
        unit.documents.writer.save_many([*guarded, *others])
    review = AccessReview(store)
    assert {document.url for document in review.iter_permitting_no_user()} == {*URLS[1:5]}
    assert [document.url for document in review.iter_public_beside_guarded()] == [URLS[5]]
    assert [principal.name for principal in review.iter_unresolved()] == ["ghosts"]
    put_acls(store, {"http://missing/": acl(permit("ann"), rule=InheritanceType.CHILD_OVERRIDES)})
    assert {document.url for document in review.iter_permitting_no_user()} == {*URLS[2:5]}, (
        "a parent came, and no page before counts any more"
    )


def test_review_goes_through_documents_piece_by_piece(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedmill.services.access.accessreview.FIRST_AT_ONCE", 1)
    monkeypatch.setattr("feedmill.services.access.accessreview.MOST_AT_ONCE", 2)
    put_acls(store, {"http://acl/": acl(permit("ann")), "http://shut/": acl(deny("ann"))})
    guarding = Text(source=BlobRef("x:1"), metadata=(("google:aclusers", "ann"),))
    with store.writing() as unit:
        classes = unit.access.acls.find_classes(["http://acl/", "http://shut/"])
        unit.documents.writer.save_many(
            [
                *(make_document(f"http://a/{number}", secure=True, access_class=classes["http://shut/"]) for number in range(5)),
                *(make_document(f"http://b/{number}", secure=True, access_class=classes["http://acl/"]) for number in range(5)),
                *(make_document(f"http://c/{number}") for number in range(5)),
                make_document("http://guarding/", content=guarding.source, text=guarding),
                make_document("http://gone/", state=DocumentState.GONE, secure=True, access_class=classes["http://shut/"]),
                make_document("http://closed/", secure=True),
            ]
        )
    review = AccessReview(store)
    hidden = [document.url for document in review.iter_permitting_no_user()]
    assert hidden == [*(f"http://a/{number}" for number in range(5)), "http://guarding/", "http://closed/"]
    public = list(review.iter_public_beside_guarded())
    assert [document.url for document in public] == [f"http://c/{number}" for number in range(5)]
    assert [document.url for document in review.iter_permitting_no_user(after=public[0].id or 0)] == hidden[5:]
    assert [document.url for document in review.iter_public_beside_guarded(after=public[1].id or 0)] == [one.url for one in public[2:]]
    put_acls(store, {"http://shut/": acl(deny("ann")), "http://acl/": acl(permit("bob"))})
    assert [document.url for document in review.iter_permitting_no_user()] == hidden
    with store.reading() as unit:
        assert list(unit.access.class_periods.list_held(after=public[-1].id or 0, limit=10).values()) == [
            AccessClass.CLOSED,
            AccessClass.CLOSED,
        ]
