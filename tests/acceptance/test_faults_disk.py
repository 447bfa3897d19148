"""The disk is full: feeds are refused with the documented text, acknowledged ones wait for space, searches go on, nothing is corrupt."""

import os
import random
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from feedmill.runtime.roles import FEEDER, QUICK_FEEDER
from tests.acceptance.feedload import DISK_FULL, TROUBLE, Load, SourcePlan, list_feeds, post
from tests.acceptance.feedverdict import assert_as_reference, assert_nothing_left, read_applied, wait_until_applied
from tests.acceptance.smalldisk import SmallDisk, small_disk
from tests.appliance import Appliance, hanging, running
from tests.builders.feedxml import make_feed, make_record
from tests.waiting import wait_until

Answer = TypeVar("Answer")

RESERVE_BYTES = 64_000_000
FILLER = "<p>" + "all work and no play " * 450 + "</p>"
LARGE = 1_200
"""Records that are more than two slices."""


def page_feed(name: str, count: int) -> bytes:
    return make_feed(*(make_record(f"http://{name}.test/{place}", f"<p>{name}w{place}</p>{FILLER}") for place in range(count)))


def test_server_short_of_disk_space_refuses_with_the_documented_text_and_searches_on() -> None:
    with small_disk(200_000_000) as disk, running(disk.folder) as appliance:
        assert appliance.feed(page_feed("early", 5), "early")["state"] == "completed"
        stored = sorted(path.name for path in (disk.folder / "feeds").iterdir())
        disk.fill(leave_bytes=RESERVE_BYTES + 4_000_000)

        status, _, answer = post(appliance, "late", "full", page_feed("late", 3_000))
        assert (status, answer) == (200, DISK_FULL)
        assert list_feeds(appliance, "late") == []
        assert sorted(path.name for path in (disk.folder / "feeds").iterdir()) == stored
        assert appliance.feed(page_feed("brief", 1), "brief")["state"] == "completed"

        disk.fill()
        assert post(appliance, "late", "full", page_feed("late", 1))[::2] == (200, DISK_FULL)
        assert appliance.urls("earlyw3") == ["http://early.test/3"]

        for pids in appliance.role_pids().values():
            os.kill(min(pids), signal.SIGKILL)
        assert insist(lambda: appliance.urls("earlyw4")) == ["http://early.test/4"]
        assert insist(lambda: post(appliance, "late", "full", page_feed("late", 1)))[::2] == (200, DISK_FULL)

        disk.clear()
        assert appliance.feed(page_feed("late", 3), "late", "full")["state"] == "completed"
        assert appliance.urls("latew2") == ["http://late.test/2"]


def test_feeds_acknowledged_before_the_disk_is_full_finish_after_space_is_freed() -> None:
    with small_disk(400_000_000) as disk, running(disk.folder) as appliance:
        appliance.feed(page_feed("early", 20), "early")
        large = fill_within_a_feed(appliance, disk, LARGE)
        refusals = count_refusals(appliance)

        def has_tried_again() -> bool:
            disk.fill()
            assert appliance.urls("earlyw7") == ["http://early.test/7"]
            assert appliance.receipt(large)["state"] == "in progress"
            return count_refusals(appliance) > refusals

        wait_until(has_tried_again, "the feeder to try again")
        disk.clear()

        receipt = appliance.wait(large)
        assert (receipt["state"], receipt["included"], receipt["errors"]) == ("completed", LARGE, 0)
        assert appliance.search("site:large.test")["total"] == LARGE
        assert appliance.urls(f"largew{LARGE - 1}") == [f"http://large.test/{LARGE - 1}"]
        assert_nothing_left(appliance)


def test_large_record_needs_no_space_in_the_system_folder_of_temporary_files(tmp_path: Path) -> None:
    with (
        small_disk(90_000_000) as disk,
        running(tmp_path / "data", environment={"TMPDIR": str(disk.folder)}) as appliance,
    ):
        appliance.feed(page_feed("narrow", 1), "narrow")
        disk.fill()

        receipt = appliance.feed(make_feed(make_record("http://wide.test/", f"<p>wideword</p>{FILLER * 400}")), "wide")

        assert (receipt["state"], receipt["included"]) == ("completed", 1)
        assert appliance.urls("wideword") == ["http://wide.test/"]


def insist(ask: Callable[[], Answer]) -> Answer:
    """Asks until a server responds."""
    answers: list[Answer] = []

    def has_answered() -> bool:
        answers.append(ask())
        return True

    wait_until(has_answered, "an answer", bearing=TROUBLE)
    return answers[0]


def count_refusals(appliance: Appliance) -> int:
    """Returns how often a feeder met the full disk: at the bytes of a record, or already where it claims the feed in the store."""
    text = appliance.log.read_text()
    return text.count("would stay free") + text.count('"event": "feeder_waits"')


def fill_within_a_feed(appliance: Appliance, disk: SmallDisk, count: int) -> str:
    """Pushes a feed of more than one slice for which the disk has space for the first slice only, and returns its id."""
    with hanging(appliance, FEEDER.name, QUICK_FEEDER.name):
        feed = appliance.push(page_feed("large", count), "large", "full")
        disk.fill(leave_bytes=RESERVE_BYTES + 7_000_000)
    wait_until(partial(read_applied, appliance, feed), "the first records of a large feed")
    return feed


def test_server_whose_disk_fills_again_and_again_keeps_every_acknowledged_feed() -> None:
    plans = [
        SourcePlan(name="small", urls=30, steps=8),
        SourcePlan(name="medium", urls=150, steps=120, padding_bytes=1_000, open_feeds=3),
        SourcePlan(name="large", urls=500, steps=450, padding_bytes=12_000, open_feeds=1, full_share=0.7),
    ]
    dice = random.Random(7)
    with small_disk(400_000_000) as disk, running(disk.folder) as appliance:
        load = Load(plans, seed=20_263)
        load.start(appliance)
        try:
            for _ in range(3):
                time.sleep(dice.uniform(0.5, 2.0))
                keep_full(disk, dice.uniform(0.2, 2.0))
        finally:
            disk.clear()
            load.stop()
        wait_until_applied(appliance)
        assert_as_reference(appliance, load)


def keep_full(disk: SmallDisk, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        disk.fill()
        time.sleep(0.01)
    disk.clear()


def test_content_that_inflates_leaves_the_reserve_to_the_others() -> None:
    feed = make_feed(make_record("http://inflated.test/", b"blank " * 6_000_000, mimetype="text/plain", encoding="base64compressed"))
    settings = "[gate]\nmax_inflation = 2000\n"
    with small_disk(500_000_000) as disk, running(disk.folder, settings) as appliance:
        appliance.feed(page_feed("early", 5), "early")
        disk.fill(leave_bytes=RESERVE_BYTES + 8_000_000)
        pushed = appliance.push(feed, "inflated")
        wait_until(lambda: "would stay free" in appliance.log.read_text(), "the feeder to wait for space")
        # what was begun is given back, and the others never had less than the reserve
        wait_until(lambda: disk.free_bytes >= RESERVE_BYTES, lambda: f"space, and saw last {disk.free_bytes} bytes")
        assert appliance.receipt(pushed)["state"] not in {"completed", "completed with errors", "failed in error"}
        assert appliance.urls("earlyw3") == ["http://early.test/3"]
        disk.clear()
        receipt = appliance.wait(pushed)
        assert (receipt["state"], receipt["included"], receipt["errors"]) == ("completed", 1, 0)
