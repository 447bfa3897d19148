"""The truth tables of one ACL, of two, of a chain and of its end."""

import pytest

from feedmill.core.access.classes import is_secure
from feedmill.core.access.evaluator import MAX_CHAIN, combine, decide, decide_locally
from feedmill.core.access.principals import principal_keys_of
from feedmill.model.access import Acl, InheritanceType, Scope
from feedmill.model.decision import Cause, Verdict
from feedmill.model.document import AuthMethod
from feedmill.model.identity import ANONYMOUS_IDENTITY, Identity
from feedmill.wire.gsafeed.acls import read_legacy
from tests.builders.access import BOTH, CHILD, LEAF, PARENT, acl, deny, group, identity, permit, user

P, D, I = Verdict.PERMIT, Verdict.DENY, Verdict.INDETERMINATE  # noqa: E741
GROUP = Scope.GROUP
SAYS = {P: (permit("bob"),), D: (deny("bob"),), I: (permit("other"),)}


def ask(acls: dict[str, Acl], url: str = "leaf", who: Identity | None = None) -> tuple[Verdict, Cause]:
    decision = decide(url, identity() if who is None else who, acls.get)
    return decision.verdict, decision.cause


def chain(*links: tuple[InheritanceType, Verdict]) -> dict[str, Acl]:
    """Returns the ACLs of a chain, root first; each says to bob what stands there."""
    acls = {}
    for place, (rule, verdict) in enumerate(links):
        url = "leaf" if place == len(links) - 1 else str(place)
        acls[url] = acl(*SAYS[verdict], rule=rule, parent=str(place - 1) if place else None)
    return acls


@pytest.mark.parametrize("denied", ["user", "group", "both", None])
@pytest.mark.parametrize("permitted", ["user", "group", "both", None])
@pytest.mark.parametrize("denies_first", [True, False])
def test_local_decision_denies_before_it_permits_whatever_the_mix(denied: str | None, permitted: str | None, denies_first: bool) -> None:
    users, groups = ("user", "both"), ("group", "both")
    denies = [deny("bob")] * (denied in users) + [deny("eng", scope=GROUP)] * (denied in groups)
    permits = [permit("bob")] * (permitted in users) + [permit("eng", scope=GROUP)] * (permitted in groups)
    others = [permit("alice"), deny("alice"), permit("hr", scope=GROUP), deny("bob", scope=GROUP), deny("eng")]
    entries = [*denies, *permits] if denies_first else [*permits, *denies]
    expected = D if denied else P if permitted else I
    verdict, match = decide_locally(acl(*others, *entries), principal_keys_of(identity("bob", ["eng"])))
    assert verdict is expected
    assert (match is None) is (expected is I)
    if match is not None:
        assert match.entry == (denies or permits)[0]


CHILD_TABLE = {P: (P, P, P), D: (D, D, D), I: (P, D, I)}
PARENT_TABLE = {P: (P, D, P), D: (P, D, D), I: (P, D, I)}
BOTH_TABLE = {P: (P, D, D), D: (D, D, D), I: (D, D, D)}
LEAF_TABLE = {P: (I, I, I), D: (I, I, I), I: (I, I, I)}
TABLES = {CHILD: CHILD_TABLE, PARENT: PARENT_TABLE, BOTH: BOTH_TABLE, LEAF: LEAF_TABLE}
ROWS = [
    pytest.param(rule, child, parent, result, id=f"{rule.value}-{child.value}-{parent.value}")
    for rule, table in TABLES.items()
    for child, results in table.items()
    for parent, result in zip((P, D, I), results, strict=True)
]


@pytest.mark.parametrize(("rule", "child", "parent", "result"), ROWS)
def test_combine_of_two_verdicts_is_that_of_its_table(rule: InheritanceType, child: Verdict, parent: Verdict, result: Verdict) -> None:
    assert combine(rule, parent=parent, child=child) is result


@pytest.mark.parametrize("own_rule", list(InheritanceType))
@pytest.mark.parametrize(("rule", "child", "parent", "result"), ROWS)
def test_decision_of_two_acls_follows_the_parents_rule_and_ends_in_deny(
    rule: InheritanceType, child: Verdict, parent: Verdict, result: Verdict, own_rule: InheritanceType
) -> None:
    verdict, cause = ask(chain((rule, parent), (own_rule, child)))
    if rule is LEAF:
        assert (verdict, cause) == (I, Cause.LEAF_PARENT)
    else:
        assert verdict is (D if result is I else result)
        assert (cause is Cause.UNNAMED) is (result is I)


@pytest.mark.parametrize(
    ("root", "middle", "leaf", "expected"),
    [
        # The root's rule is outermost: it sees what the middle made of the leaf.
        ((PARENT, D), (CHILD, P), P, D),
        ((CHILD, D), (PARENT, P), D, P),
        ((PARENT, I), (CHILD, P), D, D),
        ((PARENT, P), (BOTH, D), D, P),
        ((CHILD, P), (BOTH, P), I, D),
        ((BOTH, P), (CHILD, I), P, P),
        ((BOTH, P), (PARENT, I), I, D),
        ((BOTH, I), (PARENT, P), P, D),
        ((CHILD, P), (PARENT, I), I, P),
        ((CHILD, D), (CHILD, I), P, P),
        ((PARENT, I), (PARENT, I), I, D),
    ],
)
def test_decision_of_three_acls_applies_the_roots_rule_last(
    root: tuple[InheritanceType, Verdict], middle: tuple[InheritanceType, Verdict], leaf: Verdict, expected: Verdict
) -> None:
    assert ask(chain(root, middle, (LEAF, leaf)))[0] is expected


EMPTY = acl()
BLANK = acl(permit("  "), deny("\n", scope=GROUP))


@pytest.mark.parametrize(
    ("acls", "expected"),
    [
        pytest.param({"leaf": acl(permit("bob"))}, (P, Cause.PERMITTED), id="permitted"),
        pytest.param({"leaf": acl(deny("bob"))}, (D, Cause.DENIED), id="denied"),
        pytest.param({"leaf": acl(permit("alice"))}, (D, Cause.UNNAMED), id="others permitted"),
        pytest.param({"leaf": acl(deny("alice"))}, (D, Cause.UNNAMED), id="others denied"),
        pytest.param({"leaf": acl(deny("google:fakeUserToPreventMissingAcl"))}, (D, Cause.UNNAMED), id="no user may read"),
        pytest.param({"leaf": EMPTY}, (I, Cause.EMPTY_ACL), id="empty"),
        pytest.param({"leaf": BLANK}, (I, Cause.EMPTY_ACL), id="blank principals only"),
        pytest.param({"leaf": acl(rule=PARENT)}, (D, Cause.UNNAMED), id="empty but of another type"),
        pytest.param({"leaf": acl(parent="root"), "root": acl(rule=PARENT)}, (D, Cause.UNNAMED), id="empty chain"),
        pytest.param({"leaf": EMPTY, "root": acl(permit("bob"))}, (I, Cause.EMPTY_ACL), id="empty beside others"),
        pytest.param({}, (I, Cause.NO_ACL), id="no acl"),
        pytest.param({"leaf": acl(permit("bob"), parent="gone")}, (I, Cause.MISSING_PARENT), id="permit below nothing"),
        pytest.param({"leaf": acl(deny("bob"), parent="gone")}, (I, Cause.MISSING_PARENT), id="deny below nothing"),
        pytest.param(
            {"leaf": acl(permit("bob"), parent="a"), "a": acl(deny("bob"), rule=PARENT, parent="gone")},
            (I, Cause.MISSING_PARENT),
            id="two below nothing",
        ),
        pytest.param({"leaf": acl(permit("bob"), rule=PARENT, parent="leaf")}, (I, Cause.CYCLE), id="parent of itself"),
        pytest.param(
            {"leaf": acl(deny("bob"), parent="a"), "a": acl(rule=PARENT, parent="b"), "b": acl(permit("bob"), rule=PARENT, parent="a")},
            (I, Cause.CYCLE),
            id="circle above",
        ),
        pytest.param(
            {"leaf": acl(permit("bob"), parent="a"), "a": acl(permit("bob"))}, (I, Cause.LEAF_PARENT), id="parent of no stated type"
        ),
        pytest.param({"leaf": acl(permit("bob"), parent="a"), "a": EMPTY}, (I, Cause.LEAF_PARENT), id="empty parent"),
        pytest.param(
            {"leaf": acl(deny("bob"), parent="a"), "a": acl(deny("bob"), parent="b"), "b": acl(deny("bob"), rule=PARENT)},
            (I, Cause.LEAF_PARENT),
            id="leaf-node in the middle",
        ),
        pytest.param({"leaf": acl(parent="Leaf"), "Leaf": acl(permit("bob"), rule=PARENT)}, (P, Cause.PERMITTED), id="urls differ by case"),
        pytest.param(
            {"leaf": acl(parent="a?x"), "a": acl(permit("bob"), rule=PARENT)}, (I, Cause.MISSING_PARENT), id="named resource missing"
        ),
        pytest.param({"leaf": acl(parent="leaf?x"), "leaf?x": acl(permit("bob"), rule=PARENT)}, (P, Cause.PERMITTED), id="named resource"),
    ],
)
def test_decision_at_the_end_of_a_chain(acls: dict[str, Acl], expected: tuple[Verdict, Cause]) -> None:
    assert ask(acls) == expected


@pytest.mark.parametrize("who", [ANONYMOUS_IDENTITY, identity("alice")])
def test_decision_for_others_is_never_a_permit(who: Identity) -> None:
    for acls in ({"leaf": acl(permit("bob"))}, {"leaf": EMPTY}, {}, chain((CHILD, P), (LEAF, P))):
        assert ask(acls, who=who)[0] is not P


def test_decision_of_a_broken_chain_changes_when_the_parent_arrives() -> None:
    acls = {"leaf": acl(parent="folder")}
    assert ask(acls) == (I, Cause.MISSING_PARENT)
    acls["folder"] = acl(permit("bob"), rule=PARENT)
    assert ask(acls) == (P, Cause.PERMITTED)


@pytest.mark.parametrize(
    ("length", "expected"), [(MAX_CHAIN, (P, Cause.PERMITTED)), (MAX_CHAIN + 1, (I, Cause.TOO_DEEP)), (5000, (I, Cause.TOO_DEEP))]
)
def test_decision_of_a_long_chain_ends_at_the_bound(length: int, expected: tuple[Verdict, Cause]) -> None:
    assert ask(chain(*[(CHILD, I)] * (length - 1), (LEAF, P))) == expected


def test_decision_at_the_bound_looks_at_no_further_acl() -> None:
    looked_up: list[str] = []

    def find(url: str) -> Acl:
        looked_up.append(url)
        return acl(rule=CHILD, parent=f"{url}/")

    assert decide("x", identity(), find, max_chain=3).cause is Cause.TOO_DEEP
    assert looked_up == ["x", "x/", "x//"]


@pytest.mark.parametrize(
    ("acls", "where"),
    [
        (chain((CHILD, D), (LEAF, P)), "leaf"),
        (chain((PARENT, D), (LEAF, P)), "0"),
        (chain((PARENT, P), (LEAF, P)), "0"),
        (chain((CHILD, P), (CHILD, I), (LEAF, I)), "0"),
        (chain((BOTH, D), (LEAF, P)), "0"),
        (chain((BOTH, P), (LEAF, D)), "leaf"),
        (chain((BOTH, P), (LEAF, I)), "0"),
        (chain((CHILD, I), (BOTH, P), (LEAF, I)), "1"),
        (chain((CHILD, I), (LEAF, I)), None),
    ],
)
def test_decision_names_the_acl_that_settled_it(acls: dict[str, Acl], where: str | None) -> None:
    decision = decide("leaf", identity(), acls.get)
    assert (decision.decisive and decision.decisive.url) == where


def test_decision_path_holds_every_acl_from_the_document_up() -> None:
    acls = chain((PARENT, D), (CHILD, I), (BOTH, P))
    decision = decide("leaf", identity(), acls.get)
    steps = [(step.url, step.acl.inheritance_type, step.local, step.match and step.match.entry) for step in decision.path]
    assert steps == [("leaf", BOTH, P, permit("bob")), ("1", CHILD, I, None), ("0", PARENT, D, deny("bob"))]


def test_decision_path_of_a_broken_chain_holds_what_there_is() -> None:
    decision = decide("leaf", identity(), {"leaf": acl(deny("bob"), parent="a"), "a": acl(rule=CHILD, parent="gone")}.get)
    assert [(step.url, step.local) for step in decision.path] == [("leaf", D), ("a", I)]
    assert decision.decisive is decision.path[1]


def test_decision_by_a_group_names_the_way_to_it() -> None:
    bob, staff, everyone = user("bob"), group("staff"), group("everyone")
    who = Identity(users=(bob,), reached={staff: bob, everyone: staff})
    decision = decide("leaf", who, {"leaf": acl(permit("alice"), permit("EVERYONE", scope=GROUP, fold=True))}.get)
    assert decision.verdict is P
    assert decision.path[0].match is not None
    assert decision.path[0].match.path == (bob, staff, everyone)


@pytest.mark.parametrize(
    ("metas", "expected"),
    [
        ([("google:aclusers", "bob")], P),
        ([("google:aclusers", "alice"), ("google:aclusers", "bob")], P),
        ([("google:aclgroups", "eng")], P),
        ([("google:acldenyusers", "bob"), ("google:aclgroups", "eng")], D),
        ([("google:acldenygroups", "eng"), ("google:aclusers", "bob")], D),
        ([("google:aclusers", "alice")], D),
        ([("google:aclusers", "bob=owner")], P),
        ([("google:aclusers", "bob=writer")], P),
        ([("google:aclgroups", "eng=reader")], P),
        ([("google:aclusers", "bob=peeker")], I),
        ([("google:aclusers", "bob=peeker"), ("google:aclusers", "alice")], D),
        ([("google:acldenyusers", "bob=owner"), ("google:aclusers", "bob")], D),
        ([("google:acldenyusers", "bob=writer"), ("google:aclusers", "bob")], D),
        ([("google:acldenyusers", "bob=reader"), ("google:aclusers", "bob")], D),
        ([("google:acldenyusers", "bob=peeker"), ("google:aclusers", "bob")], P),
        ([("google:aclusers", "BOB")], D),
        ([("google:aclusers", "bob"), ("google:aclinheritancetype", "parent-overrides")], P),
        ([("google:aclinheritfrom", "open"), ("google:aclinheritancetype", "leaf-node")], P),
        ([("google:aclinheritfrom", "shut"), ("google:aclusers", "bob")], D),
        ([("google:aclinheritfrom", "gone"), ("google:aclusers", "bob")], I),
    ],
)
def test_decision_by_legacy_metadata(metas: list[tuple[str, str]], expected: Verdict) -> None:
    acls = {"leaf": read_legacy(metas), "open": acl(permit("bob"), rule=PARENT), "shut": acl(deny("bob"), rule=PARENT)}
    assert ask(acls, who=identity("bob", ["eng"]))[0] is expected


def test_legacy_metadata_permits_no_user_of_another_namespace() -> None:
    assert ask({"leaf": read_legacy([("google:aclusers", "bob")])}, who=identity("bob", namespace="sharepoint"))[0] is D


def test_document_with_an_acl_is_secure_also_with_authmethod_none() -> None:
    assert is_secure(has_acl=True, authmethod=AuthMethod.NONE, source_secure=False, make_public=True)
