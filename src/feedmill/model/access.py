"""Who may see what: principals, access control lists, security of a document.

Source: Feeds Protocol Developer's Guide, "Per-URL ACLs and ACL Inheritance".
"""

from dataclasses import dataclass
from enum import Enum, IntEnum

ACL_NAME_PREFIX = "google:acl"
"""How the metadata names begin that are access rules, in any letter case."""


class Scope(Enum):
    """What a principal is."""

    USER = "user"
    GROUP = "group"


class Access(Enum):
    """What an ACL entry does."""

    PERMIT = "permit"
    DENY = "deny"


class InheritanceType(Enum):
    """How a parent's decision and its child's are combined; the parent's own type governs."""

    CHILD_OVERRIDES = "child-overrides"
    PARENT_OVERRIDES = "parent-overrides"
    AND_BOTH_PERMIT = "and-both-permit"
    LEAF_NODE = "leaf-node"


class AclOrigin(Enum):
    """Where an ACL came from: an ``<acl>`` element, or ``google:acl*`` entries of a document's metadata."""

    ELEMENT = "element"
    METADATA = "metadata"


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """One user or group as an ACL or a group names it; the name is kept as written, its notation split by the evaluator."""

    scope: Scope
    name: str
    namespace: str = "Default"
    case_sensitive: bool = True
    unqualified: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of an ACL."""

    access: Access
    principal: Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Acl:
    """The access control list of one URL, which need not be a document's."""

    entries: tuple[Entry, ...] = ()
    inheritance_type: InheritanceType = InheritanceType.LEAF_NODE
    inherit_from: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAcl:
    """An ACL with the URL it stands for and the source that wrote it last."""

    url: str
    acl: Acl
    origin: AclOrigin
    datasource: str
    feed_id: int
    seen_feed_id: int


class AccessClass(IntEnum):
    """The class numbers that exist before any ACL is evaluated: everybody's documents and nobody's."""

    PUBLIC = 0
    CLOSED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassSet:
    """The classes an asker may see; no index query can be made without one.

    A class that is not named is not permitted, so a class newer than the set is hidden.
    """

    permitted: frozenset[int]


ANONYMOUS = ClassSet(permitted=frozenset({int(AccessClass.PUBLIC)}))
"""What somebody who is not signed in may see: public documents only."""
