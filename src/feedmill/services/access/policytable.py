"""Combines what policy ACLs decide with what ACLs decide, for all classes at once.

Each class stores the number of its policy (``policy_number``). A table by these numbers holds what each policy decides for one user. The
table is read for the classes that the order of mechanisms leaves to policies. ``core.access.policyacls`` is the reference; tests
compare the two.
"""

from collections.abc import Iterable, Sequence, Set

import numpy as np

from feedmill.core.access.principals import digest_of, key_of
from feedmill.core.access.setevaluator import Bytes, Numbers
from feedmill.model.access import Access, AccessClass, ClassMap
from feedmill.model.policyacl import EARLY_ORDER, EarlyMechanism, PolicyAcl

_PERMIT, _DENY = 0, 1


class PolicyTable:
    """The policies that were added so far. Not safe for use from several threads at a time."""

    def __init__(self, order: Sequence[EarlyMechanism] = EARLY_ORDER) -> None:
        self._order = tuple(dict.fromkeys(order))
        self._entries: dict[bytes, list[tuple[int, int]]] = {}
        self._in_force: Bytes = np.zeros(1, np.uint8)
        self._closed: Bytes = np.zeros(1, np.uint8)

    def set(self, policies: Sequence[PolicyAcl], closed: Set[int] = frozenset()) -> None:
        """Sets which policies are in force, and which are closed; 0 in ``closed`` stands for "no policy"."""
        # Index 0 is there even without policies, since it stands for "no policy".
        size = max((0, *closed, *(policy.number for policy in policies))) + 1
        self._in_force, self._closed = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
        self._in_force[[policy.number for policy in policies]] = 1
        self._closed[list(closed)] = 1
        self._entries = {}
        for policy in policies:
            for entry in policy.entries:
                verdict = _DENY if entry.access is Access.DENY else _PERMIT
                self._entries.setdefault(digest_of(key_of(entry.principal)), []).append((policy.number, verdict))

    def combine(self, by_acl: ClassMap, unsaid: Bytes, policy_numbers: Numbers, keys: Iterable[bytes]) -> ClassMap:
        """Returns the classes that the user with these keys may see.

        Shape: ``by_acl`` are the classes that ACLs permit the user; ``unsaid`` and ``policy_numbers`` are by class.
        """
        return self._combine(by_acl, unsaid, policy_numbers, self._decide(keys))

    def combine_for_anybody(self, by_acl: ClassMap, unsaid: Bytes, policy_numbers: Numbers) -> ClassMap:
        """Returns the classes visible to an imagined user that every permitting entry permits and no entry denies."""
        permits = np.zeros_like(self._in_force)
        for found in self._entries.values():
            denied = {number for number, verdict in found if verdict == _DENY}
            permits[[number for number, verdict in found if verdict == _PERMIT and number not in denied]] = 1
        return self._combine(by_acl, unsaid, policy_numbers, permits)

    def undecided(self, unsaid: Bytes, policy_numbers: Numbers) -> ClassMap:
        """Returns the classes that neither ACLs nor policies decide."""
        # without ACLs in the order, ACLs leave every class undecided
        found = unsaid.copy() if EarlyMechanism.ACL in self._order else np.ones_like(unsaid)
        if EarlyMechanism.POLICY in self._order:
            # A policy in force decides for all users, so 1 minus its flag clears the class. The classes of a closed policy that is gone
            # stay undecided; the trimming decides their documents by URL.
            found &= 1 - self._in_force[self._known(policy_numbers)]
        found[AccessClass.PUBLIC] = 0
        return ClassMap(found.tobytes())

    def _combine(self, by_acl: ClassMap, unsaid: Bytes, policy_numbers: Numbers, permits: Bytes) -> ClassMap:
        if self._order == EARLY_ORDER and not self._in_force.any() and not self._closed.any():
            return by_acl
        # one byte for each class: 1 if the ACLs permit the user
        own = np.frombuffer(by_acl.table, np.uint8)
        known = self._known(policy_numbers[: own.size])
        # masks by class: where a mechanism decides; ``[known]`` spreads the table over policies to classes
        says = {EarlyMechanism.ACL: unsaid[: own.size] == 0, EarlyMechanism.POLICY: ((self._in_force | self._closed) != 0)[known]}
        # decisions by class: 1 is PERMIT; a closed policy permits nothing
        answers = {EarlyMechanism.ACL: own, EarlyMechanism.POLICY: np.where(self._closed != 0, 0, permits).astype(np.uint8)[known]}
        found = np.zeros_like(own)
        # The first mechanism in the order that decides wins. Each copy overwrites those before it, so the first mechanism is written last.
        for mechanism in reversed(self._order):
            np.copyto(found, answers[mechanism], where=says[mechanism])
        found[AccessClass.PUBLIC] = 1
        return ClassMap(found.tobytes())

    def _known(self, policy_numbers: Numbers) -> Numbers:
        """Returns the numbers, with 0 in place of the numbers of policies that no longer exist."""
        found: Numbers = np.where(policy_numbers < self._in_force.size, policy_numbers, 0)
        return found

    def _decide(self, keys: Iterable[bytes]) -> Bytes:
        """Returns 1 for each policy that permits a user with these keys."""
        permits = np.zeros_like(self._in_force)
        if self._entries:
            found = [each for key in keys for each in self._entries.get(key, ())]
            # denials are written second, since they beat permits
            permits[[number for number, verdict in found if verdict == _PERMIT]] = 1
            permits[[number for number, verdict in found if verdict == _DENY]] = 0
        return permits
