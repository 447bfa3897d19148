"""What a store keeps of policy ACLs."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from feedmill.core.policyacls import PolicySet
from feedmill.model.policyacl import PolicyAcl, PolicyVersion


class Policies(Protocol):
    """The policy ACLs in force, in their order. A pattern has one number for good, also while it is not in force."""

    def generation(self) -> int:
        """Returns a number that is another after every change."""

    def current(self) -> PolicySet:
        """Returns those in force, ready to be asked; the same object as long as nothing changes."""

    def replace(self, policies: Sequence[PolicyAcl], *, at: datetime | None = None) -> PolicySet:
        """Puts policies in force, each with its own pattern, and no others; their numbers are given by the store.

        Keeps since when they are, ``at`` None for now, where they differ from those before.
        """

    def list_since(self, since: datetime) -> list[PolicyVersion]:
        """Lists what was in force at a time, where anything was, and all that came after it, oldest first."""

    def forget_versions(self, before: datetime) -> None:
        """Forgets what was no longer in force at a time."""
