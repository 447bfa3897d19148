"""How many connections each process of a role has, in memory that these processes share.

The kernel wakes every process that waits at a listening socket, and whichever comes first accepts. A process that is idle for a moment
would take all connections of a burst, and with them the work of their next requests. So a process that has more connections than another
leaves the next one to the others for a moment (``server.accepting``).

Each process writes its own entry only, so no lock is needed. A process that was killed leaves its entry behind, and its successor begins
again at 0.
"""

import mmap
from typing import Final

MAX_PROCESSES: Final = 256

_ENTRY_BYTES: Final = 4
_NOT_SERVING: Final = -1


class ConnectionBoard:
    """The entries of all processes of one role. To be made before they are forked."""

    def __init__(self) -> None:
        self.entries = memoryview(mmap.mmap(-1, MAX_PROCESSES * _ENTRY_BYTES)).cast("i")
        for number in range(MAX_PROCESSES):
            self.entries[number] = _NOT_SERVING

    def are_serving(self, processes: int) -> bool:
        """Returns whether each of so many processes accepts connections."""
        return _NOT_SERVING not in self.entries[:processes].tolist()


class ConnectionCount:
    """The entry of one process."""

    def __init__(self, board: ConnectionBoard, *, number: int = 0, processes: int = 1) -> None:
        self._entries = board.entries[:processes]
        self._number = number
        self._is_serving = False

    def begin(self) -> None:
        """Says that this process accepts connections."""
        self._entries[self._number] = 0
        self._is_serving = True

    def leave(self) -> None:
        """Says that it accepts no more. From now on the entry is that of its successor."""
        self._entries[self._number] = _NOT_SERVING
        self._is_serving = False

    def add(self, connections: int) -> None:
        """Adds connections, or takes ended ones away."""
        if self._is_serving:
            self._entries[self._number] += connections

    def has_lighter_peer(self) -> bool:
        """Returns whether another process accepts connections and has fewer of them."""
        own = self._entries[self._number]
        return any(_NOT_SERVING < each < own for each in self._entries.tolist())
