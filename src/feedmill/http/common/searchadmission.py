"""Admits searches to the threads of their process, few at a time.

One thread runs Python at a time. A search gives the lock of Python back at every call of the engine and of the store, and if many searches
are at work, it then waits behind all others: with 32 of them the processor changed between threads thirty times a search. With two at a
time it does so six times. The second one goes on while the first is in the engine.

A search that is at work for longer than ``SHORT_SECONDS`` mostly waits, for a disk, an engine thread or another server. It no longer
counts, so slow searches hold up others for no longer than that.
"""

import asyncio
from collections import deque
from typing import Final

ADMITTED: Final = 2
SHORT_SECONDS: Final = 0.02


class Admission:
    """Which searches of one event loop are at work. ``admitted`` of them count at a time; the others wait in order."""

    def __init__(self, admitted: int = ADMITTED, short_seconds: float = SHORT_SECONDS) -> None:
        self._most = admitted
        self._short_seconds = short_seconds
        #: until when each search counts, the first one to end first
        self._admitted: dict[object, float] = {}
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._later: asyncio.TimerHandle | None = None

    async def enter(self) -> object:
        """Waits until a search may begin. Returns what ``leave`` takes."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        if not self._waiting and self._has_room(loop):
            self._admit(turn, loop)
            return turn
        self._waiting.append(turn)
        self._look_later(loop)
        try:
            await turn
        except asyncio.CancelledError:
            # admitted in the moment in which its request was cancelled: the next one is
            if not turn.cancelled():
                self.leave(turn)
            raise
        return turn

    def leave(self, turn: object) -> None:
        """Ends a search."""
        self._admitted.pop(turn, None)
        if self._waiting:
            self._admit_waiting()

    def _admit_waiting(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting and self._has_room(loop):
            turn = self._waiting.popleft()
            if not turn.done():
                self._admit(turn, loop)
                turn.set_result(None)
        if self._waiting:
            self._look_later(loop)

    def _has_room(self, loop: asyncio.AbstractEventLoop) -> bool:
        if len(self._admitted) >= self._most:
            now = loop.time()
            self._admitted = {turn: until for turn, until in self._admitted.items() if until > now}
        return len(self._admitted) < self._most

    def _admit(self, turn: object, loop: asyncio.AbstractEventLoop) -> None:
        self._admitted[turn] = loop.time() + self._short_seconds

    def _look_later(self, loop: asyncio.AbstractEventLoop) -> None:
        """Admits the first that waits when the first that works no longer counts, unless it leaves before."""
        if self._later is None:
            self._later = loop.call_at(min(self._admitted.values()), self._look)

    def _look(self) -> None:
        self._later = None
        self._admit_waiting()
