"""Runs of a pull source on a store of its own, for the benchmarks: the first one stores every item, the second finds nothing changed."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.figures import peak_megabytes
from feedmill.adapters.blobs.memory import MemoryBlobs
from feedmill.bootstrap.context import utc_now
from feedmill.model.document import BlobRef
from feedmill.model.pulling import RunRequest
from feedmill.ports import PullSource
from feedmill.services.feeds.feeding import Admission
from feedmill.services.pulling.pageplan import PullDependencies
from feedmill.services.pulling.puller import Puller
from feedmill.services.pulling.setups import PullSetup
from tests.builders.changes import OPEN
from tests.fakes import SilentNotifier
from tests.migratedstore import open_migrated


class NoBlobs(MemoryBlobs):
    """Reads contents and stores nothing: the memory of the disk's place is not to be measured."""

    def put(self, stream: object, size_bytes: int) -> BlobRef:
        del stream
        return BlobRef(f"none-{size_bytes}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRun:
    """One run. Units: ``seconds`` of the clock, ``cpu_seconds`` of this process; ``memory`` says the peak during the run and before it."""

    name: str
    seconds: float
    cpu_seconds: float
    memory: str


def iter_runs(name: str, open_source: Callable[[], PullSource], folder: Path, items: int) -> Iterator[MeasuredRun]:
    """Yields the first run of a source with so many items and a second one."""
    store = open_migrated(folder / "store.sqlite")
    tools = PullDependencies(
        store=store, blobs=NoBlobs(), clock=utc_now, admission=lambda: Admission(rules=OPEN), notifier=SilentNotifier(), owner="bench"
    )
    puller = Puller({name: PullSetup(name=name, open=open_source)}, tools, start=lambda work: work())
    for title in ("first run", "nothing changed"):
        with store.writing() as unit:
            requested = unit.feeds.pulling.runs.add(name, RunRequest(is_full=True), utc_now())
        began, cpu, before = time.monotonic(), time.process_time(), peak_megabytes(os.getpid())
        puller.turn()
        seconds, cpu_seconds = time.monotonic() - began, time.process_time() - cpu
        with store.reading() as unit:
            run = unit.feeds.pulling.runs.get(requested.id)
        assert run.counts.added + run.counts.unchanged == items, run
        memory = f"peak {peak_megabytes(os.getpid()):,.0f} MB, {before:,.0f} MB before"
        yield MeasuredRun(name=title, seconds=seconds, cpu_seconds=cpu_seconds, memory=memory)
    store.close()
