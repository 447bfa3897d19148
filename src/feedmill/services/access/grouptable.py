"""The groups database in memory: finds all groups of somebody in a few steps over sorted numbers.

A layer that was published is taken up as a whole. Of a group's definitions in one source only the newest counts, so a definition that is
overtaken is struck out where it stands.

``groupresolution`` is the reference; tests hold the two equal.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from feedmill.core.groupresolution import MAX_GROUPS
from feedmill.core.principals import digest_of, exact_key, folded_key, signed_in_keys
from feedmill.model.errors import Denied
from feedmill.model.identity import Identity, Subject
from feedmill.ports import GroupDefinition, Groups
from feedmill.services.access.digesttable import DIGEST_BYTES, DigestTable, Flags, Halves, Numbers, split_digests
from feedmill.services.access.layerreading import LayersAhead

_FORGOTTEN_AT_LEAST = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """Somebody and all groups that the groups database adds to him. Shape: ``keys`` are the digests of all keys by which he is met.

    ``groups`` are places in the table, each with the place in ``signed_in`` or ``groups`` (behind those) through which it was reached.
    """

    identity: Identity
    keys: tuple[bytes, ...]
    reached: tuple[Subject, ...]
    through: tuple[int, ...]

    def tell(self) -> Identity:
        """Gives the identity with its groups and the way to each."""
        all_ = (*self.identity.users, *self.identity.groups, *self.reached)
        return replace(self.identity, reached={group: all_[place] for group, place in zip(self.reached, self.through, strict=True)})


@dataclass(slots=True)
class _Layer:
    source: str
    definitions: list[int] = field(default_factory=list)


class GroupTable:
    """Groups as far as they were read. Not for several threads at a time."""

    def __init__(self, max_groups: int = MAX_GROUPS) -> None:
        self._max_groups = max_groups
        self._ahead = LayersAhead()
        self._forget()

    def _forget(self) -> None:
        self._layers: dict[int, _Layer] = {}
        self._groups: list[Subject] = []
        self._group_places: dict[bytes, int] = {}
        self._exact = bytearray()
        self._folded = bytearray()
        self._definition_groups: list[int] = []
        self._definition_feeds: list[int] = []
        self._is_seen = bytearray()
        self._has_members = bytearray()
        self._newest: dict[tuple[str, int], int] = {}
        self._members = DigestTable()
        self._arrays: _Arrays | None = None

    def refresh(self, groups: Groups) -> None:
        """Takes up what has changed since the last time; ``groups`` is of one snapshot."""
        visible = groups.list_visible()
        gone = set(self._layers) - set(visible)
        if self._may_uncover(gone) or self._is_mostly_struck_out():
            self._forget()
        else:
            self._strike_out(gone)
        for feed_id in sorted(set(visible) - set(self._layers)):
            self._read_layer(groups, feed_id, visible[feed_id])
        self._arrays = None

    def _may_uncover(self, gone: set[int]) -> bool:
        """Whether what other layers of the same source say of a group may count again: that is struck out where it stands."""
        staying = {layer.source for feed_id, layer in self._layers.items() if feed_id not in gone}
        going = (layer for feed_id, layer in self._layers.items() if feed_id in gone and layer.source in staying)
        return any(self._is_seen[place] and self._has_members[place] for layer in going for place in layer.definitions)

    def _strike_out(self, gone: set[int]) -> None:
        for feed_id in gone:
            layer = self._layers.pop(feed_id)
            for place in layer.definitions:
                self._is_seen[place] = 0
                if self._newest.get((layer.source, self._definition_groups[place])) == place:
                    del self._newest[layer.source, self._definition_groups[place]]

    def _is_mostly_struck_out(self) -> bool:
        total = len(self._is_seen)
        return total - self._is_seen.count(1) > _FORGOTTEN_AT_LEAST + total // 2

    def _read_layer(self, groups: Groups, feed_id: int, source: str) -> None:
        layer = self._layers[feed_id] = _Layer(source)
        reading = self._ahead.take(groups, feed_id)
        places = np.array([self._define(layer, feed_id, definition) for definition in reading.definitions], np.int64)
        ids = np.array([definition.id for definition in reading.definitions], np.int64)
        self._members.absorb(reading.members, lambda owners: places[np.searchsorted(ids, owners)])

    def read_ahead(self, groups: Groups) -> bool:
        """Reads a piece of what is being built and does not count yet, beside whoever looks up; whether there may be more."""
        return self._ahead.go_on(groups)

    def tidied(self) -> Callable[[], None] | None:
        """Brings what many layers left into order, as ``DigestTable`` does."""
        return self._members.tidied(self._are_seen)

    def _are_seen(self, definitions: Numbers) -> Flags:
        seen: Flags = np.frombuffer(bytes(self._is_seen), np.bool_)[definitions]
        return seen

    def _define(self, layer: _Layer, feed_id: int, definition: GroupDefinition) -> int:
        group = self._group_places.get(definition.key)
        if group is None:
            group = self._group_places[definition.key] = len(self._groups)
            self._groups.append(definition.group)
            self._exact += definition.key
            self._folded += digest_of(folded_key(definition.group))
        place = len(self._definition_groups)
        self._definition_groups.append(group)
        self._definition_feeds.append(feed_id)
        self._has_members.append(definition.memberships > 0)
        layer.definitions.append(place)
        earlier = self._newest.get((layer.source, group))
        is_newer = earlier is None or self._definition_feeds[earlier] < feed_id
        self._is_seen.append(is_newer)
        if is_newer:
            if earlier is not None:
                self._is_seen[earlier] = 0
            self._newest[layer.source, group] = place
        return place

    # --- looking up ---

    def resolve(self, identity: Identity) -> Membership:
        """Finds all groups of somebody. Errors: Denied when there are more than the bound, since a shortened list might miss a denial."""
        search = _Search(self, identity)
        while search.goes_on():
            if len(search.found) > self._max_groups:
                raise Denied(f"the asker is in more than {self._max_groups} groups, more than are resolved")
        return search.end()

    def arrays(self) -> "_Arrays":
        """Gives what is looked up by the thousand as arrays."""
        if self._arrays is None:
            self._arrays = _Arrays(
                exact=split_digests(bytes(self._exact)),
                folded=split_digests(bytes(self._folded)),
                groups=np.array(self._definition_groups, np.int64),
                is_seen=np.frombuffer(bytes(self._is_seen), np.bool_),
            )
        return self._arrays

    def find(self, high: Halves, low: Halves) -> tuple[Numbers, Numbers]:
        """Gives the pairs of a key's place and a group that has this key as a member."""
        arrays = self.arrays()
        asked, definitions = self._members.find(high, low)
        is_seen = arrays.is_seen[definitions]
        return asked[is_seen], arrays.groups[definitions[is_seen]]

    def group(self, place: int) -> Subject:
        """Gives a group by its place."""
        return self._groups[place]

    def find_group(self, subject: Subject) -> int | None:
        """Finds the place of a group that is defined."""
        return self._group_places.get(digest_of(exact_key(subject)))

    def keys_of(self, places: Sequence[int]) -> Iterable[bytes]:
        """Gives the digests of the two keys of each group."""
        arrays, chosen = self.arrays(), np.array(places, np.int64)
        halves = [half[chosen] for key in (arrays.exact, arrays.folded) for half in key]
        packed = np.stack(halves, axis=1).tobytes()
        return [packed[start : start + DIGEST_BYTES] for start in range(0, len(packed), DIGEST_BYTES)]

    def defines(self, keys: Iterable[bytes]) -> Mapping[bytes, bool]:
        """Says of digests of keys whether a group of this exact key is defined."""
        return {key: key in self._group_places for key in keys}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arrays:
    exact: tuple[Halves, Halves]
    folded: tuple[Halves, Halves]
    groups: Numbers
    is_seen: Flags


class _Search:
    """One search through the groups, level by level. Places count what signed in first, then the groups in the order found."""

    def __init__(self, table: GroupTable, identity: Identity) -> None:
        self._table = table
        self._identity = identity
        signed_in = (*identity.users, *identity.groups)
        self.found: dict[int, int] = {}
        self._ends = {place for group in identity.groups if (place := table.find_group(group)) is not None}
        self._own_keys: dict[bytes, int] = {}
        for place, subject in enumerate(signed_in):
            for key in signed_in_keys(subject):
                self._own_keys.setdefault(digest_of(key), place)
        self._first = len(signed_in)
        self._keys = split_digests(b"".join(self._own_keys))
        self._owners = np.array(list(self._own_keys.values()), np.int64)

    def goes_on(self) -> bool:
        """Takes one level; whether there is another."""
        if not self._owners.size:
            return False
        asked, groups = self._table.find(*self._keys)
        fresh: list[int] = []
        for owner, group in zip(self._owners[asked].tolist(), groups.tolist(), strict=True):
            if group not in self.found and group not in self._ends:
                self.found[group] = owner
                fresh.append(group)
        self._go_to(fresh)
        return bool(fresh)

    def _go_to(self, groups: list[int]) -> None:
        arrays, places = self._table.arrays(), np.array(groups, np.int64)
        high, low = (np.concatenate([exact[places], folded[places]]) for exact, folded in zip(arrays.exact, arrays.folded, strict=True))
        self._keys = (high, low)
        begin = self._first + len(self.found) - len(groups)
        self._owners = np.tile(np.arange(begin, begin + len(groups)), 2)

    def end(self) -> Membership:
        """Gives what was found."""
        groups = list(self.found)
        return Membership(
            identity=replace(self._identity, reached={}),
            keys=(*self._own_keys, *self._table.keys_of(groups)),
            reached=tuple(map(self._table.group, groups)),
            through=tuple(self.found.values()),
        )
