"""Policy ACLs: who may see the documents whose URLs a pattern means, where their own ACLs do not say.

Source: "Managing Search for Controlled-Access Content", "Policy Access Control Lists".
"""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from feedmill.model.access import Entry
from feedmill.model.decision import Decision, EntryMatch, Verdict


class Early(Enum):
    """The mechanisms that decide without asking anybody, for all documents at once."""

    ACL = "per-url-acl"
    POLICY = "policy"


EARLY_ORDER = (Early.ACL, Early.POLICY)
"""As the appliance had it: a policy is asked where the document's own ACL does not settle it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyAcl:
    """One rule. ``number`` stands for the pattern as long as the store lives, 0 for a rule that no store has; ``name`` is for people."""

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
class Ruling:
    """What the policy for a URL says to somebody, and the entry by which it says so; None where it names him nowhere."""

    policy: PolicyAcl
    verdict: Verdict
    match: EntryMatch | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlyDecision:
    """What all that decides early comes to for a URL: its ACLs, its policy (None where none is asked), and both together.

    ``is_public``: a document of that URL is everybody's, whatever they say.
    """

    decision: Decision
    ruling: Ruling | None
    verdict: Verdict
    is_public: bool = False
