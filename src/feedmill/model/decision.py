"""Decisions of a URL's ACLs about a user, with their reasons."""

from dataclasses import dataclass
from enum import Enum

from feedmill.model.access import Acl, Entry
from feedmill.model.identity import Subject


class Verdict(Enum):
    """The result of an ACL or a whole chain; INDETERMINATE leaves the decision to other mechanisms."""

    PERMIT = "PERMIT"
    DENY = "DENY"
    INDETERMINATE = "INDETERMINATE"


class Cause(Enum):
    """The rule that settled a decision."""

    PERMITTED = "permitted by an entry"
    DENIED = "denied by an entry"
    NOT_BOTH = "and-both-permit without two permits"
    UNNAMED = "no entry of the chain names the user"
    NO_ACL = "no ACL"
    EMPTY_ACL = "an empty ACL alone"
    MISSING_PARENT = "a parent without an ACL"
    CYCLE = "the chain comes back to itself"
    LEAF_PARENT = "a leaf-node ACL has a child"
    TOO_DEEP = "the chain is too long"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryMatch:
    """An entry that names the user.

    ``path`` leads from a signed-in user or group through nested groups to the one that the entry names; it is never empty.
    """

    entry: Entry
    path: tuple[Subject, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One ACL of a chain: its URL, its local decision, and the entry that causes it."""

    url: str
    acl: Acl
    local: Verdict
    match: EntryMatch | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The decision of a URL's chain about a user.

    Shape: ``path`` begins with the URL's own ACL and goes up; it contains every ACL that was found, even if the chain is broken.
    ``decisive`` is the ACL whose entry or inheritance type settled the decision, None if no single one did. ``reason`` is for people.
    """

    url: str
    verdict: Verdict
    cause: Cause
    reason: str
    path: tuple[Step, ...] = ()
    decisive: Step | None = None
