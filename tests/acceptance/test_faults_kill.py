"""Processes are killed while sources feed: what was acknowledged ends as a reference says, once, and nothing else does."""

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.acceptance.feedload import TROUBLE, Load, SourcePlan
from tests.acceptance.feedverdict import assert_as_reference, wait_until_applied
from tests.acceptance.killing import Killer
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record

SOURCES = [
    SourcePlan(name="once", urls=1_000_000, steps=6, full_share=0.0),
    SourcePlan(name="small", urls=30, steps=8),
    SourcePlan(name="deletes", urls=60, steps=30, full_share=0.5),
    SourcePlan(name="medium", urls=150, steps=120, padding_bytes=1_000, open_feeds=3),
    SourcePlan(name="large", urls=700, steps=640, padding_bytes=13_000, open_feeds=1, full_share=0.7),
]


@pytest.mark.parametrize("kills", [4, pytest.param(9, marks=pytest.mark.thorough)])
def test_server_killed_anywhere_keeps_every_acknowledged_feed(tmp_path: Path, kills: int) -> None:
    run_through_kills(tmp_path / "data", kills=kills, seed=20_261, pause_seconds=0.5)


@pytest.mark.slow
def test_server_killed_while_it_starts_starts_the_next_time(tmp_path: Path) -> None:
    """The first start makes the store, so that it is killed in the middle of that too."""
    appliance = Appliance(tmp_path / "data")
    for seconds in (0.9, 1.5, 2.5):
        killer = threading.Thread(target=kill_soon, args=(appliance, appliance.process, seconds))
        killer.start()
        with suppress(AssertionError):
            appliance.start()
        killer.join()
        appliance.kill()
    try:
        appliance.start()
        receipt = appliance.feed(make_feed(make_record("http://start.test/", "<p>startword</p>")))
        assert (receipt["id"], receipt["state"]) == ("1", "completed")
        assert appliance.urls("startword") == ["http://start.test/"]
    finally:
        assert appliance.stop() == 0


def kill_soon(appliance: Appliance, earlier: object, seconds: float) -> None:
    """Kills the parent a while after it was started."""
    while appliance.process is None or appliance.process is earlier:
        time.sleep(0.01)
    time.sleep(seconds)
    appliance.process.kill()


@pytest.mark.slow
def test_server_killed_a_hundred_times_keeps_every_acknowledged_feed(tmp_path: Path) -> None:
    done = run_through_kills(tmp_path / "data", kills=110, seed=20_262, pause_seconds=2.0)

    hit = {moment for victim, moment in done}
    assert hit >= {"receive", "large scan", "large apply", "large sweep", "small apply", "extract", "index", "rebuild"}


def run_through_kills(data: Path, *, kills: int, seed: int, pause_seconds: float) -> dict[tuple[str, str], int]:
    dice = random.Random(seed)
    with running(data) as appliance, searching(appliance):
        load = Load(SOURCES, seed)
        load.start(appliance)
        killer = Killer(appliance, load, seed)
        try:
            for victim in killer.schedule(kills):
                time.sleep(dice.uniform(0, pause_seconds))
                killer.kill(victim)
        finally:
            load.stop()
        wait_until_applied(appliance)
        assert_as_reference(appliance, load)
        print({f"{victim} at {moment}": count for (victim, moment), count in sorted(killer.done.items())})
        print({feeder.plan.name: (len(feeder.acknowledged), feeder.retries) for feeder in load.feeders})
        appliance.kill()
        appliance.start()
        assert_as_reference(appliance, load)
    return dict(killer.done)


@contextmanager
def searching(appliance: Appliance) -> Iterator[None]:
    """Searches all the time: a search may find no listener while a process is started again, but no answer is an error."""
    stopping = threading.Event()
    wrong: list[tuple[int, bytes]] = []

    def search() -> None:
        while not stopping.wait(0.05):
            try:
                status, _, body = appliance.request("GET", appliance.search_port, "/api/v1/search?q=more")
            except TROUBLE:
                continue
            if status != 200:
                wrong.append((status, body))

    thread = threading.Thread(target=search)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()
    assert wrong == []
