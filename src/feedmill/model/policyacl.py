"""Policy ACLs: access to the documents of a URL pattern if their own ACLs do not decide.

Source: "Managing Search for Controlled-Access Content", "Policy Access Control Lists".
"""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from feedmill.model.access import AccessClass, Entry
from feedmill.model.decision import Decision, EntryMatch, Verdict


class EarlyMechanism(Enum):
    """The mechanisms that decide for all documents at once, without a request to another server."""

    ACL = "per-url-acl"
    POLICY = "policy"


EARLY_ORDER = (EarlyMechanism.ACL, EarlyMechanism.POLICY)
"""The appliance's order: a policy applies if the document's own ACL does not settle the decision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyAcl:
    """One rule. ``number`` identifies the pattern for the lifetime of the store, 0 outside of a store; ``name`` is for people."""

    pattern: str
    entries: tuple[Entry, ...] = ()
    name: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyVersion:
    """The policies that were in force from a time on."""

    since: datetime
    policies: tuple[PolicyAcl, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDecision:
    """The decision of a URL's policy about a user, and the entry that causes it; None if no entry names the user."""

    policy: PolicyAcl
    verdict: Verdict
    match: EntryMatch | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlyDecision:
    """The combined early decision for a URL: its ACLs, its policy (None if none is evaluated), and both together.

    ``access_class`` is the class of the document of that URL, None if searches have none. A public one is seen by all, whatever they say.
    """

    decision: Decision
    policy_decision: PolicyDecision | None
    verdict: Verdict
    access_class: int | None = None

    @property
    def is_public(self) -> bool:
        """Whether every user may see the document."""
        return self.access_class == AccessClass.PUBLIC
