"""The memory for the bodies of the crawler."""

import asyncio

import pytest

from feedmill.model.errors import Busy
from feedmill.services.crawling.bodymemory import BodyMemory, Reservation


def test_reservations_stay_within_the_memory_and_are_granted_in_order() -> None:
    async def run() -> list[int]:
        memory, granted = BodyMemory(100), list[int]()

        async def fetch(number: int, size_bytes: int) -> None:
            reservation = Reservation(memory)
            await reservation.reserve(size_bytes)
            granted.append(number)
            assert memory.free_bytes >= 0
            await asyncio.sleep(0)
            reservation.shrink(0)

        # the large one is not overtaken for ever by small ones
        await asyncio.gather(*(fetch(number, 100 if number == 3 else 40) for number in range(10)))
        assert memory.free_bytes == 100
        return granted

    assert asyncio.run(run()) == list(range(10))


def test_body_larger_than_the_memory_is_read_alone() -> None:
    async def run() -> int:
        memory = BodyMemory(100)
        reservation = Reservation(memory)
        await reservation.reserve(1_000)
        await reservation.reserve(2_000)
        free_bytes = memory.free_bytes
        reservation.shrink(1_000)
        reservation.shrink(30)
        assert memory.free_bytes == 70
        reservation.shrink(0)
        assert memory.free_bytes == 100
        return free_bytes

    assert asyncio.run(run()) == 0


@pytest.mark.parametrize("is_cancelled", [True, False], ids=["cancelled", "out of time"])
def test_wait_that_ends_lets_the_others_go_on(is_cancelled: bool) -> None:
    async def run() -> None:
        memory = BodyMemory(100, wait_seconds=3_600 if is_cancelled else 0.01)
        await memory.take(50)
        large = asyncio.create_task(memory.take(80))
        await asyncio.sleep(0)
        if is_cancelled:
            small = asyncio.create_task(memory.take(50))
            await asyncio.sleep(0)
            large.cancel()
            await small
            with pytest.raises(asyncio.CancelledError):
                await large
        else:
            with pytest.raises(Busy, match="memory"):
                await large
            await memory.take(50)
        memory.give(100)
        assert memory.free_bytes == 100

    asyncio.run(run())


def test_cancelled_wait_gives_back_what_was_granted() -> None:
    async def run() -> None:
        memory = BodyMemory(100)
        await memory.take(100)
        waiting = asyncio.create_task(memory.take(100))
        await asyncio.sleep(0)
        memory.give(100)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert memory.free_bytes == 100

    asyncio.run(run())
