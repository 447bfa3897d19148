import asyncio

from feedmill.http.common.searchadmission import Admission

NEVER = 180.0


def test_searches_beyond_the_admitted_ones_wait_in_order() -> None:
    async def act() -> list[str]:
        admission, begun = Admission(2, NEVER), list[str]()

        async def enter(name: str) -> object:
            turn = await admission.enter()
            begun.append(name)
            return turn

        first, second = await enter("first"), await enter("second")
        others = [asyncio.create_task(enter(name)) for name in ("third", "fourth", "fifth")]
        await asyncio.sleep(0)
        assert begun == ["first", "second"]
        admission.leave(first)
        third = await others[0]
        assert begun == ["first", "second", "third"]
        admission.leave(second)
        admission.leave(third)
        await asyncio.gather(*others[1:])
        return begun

    assert asyncio.run(act()) == ["first", "second", "third", "fourth", "fifth"]


def test_search_that_takes_long_holds_up_no_other() -> None:
    async def act() -> None:
        admission = Admission(1, 0.001)
        slow = [await admission.enter() for _ in range(3)]
        for turn in slow:
            admission.leave(turn)
        # nothing of those that ended is left
        await asyncio.wait_for(admission.enter(), NEVER)

    asyncio.run(act())


def test_cancelled_search_is_passed_over() -> None:
    async def act() -> None:
        admission = Admission(1, NEVER)
        first = await admission.enter()
        gone, waiting = asyncio.create_task(admission.enter()), asyncio.create_task(admission.enter())
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait([gone])
        admission.leave(first)
        admission.leave(await waiting)
        admission.leave(await admission.enter())

    asyncio.run(act())


def test_search_cancelled_while_it_is_admitted_makes_room_for_the_next() -> None:
    async def act() -> None:
        admission = Admission(1, NEVER)
        first = await admission.enter()
        gone, waiting = asyncio.create_task(admission.enter()), asyncio.create_task(admission.enter())
        await asyncio.sleep(0)
        admission.leave(first)
        gone.cancel()
        await asyncio.wait([gone])
        assert gone.cancelled()
        admission.leave(await waiting)

    asyncio.run(act())
