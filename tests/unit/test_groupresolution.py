from collections.abc import Iterable, Iterator, Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedmill.core.access.evaluator import decide
from feedmill.core.access.groups import FindGroups, resolve_groups
from feedmill.core.access.principals import is_blank, key_of, principal_keys_of, subject_of
from feedmill.model.access import Principal, Scope
from feedmill.model.decision import Verdict
from feedmill.model.errors import Denied
from feedmill.model.identity import ANONYMOUS_IDENTITY, Identity, PrincipalKey, Subject
from tests.builders.access import acl, group, identity, permit, principal, user
from tests.thorough import count_examples

GROUP = Scope.GROUP
Definition = tuple[Principal, Sequence[Principal]]


def directory(*sources: Iterable[Definition]) -> FindGroups:
    """Returns the look-up of a groups database: per source the last definition of a group counts, all sources together."""
    held: dict[PrincipalKey, list[Subject]] = {}
    for source in sources:
        last = {subject_of(defined): members for defined, members in source}
        for defined, members in last.items():
            for member in members:
                if not is_blank(member):
                    held.setdefault(key_of(member), []).append(defined)

    def find(keys: Sequence[PrincipalKey]) -> Iterator[tuple[PrincipalKey, Subject]]:
        return ((key, found) for key in keys for found in held.get(key, ()))

    return find


def one(text: str, *members: Principal, namespace: str = "Default", fold: bool = False) -> Definition:
    return principal(text, scope=GROUP, namespace=namespace, fold=fold), members


def inner(text: str, *, namespace: str = "Default", fold: bool = False, unqualified: bool = False) -> Principal:
    return principal(text, scope=GROUP, namespace=namespace, fold=fold, unqualified=unqualified)


def names(who: Identity, *sources: Iterable[Definition]) -> set[str]:
    return {found.name for found in resolve_groups(who, directory(*sources)).reached}


@pytest.mark.parametrize(
    ("member", "current_user", "found"),
    [
        (principal("bob"), "bob", True),
        (principal("Bob"), "bob", False),
        (principal("bob"), "Bob", False),
        (principal("Bob", fold=True), "bOB", True),
        (principal("ro\u00df", fold=True), "ROSS", True),
        (principal("\u017fmith", fold=True), "smith", True),
        (principal("ｂｏｂ", fold=True), "BOB", True),
        (principal("b\u00adob", fold=True), "bob", True),
        (principal("CORP\\bob"), "bob@CORP", True),
        (principal("CORP\\bob"), "bob", False),
        (principal("bob"), "CORP\\bob", False),
        (principal("\\bob"), "bob", True),
        (principal("domain\\bob"), "bob@domain.com", True),
        (principal("domain\\bob"), "bob@domain.com.hk", True),
        (principal("domain.com\\bob"), "bob@domain.com", True),
        (principal("domain.com\\bob"), "bob@domain", False),
        (principal("domain\\bob"), "BOB@DOMAIN.com", False),
        (principal("domain\\bob", fold=True), "BOB@DOMAIN.com", True),
        (principal("domain.com\\bob", fold=True), "BOB@DOMAIN.com", True),
        (principal("CORP\\bob", unqualified=True), "CORP\\bob", False),
        (principal("bob", unqualified=True), "bob", True),
        (principal("bob", scope=GROUP), "bob", False),
        (principal("bob", namespace="hr"), "bob", False),
        (principal("  "), "bob", False),
    ],
)
def test_resolution_finds_a_user_by_the_rules_of_the_member_entry(member: Principal, current_user: str, found: bool) -> None:
    assert (names(identity(current_user), [one("staff", member)]) == {"staff"}) is found


@pytest.mark.parametrize(
    ("member", "declared", "found"),
    [
        (inner("Eng"), "Eng", True),
        (inner("eng"), "Eng", False),
        (inner("ENG", fold=True), "Eng", True),
        (inner("corp\\Eng"), "Eng@corp", True),
        (inner("corp\\Eng"), "corp.example.com\\Eng", False),
        (inner("corp.example.com\\Eng"), "corp.example.com\\Eng", True),
        (inner("CORP.example.com\\ENG", fold=True), "corp.example.com\\Eng", True),
    ],
)
@pytest.mark.parametrize("declared_folding", [True, False])
def test_resolution_of_nested_groups_heeds_the_member_entry_alone(
    member: Principal, declared: str, found: bool, declared_folding: bool
) -> None:
    definitions = [one("top", member), one(declared, principal("bob"), fold=declared_folding)]
    assert names(identity(), definitions) == ({"Eng", "top"} if found else {"Eng"})


@pytest.mark.parametrize(
    ("member", "current_user", "found"),
    [
        (inner("eng"), "eng", True),
        (inner("eng"), "ENG", False),
        (inner("eng", fold=True), "ENG", True),
        (inner("corp\\eng"), "eng@corp.example.com", True),
        (inner("CORP\\ENG", fold=True), "eng@corp.example.com", True),
        (inner("corp.example.com\\eng"), "eng@corp.example.com", True),
        (inner("corp.example.com\\eng"), "eng@corp", False),
    ],
)
def test_resolution_goes_on_from_groups_that_signed_in_in_four_forms(member: Principal, current_user: str, found: bool) -> None:
    who = Identity(groups=(group(current_user),))
    assert names(who, [one("top", member)]) == ({"top"} if found else set())


def test_resolution_climbs_nested_groups_and_returns_the_shortest_way() -> None:
    bob, eng, staff, everyone = user("bob"), group("eng"), group("staff"), group("everyone")
    find = directory(
        [
            one("eng", principal("bob")),
            one("staff", inner("eng")),
            one("everyone", inner("staff"), inner("eng")),
            one("hr", principal("eve")),
        ]
    )
    resolved = resolve_groups(identity(), find)
    assert resolved.reached == {eng: bob, staff: eng, everyone: eng}
    assert principal_keys_of(resolved).trace(everyone) == (bob, eng, everyone)
    assert resolved.users == (bob,)


def test_resolution_of_circles_ends() -> None:
    definitions = [one("a", inner("b"), principal("bob")), one("b", inner("a"), inner("b"))]
    assert names(identity(), definitions) == {"a", "b"}
    assert names(Identity(groups=(group("a"),)), definitions) == {"b"}


def test_resolution_does_not_reach_again_what_signed_in() -> None:
    resolved = resolve_groups(identity("bob", ["eng"]), directory([one("eng", principal("bob")), one("top", inner("eng"))]))
    assert resolved.reached == {group("top"): group("eng")}


def test_resolution_crosses_namespaces_only_through_members() -> None:
    definitions = [
        one("site", principal("bob", namespace="A"), namespace="B"),
        one("farm", inner("site", namespace="B"), namespace="C"),
        one("other", inner("site", namespace="A"), namespace="C"),
    ]
    resolved = resolve_groups(identity(namespace="A"), directory(definitions))
    assert set(resolved.reached) == {group("site", "B"), group("farm", "C")}
    assert resolve_groups(identity(namespace="B"), directory(definitions)).reached == {}


def test_resolution_with_a_later_definition_forgets_the_earlier_one() -> None:
    assert names(identity(), [one("CORP\\eng", principal("bob")), one("eng@CORP", principal("eve"))]) == set()
    assert names(identity(), [one("eng", principal("bob")), one("eng")]) == set()


def test_resolution_with_a_group_in_two_sources_counts_both() -> None:
    sources = [one("eng", principal("bob"))], [one("eng", principal("eve"))]
    assert names(identity("bob"), *sources) == names(identity("eve"), *sources) == {"eng"}


def test_resolution_of_a_user_who_is_not_signed_in_finds_nothing() -> None:
    assert resolve_groups(ANONYMOUS_IDENTITY, directory([one("eng", principal("bob"))])).reached == {}


def test_resolution_forgets_groups_of_an_earlier_one() -> None:
    resolved = resolve_groups(identity(), directory([one("eng", principal("bob"))]))
    assert resolve_groups(resolved, directory([])).reached == {}


def test_resolution_beyond_the_bound_is_refused_not_cut() -> None:
    find = directory([one(f"g{number}", principal("bob")) for number in range(6)])
    assert len(resolve_groups(identity(), find, max_groups=6).reached) == 6
    with pytest.raises(Denied, match="more than 5 groups"):
        resolve_groups(identity(), find, max_groups=5)


def test_resolution_of_a_long_line_of_groups_ends_at_its_top() -> None:
    find = directory([one("0", principal("bob"))], [one(str(number), inner(str(number - 1))) for number in range(1, 3000)])
    resolved = resolve_groups(identity(), find)
    assert len(principal_keys_of(resolved).trace(group("2999"))) == 3001


def test_resolved_group_is_met_in_an_acl_with_its_whole_domain_only() -> None:
    resolved = resolve_groups(identity(), directory([one("corp.example.com\\eng", principal("bob"))]))
    whole, short = acl(permit("eng@corp.example.com", scope=GROUP)), acl(permit("corp\\eng", scope=GROUP))
    assert decide("u", resolved, {"u": whole}.get).verdict is Verdict.PERMIT
    assert decide("u", resolved, {"u": short}.get).verdict is Verdict.DENY


TEXTS = st.sampled_from(("a", "A", "b", "corp\\a", "CORP\\a", "a@corp.example.com"))
MEMBERS = st.builds(principal, TEXTS, scope=st.sampled_from(Scope), namespace=st.sampled_from(("X", "Y")), fold=st.booleans())
DEFINITIONS = st.lists(st.tuples(st.builds(inner, TEXTS, namespace=st.sampled_from(("X", "Y"))), st.lists(MEMBERS, max_size=3)), max_size=6)


def names_of(keys: Mapping[PrincipalKey, Subject], definitions: Iterable[Definition]) -> set[Subject]:
    return {subject_of(defined) for defined, members in definitions for member in members if key_of(member) in keys}


@settings(max_examples=count_examples(150))
@given(DEFINITIONS, TEXTS, st.lists(TEXTS, max_size=2))
def test_resolution_is_the_least_set_closed_under_membership(definitions: list[Definition], name: str, groups: list[str]) -> None:
    who = identity(name, groups, namespace="X")
    last = list({subject_of(defined): (defined, members) for defined, members in definitions}.values())
    expected: dict[Subject, Subject] = {}
    while True:
        keys = principal_keys_of(Identity(users=who.users, groups=who.groups, reached=expected)).keys
        grown = dict.fromkeys(names_of(keys, last) - set(who.groups), who.users[0])
        if grown == expected:
            break
        expected = grown
    resolved = resolve_groups(who, directory(definitions))
    assert set(resolved.reached) == set(expected)
    for found in resolved.reached:
        path = principal_keys_of(resolved).trace(found)
        assert path[0] in (*who.users, *who.groups)
        assert len(set(path)) == len(path)
