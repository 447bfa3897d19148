"""Who may see what: principals, access control lists, security of a document.

Source: Feeds Protocol Developer's Guide, "Per-URL ACLs and ACL Inheritance".
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, IntEnum
from itertools import compress, count
from typing import NamedTuple

from feedmill.model.identity import DEFAULT_NAMESPACE, NOBODY, Identity
from feedmill.model.latebinding import LateAccess
from feedmill.model.scope import Scope as Scope

ACL_NAME_PREFIX = "google:acl"
"""How the metadata names begin that are access rules, in any letter case."""


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
    namespace: str = DEFAULT_NAMESPACE
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

    def __hash__(self) -> int:
        # names alone nearly always tell ACLs apart; all of every entry, many times a document, was a tenth of feeding
        return hash((self.inherit_from, *(entry.principal.name for entry in self.entries)))


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
class AccessKey:
    """What documents of one class have in common; never the effective result, so that a changed parent moves no document.

    Shape: entries of ``acl`` in one order and each once, blank ones left out (``core.access.key_of_acl``); ``rule`` is the number of the
    policy rule that matches, 0 for none.
    """

    acl: Acl | None
    rule: int = 0


class PackedClasses(NamedTuple):
    """Classes as they are held in memory by the million: in columns, for an object of each would take longer than reading it.

    Shape: all columns are equally long. ``keys`` has 17 bytes an entry: the digest of its key and 0 for a permit, 1 for a denial;
    ``inheritance_types`` has values of ``InheritanceType``, None where the class has no ACL.
    """

    numbers: Sequence[int]
    inheritance_types: Sequence[str | None]
    parents: Sequence[str | None]
    keys: Sequence[bytes]
    rules: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class AclVersion:
    """A URL's ACL from a time on, by the class of a document that has this ACL and no policy rule; None: it had none from then on."""

    number: int
    url: str
    access_class: int | None
    at: datetime
    feed_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassPeriod:
    """A time during which a document was in one class. Shape: ``access_class`` None while it was gone; ``feed_id`` 0 for no feed."""

    access_class: int | None
    since: datetime
    feed_id: int = 0


class ClassMap(Set[int]):
    """A set of classes as a table with one byte a class, 1 for those in it; what lies beyond its end is not in it."""

    __slots__ = ("table",)

    def __init__(self, table: bytes) -> None:
        self.table = table

    @classmethod
    def _from_iterable(cls, it: Iterable[int]) -> frozenset[int]:  # type: ignore[override]  # what set operations give
        return frozenset(it)

    def __contains__(self, number: object) -> bool:
        return isinstance(number, int) and 0 <= number < len(self.table) and self.table[number] == 1

    def __iter__(self) -> Iterator[int]:
        return compress(count(), self.table)

    def __len__(self) -> int:
        return self.table.count(1)

    def united(self, other: "ClassMap") -> "ClassMap":
        """Returns what is in one of both."""
        both = int.from_bytes(self.table, "little") | int.from_bytes(other.table, "little")
        return ClassMap(both.to_bytes(max(len(self.table), len(other.table)), "little"))


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessFilter:
    """The classes an asker may see; no index query can be made without one.

    A class that is not named is not permitted, so a class newer than the set is hidden. ``current_user`` is the signed-in
    user, for whom each result is decided once more. ``late`` says of which other classes another server may be asked, document by document;
    None: of none.
    """

    permitted: Set[int]
    current_user: Identity = NOBODY
    late: LateAccess | None = None

    def early(self) -> "AccessFilter":
        """Returns it without what another server would have to be asked about."""
        return replace(self, late=None)

    def candidates(self) -> "AccessFilter":
        """Returns the classes permitted and those to be asked about together.

        Whatever is found by it must be decided before it is counted or shown.
        """
        if self.late is None:
            return self
        return replace(self, permitted=unite(self.permitted, self.late.classes), late=None)

    def only_public(self) -> "AccessFilter":
        """Returns what of it is everybody's."""
        return replace(self, permitted=self.permitted & ANONYMOUS.permitted, late=None)

    def only_secure(self) -> "AccessFilter":
        """Returns what of it is not everybody's."""
        if isinstance(self.permitted, ClassMap):
            return replace(self, permitted=ClassMap(b"\0" + self.permitted.table[1:]))
        return replace(self, permitted=frozenset(self.permitted) - {int(AccessClass.PUBLIC)})


def unite(first: Set[int], second: Set[int]) -> Set[int]:
    """Returns the classes that are in one of both."""
    if isinstance(first, ClassMap) and isinstance(second, ClassMap):
        return first.united(second)
    return frozenset(first) | frozenset(second)


ANONYMOUS = AccessFilter(permitted=frozenset({int(AccessClass.PUBLIC)}))
"""What somebody who is not signed in may see: public documents only."""
