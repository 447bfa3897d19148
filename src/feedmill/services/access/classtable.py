"""Holds all access classes, and the ACLs from which they inherit, in memory, ready to be decided for one user after another.

The table stores only the URLs from which an ACL inherits, and for each the class of its ACL. A changed ACL of a folder changes one number;
the classes that inherit from it are not touched.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from feedmill.core.access.setevaluator import (
    DENIED,
    LEAF,
    NO_ACL,
    PERMITTED,
    Bytes,
    Level,
    Numbers,
    functions_of,
    permitted,
    rule_number,
    sort_levels,
)
from feedmill.model.access import AccessClass, ClassMap, InheritanceType, PackedClasses
from feedmill.services.access.digesttable import DIGEST_BYTES, DigestTable, Flags, Halves, split_digests
from feedmill.services.access.digesttable import Numbers as Longs

Kind = TypeVar("Kind", bound=np.generic)

_KEY_BYTES = DIGEST_BYTES + 1
_FIRST_CAPACITY = 1_024
_RULE_NUMBERS = {None: rule_number(None)} | {rule.value: rule_number(rule) for rule in InheritanceType}


class ClassTable:
    """The classes and ACLs that were added so far. Not safe for use from several threads at a time."""

    def __init__(self) -> None:
        self.newest = int(AccessClass.CLOSED)
        # A number without a class looks like a class without an ACL that inherits from nothing: it permits no one.
        self._types: Bytes = np.full(_FIRST_CAPACITY, rule_number(None), np.uint8)
        self._parents: Numbers = np.zeros(_FIRST_CAPACITY, np.int32)
        self._has_entries: Bytes = np.zeros(_FIRST_CAPACITY, np.uint8)
        self._policy_numbers: Numbers = np.zeros(_FIRST_CAPACITY, np.int32)
        # A node is a URL from which a class inherits. Node 0 stands for "inherits from nothing".
        self._nodes: dict[str, int] = {}
        # the class of each node's ACL, -1 where the URL has none
        self._node_classes: Numbers = np.full(_FIRST_CAPACITY, -1, np.int32)
        self._entries = DigestTable()
        # the numbers of the classes whose ACL permits somebody, an array for each call of ``add_classes``
        self._permitting: list[Longs] = []
        self._levels: list[Level] | None = None

    def add_classes(self, classes: Iterable[PackedClasses]) -> list[str]:
        """Adds classes, by number, and returns the URLs from which a class inherits for the first time."""
        fresh: list[str] = []
        entries = [self._put_classes(found, fresh) for found in classes if found.numbers]
        if entries:
            # from a triple of arrays for each batch to three arrays
            high, low, owners = (np.concatenate(each) for each in zip(*entries, strict=True))
            self._entries.add_pairs(high, low, owners)
        self._levels = None
        return fresh

    def _put_classes(self, classes: PackedClasses, fresh: list[str]) -> tuple[Halves, Halves, Longs]:
        """Writes some classes, except their entries, into the arrays, and returns their entries.

        Shape: halves of digests, and for each the doubled number of its class, plus one for a denial.
        """
        numbers = np.array(classes.numbers, np.int64)
        newest = int(numbers.max())
        self._grow(newest)
        self.newest = max(self.newest, newest)
        # how many entries each class has: its keys are one byte string of entries of ``_KEY_BYTES`` each
        counts = np.fromiter(map(len, classes.keys), np.int64, numbers.size) // _KEY_BYTES
        self._types[numbers] = [_RULE_NUMBERS[each] for each in classes.inheritance_types]
        self._has_entries[numbers] = counts > 0
        self._policy_numbers[numbers] = classes.policy_numbers
        self._parents[numbers] = self._list_nodes(classes.parents, fresh)
        # One row of bytes for each entry of all classes: a digest, then one byte that is not 0 for a denial.
        entries = np.frombuffer(b"".join(classes.keys), np.uint8).reshape(-1, _KEY_BYTES)
        # ``places`` is the index in ``numbers`` of the class that each entry belongs to
        places, is_denial = np.repeat(np.arange(numbers.size), counts), entries[:, -1] != 0
        # for each class: has it any permit, has it any denial
        self._note_permitting(classes, _flags(numbers.size, places[~is_denial]), _flags(numbers.size, places[is_denial]))
        # without the last byte of each row, the kind
        halves = split_digests(entries[:, :DIGEST_BYTES].tobytes())
        # the lowest bit holds the kind of the entry: 0 permits, 1 denies
        return (*halves, numbers[places] * 2 + is_denial)

    def _list_nodes(self, parents: Sequence[str | None], fresh: list[str]) -> list[int]:
        """Returns the node number of each parent URL, 0 for no parent."""
        nodes = self._nodes
        for url in dict.fromkeys(parents):
            if url is not None and url not in nodes:
                self._add_node(url)
                fresh.append(url)
        return [0 if url is None else nodes[url] for url in parents]

    def _note_permitting(self, classes: PackedClasses, has_permit: Flags, has_denial: Flags) -> None:
        """Records the classes whose ACL permits at least one principal."""
        # only a class with both kinds of entries needs a look: a denial may cancel each of its permits
        unclear = np.flatnonzero(has_permit & has_denial)
        has_permit[unclear] = [_permits_anybody(classes.keys[place]) for place in unclear.tolist()]
        self._permitting.append(np.array(classes.numbers, np.int64)[has_permit])

    def reach(self, newest: int) -> None:
        """Extends the table to the highest class number; its class may no longer exist."""
        self._grow(newest)
        self.newest = max(self.newest, newest)

    def set_acls(self, classes: Mapping[str, int | None]) -> None:
        """Sets the class of each URL's ACL, None for no ACL. Ignores URLs from which no class inherits."""
        for url, number in classes.items():
            node = self._nodes.get(url)
            if node is not None:
                self._node_classes[node] = -1 if number is None else number
                self._levels = None

    def permitted(self, keys: Iterable[bytes]) -> ClassMap:
        """Returns the classes that a user with these keys may see, including the public class."""
        return self._decide(self._decide_locally(keys))

    def permitted_to_anybody(self) -> ClassMap:
        """Returns the classes visible to an imagined user that every ACL with an effective permit permits and no ACL denies."""
        local: Bytes = np.zeros(self.newest + 1, np.uint8)
        for numbers in self._permitting:
            local[numbers] = PERMITTED
        return self._decide(local)

    def _decide(self, local: Bytes) -> ClassMap:
        # For each node: the function that maps a class's local decision to the final one. Node 0 stands for "no parent".
        functions = functions_of(self._sorted_levels(), local, len(self._nodes) + 1)
        found = permitted(functions, local, self._parents[: self.newest + 1])
        # The class CLOSED stays 0, because it has no ACL.
        found[AccessClass.PUBLIC] = 1
        return ClassMap(found.tobytes())

    @property
    def policy_numbers(self) -> Numbers:
        """The policy of each class, 0 for none."""
        return self._policy_numbers[: self.newest + 1]

    def unsaid(self) -> Bytes:
        """Returns 1 for each class that ACLs leave undecided for all users: no ACL, an empty ACL, or a broken chain; else 0."""
        # a node is sound if its chain reaches a root: node 0 (no parent), and every node that has a level
        is_sound = np.zeros(len(self._nodes) + 1, np.bool_)
        is_sound[0] = True
        for level in self._sorted_levels():
            is_sound[level.nodes] = True
        count = self.newest + 1
        types, parents = self._types[:count], self._parents[:count]
        # an ACL without entries that inherits from nothing decides nothing
        is_empty = (types == LEAF) & (parents == 0) & (self._has_entries[:count] == 0)
        found: Bytes = ((types == NO_ACL) | is_empty | ~is_sound[parents]).astype(np.uint8)
        found[AccessClass.PUBLIC] = 0
        return found

    def _decide_locally(self, keys: Iterable[bytes]) -> Bytes:
        local: Bytes = np.zeros(self.newest + 1, np.uint8)
        _, found = self._entries.find_pairs(*split_digests(b"".join(keys)))
        # The lowest bit of a found number is the kind of the entry, the other bits are the class. Denials are written second, since they
        # beat permits.
        local[found[found & 1 == 0] >> 1] = PERMITTED
        local[found[found & 1 == 1] >> 1] = DENIED
        return local

    def _sorted_levels(self) -> Sequence[Level]:
        if self._levels is None:
            self._levels = sort_levels(self._node_classes[: len(self._nodes) + 1], self._types, self._parents)
        return self._levels

    def _add_node(self, url: str) -> None:
        # Numbers begin at 1, since 0 is no parent.
        node = self._nodes[url] = len(self._nodes) + 1
        if node >= self._node_classes.size:
            self._node_classes = _doubled(self._node_classes, -1)

    def _grow(self, number: int) -> None:
        while number >= self._types.size:
            self._types = _doubled(self._types, rule_number(None))
            self._parents = _doubled(self._parents, 0)
            self._has_entries = _doubled(self._has_entries, 0)
            self._policy_numbers = _doubled(self._policy_numbers, 0)


def _flags(size: int, places: Longs) -> Flags:
    found = np.zeros(size, np.bool_)
    found[places] = True
    return found


def _permits_anybody(keys: bytes) -> bool:
    """Whether at least one entry permits a principal that no other entry of the same ACL denies."""
    entries = [keys[start : start + _KEY_BYTES] for start in range(0, len(keys), _KEY_BYTES)]
    denied = {entry[:DIGEST_BYTES] for entry in entries if entry[DIGEST_BYTES]}
    return any(not entry[DIGEST_BYTES] and entry[:DIGEST_BYTES] not in denied for entry in entries)


def _doubled(values: npt.NDArray[Kind], filler: int) -> npt.NDArray[Kind]:
    # Doubling copies each value a constant number of times on average, however far the array grows.
    return np.concatenate([values, np.full(values.size, filler, values.dtype)])
