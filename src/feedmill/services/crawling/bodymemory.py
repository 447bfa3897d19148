"""Bounds the memory of the bodies that the crawler holds: those that are being fetched, and those that wait to be applied.

1. A fetch reserves the memory for its whole body at once, before it reads more than a small part of it. So no fetch waits for more while
   others wait for what it holds.
2. Reservations are granted in the order in which they were asked for.
3. After the fetch its reservation shrinks to the size of the body. It ends when the page was applied.
"""

import asyncio
from collections import deque
from typing import Final

from feedmill.model.errors import Busy

BODY_BYTES: Final = 128_000_000
"""The memory for bodies. One body may have all of it, and a larger one is read alone."""
MAX_WAIT_SECONDS: Final = 300.0
"""So that the lease of the URL still holds when its body is read."""


class BodyMemory:
    """The memory for the bodies of one event loop."""

    def __init__(self, total_bytes: int = BODY_BYTES, wait_seconds: float = MAX_WAIT_SECONDS) -> None:
        self.total_bytes = total_bytes
        self._free_bytes = total_bytes
        self._wait_seconds = wait_seconds
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    @property
    def free_bytes(self) -> int:
        """The memory that is not reserved."""
        return self._free_bytes

    async def take(self, size_bytes: int) -> None:
        """Waits for memory, and takes it. Errors: Busy."""
        if not self._waiting and size_bytes <= self._free_bytes:
            self._free_bytes -= size_bytes
            return
        granted = asyncio.get_running_loop().create_future()
        self._waiting.append((size_bytes, granted))
        try:
            async with asyncio.timeout(self._wait_seconds):
                await granted
        except BaseException as exc:
            if granted.done() and not granted.cancelled():
                self.give(size_bytes)
            else:
                self._waiting.remove((size_bytes, granted))
                self._grant()
            if isinstance(exc, TimeoutError):
                raise Busy("the bodies of other pages need all memory of the crawler") from exc
            raise

    def give(self, size_bytes: int) -> None:
        """Gives memory back."""
        self._free_bytes += size_bytes
        self._grant()

    def _grant(self) -> None:
        while self._waiting and self._waiting[0][0] <= self._free_bytes:
            size_bytes, granted = self._waiting.popleft()
            if not granted.done():
                self._free_bytes -= size_bytes
                granted.set_result(None)


class Reservation:
    """What one fetch has reserved."""

    def __init__(self, memory: BodyMemory) -> None:
        self._memory = memory
        self._size_bytes = 0

    async def reserve(self, size_bytes: int) -> None:
        """Reserves memory, unless it has been reserved before. Errors: Busy."""
        if not self._size_bytes:
            wanted = min(size_bytes, self._memory.total_bytes)
            await self._memory.take(wanted)
            self._size_bytes = wanted

    def shrink(self, size_bytes: int) -> None:
        """Gives back what is more than a size."""
        if size_bytes < self._size_bytes:
            self._memory.give(self._size_bytes - size_bytes)
            self._size_bytes = size_bytes
