"""Which connection is closed when a port has no free place."""

from dataclasses import dataclass, field

import pytest

from feedmill.core.urls.networks import Networks
from feedmill.runtime.server.connections import ConnectionSlots, SlotQuota, client_of, share_by_client, share_by_trust


@dataclass(eq=False)
class Occupant:
    name: str
    evicted: list[str] = field(default_factory=list)

    def evict(self) -> None:
        self.evicted.append(self.name)


def fill(slots: ConnectionSlots, address: str, count: int, evicted: list[str], *, start: int = 0) -> list[Occupant]:
    occupants = [Occupant(f"{address}/{number}", evicted) for number in range(start, start + count)]
    assert all(slots.acquire(occupant, address) for occupant in occupants)
    return occupants


def test_longest_waiting_of_a_full_share_makes_way_for_the_next() -> None:
    slots, evicted = ConnectionSlots(100, share_by_client(3)), list[str]()
    fill(slots, "10.0.0.1", 5, evicted)
    fill(slots, "10.0.0.2", 1, evicted)
    assert evicted == ["10.0.0.1/0", "10.0.0.1/1"]
    assert len(slots) == 4


def test_connection_with_a_request_is_never_evicted() -> None:
    slots, evicted = ConnectionSlots(100, share_by_client(3)), list[str]()
    first, second, third = fill(slots, "10.0.0.1", 3, evicted)
    for occupant in (first, second, third):
        slots.note_working(occupant)
    assert not slots.acquire(Occupant("new", evicted), "10.0.0.1")
    slots.note_waiting(second)
    assert slots.acquire(Occupant("newer", evicted), "10.0.0.1")
    assert evicted == ["10.0.0.1/1"]


def test_who_begins_to_wait_again_stands_last() -> None:
    slots, evicted = ConnectionSlots(100, share_by_client(2)), list[str]()
    first, _ = fill(slots, "10.0.0.1", 2, evicted)
    slots.note_working(first)
    slots.note_waiting(first)
    fill(slots, "10.0.0.1", 1, evicted, start=2)
    assert evicted == ["10.0.0.1/1"]


def test_longest_waiting_of_all_makes_way_where_all_places_are_taken() -> None:
    slots, evicted = ConnectionSlots(4, share_by_client(3)), list[str]()
    fill(slots, "10.0.0.1", 3, evicted)
    fill(slots, "10.0.0.2", 3, evicted)
    assert evicted == ["10.0.0.1/0", "10.0.0.1/1"]
    assert len(slots) == 4


def test_place_that_was_left_is_free_and_may_be_left_twice() -> None:
    slots, evicted = ConnectionSlots(1, share_by_client(1)), list[str]()
    (only,) = fill(slots, "10.0.0.1", 1, evicted)
    slots.release(only)
    slots.release(only)
    slots.note_waiting(only)
    fill(slots, "10.0.0.1", 1, evicted, start=1)
    assert evicted == []
    assert len(slots) == 1


def test_strangers_share_their_places_and_take_none_of_the_trusted() -> None:
    slots, evicted = (
        ConnectionSlots(100, share_by_trust(2, Networks.parse(["10.0.0.0/8"]), SlotQuota(name="strangers", most=3))),
        list[str](),
    )
    fill(slots, "10.0.0.1", 2, evicted)
    for number in range(50):
        fill(slots, f"192.0.2.{number}", 1, evicted)
    assert len(slots) == 5
    assert not any(name.startswith("10.") for name in evicted)


def test_proxy_has_as_many_places_as_it_is_given() -> None:
    slots, evicted = ConnectionSlots(100, share_by_client(2, proxies=Networks.parse(["10.0.0.1"]), most_of_proxy=50)), list[str]()
    fill(slots, "10.0.0.1", 50, evicted)
    assert evicted == []


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:1", "2001:db8::/64"),
        ("2001:db8:0:1::1", "2001:db8:0:1::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_client_is_an_address_or_a_network_of_64_bits(address: str, client: str) -> None:
    assert client_of(address) == client
