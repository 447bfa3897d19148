"""What a document costs others whose step fails: the fault injector's table.

For each step, raising and killing its process: a feed of 200 documents, three of them marked, then one-record feeds of another data
source. Prints how many documents a search finds, how many the feed's receipt names, and how much longer the slowest later feed took than
in the row without a fault, which is measured in the same run and is the reference.

    python -m bench.faults [STEP=MODE ...]
"""

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record
from tests.faultsteps import BAD, COUNT, EXTRACTING, FEEDING, INDEXING, documents, url_of, word_of

FEED = "marked"
LATER = 8
PATIENCE_SECONDS = 120.0

RAISED_ONLY = ("result", "snippet", "title", "decision")
STEPS = (*FEEDING, *EXTRACTING, *INDEXING)


class Row(NamedTuple):
    """What came of one fault. Units: seconds; ``named`` counts marked documents that the receipt names."""

    found: int
    named: int
    slowest_seconds: float
    whole_seconds: float


def main(chosen: list[str] | None = None) -> None:
    """Prints a row for each fault."""
    faults = chosen or [*(f"{step}=raise" for step in (*STEPS, *RAISED_ONLY)), *(f"{step}=kill" for step in STEPS)]
    reference = measure("")
    print(f"  {'no fault':26} found {reference.found}, later feeds at most {reference.slowest_seconds:.2f} s")
    for fault in faults:
        row = measure(f"{fault}:/bad/")
        delay = row.slowest_seconds - reference.slowest_seconds
        print(
            f"  {fault:26} found {row.found}, named {row.named}, later feeds at most {row.slowest_seconds:.2f} s"
            f" ({delay:+.2f} s, {row.slowest_seconds / reference.slowest_seconds:.1f} times), all reported after {row.whole_seconds:.1f} s",
            flush=True,
        )


def measure(fault: str) -> Row:
    """Runs one fault on a server of its own; none for an empty text."""
    with TemporaryDirectory() as folder, running(Path(folder) / "data", environment={"FEEDMILL_FAULTS": fault}) as appliance:
        appliance.feed(make_feed(make_record("http://www.example.com/first", "<p>first</p>")), "later")
        begun = time.monotonic()
        feed = appliance.push(documents(FEED, has_title=False), "marked")
        slowest_seconds = max(time_later(appliance, number) for number in range(LATER))
        appliance.wait(feed, seconds=PATIENCE_SECONDS)
        deadline = time.monotonic() + 1.0
        while (named := count_named(appliance, feed)) < len(BAD) and time.monotonic() < deadline:
            time.sleep(0.05)
        whole_seconds = time.monotonic() - begun
        found = len(appliance.search(word_of(FEED), num=COUNT)["results"])
        return Row(found, named, slowest_seconds, whole_seconds)


def time_later(appliance: Appliance, number: int) -> float:
    """Feeds one record and returns the seconds until all of it can be found."""
    begun = time.monotonic()
    appliance.feed(make_feed(make_record(f"http://www.example.com/later/{number}", "<p>later</p>")), "later")
    return time.monotonic() - begun


def count_named(appliance: Appliance, feed: str) -> int:
    """Counts the marked documents that the receipt of their feed names."""
    return len({entry["url"] for entry in appliance.receipt(feed)["log"]} & {url_of(FEED, number) for number in BAD})


if __name__ == "__main__":
    main(sys.argv[1:])
