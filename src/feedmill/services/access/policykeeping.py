"""Puts policy ACLs in force.

The entries of a policy take effect at once, for every document of the policy's classes. A document's class names the policy that applies
to the document. After patterns have changed, a sweep (``policyaclsweep``) computes the classes again. Until the index has caught up with
the sweep, classes that may hold documents to which another policy applies by now are closed: no search finds them.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from feedmill.core.access.policyacls import list_shadowed
from feedmill.model.policyacl import PolicyAcl
from feedmill.ports import Store, UnitOfWork
from feedmill.services.keyvalues import POLICIES_CLOSED


def adopt_policies(unit: UnitOfWork, wanted: Sequence[PolicyAcl]) -> bool:
    """Puts exactly these policies in force. Returns whether that changed anything. Errors: BadRequest for an invalid pattern."""
    before = unit.access.policies.current()
    if _bare(before.policies) == _bare(wanted):
        return False
    after = unit.access.policies.replace(wanted)
    shadowed = list_shadowed(before, after)
    if shadowed:
        unit.state.key_values.put(POLICIES_CLOSED, json.dumps(sorted(shadowed | read_closed(unit))))
    return True


def adopt_of_settings(store: Store, find_wanted: Callable[[UnitOfWork], Sequence[PolicyAcl]]) -> None:
    """Puts the policies of the settings in force if they are not yet.

    Reads first, so that no process waits for the write lock to write nothing. The transaction that writes computes the wanted policies
    again, since another process may have changed them meanwhile.
    """
    with store.reading() as unit:
        if _bare(unit.access.policies.current().policies) == _bare(find_wanted(unit)):
            return
    with store.writing() as unit:
        adopt_policies(unit, find_wanted(unit))


def read_closed(unit: UnitOfWork) -> frozenset[int]:
    """Returns the numbers of the policies whose classes are closed; 0 stands for "no policy"."""
    return frozenset(json.loads(unit.state.key_values.get(POLICIES_CLOSED) or "[]"))


def open_again(unit: UnitOfWork) -> None:
    """Opens all closed classes."""
    unit.state.key_values.put(POLICIES_CLOSED, "[]")
    # processes that cache classes read them again only when the generation of the policies changes
    unit.access.policies.replace(unit.access.policies.current().policies)


def _bare(policies: Sequence[PolicyAcl]) -> list[PolicyAcl]:
    return [replace(policy, number=0) for policy in policies]
