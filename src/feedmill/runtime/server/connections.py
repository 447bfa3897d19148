"""Slots for connections: how many a port serves at once, in all and of one client, and which one is closed if a new one needs its slot.

Rules:

- Each client has a share of the slots. A client is an IPv4 address or an IPv6 network of 64 bits; ``ShareOf`` may join several.
- A connection waits while it has no request that is being handled: before its first request, within a head, between two requests.
- If a share is full, its connection that has waited longest is closed, and the new one gets the slot. A client that sends requests is thus
  served, however many half-open connections it has. If none waits, the new connection is closed at once.
- If all slots are occupied, the same rule holds for the connections of all clients.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Final, Protocol

from feedmill.core.urls.networks import Networks

NO_NETWORKS: Final = Networks()

# A subscriber chooses the other 64 bits of its addresses at will (RFC 4291, 2.5.1), so a limit for each address limits no one.
_CLIENT_BITS: Final = 64


class Occupant(Protocol):
    """A connection that occupies a slot."""

    def evict(self) -> None:
        """Closes the connection at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotQuota:
    """The slots that one client, or several together, may occupy."""

    name: str
    most: int


ShareOf = Callable[[str], SlotQuota]
"""Returns the share of a peer's address."""


def share_by_client(most: int, *, proxies: Networks = NO_NETWORKS, most_of_proxy: int = 0) -> ShareOf:
    """Returns a function for the slots of a client: ``most``, or ``most_of_proxy`` for a proxy."""
    return lambda address: SlotQuota(name=client_of(address), most=most_of_proxy if proxies.covers(address) else most)


def share_by_trust(most: int, trusted: Networks, strangers: SlotQuota) -> ShareOf:
    """Returns a function for the slots of a client: ``most`` for each trusted one, and as many for all others together."""
    return lambda address: SlotQuota(name=client_of(address), most=most) if trusted.covers(address) else strangers


def client_of(address: str) -> str:
    """Returns the name of a client: its IPv4 address, or the network of its IPv6 address."""
    try:
        # Without the zone of a link-local address, such as ``fe80::1%eth0``.
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    # An IPv4 client of a socket for both has an address such as ``::ffff:192.0.2.1``.
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped or IPv6Network((int(parsed) >> _CLIENT_BITS << _CLIENT_BITS, _CLIENT_BITS)))
    return address


class ConnectionSlots:
    """The slots of a port with their connections."""

    def __init__(self, most: int, share_of: ShareOf, on_change: Callable[[int], None] = lambda _: None) -> None:
        """``on_change`` receives 1 for a slot that is occupied from now on, and -1 for one that is free again."""
        self._most = most
        self._on_change = on_change
        self._share_of = share_of
        self._shares: dict[Occupant, str] = {}
        self._counts: dict[str, int] = {}
        # dictionaries preserve order: the first entry has waited longest
        self._waiting: dict[Occupant, None] = {}
        self._waiting_of: dict[str, dict[Occupant, None]] = {}

    def __iter__(self) -> Iterator[Occupant]:
        """Iterates over a copy, so that connections may end meanwhile."""
        return iter(list(self._shares))

    def __len__(self) -> int:
        return len(self._shares)

    def acquire(self, occupant: Occupant, address: str) -> bool:
        """Returns whether there is a slot for a connection. The connection then waits."""
        share = self._share_of(address)
        # The share first: a client whose share is full gives up a connection of its own, never one of another client.
        if self._counts.get(share.name, 0) >= share.most and not self._evict_first(self._waiting_of.get(share.name, {})):
            return False
        if len(self._shares) >= self._most and not self._evict_first(self._waiting):
            return False
        self._shares[occupant] = share.name
        self._counts[share.name] = self._counts.get(share.name, 0) + 1
        self._on_change(1)
        self.note_waiting(occupant)
        return True

    def release(self, occupant: Occupant) -> None:
        """Releases the slot of a connection, if it has one."""
        name = self._shares.pop(occupant, None)
        if name is None:
            return
        self._on_change(-1)
        self._drop_waiting(occupant, name)
        self._counts[name] -= 1
        if not self._counts[name]:
            del self._counts[name]

    def note_waiting(self, occupant: Occupant) -> None:
        """Notes that a connection waits."""
        name = self._shares.get(occupant)
        if name is not None:
            self._drop_waiting(occupant, name)
            # It was removed before, because a dictionary leaves a key that it has at its earlier place.
            self._waiting[occupant] = None
            self._waiting_of.setdefault(name, {})[occupant] = None

    def note_working(self, occupant: Occupant) -> None:
        """Notes that a request of a connection is being handled."""
        name = self._shares.get(occupant)
        if name is not None:
            self._drop_waiting(occupant, name)

    def _evict_first(self, waiting: dict[Occupant, None]) -> bool:
        occupant = next(iter(waiting), None)
        if occupant is None:
            return False
        # Now, not when the transport reports its end later. The release at that time finds nothing to do.
        self.release(occupant)
        occupant.evict()
        return True

    def _drop_waiting(self, occupant: Occupant, name: str) -> None:
        self._waiting.pop(occupant, None)
        of_share = self._waiting_of.get(name)
        if of_share is not None:
            of_share.pop(occupant, None)
            # There may be as many shares as there are addresses, so empty ones must not stay.
            if not of_share:
                del self._waiting_of[name]
