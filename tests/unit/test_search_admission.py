import asyncio

from feedmill.http.common.searchadmission import Admission, Turn

NEVER = 180.0


def test_searches_beyond_the_admitted_ones_wait_in_order() -> None:
    async def act() -> list[str]:
        admission, begun = Admission(2, NEVER), list[str]()

        async def enter(name: str) -> Turn:
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


def test_search_that_waits_makes_room_and_counts_again_when_it_goes_on() -> None:
    async def act() -> None:
        admission = Admission(1, NEVER)
        first = await admission.enter()
        others = [asyncio.create_task(admission.enter()) for _ in range(2)]
        await asyncio.sleep(0)
        admission.pause(first)
        second = await others[0]
        admission.resume(first)
        admission.leave(second)
        await asyncio.sleep(0)
        assert not others[1].done()
        admission.leave(first)
        admission.leave(await others[1])

    asyncio.run(act())


def test_search_that_ended_while_it_waited_counts_no_more() -> None:
    async def act() -> None:
        admission = Admission(1, NEVER)
        first = await admission.enter()
        admission.pause(first)
        admission.leave(first)
        admission.resume(first)
        admission.leave(await admission.enter())

    asyncio.run(act())


def test_searches_that_are_slow_together_count_for_longer() -> None:
    async def act() -> list[float]:
        admission, loop = Admission(1, 0.001), asyncio.get_running_loop()
        begun: list[float] = []
        for _ in range(8):
            await admission.enter()
            begun.append(loop.time())
        return begun

    begun = asyncio.run(act())
    # each of them begins once the one before counts no longer: after 1 ms, 2 ms and so on
    assert begun[-1] - begun[0] > 0.001 * sum(range(1, 8)) - 1e-6
