"""Builds the folders that are measured."""

import time
from pathlib import Path

from bench.groups import load
from bench.million.data import HOST, Shape, folder_acls, groups_feed, records
from bench.million.fill import fill
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record

ONE_PROCESS = {"FEEDMILL_SEARCH_PROCESSES": "1"}
"""The figures are those of one web process."""

SETTINGS = f"""
[signin.proxy]
trusted = ["127.0.0.0/8"]
[[frontends]]
name = "default_frontend"
facets = [{{name = "department", label = "Department", type = "string"}}]
[urls]
follow = ["{HOST}/"]
"""
AT_ONCE = 10_000
AHEAD = 4
PATIENCE_SECONDS = 7_200


def build(data: Path, shape: Shape, *, is_fed: bool = False) -> None:
    """Makes documents until the folder holds what it shall, by feeds or straight; goes on with a folder that was begun."""
    shape.keep(data)
    done, first = data.with_suffix(".fed"), data.with_suffix(".feed")
    with running(data, SETTINGS, ONE_PROCESS) as appliance:
        if not first.exists():
            wait(appliance, appliance.push(make_feed(*folder_acls()), "folders"))
            load(appliance, groups_feed(shape))
            feed = appliance.push(make_feed(make_record(f"{HOST}/first", "<p>first</p>")), "million")
            wait(appliance, feed)
            first.write_text(feed)
        if is_fed:
            feed_documents(appliance, shape, int(done.read_text()) if done.exists() else 0, done)
    if not is_fed:
        fill(data, shape, int(first.read_text()))


def feed_documents(appliance: Appliance, shape: Shape, fed: int, done: Path) -> None:
    """Pushes documents, a few feeds ahead of what is found, and prints how fast they become found."""
    began, first = time.monotonic(), fed
    ahead: list[tuple[str, int]] = []
    last_printed, printed_at = fed, began
    while ahead or first < shape.documents:
        while first < shape.documents and len(ahead) < AHEAD:
            last = min(first + AT_ONCE, shape.documents)
            ahead.append((appliance.push(make_feed(*records(shape, first, last)), "million"), last))
            first = last
        feed, fed = ahead.pop(0)
        wait(appliance, feed)
        done.write_text(str(fed))
        if fed - last_printed >= 100_000 or not ahead:
            now = time.monotonic()
            print(
                f"  {fed:,} found after {now - began:,.0f} s, the last at {(fed - last_printed) / (now - printed_at):,.0f} a second",
                flush=True,
            )
            last_printed, printed_at = fed, now


def wait(appliance: Appliance, feed: str) -> None:
    """Waits until all of a feed is found."""
    receipt = appliance.wait(feed, seconds=PATIENCE_SECONDS, pause_seconds=0.5)
    assert receipt["state"] == "completed", receipt
