"""The server is stopped while sources feed: it ends in order and soon, and the next start goes on where it was."""

import random
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.acceptance.feedload import Load, SourcePlan
from tests.acceptance.feedverdict import assert_as_reference, read_applied, wait_until_applied
from tests.appliance import Appliance, is_alive, running
from tests.builders.feedxml import make_feed, make_record
from tests.waiting import PATIENCE_SECONDS, wait_for, wait_until

STOP_SECONDS = 60.0
"""Roles that do not end are killed after ten seconds; the rest is for a machine that is busy."""

SOURCES = [
    SourcePlan(name="small", urls=30, steps=8),
    SourcePlan(name="medium", urls=150, steps=120, padding_bytes=1_000, open_feeds=3),
    SourcePlan(name="large", urls=500, steps=450, padding_bytes=12_000, open_feeds=1, full_share=0.7),
]


def test_server_stopped_and_started_under_load_loses_nothing(tmp_path: Path) -> None:
    stop_and_start(tmp_path / "data", times=2, seed=31)


@pytest.mark.slow
def test_server_stopped_and_started_forty_times_loses_nothing(tmp_path: Path) -> None:
    stop_and_start(tmp_path / "data", times=40, seed=32)


def stop_and_start(data: Path, *, times: int, seed: int) -> None:
    dice = random.Random(seed)
    taken: list[float] = []
    with running(data) as appliance:
        load = Load(SOURCES, seed)
        load.start(appliance)
        try:
            for _ in range(times):
                time.sleep(dice.uniform(0.2, 2.5))
                taken.append(stop_in_order(appliance))
                appliance.start()
        finally:
            load.stop()
        wait_until_applied(appliance)
        assert_as_reference(appliance, load)
    print(f"stops took {sorted(round(seconds, 2) for seconds in taken)} s")


def stop_in_order(appliance: Appliance, number: signal.Signals = signal.SIGTERM) -> float:
    """Stops the server, checks its promise, and returns how long it took. Units: seconds."""
    assert appliance.process is not None
    assert appliance.process.stdout is not None
    pids = [pid for found in appliance.role_pids().values() for pid in found]
    begun = time.monotonic()
    with appliance.process.stdout:
        appliance.process.send_signal(number)
        assert appliance.process.wait(PATIENCE_SECONDS) == 0
    taken = time.monotonic() - begun
    assert taken < STOP_SECONDS
    # a process that a role has started ends once the role has ended
    wait_for([], lambda: [pid for pid in pids if is_alive(pid)])
    return taken


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_stop_cuts_a_feed_short_that_goes_on_and_an_upload_that_was_never_acknowledged(tmp_path: Path, number: signal.Signals) -> None:
    with running(tmp_path / "data") as appliance:
        for count in (2_500, 10_000, 40_000):
            feed_id = stop_within_a_feed(appliance, number, count)
            was_cut = read_applied(appliance, feed_id) < count
            appliance.start()
            receipt = appliance.wait(feed_id)
            assert (receipt["state"], receipt["records"], receipt["included"], receipt["errors"]) == ("completed", count, count, 0)
            if was_cut:  # else the machine was through with it before it stopped
                break
        assert was_cut
        assert appliance.search("cutw0 OR cutw1200 OR cutw2499")["total"] == 3
        sources = appliance.get_json(appliance.gate, "/api/v1/datasources")
        assert {source["name"]: source["documents"] for source in sources} == {"cut": count}


def stop_within_a_feed(appliance: Appliance, number: signal.Signals, count: int) -> str:
    """Stops the server once some of a feed is applied and some of another one has come, and returns the first one's id."""
    # bytes that the feeder stores and nothing has to index
    filler = "<!--" + "all work and no play " * 400 + "-->"
    feed = make_feed(*(make_record(f"http://cut.test/{place}", f"<p>cutw{place}</p>{filler}") for place in range(count)))
    feed_id = appliance.push(feed, "cut", "full")
    with begin_upload(appliance) as sender:
        wait_until(lambda: read_applied(appliance, feed_id), "the first records of a feed")
        applied = read_applied(appliance, feed_id)
        stop_in_order(appliance, number)
        with suppress(OSError):
            assert b"Success" not in sender.recv(1000)
    assert applied <= read_applied(appliance, feed_id)
    return feed_id


def begin_upload(appliance: Appliance) -> socket.socket:
    """Sends the first two of nine megabytes."""
    sender = socket.create_connection(("127.0.0.1", appliance.gate), timeout=30)
    head = "POST /xmlfeed HTTP/1.1\r\nHost: gsa\r\nContent-Type: multipart/form-data; boundary=<<\r\nContent-Length: 9000000"
    sender.sendall(head.encode() + b'\r\n\r\n--<<\r\nContent-Disposition: form-data; name="datasource"\r\n\r\nhalf\r\n')
    sender.sendall(b'--<<\r\nContent-Disposition: form-data; name="data"\r\n\r\n<gsafeed>' + b" " * 2_000_000)
    return sender
