"""How long the reply to a dataload waits, and what ends the wait."""

import asyncio
import time
from collections import Counter
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from feedmill.core.urls.networks import parse_allowed
from feedmill.http.common.answers import STOP_EXTENSION
from feedmill.http.feeds.gateconfig import GateConfig
from feedmill.http.feeds.replywaits import StorePolling
from feedmill.model.feed import Feed
from feedmill.ports.store import UnitOfWork
from tests.asgi import Answer
from tests.contract.dataloadharness import DataloadHarness, insert, open_dataload, results_of
from tests.waiting import PATIENCE_SECONDS, wait_until

PROFILES = {"default": parse_allowed(("127.0.0.0/8",))}
REFRESH = "<Type>UI</Type>"


def test_long_reply_to_ui_waits_once_for_the_index(tmp_path: Path) -> None:
    config = GateConfig(profiles=PROFILES, searchable_seconds=1.0)
    with open_dataload(tmp_path, config=config, indexes=False) as harness:
        sent_at: list[float] = []

        items = [insert("a", "<Body>x</Body>"), *[REFRESH] * 8_000]
        answer = asyncio.run(harness.send(*items, on_send=lambda _message: sent_at.append(time.monotonic())))

        assert (len(results_of(answer)), len(sent_at) > 6) == (8_001, True)
        assert 1.0 <= sent_at[-1] - sent_at[0] < 4.0


async def end_after_stored(harness: DataloadHarness, sending: Coroutine[Any, Any, Answer], end: asyncio.Event) -> Answer:
    """Sends a dataload, ends its wait once its feed is stored, and returns the answer."""
    task = asyncio.create_task(sending)
    await asyncio.to_thread(wait_until, lambda: list_feeds(harness), "a stored feed")
    end.set()
    async with asyncio.timeout(PATIENCE_SECONDS):
        return await task


def list_feeds(harness: DataloadHarness) -> list[Feed]:
    with harness.context.store.reading() as unit:
        return list(unit.feeds.reader.list_newest("default", 10))


def test_disconnect_ends_the_wait(tmp_path: Path) -> None:
    with open_dataload(tmp_path, applies=False) as harness:

        async def disconnect() -> Answer:
            end = asyncio.Event()
            return await end_after_stored(harness, harness.send(insert("a"), disconnected=end), end)

        assert asyncio.run(disconnect()).status == 0
        assert len(list_feeds(harness)) == 1


def test_stop_of_the_server_answers_that_items_wait(tmp_path: Path) -> None:
    with open_dataload(tmp_path, applies=False) as harness:

        async def stop() -> Answer:
            end = asyncio.Event()
            return await end_after_stored(harness, harness.send(insert("a"), extensions={STOP_EXTENSION: {"wait": end.wait}}), end)

        answer = asyncio.run(stop())
        assert answer.status == 200
        assert results_of(answer) == [{"Type": "I", "Status": "FAIL", "Info": f"not applied yet, see feed {list_feeds(harness)[0].id}"}]


def test_waits_share_the_snapshots_of_the_store(tmp_path: Path) -> None:
    with open_dataload(tmp_path, applies=False) as harness, ThreadPoolExecutor(8) as workers:
        units: list[UnitOfWork] = []
        polled: Counter[int] = Counter()

        def poll(number: int, unit: UnitOfWork) -> bool:
            units.append(unit)
            polled[number] += 1
            return polled[number] == 3

        async def wait_for_all() -> None:
            polling = StorePolling(harness.context.store, workers)
            await asyncio.gather(*(polling.wait(partial(poll, number)) for number in range(50)))

        asyncio.run(wait_for_all())
        assert (polled.total(), len({id(unit) for unit in units})) == (150, 3)
