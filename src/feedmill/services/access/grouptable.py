"""Holds the groups database in memory and finds all groups of a user in a few steps over sorted numbers.

A published group snapshot is added as a whole. Of the definitions of a group in one source only the newest counts. A definition that a
newer one replaces is not removed; its flag in ``is_seen`` is cleared.

``core.access.groups`` is the reference; tests hold the two equal.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from feedmill.core.access.groups import MAX_GROUPS
from feedmill.core.access.principals import digest_of, exact_key, signed_in_keys
from feedmill.model.errors import Denied
from feedmill.model.identity import Identity, Subject
from feedmill.ports import GroupSnapshots
from feedmill.services.access.digesttable import DIGEST_BYTES, DigestTable, Flags, Halves, Numbers, split_digests
from feedmill.services.access.snapshotpreloading import SnapshotLoad, SnapshotPreloader

# Compacting copies the whole table. It happens once the definitions that no longer count are more than this plus half of all, and so at
# least twice this.
STRUCK_OUT_AT_LEAST = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """A user and all groups that the groups database adds to them.

    Shape: ``keys`` are the digests of all keys that stand for the user. ``through`` holds for each group of ``reached`` what the user
    reached it through: a position in the concatenation of their users, their groups and ``reached``.
    """

    identity: Identity
    keys: tuple[bytes, ...]
    reached: tuple[Subject, ...]
    through: tuple[int, ...]

    def build_identity(self) -> Identity:
        """Returns the identity with its groups and the way to each."""
        all_ = (*self.identity.users, *self.identity.groups, *self.reached)
        return replace(self.identity, reached={group: all_[position] for group, position in zip(self.reached, self.through, strict=True)})


@dataclass(frozen=True, slots=True, eq=False)
class _Snapshot:
    """The data source of a group snapshot and the positions of its definitions."""

    source: str
    definitions: Numbers


@dataclass(slots=True, eq=False)
class _State:
    """The content of a table.

    Shape: groups and definitions are arrays by position. ``exact`` and ``folded`` have 16 bytes for each group. ``newest`` holds the
    definition that counts, by source and group. Additions are made in the reverse of the order in which ``_compact`` copies: groups,
    definitions, ``is_seen``, members, snapshots. Another thread that compacts the table meanwhile never finds a reference to something
    that is not there yet.
    """

    snapshots: dict[int, _Snapshot] = field(default_factory=dict)
    groups: list[Subject] = field(default_factory=list)
    group_positions: dict[bytes, int] = field(default_factory=dict)
    exact: bytearray = field(default_factory=bytearray)
    folded: bytearray = field(default_factory=bytearray)
    definition_groups: Numbers = field(default_factory=lambda: np.zeros(0, np.int64))
    definition_feeds: Numbers = field(default_factory=lambda: np.zeros(0, np.int64))
    is_seen: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    has_members: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    newest: dict[str, dict[int, int]] = field(default_factory=dict)
    members: DigestTable = field(default_factory=DigestTable)


class GroupTable:
    """The groups that were read so far. Not safe for use from several threads at a time, except ``read_ahead`` and ``prepare_merge``."""

    def __init__(self, max_groups: int = MAX_GROUPS, *, struck_out_at_least: int = STRUCK_OUT_AT_LEAST) -> None:
        self._max_groups = max_groups
        self._struck_out_at_least = struck_out_at_least
        self._preloader = SnapshotPreloader()
        self._state = _State()
        self._version = 0
        self._arrays: _Arrays | None = None

    def refresh(self, snapshots: GroupSnapshots) -> None:
        """Reads what has changed since the last call; ``snapshots`` is of one snapshot of the store."""
        visible = snapshots.list_visible()
        gone = set(self._state.snapshots) - set(visible)
        # The table does not store what a newer definition replaced, so if an older one may count again, everything is read again.
        if self._may_uncover(gone):
            self._state = _State()
        else:
            self._strike_out(gone)
        for feed_id in sorted(set(visible) - set(self._state.snapshots)):
            self._load_snapshot(snapshots, feed_id, visible[feed_id])
        self._arrays = None
        # After the changes: ``prepare_merge`` may have begun in the middle of them, and its result is then dropped.
        self._version += 1

    def _may_uncover(self, gone: set[int]) -> bool:
        """Whether removing these snapshots may make older definitions of the same source count again, which are flagged as replaced."""
        state = self._state
        staying = {snapshot.source for feed_id, snapshot in state.snapshots.items() if feed_id not in gone}
        going = (state.snapshots[feed_id] for feed_id in gone if state.snapshots[feed_id].source in staying)
        # The removed definitions that count now and have members, one flag for each. An empty definition that counts is only removed once
        # it hides nothing (``GroupGarbage.list_dead``), so it uncovers none.
        return any((state.is_seen[snapshot.definitions] & state.has_members[snapshot.definitions]).any() for snapshot in going)

    def _strike_out(self, gone: set[int]) -> None:
        state = self._state
        going = [state.snapshots.pop(feed_id) for feed_id in gone]
        staying = {snapshot.source for snapshot in state.snapshots.values()}
        for snapshot in going:
            state.is_seen[snapshot.definitions] = False
            if snapshot.source not in staying:
                state.newest.pop(snapshot.source, None)
                continue
            newest = state.newest[snapshot.source]
            for position, group in zip(snapshot.definitions.tolist(), state.definition_groups[snapshot.definitions].tolist(), strict=True):
                # Only if the removed definition was the one that counts. Another snapshot of the source may define the group as well.
                if newest.get(group) == position:
                    del newest[group]

    def _load_snapshot(self, snapshots: GroupSnapshots, feed_id: int, source: str) -> None:
        state, load = self._state, self._preloader.pop_load(snapshots, feed_id)
        count, begin = len(load.definitions), state.is_seen.size
        positions = np.arange(begin, begin + count)
        defined = np.array(self._number_groups(load), np.int64)
        # In the order that ``_State`` describes: a concurrent ``_compact`` copies snapshots and members first.
        state.definition_groups = np.concatenate([state.definition_groups, defined])
        state.definition_feeds = np.concatenate([state.definition_feeds, np.full(count, feed_id)])
        state.has_members = np.concatenate([state.has_members, np.array([each.memberships > 0 for each in load.definitions], np.bool_)])
        state.is_seen = np.concatenate([state.is_seen, np.ones(count, np.bool_)])
        self._cover(state.newest.setdefault(source, {}), dict(zip(defined.tolist(), positions.tolist(), strict=True)), feed_id)
        # the load numbers its definitions from 0; here they begin at ``begin``
        state.members.absorb(load.members, lambda owners: owners + begin)
        state.snapshots[feed_id] = _Snapshot(source, positions)

    def _number_groups(self, load: SnapshotLoad) -> list[int]:
        """Returns the positions of the groups that a snapshot defines. A snapshot defines each group once."""
        state = self._state
        found = [state.group_positions.get(each.key) for each in load.definitions]
        for number, position in enumerate(found):
            if position is None:
                definition = load.definitions[number]
                found[number] = state.group_positions[definition.key] = len(state.groups)
                state.groups.append(definition.group)
                state.exact += definition.key
                state.folded += load.folded[number * DIGEST_BYTES : (number + 1) * DIGEST_BYTES]
        # none is None now; the condition is for the type checker
        return [position for position in found if position is not None]

    def _cover(self, newest: dict[int, int], defined: dict[int, int], feed_id: int) -> None:
        """Makes the definitions of a snapshot replace older ones of its source, except those that a newer snapshot defines."""
        state = self._state
        for group in newest.keys() & defined.keys():
            earlier, later = newest[group], defined[group]
            # the higher feed id is the newer definition, in whatever order the snapshots are read
            if state.definition_feeds[earlier] > feed_id:
                earlier, later = later, earlier
            state.is_seen[earlier] = False
            defined[group] = later
        newest.update(defined)

    def read_ahead(self, snapshots: GroupSnapshots) -> bool:
        """Reads a piece of the unpublished snapshots while other threads look up. Returns whether there may be more."""
        return self._preloader.read_slice(snapshots)

    def prepare_merge(self) -> Callable[[], None] | None:
        """Compacts the table while other threads look up. Returns a function that puts the result in place, None if there is no need."""
        version, state = self._version, self._state
        total, seen = state.is_seen.size, int(np.count_nonzero(state.is_seen))
        # compact only if more definitions are dead than the bound plus half of all; else merge only the members' segments
        if total - seen <= self._struck_out_at_least + total // 2:
            return state.members.prepare_merge(lambda definitions: state.is_seen[definitions])
        compacted = _compact(state)

        def put() -> None:
            # a refresh meanwhile may have changed the state that was compacted; then the result is dropped
            if self._version == version:
                self._state, self._arrays = compacted, None

        return put

    # --- looking up ---

    def resolve(self, identity: Identity) -> Membership:
        """Finds all groups of a user. Errors: Denied when there are more than the bound, since a shortened list might miss a denial."""
        search = _Search(self, identity)
        while search.goes_on():
            # Checked after each level, so a search that has exceeded the bound reads no further level.
            if len(search.found) > self._max_groups:
                raise Denied(f"the user is in more than {self._max_groups} groups, more than are resolved")
        return search.end()

    def arrays(self) -> "_Arrays":
        """Returns the arrays that lookups of many keys use, built once after each change."""
        if self._arrays is None:
            # ``bytes`` makes a copy: while NumPy views a bytearray, ``+=`` cannot extend it (BufferError).
            self._arrays = _Arrays(
                exact=split_digests(bytes(self._state.exact)),
                folded=split_digests(bytes(self._state.folded)),
                groups=self._state.definition_groups,
                is_seen=self._state.is_seen,
            )
        return self._arrays

    def find_groups(self, high: Halves, low: Halves) -> tuple[Numbers, Numbers]:
        """Returns pairs: the position of a key in the input, and a group that has this key as a member."""
        arrays = self.arrays()
        positions, definitions = self._state.members.find_pairs(high, low)
        # drop members of definitions that no longer count
        is_seen = arrays.is_seen[definitions]
        return positions[is_seen], arrays.groups[definitions[is_seen]]

    def group(self, position: int) -> Subject:
        """Returns a group by its position."""
        return self._state.groups[position]

    def find_group(self, subject: Subject) -> int | None:
        """Finds the position of a defined group."""
        return self._state.group_positions.get(digest_of(exact_key(subject)))

    def keys_of(self, positions: Sequence[int]) -> Iterable[bytes]:
        """Returns the digests of the two keys of each group."""
        arrays, chosen = self.arrays(), np.array(positions, np.int64)
        halves = [half[chosen] for key in (arrays.exact, arrays.folded) for half in key]
        # Each row is the four halves of one group, 32 bytes: its exact key, then its folded key. The view makes two items of 16 bytes of
        # it. Their type is void; as byte strings they would lose trailing zeros.
        keys: list[bytes] = np.stack(halves, axis=1).view(f"V{DIGEST_BYTES}").ravel().tolist()
        return keys


def _compact(state: _State) -> _State:
    """Returns a state without the definitions that no longer count, and without the groups that no definition uses."""
    # copied in this order, since another thread may add to the state meanwhile: what is copied first is added last
    snapshots, members, is_seen = dict(state.snapshots), state.members.copy(), state.is_seen.copy()
    remaining = np.flatnonzero(is_seen)
    # the new position of a remaining definition is the number of remaining definitions before it
    new_position_of = np.cumsum(is_seen) - 1
    # the groups still defined, and their new positions; the other positions in ``group_of`` are never read
    used = np.unique(state.definition_groups[remaining])
    group_of = np.zeros(len(state.groups), np.int64)
    group_of[used] = np.arange(used.size)
    groups = group_of[state.definition_groups[remaining]]
    compacted = _State(
        groups=[state.groups[position] for position in used.tolist()],
        exact=_take_digests(state.exact, used),
        folded=_take_digests(state.folded, used),
        definition_groups=groups,
        definition_feeds=state.definition_feeds[remaining],
        is_seen=np.ones(remaining.size, np.bool_),
        has_members=state.has_members[remaining],
        members=members.renumbered(lambda definitions: is_seen[definitions], lambda definitions: new_position_of[definitions]),
    )
    keys = (bytes(compacted.exact[start : start + DIGEST_BYTES]) for start in range(0, len(compacted.exact), DIGEST_BYTES))
    compacted.group_positions = {key: position for position, key in enumerate(keys)}
    for feed_id, snapshot in snapshots.items():
        # those of its definitions that remain, under their new positions
        positions = new_position_of[snapshot.definitions[is_seen[snapshot.definitions]]]
        compacted.snapshots[feed_id] = _Snapshot(snapshot.source, positions)
        newest = compacted.newest.setdefault(snapshot.source, {})
        # at most one definition of a group counts in a source, so the order of the snapshots does not matter
        newest.update(zip(groups[positions].tolist(), positions.tolist(), strict=True))
    return compacted


def _take_digests(digests: bytearray, positions: Numbers) -> bytearray:
    # another thread may append more digests after this line
    count = len(digests) // DIGEST_BYTES
    # A copy, as in ``arrays``. One row of bytes for each digest, then the chosen rows.
    taken = np.frombuffer(bytes(digests), np.uint8)[: count * DIGEST_BYTES].reshape(count, DIGEST_BYTES)[positions]
    return bytearray(taken.tobytes())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arrays:
    exact: tuple[Halves, Halves]
    folded: tuple[Halves, Halves]
    groups: Numbers
    is_seen: Flags


class _Search:
    """One search through the groups, level by level. Places count the subjects that signed in first, then the groups in the order found."""

    def __init__(self, table: GroupTable, identity: Identity) -> None:
        self._table = table
        self._identity = identity
        signed_in = (*identity.users, *identity.groups)
        self.found: dict[int, int] = {}
        self._signed_in = {position for group in identity.groups if (position := table.find_group(group)) is not None}
        self._own_keys: dict[bytes, int] = {}
        for position, subject in enumerate(signed_in):
            for key in signed_in_keys(subject):
                self._own_keys.setdefault(digest_of(key), position)
        self._first = len(signed_in)
        self._keys = split_digests(b"".join(self._own_keys))
        self._owners = np.array(list(self._own_keys.values()), np.int64)

    def goes_on(self) -> bool:
        """Searches one level. Returns whether there is another."""
        if not self._owners.size:
            return False
        positions, groups = self._table.find_groups(*self._keys)
        fresh: list[int] = []
        for owner, group in zip(self._owners[positions].tolist(), groups.tolist(), strict=True):
            # a group that signed in itself is a start of the search, not a result
            if group not in self.found and group not in self._signed_in:
                self.found[group] = owner
                fresh.append(group)
        self._go_to(fresh)
        return bool(fresh)

    def _go_to(self, groups: list[int]) -> None:
        arrays, positions = self._table.arrays(), np.array(groups, np.int64)
        # all exact keys, then all folded keys; ``tile`` below repeats the owners in the same order
        halves = zip(arrays.exact, arrays.folded, strict=True)
        high, low = (np.concatenate([exact[positions], folded[positions]]) for exact, folded in halves)
        self._keys = (high, low)
        # The groups of this level were found last, so their positions are the last ones.
        begin = self._first + len(self.found) - len(groups)
        self._owners = np.tile(np.arange(begin, begin + len(groups)), 2)

    def end(self) -> Membership:
        """Returns the user with the groups that were found."""
        groups = list(self.found)
        return Membership(
            identity=replace(self._identity, reached={}),
            keys=(*self._own_keys, *self._table.keys_of(groups)),
            reached=tuple(map(self._table.group, groups)),
            through=tuple(self.found.values()),
        )
