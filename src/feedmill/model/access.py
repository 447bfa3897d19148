"""Access to documents: principals, access control lists, and the security of a document.

Source: Feeds Protocol Developer's Guide, "Per-URL ACLs and ACL Inheritance".
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, IntEnum
from itertools import compress, count
from typing import NamedTuple

from feedmill.model.authorization import LateAccess
from feedmill.model.identity import ANONYMOUS_IDENTITY, DEFAULT_NAMESPACE, Identity
from feedmill.model.scope import Scope as Scope

ACL_NAME_PREFIX = "google:acl"
"""The prefix of metadata names that are access rules, in any letter case."""


class Access(Enum):
    """What an ACL entry does."""

    PERMIT = "permit"
    DENY = "deny"


class InheritanceType(Enum):
    """How the decisions of a parent and its child are combined; the parent's own type applies."""

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
    """One user or group as an ACL or a group names it. The name is stored as written; the evaluator splits its notation."""

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
        # names alone nearly always distinguish ACLs; hashing every entry completely took a tenth of the time of feeding
        return hash((self.inherit_from, *(entry.principal.name for entry in self.entries)))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAcl:
    """An ACL with its URL and the source that wrote it last."""

    url: str
    acl: Acl
    origin: AclOrigin
    datasource: str
    feed_id: int | None
    seen_feed_id: int | None


class AccessClass(IntEnum):
    """The class numbers that exist before any ACL is evaluated.

    Public documents are of the one. Closed documents, which no ACL and no policy permits, are of the other; late binding may permit them.
    """

    PUBLIC = 0
    CLOSED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessKey:
    """What documents of one class have in common. It never contains the effective result, so a changed parent moves no document.

    Shape: entries of ``acl`` in canonical order and each once, without blank ones (``core.access.classes.in_one_order``);
    ``policy_number`` is that of the policy that matches, 0 for none.
    """

    acl: Acl | None
    policy_number: int = 0


class PackedClasses(NamedTuple):
    """Millions of classes in memory, stored in columns, since creating an object for each would take longer than reading it.

    Shape: all columns have the same length. ``keys`` has 17 bytes for each entry: the digest of its key, then 0 for a permit or 1 for a
    denial. ``inheritance_types`` has values of ``InheritanceType``, None if the class has no ACL.
    """

    numbers: Sequence[int]
    inheritance_types: Sequence[str | None]
    parents: Sequence[str | None]
    keys: Sequence[bytes]
    policy_numbers: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class AclVersion:
    """A URL's ACL from a time on, as the class of a document with this ACL and no policy; None if it had no ACL from then on."""

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
    """A set of classes as a table with one byte for each class, 1 for its members; numbers beyond the table are not in the set."""

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
        """Returns the union of two sets."""
        # each table as one large integer: a bitwise OR of these is a byte-wise OR of the tables, since all bytes are 0 or 1
        both = int.from_bytes(self.table, "little") | int.from_bytes(other.table, "little")
        return ClassMap(both.to_bytes(max(len(self.table), len(other.table)), "little"))


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessFilter:
    """The classes that a user may see; every index query requires one.

    A class that is not in ``permitted`` is hidden, so a class that is newer than the set is hidden too. ``current_user`` is the signed-in
    user, and each result is decided once more. ``late`` names the other classes whose documents another server may decide one by one;
    None for no such class.
    """

    permitted: Set[int]
    current_user: Identity = ANONYMOUS_IDENTITY
    late: LateAccess | None = None

    def without_late(self) -> "AccessFilter":
        """Returns the filter without the classes that another server would decide."""
        return replace(self, late=None)

    def candidates(self) -> "AccessFilter":
        """Returns the permitted classes together with those that another server decides.

        Its results must be decided before they are counted or shown.
        """
        if self.late is None:
            return self
        return replace(self, permitted=unite(self.permitted, self.late.classes), late=None)

    def only_public(self) -> "AccessFilter":
        """Returns the filter for the public classes alone."""
        return replace(self, permitted=self.permitted & ANONYMOUS.permitted, late=None)

    def only_secure(self) -> "AccessFilter":
        """Returns the filter without the public class."""
        if isinstance(self.permitted, ClassMap):
            # sets the byte of class 0, PUBLIC, to zero
            return replace(self, permitted=ClassMap(b"\0" + self.permitted.table[1:]))
        return replace(self, permitted=frozenset(self.permitted) - {int(AccessClass.PUBLIC)})


def unite(first: Set[int], second: Set[int]) -> Set[int]:
    """Returns the union of two sets of classes."""
    if isinstance(first, ClassMap) and isinstance(second, ClassMap):
        return first.united(second)
    return frozenset(first) | frozenset(second)


ANONYMOUS = AccessFilter(permitted=frozenset({int(AccessClass.PUBLIC)}))
"""The filter for users who are not signed in: public documents only."""
