"""The groups database in memory: finds all groups of somebody in a few steps over sorted numbers.

A layer that was published is taken up as a whole. Of a group's definitions in one source only the newest counts, so a definition that is
overtaken is struck out where it stands.

``groupresolution`` is the reference; tests hold the two equal.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from feedmill.core.groupresolution import MAX_GROUPS
from feedmill.core.principals import digest_of, exact_key, signed_in_keys
from feedmill.model.errors import Denied
from feedmill.model.identity import Identity, Subject
from feedmill.ports import Groups
from feedmill.services.access.digesttable import DIGEST_BYTES, DigestTable, Flags, Halves, Numbers, split_digests
from feedmill.services.access.layerreading import SnapshotReading, SnapshotsAhead

STRUCK_OUT_AT_LEAST = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """Somebody and all groups that the groups database adds to him.

    Shape: ``keys`` are the digests of all keys by which he is met. ``through`` says for each group of ``reached`` through what it was: a
    place among his users, his groups and ``reached``, counted on in this order.
    """

    identity: Identity
    keys: tuple[bytes, ...]
    reached: tuple[Subject, ...]
    through: tuple[int, ...]

    def tell(self) -> Identity:
        """Returns the identity with its groups and the way to each."""
        all_ = (*self.identity.users, *self.identity.groups, *self.reached)
        return replace(self.identity, reached={group: all_[place] for group, place in zip(self.reached, self.through, strict=True)})


@dataclass(frozen=True, slots=True, eq=False)
class _Layer:
    """A layer's source and the places of its definitions."""

    source: str
    definitions: Numbers


@dataclass(slots=True, eq=False)
class _State:
    """What a table holds.

    Shape: groups and definitions by place; ``exact`` and ``folded`` have 16 bytes a group; ``newest`` the definition that counts by source
    and group. What grows does so in the order in which it is looked up backwards: groups, definitions, ``is_seen``, members, layers.
    """

    layers: dict[int, _Layer] = field(default_factory=dict)
    groups: list[Subject] = field(default_factory=list)
    group_places: dict[bytes, int] = field(default_factory=dict)
    exact: bytearray = field(default_factory=bytearray)
    folded: bytearray = field(default_factory=bytearray)
    definition_groups: Numbers = field(default_factory=lambda: np.zeros(0, np.int64))
    definition_feeds: Numbers = field(default_factory=lambda: np.zeros(0, np.int64))
    is_seen: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    has_members: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    newest: dict[str, dict[int, int]] = field(default_factory=dict)
    members: DigestTable = field(default_factory=DigestTable)


class GroupTable:
    """Groups as far as they were read. Not for several threads at a time, but for ``read_ahead`` and ``tidied``."""

    def __init__(self, max_groups: int = MAX_GROUPS, *, struck_out_at_least: int = STRUCK_OUT_AT_LEAST) -> None:
        self._max_groups = max_groups
        self._struck_out_at_least = struck_out_at_least
        self._ahead = SnapshotsAhead()
        self._state = _State()
        self._version = 0
        self._arrays: _Arrays | None = None

    def refresh(self, groups: Groups) -> None:
        """Takes up what has changed since the last time; ``groups`` is of one snapshot."""
        visible = groups.list_visible()
        gone = set(self._state.layers) - set(visible)
        if self._may_uncover(gone):
            self._state = _State()
        else:
            self._strike_out(gone)
        for feed_id in sorted(set(visible) - set(self._state.layers)):
            self._read_layer(groups, feed_id, visible[feed_id])
        self._arrays = None
        self._version += 1

    def _may_uncover(self, gone: set[int]) -> bool:
        """Whether what other layers of the same source say of a group may count again: that is struck out where it stands."""
        state = self._state
        staying = {layer.source for feed_id, layer in state.layers.items() if feed_id not in gone}
        going = (state.layers[feed_id] for feed_id in gone if state.layers[feed_id].source in staying)
        return any((state.is_seen[layer.definitions] & state.has_members[layer.definitions]).any() for layer in going)

    def _strike_out(self, gone: set[int]) -> None:
        state = self._state
        going = [state.layers.pop(feed_id) for feed_id in gone]
        staying = {layer.source for layer in state.layers.values()}
        for layer in going:
            state.is_seen[layer.definitions] = False
            if layer.source not in staying:
                state.newest.pop(layer.source, None)
                continue
            newest = state.newest[layer.source]
            for place, group in zip(layer.definitions.tolist(), state.definition_groups[layer.definitions].tolist(), strict=True):
                if newest.get(group) == place:
                    del newest[group]

    def _read_layer(self, groups: Groups, feed_id: int, source: str) -> None:
        state, reading = self._state, self._ahead.take(groups, feed_id)
        count, begin = len(reading.definitions), state.is_seen.size
        places = np.arange(begin, begin + count)
        defined = np.array(self._place_groups(reading), np.int64)
        state.definition_groups = np.concatenate([state.definition_groups, defined])
        state.definition_feeds = np.concatenate([state.definition_feeds, np.full(count, feed_id)])
        state.has_members = np.concatenate([state.has_members, np.array([each.memberships > 0 for each in reading.definitions], np.bool_)])
        state.is_seen = np.concatenate([state.is_seen, np.ones(count, np.bool_)])
        self._cover(state.newest.setdefault(source, {}), dict(zip(defined.tolist(), places.tolist(), strict=True)), feed_id)
        state.members.absorb(reading.members, lambda owners: owners + begin)
        state.layers[feed_id] = _Layer(source, places)

    def _place_groups(self, reading: SnapshotReading) -> list[int]:
        """Returns the places of the groups that a layer defines, each of which it defines once."""
        state = self._state
        found = [state.group_places.get(each.key) for each in reading.definitions]
        for number, place in enumerate(found):
            if place is None:
                definition = reading.definitions[number]
                found[number] = state.group_places[definition.key] = len(state.groups)
                state.groups.append(definition.group)
                state.exact += definition.key
                state.folded += reading.folded[number * DIGEST_BYTES : (number + 1) * DIGEST_BYTES]
        return [place for place in found if place is not None]

    def _cover(self, newest: dict[int, int], defined: dict[int, int], feed_id: int) -> None:
        """Has the definitions of a layer count in place of older ones of its source, and those that newer ones cover not."""
        state = self._state
        for group in newest.keys() & defined.keys():
            earlier, later = newest[group], defined[group]
            if state.definition_feeds[earlier] > feed_id:
                earlier, later = later, earlier
            state.is_seen[earlier] = False
            defined[group] = later
        newest.update(defined)

    def read_ahead(self, groups: Groups) -> bool:
        """Reads a piece of what is being built and does not count yet, beside whoever looks up; whether there may be more."""
        return self._ahead.go_on(groups)

    def tidied(self) -> Callable[[], None] | None:
        """Brings what many layers left into order, beside whoever looks up; gives what puts it in place, None where all is well."""
        version, state = self._version, self._state
        total, seen = state.is_seen.size, int(np.count_nonzero(state.is_seen))
        if total - seen <= self._struck_out_at_least + total // 2:
            return state.members.tidied(lambda definitions: state.is_seen[definitions])
        compacted = _compact(state)

        def put() -> None:
            if self._version == version:
                self._state, self._arrays = compacted, None

        return put

    # --- looking up ---

    def resolve(self, identity: Identity) -> Membership:
        """Finds all groups of somebody. Errors: Denied when there are more than the bound, since a shortened list might miss a denial."""
        search = _Search(self, identity)
        while search.goes_on():
            if len(search.found) > self._max_groups:
                raise Denied(f"the asker is in more than {self._max_groups} groups, more than are resolved")
        return search.end()

    def arrays(self) -> "_Arrays":
        """Returns what is looked up by the thousand as arrays."""
        if self._arrays is None:
            self._arrays = _Arrays(
                exact=split_digests(bytes(self._state.exact)),
                folded=split_digests(bytes(self._state.folded)),
                groups=self._state.definition_groups,
                is_seen=self._state.is_seen,
            )
        return self._arrays

    def find(self, high: Halves, low: Halves) -> tuple[Numbers, Numbers]:
        """Returns the pairs of a key's place and a group that has this key as a member."""
        arrays = self.arrays()
        asked, definitions = self._state.members.find(high, low)
        is_seen = arrays.is_seen[definitions]
        return asked[is_seen], arrays.groups[definitions[is_seen]]

    def group(self, place: int) -> Subject:
        """Returns a group by its place."""
        return self._state.groups[place]

    def find_group(self, subject: Subject) -> int | None:
        """Finds the place of a group that is defined."""
        return self._state.group_places.get(digest_of(exact_key(subject)))

    def keys_of(self, places: Sequence[int]) -> Iterable[bytes]:
        """Returns the digests of the two keys of each group."""
        arrays, chosen = self.arrays(), np.array(places, np.int64)
        halves = [half[chosen] for key in (arrays.exact, arrays.folded) for half in key]
        # of void, since strings of bytes would lose zeros at their end
        keys: list[bytes] = np.stack(halves, axis=1).view(f"V{DIGEST_BYTES}").ravel().tolist()
        return keys


def _compact(state: _State) -> _State:
    """Returns a state without what is struck out, and without the groups that nothing defines any more."""
    # in this order, since another thread may add to it meanwhile
    layers, members, is_seen = dict(state.layers), state.members.copy(), state.is_seen.copy()
    kept = np.flatnonzero(is_seen)
    place_of = np.cumsum(is_seen) - 1
    used = np.unique(state.definition_groups[kept])
    group_of = np.zeros(len(state.groups), np.int64)
    group_of[used] = np.arange(used.size)
    groups = group_of[state.definition_groups[kept]]
    compacted = _State(
        groups=[state.groups[place] for place in used.tolist()],
        exact=_take_digests(state.exact, used),
        folded=_take_digests(state.folded, used),
        definition_groups=groups,
        definition_feeds=state.definition_feeds[kept],
        is_seen=np.ones(kept.size, np.bool_),
        has_members=state.has_members[kept],
        members=members.renumbered(lambda definitions: is_seen[definitions], lambda definitions: place_of[definitions]),
    )
    keys = (bytes(compacted.exact[start : start + DIGEST_BYTES]) for start in range(0, len(compacted.exact), DIGEST_BYTES))
    compacted.group_places = {key: place for place, key in enumerate(keys)}
    for feed_id, layer in layers.items():
        places = place_of[layer.definitions[is_seen[layer.definitions]]]
        compacted.layers[feed_id] = _Layer(layer.source, places)
        newest = compacted.newest.setdefault(layer.source, {})
        newest.update(zip(groups[places].tolist(), places.tolist(), strict=True))
    return compacted


def _take_digests(digests: bytearray, places: Numbers) -> bytearray:
    count = len(digests) // DIGEST_BYTES
    taken = np.frombuffer(bytes(digests), np.uint8)[: count * DIGEST_BYTES].reshape(count, DIGEST_BYTES)[places]
    return bytearray(taken.tobytes())


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
        """Returns what was found."""
        groups = list(self.found)
        return Membership(
            identity=replace(self._identity, reached={}),
            keys=(*self._own_keys, *self._table.keys_of(groups)),
            reached=tuple(map(self._table.group, groups)),
            through=tuple(self.found.values()),
        )
