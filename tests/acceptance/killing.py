"""Kills processes of a server, at moments that a look into its store chooses, by a random schedule.

A victim is a role, or what the extractor runs below it, or the parent of all. ``aim`` waits for something that the victim should be busy
with and then a few milliseconds more; what does not come in time is not waited for: then the moment is any moment.
"""

import os
import random
import signal
import sqlite3
import time
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path

from feedmill.services.keyvalues import INDEX_REBUILD
from tests.acceptance.feedload import TROUBLE, Load
from tests.acceptance.feedverdict import open_read_only
from tests.appliance import Appliance

LARGE_BYTES = 4_000_000
"""Feeds from this size on are the feeder's, smaller ones the quick feeder's."""

AIM_SECONDS = 2.0
MOMENTS: dict[str, tuple[str, ...]] = {
    "gate": ("receive",),
    "web": ("any",),
    "admin": ("any",),
    "feeder": ("large scan", "large apply", "large sweep"),
    "feeder-quick": ("small scan", "small apply", "small sweep"),
    "extractor": ("extract",),
    "extractor fork server": ("extract",),
    "extractor worker": ("extract",),
    "indexer": ("index", "commit", "commit", "rebuild"),
    "parent": ("receive", "large apply", "small apply", "large sweep", "extract", "index", "commit"),
}
USUAL_DELAYS = [0.0, 0.0, 0.005, 0.02, 0.05]
DELAYS = {"commit": [0.0, 0.002, 0.005, 0.01, 0.02, 0.03]}
"""How long after its moment a victim is hit, where the moment is a short one. Units: seconds."""

_WEIGHTS = {"feeder": 3, "feeder-quick": 3, "indexer": 3, "gate": 2, "extractor": 2}


class Killer:
    """Kills by a schedule; ``done`` counts victims with the moment in which each was hit."""

    def __init__(self, appliance: Appliance, load: Load, seed: int) -> None:
        self._appliance = appliance
        self._load = load
        self._dice = random.Random(seed)
        self._index_was: frozenset[tuple[str, int]] = frozenset()
        self.done: Counter[tuple[str, str]] = Counter()

    def schedule(self, kills: int) -> list[str]:
        """Returns victims: each of them once in random order, then at random, none again before some others."""
        victims = self._dice.sample(list(MOMENTS), len(MOMENTS))
        while len(victims) < kills:
            rested = [name for name in MOMENTS if name not in victims[-3:]]
            victims += self._dice.choices(rested, [_WEIGHTS.get(name, 1) for name in rested])
        return victims[:kills]

    def kill(self, victim: str) -> None:
        """Kills one process at its moment; a killed parent is started again on the same data."""
        moment = self._dice.choice(MOMENTS[victim])
        if moment == "rebuild":
            self._ask_for_rebuild()
        pids = [] if victim == "parent" else self._find(victim)
        moment = self._aim(moment)
        time.sleep(self._dice.choice(DELAYS.get(moment, USUAL_DELAYS)))
        if victim == "parent":
            self._appliance.kill()
            self._appliance.start()
        elif not strike(pids, self._dice):
            moment = "not running"
        self.done[victim, moment] += 1

    def _ask_for_rebuild(self) -> None:
        token = (self._appliance.data / "admin.token").read_text().strip()
        with suppress(*TROUBLE):
            self._appliance.request("POST", self._appliance.admin, "/api/v1/reindex", b"", {"Authorization": f"Bearer {token}"})

    def _aim(self, moment: str) -> str:
        deadline = time.monotonic() + AIM_SECONDS
        self._index_was = self._index_state()
        with closing(open_read_only(self._appliance)) as store:
            while moment != "any" and time.monotonic() < deadline:
                if self._is_now(store, moment):
                    return moment
                time.sleep(0.0002)
        return "any"

    def _is_now(self, store: sqlite3.Connection, moment: str) -> bool:
        if moment == "receive":
            return self._load.is_pushing
        if moment == "commit":
            return self._index_state() != self._index_was
        if moment == "rebuild":
            return store.execute("SELECT 1 FROM key_values WHERE name = ? AND value <> ''", (INDEX_REBUILD,)).fetchone() is not None
        size, _, phase = moment.rpartition(" ")
        if not size:
            return store.execute("SELECT 1 FROM index_tasks WHERE stage = ? LIMIT 1", (moment,)).fetchone() is not None
        compared = ">=" if size == "large" else "<"
        found = store.execute(f"SELECT 1 FROM feeds WHERE phase = ? AND size_bytes {compared} ? LIMIT 1", (phase, LARGE_BYTES))
        return found.fetchone() is not None

    def _index_state(self) -> frozenset[tuple[str, int]]:
        """Returns what changes as soon as an index begins to write a commit, whose marks are taken off after its last file."""
        # an indexer that was killed early has made no folder yet, one that is at work may take one away
        states = set()
        with suppress(FileNotFoundError):
            for folder in (self._appliance.data / "index").iterdir():
                states.add((str(folder), folder.stat().st_mtime_ns))
        return frozenset(states)

    def _find(self, victim: str) -> list[int]:
        """Returns a victim's processes: below the extractor's own runs the fork server, and below that the workers."""
        role, _, part = victim.partition(" ")
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            pids = self._appliance.role_pids().get(role, [])
            depths = {pid: _depth(pid, pids) for pid in pids}
            wanted = {"": 0, "fork server": 1, "worker": 2}[part]
            if found := [pid for pid, depth in depths.items() if depth == wanted]:
                return found
            time.sleep(0.05)
        return []


def strike(pids: list[int], dice: random.Random) -> bool:
    """Kills one of some processes; whether there was one."""
    with suppress(IndexError, ProcessLookupError):
        os.kill(dice.choice(pids), signal.SIGKILL)
        return True
    return False


def _depth(pid: int, pids: list[int]) -> int:
    """Counts the ancestors that are of the same role."""
    parent = parent_of(pid)
    return 1 + _depth(parent, pids) if parent in pids else 0


def parent_of(pid: int) -> int:
    """Returns a process's parent, 0 for one that is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0
