"""How a process hands its listening sockets over to its successor, so that no connection is refused.

The supervisor holds the sockets and starts the successor beside the previous process, its predecessor. It makes two pipes for each process
whose role hands over:

    drain      the supervisor and the successors write, the process reads
    drained    the process writes, the supervisor and the successors read

1. The successor loads what it needs, and then writes to ``drain`` of each predecessor.
2. The predecessor stops accepting connections and writes to ``drained``. It then finishes its open requests. New connections wait in the
   kernel's queue of the socket.
3. The successor reads ``drained``, and begins to accept connections.

Thus once one response has used the new settings, no connection accepted later is served with the previous ones. Any process may be killed
at any time:

- If the predecessor dies, the kernel closes its end of ``drained``, which the successor reads as well.
- If the successor dies before step 1, the predecessor goes on. The supervisor starts another successor.
- If the successor dies later, connections wait in the kernel's queue until the supervisor has started another one.
- A process that finds at step 1 that its own successor already waits ends at once. It never accepts a connection.
"""

import os
import select
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import structlog

PATIENCE_SECONDS: Final = 5.0
"""How long a successor waits at most. After that, both processes accept connections until the predecessor drains."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Predecessor:
    """The pipes of an earlier process, as its successors hold them."""

    pid: int
    drain_writer: int
    drained_reader: int

    def request_drain(self) -> None:
        """Asks the process to drain. It may have ended, and another successor may have asked it before."""
        with suppress(BrokenPipeError, BlockingIOError):
            os.write(self.drain_writer, b"d")


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketHandover:
    """What one process needs to take sockets over and to hand them over. Without descriptors it does neither."""

    #: Readable once the process is to drain.
    drain_reader: int | None = None
    drained_writer: int | None = None
    predecessors: Sequence[Predecessor] = ()

    @property
    def is_successor(self) -> bool:
        """Returns whether there were processes of the role when this one started."""
        return bool(self.predecessors)

    def list_descriptors(self) -> list[int]:
        """Returns the descriptors that the process must inherit."""
        own = [descriptor for descriptor in (self.drain_reader, self.drained_writer) if descriptor is not None]
        return own + [descriptor for each in self.predecessors for descriptor in (each.drain_writer, each.drained_reader)]

    def take_over(self) -> None:
        """Has the predecessors drain, and waits until they accept no more connections, at most ``PATIENCE_SECONDS``.

        Errors: SystemExit if this process is to drain already.
        """
        if self.drain_reader is not None and _find_readable([self.drain_reader], 0.0):
            raise SystemExit(0)
        for predecessor in self.predecessors:
            predecessor.request_drain()
        waiting = {predecessor.drained_reader: predecessor.pid for predecessor in self.predecessors}
        deadline = time.monotonic() + PATIENCE_SECONDS
        while waiting and (left := deadline - time.monotonic()) > 0:
            for descriptor in _find_readable(waiting, left):
                del waiting[descriptor]
        if waiting:
            log.warning("predecessors_still_accept", pids=sorted(waiting.values()), waited_seconds=PATIENCE_SECONDS)

    def report_drained(self) -> None:
        """Lets the successors begin. To be called once, when this process accepts no more connections."""
        if self.drained_writer is not None:
            os.write(self.drained_writer, b"d")


def _find_readable(descriptors: Sequence[int] | dict[int, int], timeout_seconds: float) -> list[int]:
    """Returns the descriptors with something to read, or whose other end is closed; waits for the first."""
    # Not ``select``, which refuses descriptors above 1023. ``poll`` always reports a closed other end as well.
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return [descriptor for descriptor, _ in poll.poll(timeout_seconds * 1000)]


@dataclass(slots=True)
class HandoverPipes:
    """The two pipes of a process, as the supervisor makes and holds them."""

    _drain: tuple[int, int] = field(default_factory=os.pipe)
    _drained: tuple[int, int] = field(default_factory=os.pipe)

    def __post_init__(self) -> None:
        # A predecessor that hangs reads nothing. A full pipe must not stop its successor as well.
        os.set_blocking(self._drain[1], False)

    def make_handover(self, predecessors: Sequence[Predecessor]) -> SocketHandover:
        """Returns what the process needs. The supervisor closes its own copy of these ends by ``close_ends_of_process``."""
        return SocketHandover(drain_reader=self._drain[0], drained_writer=self._drained[1], predecessors=predecessors)

    def make_predecessor(self, pid: int) -> Predecessor:
        """Returns what the successors of the process need."""
        return Predecessor(pid=pid, drain_writer=self._drain[1], drained_reader=self._drained[0])

    def close_ends_of_process(self) -> None:
        """Closes the ends that only the process may hold, after it was forked. Otherwise its death would not be noticed."""
        os.close(self._drain[0])
        os.close(self._drained[1])

    def close(self) -> None:
        """Closes the other ends, after the process has ended."""
        os.close(self._drain[1])
        os.close(self._drained[0])
