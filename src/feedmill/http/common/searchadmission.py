"""Admits searches to the threads of their process, few at a time.

One thread runs Python at a time. A search gives the lock of Python back at every call of the engine, of the store and of the file system.
If many searches are at work, each then waits behind all others: with 32 of them the processor changed between threads forty times a search.

A process that serves the port alone has two searches at work: the second one goes on while the first is in the engine, on another
processor. Of several processes each has one, since the others use the other processors.

A search that waits for another server, process or thread does not count (``services.waiting``). When it goes on, it counts again, but does
not wait for its turn a second time.

A search that is at work for longer than ``SHORT_SECONDS`` no longer counts either: it waits for a disk, or has much to do. So slow searches
hold up others for no longer than that. The time is as many times longer as searches were at work when this one began, because they share
the processor; otherwise many of them would be at work just because all are slow.
"""

import asyncio
from collections import deque
from typing import Final

ADMITTED_ALONE: Final = 2
ADMITTED_BESIDE: Final = 1
SHORT_SECONDS: Final = 0.01


class Turn:
    """The turn of one search. ``given`` is done when the search may begin."""

    def __init__(self, given: "asyncio.Future[None]") -> None:
        self.given = given
        self.is_over = False


class Admission:
    """Which searches of one event loop are at work. ``admitted`` of them count at a time; the others wait in order."""

    def __init__(self, admitted: int, short_seconds: float = SHORT_SECONDS) -> None:
        self._most = admitted
        self._short_seconds = short_seconds
        #: those at work, and until when each counts
        self._at_work: dict[Turn, float] = {}
        self._waiting: deque[Turn] = deque()
        self._later: asyncio.TimerHandle | None = None

    async def enter(self) -> Turn:
        """Waits until a search may begin. Returns what the other methods take."""
        loop = asyncio.get_running_loop()
        turn = Turn(loop.create_future())
        if not self._waiting and self._has_room(loop):
            self._count(turn, loop)
            return turn
        self._waiting.append(turn)
        self._look_later(loop)
        try:
            await turn.given
        except asyncio.CancelledError:
            # admitted in the moment in which its request was cancelled: the next one is
            if not turn.given.cancelled():
                self.leave(turn)
            raise
        return turn

    def leave(self, turn: Turn) -> None:
        """Ends a search."""
        turn.is_over = True
        self.pause(turn)

    def pause(self, turn: Turn) -> None:
        """Says that a search waits."""
        self._at_work.pop(turn, None)
        if self._waiting:
            self._admit_waiting()

    def resume(self, turn: Turn) -> None:
        """Says that a search goes on."""
        if not turn.is_over:
            self._count(turn, asyncio.get_running_loop())

    def _admit_waiting(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting and self._has_room(loop):
            turn = self._waiting.popleft()
            if not turn.given.done():
                self._count(turn, loop)
                turn.given.set_result(None)
        if self._waiting:
            self._look_later(loop)

    def _has_room(self, loop: asyncio.AbstractEventLoop) -> bool:
        if len(self._at_work) < self._most:
            return True
        now = loop.time()
        return sum(until > now for until in self._at_work.values()) < self._most

    def _count(self, turn: Turn, loop: asyncio.AbstractEventLoop) -> None:
        self._at_work[turn] = loop.time() + self._short_seconds * (len(self._at_work) + 1)

    def _look_later(self, loop: asyncio.AbstractEventLoop) -> None:
        """Admits the first that waits when one that works no longer counts, unless one ends or waits before."""
        if self._later is None:
            now = loop.time()
            # the last one may have stopped to count in this moment
            self._later = loop.call_at(min((until for until in self._at_work.values() if until > now), default=now), self._look)

    def _look(self) -> None:
        self._later = None
        self._admit_waiting()
