"""The store's policy ACLs; one suite for every database."""

import pytest

from feedmill.adapters.store.engine import SqlStore
from feedmill.model.access import Entry, Scope
from feedmill.model.policyacl import PolicyAcl
from tests.builders.access import permit

STAFF = permit("stäff", scope=Scope.GROUP, namespace="hr", fold=True, unqualified=True)


def a_policy(pattern: str, *entries: Entry, name: str = "") -> PolicyAcl:
    return PolicyAcl(pattern=pattern, entries=entries, name=name)


def put(store: SqlStore, *policies: PolicyAcl) -> dict[str, int]:
    with store.writing() as unit:
        return {policy.pattern: policy.number for policy in unit.access.policies.replace(policies).policies}


def test_policies_are_given_back_in_their_order(store: SqlStore) -> None:
    numbers = put(store, a_policy("b.com/", STAFF, name="b"), a_policy("a.com/ü"))
    with store.reading() as unit:
        held = unit.access.policies.current()
        assert [(policy.pattern, policy.entries, policy.name, policy.number) for policy in held.policies] == [
            ("b.com/", (STAFF,), "b", numbers["b.com/"]),
            ("a.com/ü", (), "", numbers["a.com/ü"]),
        ]
        assert unit.access.policies.current() is held
    with store.reading() as unit:
        assert unit.access.policies.current() is held


def test_pattern_keeps_its_number_also_while_it_is_not_in_force(store: SqlStore) -> None:
    first = put(store, a_policy("a.com/"), a_policy("b.com/"))
    assert put(store, a_policy("b.com/", STAFF)) == {"b.com/": first["b.com/"]}
    again = put(store, a_policy("c.com/"), a_policy("a.com/"), a_policy("b.com/"))
    assert {name: again[name] for name in first} == first
    assert len(set(again.values())) == 3
    assert all(number > 0 for number in again.values())


def test_every_change_has_a_generation_of_its_own(store: SqlStore) -> None:
    with store.reading() as unit:
        before = unit.access.policies.generation()
        assert unit.access.policies.current().policies == ()
    put(store, a_policy("a.com/"))
    put(store)
    with store.reading() as unit:
        assert unit.access.policies.generation() == before + 2
        assert unit.access.policies.current().policies == ()


class Broken(Exception):
    pass


def change_and_break(store: SqlStore) -> None:
    with store.writing() as unit:
        unit.access.policies.replace([a_policy("b.com/")])
        assert [policy.pattern for policy in unit.access.policies.current().policies] == ["b.com/"]
        raise Broken


def test_change_that_is_rolled_back_leaves_what_was(store: SqlStore) -> None:
    put(store, a_policy("a.com/"))
    with pytest.raises(Broken):
        change_and_break(store)
    with store.reading() as unit:
        assert [policy.pattern for policy in unit.access.policies.current().policies] == ["a.com/"]
