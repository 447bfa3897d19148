"""Putting policy ACLs in force.

Whom a policy permits counts at once, for every document of its classes. Which policy is for a document stands in the document's class, and
is made anew by a sweep (``policyaclsweep``) after patterns have changed. Until the index has caught up with it, classes that may hold
documents which another policy is for by now are closed: nobody finds them.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from feedmill.core.policyacls import list_shadowed
from feedmill.model.policyacl import PolicyAcl
from feedmill.ports import Store, UnitOfWork
from feedmill.services.keyvalues import POLICIES_CLOSED


def adopt_policies(unit: UnitOfWork, wanted: Sequence[PolicyAcl]) -> bool:
    """Puts policies in force, and no others. Whether that changed anything. Errors: BadRequest for what is no pattern."""
    before = unit.policies.current()
    if _bare(before.policies) == _bare(wanted):
        return False
    after = unit.policies.replace(wanted)
    shadowed = list_shadowed(before, after)
    if shadowed:
        unit.key_values.put(POLICIES_CLOSED, json.dumps(sorted(shadowed | read_closed(unit))))
    return True


def adopt_of_settings(store: Store, find_wanted: Callable[[UnitOfWork], Sequence[PolicyAcl]]) -> None:
    """Puts the policies of the settings in force where they are not yet.

    Looks first, so that nobody waits for a turn to write nothing; what is wanted is found again in the transaction that writes, since
    somebody may have changed it meanwhile.
    """
    with store.reading() as unit:
        if _bare(unit.policies.current().policies) == _bare(find_wanted(unit)):
            return
    with store.writing() as unit:
        adopt_policies(unit, find_wanted(unit))


def read_closed(unit: UnitOfWork) -> frozenset[int]:
    """Returns the policies, 0 for none, whose classes are closed."""
    return frozenset(json.loads(unit.key_values.get(POLICIES_CLOSED) or "[]"))


def open_again(unit: UnitOfWork) -> None:
    """Lets all classes count again."""
    unit.key_values.put(POLICIES_CLOSED, "[]")
    # whoever holds classes in memory looks again only after a change
    unit.policies.replace(unit.policies.current().policies)


def _bare(policies: Sequence[PolicyAcl]) -> list[PolicyAcl]:
    return [replace(policy, number=0) for policy in policies]
