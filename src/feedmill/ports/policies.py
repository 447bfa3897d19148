"""The store's repository of policy ACLs."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from feedmill.core.access.policyacls import PolicySet
from feedmill.model.policyacl import PolicyAcl, PolicyVersion


class Policies(Protocol):
    """The policy ACLs in force, in their order. A pattern keeps its number for ever, even while it is not in force.

    Example::

        with store.writing() as unit:
            policies = unit.access.policies.replace([], at=now)
    """

    def generation(self) -> int:
        """Returns a number that changes with every change of the policies."""

    def current(self) -> PolicySet:
        """Returns the policies in force, ready to be evaluated; the same object as long as nothing changes."""

    def replace(self, policies: Sequence[PolicyAcl], *, at: datetime | None = None) -> PolicySet:
        """Replaces all policies in force by these. Each has its own pattern; the store assigns their numbers.

        If they differ from the earlier ones, it stores since when they are in force; ``at`` None: now.
        """

    def list_since(self, since: datetime) -> list[PolicyVersion]:
        """Lists the policies that were in force at a time, if any, and all later ones, oldest first."""

    def forget_versions(self, before: datetime) -> None:
        """Removes policies that were no longer in force at a time."""
