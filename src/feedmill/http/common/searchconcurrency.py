"""Limits how many searches of one client run at once, so that one client cannot take the server from others.

Further searches of the client wait in order, for at most half of the deadline. Beyond ``WAITING`` times the bound they are
refused at once. A search occupies its slot until no thread works for it, which may be after its response.

All processes of the port count together (``ports.counts.SearchPlaces``). Within its even share of the slots, a process passes a slot on to
its own next search without freeing it. Slots beyond that become free for all processes, each of which looks for one every
``LOOK_SECONDS`` while a search of the client waits there.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from starlette.requests import Request

from feedmill.core.urls.networks import name_network
from feedmill.http.common.clientaddress import Clients
from feedmill.http.common.currentuser import find_current_user
from feedmill.ports.counts import SearchPlaces

WAITING: Final = 4
MANY: Final = 4
"""The bound of a peer that stands for many people, as a multiple of the usual bound."""
LOOK_SECONDS: Final = 0.01


@dataclass(frozen=True, slots=True)
class Owner:
    """The client whose searches are counted together, and how many of them may run at once."""

    name: str
    at_once: int


@dataclass(slots=True)
class _OwnerSearches:
    """The searches of one owner: the number that run, and the queue that waits."""

    running: int = 0
    waiting: "deque[asyncio.Future[None]]" = field(default_factory=deque)
    is_looking: bool = False


class SearchSlots:
    """The slots of all clients. For one event loop: its other threads may call only ``leave``, through the loop."""

    def __init__(self, at_once: int, clients: Clients, places: SearchPlaces, processes: int = 1) -> None:
        self._at_once = at_once
        self._clients = clients
        self._places = places
        self._processes = processes
        self._searches: dict[str, _OwnerSearches] = {}

    def find_owner(self, request: Request) -> Owner:
        """Returns the owner of a search: the signed-in user, otherwise the address, of which IPv6 counts the /64 network."""
        users = find_current_user(request).identity.users
        if users:
            return Owner("user " + "|".join(f"{user.namespace}\\{user.name}" for user in users), self._at_once)
        client = self._clients.find_client(request.scope)
        return Owner(name_network(client.address), self._at_once * (MANY if client.is_shared else 1))

    async def enter(self, owner: Owner, seconds: float) -> bool:
        """Waits for a slot for at most this time. Returns whether there was one."""
        searches = self._searches.setdefault(owner.name, _OwnerSearches())
        if not searches.waiting and self._take(owner, searches):
            return True
        if len(searches.waiting) >= WAITING * owner.at_once:
            return False
        turn = asyncio.get_running_loop().create_future()
        searches.waiting.append(turn)
        self._look_later(owner, searches)
        try:
            await asyncio.wait((turn,), timeout=seconds)
            return turn.done()
        except asyncio.CancelledError:
            # The slot was given in the moment in which the request was cancelled: it is passed on.
            if turn.done():
                self.leave(owner)
            raise
        finally:
            if turn in searches.waiting:
                searches.waiting.remove(turn)
            self._forget(owner, searches)

    def _look_later(self, owner: Owner, searches: _OwnerSearches) -> None:
        if not searches.is_looking:
            searches.is_looking = True
            asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look, owner, searches)

    def _look(self, owner: Owner, searches: _OwnerSearches) -> None:
        """Gives the searches that wait the slots that other processes have freed."""
        searches.is_looking = False
        while searches.waiting and (searches.waiting[0].done() or self._take(owner, searches)):
            turn = searches.waiting.popleft()
            if not turn.done():
                turn.set_result(None)
        if searches.waiting:
            self._look_later(owner, searches)

    def leave(self, owner: Owner) -> None:
        """Frees a slot, or passes it to the search that waits longest."""
        searches = self._searches[owner.name]
        while searches.waiting and searches.running <= owner.at_once // self._processes:
            turn = searches.waiting.popleft()
            if not turn.done():
                # ``running`` stays: the slot changes hands without becoming free.
                turn.set_result(None)
                return
        searches.running -= 1
        self._places.give_back(owner.name)
        self._forget(owner, searches)

    def _take(self, owner: Owner, searches: _OwnerSearches) -> bool:
        is_taken = self._places.take(owner.name, owner.at_once)
        searches.running += is_taken
        return is_taken

    def _forget(self, owner: Owner, searches: _OwnerSearches) -> None:
        if not searches.running and not searches.waiting:
            self._searches.pop(owner.name, None)

    def count(self) -> int:
        """Returns the number of clients that have searches at work."""
        return len(self._searches)
