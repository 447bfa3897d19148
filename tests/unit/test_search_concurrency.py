import asyncio

from starlette.requests import Request

from feedmill.core.urls.networks import Networks
from feedmill.http.common.clientaddress import Clients
from feedmill.http.common.searchconcurrency import WAITING, Owner, SearchSlots
from feedmill.ports.counts import LocalPlaces

ANN = Owner("ann", 2)


def request_from(address: str) -> Request:
    return Request({"type": "http", "client": (address, 1), "headers": []})


def test_places_are_given_up_to_the_bound_and_in_order() -> None:
    async def act() -> list[str]:
        slots, entered = SearchSlots(2, Clients(), LocalPlaces()), list[str]()

        async def enter(name: str) -> None:
            assert await slots.enter(ANN, 180)
            entered.append(name)

        await enter("first")
        await enter("second")
        others = [asyncio.create_task(enter(name)) for name in ("third", "fourth")]
        await asyncio.sleep(0)
        assert entered == ["first", "second"]
        slots.leave(ANN)
        await others[0]
        slots.leave(ANN)
        await others[1]
        for _ in range(2):
            slots.leave(ANN)
        assert slots.count() == 0
        return entered

    assert asyncio.run(act()) == ["first", "second", "third", "fourth"]


def test_who_waits_too_long_or_behind_too_many_gets_none() -> None:
    async def act() -> None:
        slots = SearchSlots(2, Clients(), LocalPlaces())
        assert [await slots.enter(ANN, 180) for _ in range(2)] == [True, True]
        assert not await slots.enter(ANN, 0.001)
        waiting = [asyncio.create_task(slots.enter(ANN, 180)) for _ in range(WAITING * 2)]
        await asyncio.sleep(0)
        assert not await slots.enter(ANN, 180)
        assert await slots.enter(Owner("bob", 2), 180)
        for task in waiting[1:]:
            task.cancel()
        await asyncio.wait(waiting[1:])
        slots.leave(ANN)
        assert await waiting[0]
        for _ in range(2):
            slots.leave(ANN)
        slots.leave(Owner("bob", 2))
        assert slots.count() == 0

    asyncio.run(act())


def test_clients_are_counted_by_address_and_networks_of_ipv6() -> None:
    shared = Networks.parse(["10.9.0.0/16"])
    slots = SearchSlots(3, Clients(shared=shared), LocalPlaces())
    assert slots.find_owner(request_from("192.0.2.7")) == Owner("192.0.2.7", 3)
    assert slots.find_owner(request_from("::ffff:192.0.2.7")) == Owner("192.0.2.7", 3)
    assert slots.find_owner(request_from("2001:db8::1")) == slots.find_owner(request_from("2001:db8::2"))
    assert slots.find_owner(request_from("2001:db8::1")) != slots.find_owner(request_from("2001:db8:0:1::1"))
    assert slots.find_owner(request_from("10.9.1.1")) == Owner("10.9.1.1", 12)
    assert slots.find_owner(request_from("nowhere")) == Owner("nowhere", 3)


def test_process_beyond_its_even_share_frees_a_place_for_another_that_waits() -> None:
    async def act() -> None:
        places = LocalPlaces()
        first, second = (SearchSlots(2, Clients(), places, processes=2) for _ in range(2))
        assert [await first.enter(ANN, 180) for _ in range(2)] == [True, True]
        waiting = [asyncio.create_task(slots.enter(ANN, 180)) for slots in (second, first)]
        await asyncio.sleep(0)
        first.leave(ANN)  # one of both gets it, and the next one goes to the other
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        first.leave(ANN)
        assert [await task for task in waiting] == [True, True]
        for slots in (first, second):
            slots.leave(ANN)
        assert (first.count(), second.count()) == (0, 0)
        assert [places.take(ANN.name, 2) for _ in range(3)] == [True, True, False]

    asyncio.run(act())


def test_process_within_its_even_share_passes_its_place_on() -> None:
    async def act() -> None:
        places = LocalPlaces()
        slots = SearchSlots(2, Clients(), places, processes=2)
        assert places.take(ANN.name, 2)  # by another process
        assert await slots.enter(ANN, 180)
        waiting = asyncio.create_task(slots.enter(ANN, 180))
        await asyncio.sleep(0)
        slots.leave(ANN)
        assert not places.take(ANN.name, 2)
        assert await waiting
        slots.leave(ANN)
        assert (slots.count(), places.take(ANN.name, 2)) == (0, True)

    asyncio.run(act())
