import pytest

from feedmill.core.access.evaluator import decide
from feedmill.core.access.explanation import describe_match, describe_principal
from feedmill.model.access import Acl, Scope
from feedmill.model.decision import EntryMatch
from feedmill.model.identity import Identity
from tests.builders.access import BOTH, CHILD, PARENT, acl, deny, group, permit, user

GROUP = Scope.GROUP
BOB, STAFF, EVERYONE = user("CORP\\bob"), group("staff", "sites"), group("everyone")
WHO = Identity(users=(BOB,), reached={STAFF: BOB, EVERYONE: STAFF})


@pytest.mark.parametrize(
    ("acls", "reason"),
    [
        ({"u": acl(permit("bob@CORP"))}, 'permitted by user "bob@CORP", in the ACL of u'),
        (
            {"u": acl(parent="f"), "f": acl(deny("Everyone", scope=GROUP, fold=True), rule=CHILD)},
            'denied by group "Everyone" in any letter case, through user "CORP\\bob" > group "staff" of namespace "sites" > '
            'group "everyone", in the ACL of f',
        ),
        ({"u": acl(permit("eve"))}, "no entry of the chain names the user"),
        ({}, "the URL has no ACL"),
        ({"u": acl()}, "the ACL of u is empty, which counts as none"),
        ({"u": acl(parent="f"), "f": acl(rule=BOTH)}, "the ACL of f is and-both-permit, and not both it and what inherits from it permit"),
        ({"u": acl(parent="f")}, "the chain is broken: the ACL of u inherits from f, which has none"),
        ({"u": acl(parent="f"), "f": acl()}, "the chain is broken: the ACL of f is leaf-node, from which nothing may inherit"),
        (
            {"u": acl(parent="f"), "f": acl(parent="u", rule=PARENT)},
            "the chain is a circle: the ACL of f inherits from u, which stands below it or is the same",
        ),
        ({"u": acl(parent="{f}")}, "the chain is broken: the ACL of u inherits from {f}, which has none"),
    ],
)
def test_reason_names_the_entry_the_acl_and_the_way(acls: dict[str, Acl], reason: str) -> None:
    assert decide("u", WHO, acls.get).reason == reason


def test_reason_of_a_chain_that_is_too_long_names_where_it_was_left() -> None:
    decision = decide("u", WHO, lambda url: acl(parent=f"{url}/", rule=CHILD), max_chain=2)
    assert decision.reason == "the chain is broken: it is longer than is looked at, up to the ACL of u/"


def test_describe_match_of_a_long_way_names_its_ends() -> None:
    path = (BOB, *(group(f"g{number}") for number in range(20)))
    match = EntryMatch(entry=permit("g19", scope=GROUP), path=path)
    assert describe_match(match) == 'permitted by group "g19", through user "CORP\\bob" > 19 groups > group "g19"'


def test_describe_principal_says_what_is_not_usual() -> None:
    assert describe_principal(permit("bob").principal) == 'user "bob"'
    unusual = deny("eng", scope=GROUP, namespace="sites", fold=True).principal
    assert describe_principal(unusual) == 'group "eng" of namespace "sites" in any letter case'
