"""The tables of the access manual are those of the program."""

import re
from functools import partial
from pathlib import Path

import pytest

from feedmill.core.access.evaluator import MAX_CHAIN, combine
from feedmill.core.access.groups import MAX_GROUPS
from feedmill.core.access.policyacls import PatternKind, combine_by_mechanism, decide_by_policy, kind_of
from feedmill.core.access.principals import principal_keys_of, read_identity, split_name
from feedmill.model.access import Access, Entry, InheritanceType, Principal, Scope
from feedmill.model.decision import Verdict
from feedmill.model.policyacl import EARLY_ORDER, EarlyMechanism, PolicyAcl

TEXT = (Path(__file__).parents[2] / "docs/explanation/access.md").read_text()
POLICIES = (Path(__file__).parents[2] / "docs/reference/policy-acls.md").read_text()
BOB = read_identity("bob", "Default", [])
ORDER = (Verdict.PERMIT, Verdict.DENY, Verdict.INDETERMINATE)


def rows(heading: str, text: str = TEXT) -> list[list[str]]:
    """Returns the cells of the table below a heading, without its head."""
    below = text.partition(f"{heading}\n")[2]
    lines = re.findall(r"^\|(.*)\|$", re.split(r"^#", below, maxsplit=1, flags=re.MULTILINE)[0], re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")] for line in lines[2:]]


@pytest.mark.parametrize("rule", [InheritanceType.CHILD_OVERRIDES, InheritanceType.PARENT_OVERRIDES, InheritanceType.AND_BOTH_PERMIT])
def test_manual_table_of_an_inheritance_type_is_that_of_the_program(rule: InheritanceType) -> None:
    expected = [[child.value, *(combine(rule, parent=parent, child=child).value for parent in ORDER)] for child in ORDER]
    assert rows(f"### {rule.value}") == expected


def test_manual_names_are_split_as_it_says() -> None:
    documented = rows("## What an entry matches")
    assert len(documented) == 7
    for written, name, domain in documented:
        for text in re.findall(r"`([^`]+)`", written):
            if "unqualified" not in written:
                assert split_name(text) == (name.strip("`"), "" if domain == "none" else domain.strip("`"))


def test_manual_bounds_are_those_of_the_program() -> None:
    assert f"more than {MAX_CHAIN} ACLs" in TEXT
    assert f"more than {MAX_GROUPS:,} groups" in TEXT


def test_manual_table_of_policies_is_that_of_the_program() -> None:
    documented = rows("## Policies")
    assert [row[:2] for row in documented] == [[own.value, policy.value] for own in ORDER for policy in ORDER]
    for own, policy, both in documented:
        answers = {EarlyMechanism.ACL: partial(Verdict, own), EarlyMechanism.POLICY: partial(Verdict, policy)}
        assert combine_by_mechanism(EARLY_ORDER, answers)[0] is Verdict(both)


def test_manual_kinds_of_patterns_are_those_of_the_program() -> None:
    documented = rows("## Which policy applies to a URL", POLICIES)
    assert [row[0].partition(", ")[2] for row in documented] == [kind.value for kind in PatternKind]
    for kind, patterns, _ in documented:
        for pattern in re.findall(r"`([^`]+)`", patterns):
            assert kind_of(pattern).value in kind


def test_manual_table_of_what_a_policy_says_is_that_of_the_program() -> None:
    for denies, permits, verdict in rows("## What a policy decides", POLICIES):
        accesses = [Access.DENY] * (denies == "yes") + [Access.PERMIT] * (permits == "yes")
        entries = [Entry(access=access, principal=Principal(scope=Scope.USER, name="bob")) for access in accesses]
        policy_decision = decide_by_policy(PolicyAcl(pattern="/", entries=tuple(entries)), principal_keys_of(BOB))
        assert policy_decision is not None
        assert policy_decision.verdict.value == verdict
