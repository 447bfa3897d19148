import asyncio

from starlette.requests import Request

from feedmill.core.urls.networks import Networks
from feedmill.http.common.clientaddress import Clients
from feedmill.http.common.searchconcurrency import WAITING, Owner, SearchSlots

ANN = Owner("ann", 2)


def request_from(address: str) -> Request:
    return Request({"type": "http", "client": (address, 1), "headers": []})


def test_places_are_given_up_to_the_bound_and_in_order() -> None:
    async def act() -> list[str]:
        slots, entered = SearchSlots(2, Clients()), list[str]()

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
        slots = SearchSlots(2, Clients())
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
    slots = SearchSlots(3, Clients(shared=shared))
    assert slots.find_owner(request_from("192.0.2.7")) == Owner("192.0.2.7", 3)
    assert slots.find_owner(request_from("::ffff:192.0.2.7")) == Owner("192.0.2.7", 3)
    assert slots.find_owner(request_from("2001:db8::1")) == slots.find_owner(request_from("2001:db8::2"))
    assert slots.find_owner(request_from("2001:db8::1")) != slots.find_owner(request_from("2001:db8:0:1::1"))
    assert slots.find_owner(request_from("10.9.1.1")) == Owner("10.9.1.1", 12)
    assert slots.find_owner(request_from("nowhere")) == Owner("nowhere", 3)
