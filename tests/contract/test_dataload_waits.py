"""How long the reply to a dataload waits, and what ends the wait."""

import asyncio
import time
from pathlib import Path

from feedmill.core.urls.networks import parse_allowed
from feedmill.http.feeds.gateconfig import GateConfig
from tests.contract.dataloadharness import insert, open_dataload, results_of

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
