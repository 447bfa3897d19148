"""Reads group snapshots into memory while they are still being built, so that little is left to read when they are published.

The newest definition is not read ahead, since members may still be added to it. When the snapshot is published, the number of rows that
were read is compared with the store's counts. If rows are missing, or any definition was replaced meanwhile, the snapshot is read again.
"""

import threading
from itertools import islice

import numpy as np

from feedmill.core.access.principals import digest_of, folded_key
from feedmill.ports import GroupDefinition, GroupSnapshots
from feedmill.services.access.digesttable import DIGEST_BYTES, DigestTable, split_digests

DEFINITIONS_PER_SLICE = 2_000


class SnapshotLoad:
    """The part of one group snapshot that was read: its definitions by id, and its members with the positions of their definitions in that
    list.
    """

    def __init__(self) -> None:
        self.definitions: list[GroupDefinition] = []
        self.folded = bytearray()
        self.members = DigestTable()
        self._count = 0

    @property
    def _reached(self) -> int:
        return self.definitions[-1].id if self.definitions else 0

    def read_slice(self, snapshots: GroupSnapshots, feed_id: int) -> bool:
        """Reads a piece of a snapshot that is being built. Returns whether there may be more."""
        found = list(islice(snapshots.iter_definitions(feed_id, after=self._reached), DEFINITIONS_PER_SLICE))
        # The last definition is left for the next call. It may be the newest, to which members are still added.
        if len(found) > 1:
            self._read_definitions(snapshots, feed_id, found[:-1])
        return len(found) == DEFINITIONS_PER_SLICE

    def finish(self, snapshots: GroupSnapshots, feed_id: int) -> bool:
        """Reads the rest of a complete snapshot. Returns whether what was read is what the store holds."""
        definitions = snapshots.iter_definitions(feed_id, after=self._reached)
        while rest := list(islice(definitions, DEFINITIONS_PER_SLICE)):
            self._read_definitions(snapshots, feed_id, rest)
        return (len(self.definitions), self._count) == snapshots.measure_snapshot(feed_id) and not snapshots.is_redefined(feed_id)

    def _read_definitions(self, snapshots: GroupSnapshots, feed_id: int, definitions: list[GroupDefinition]) -> None:
        positions = {each.id: position for position, each in enumerate(definitions, len(self.definitions))}
        owners: list[int] = []
        members: list[bytes] = []
        for id_, digests in snapshots.iter_members(feed_id, after=self._reached, until=definitions[-1].id):
            owners.append(positions[id_])
            members.append(digests)
        # each byte string holds the digests of several members; repeat its owner once for each of them
        counts = [len(digests) // DIGEST_BYTES for digests in members]
        self.members.add_pairs(*split_digests(b"".join(members)), np.repeat(np.array(owners, np.int64), np.array(counts, np.int64)))
        self._count += sum(counts)
        self.folded += b"".join([digest_of(folded_key(each.group)) for each in definitions])
        self.definitions += definitions


class SnapshotPreloader:
    """The snapshots that are being built, as far as they were read. One thread reads ahead, others take."""

    def __init__(self) -> None:
        # Taken under ``PermissionCache._lock`` by ``pop_load``, so a slice that is being read delays a refresh.
        self._lock = threading.Lock()
        self._loads: dict[int, SnapshotLoad] = {}
        self._taken: set[int] = set()

    def __len__(self) -> int:
        return len(self._loads)

    def read_slice(self, snapshots: GroupSnapshots) -> bool:
        """Reads a piece of each snapshot that is being built. Returns whether there may be more.

        ``snapshots`` belongs to one read transaction.
        """
        with self._lock:
            building = snapshots.list_building()
            # A published snapshot stays until it is taken. One that is neither was dropped by its feed.
            awaited = {*building, *snapshots.list_visible()}
            self._loads = {feed_id: load for feed_id, load in self._loads.items() if feed_id in awaited}
            self._taken &= awaited
            has_more = False
            # This transaction may be older than the one that took a snapshot. What it would read again, nobody would take.
            for feed_id in set(building) - self._taken:
                has_more |= self._loads.setdefault(feed_id, SnapshotLoad()).read_slice(snapshots, feed_id)
            return has_more

    def pop_load(self, snapshots: GroupSnapshots, feed_id: int) -> SnapshotLoad:
        """Returns the complete reading of a published snapshot, most of which may have been read ahead."""
        with self._lock:
            load = self._loads.pop(feed_id, None)
            self._taken.add(feed_id)
        # Without the lock, so that reading ahead goes on meanwhile.
        if load is not None and load.finish(snapshots, feed_id):
            return load
        # What was read ahead has changed since. A published snapshot no longer does, so this reading needs no check.
        load = SnapshotLoad()
        load.finish(snapshots, feed_id)
        return load
