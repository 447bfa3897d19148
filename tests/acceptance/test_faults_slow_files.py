"""Files that never end keep all extractors busy: small changes of other sources are searchable within seconds all the same."""

import statistics
import time
from pathlib import Path

from tests.acceptance.hostile import endless_pdf
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record

LARGE_FEED_RECORDS = 250
"""More than a feed may have that counts as small."""


def endless_feed(name: str, count: int) -> bytes:
    pdf = endless_pdf()
    return make_feed(*(make_record(f"http://{name}.test/{place}", pdf, mimetype="application/pdf") for place in range(count)))


def measure_small_changes(appliance: Appliance, name: str, count: int) -> list[float]:
    """Feeds one record after the other and returns how long each took to be found. Units: seconds."""
    taken = []
    for place in range(count):
        word = f"{name}word{place}"
        begun = time.monotonic()
        receipt = appliance.feed(make_feed(make_record(f"http://{name}.test/{place}", f"<p>{word}</p>")), name)
        assert receipt["state"] == "completed"
        assert appliance.urls(word) == [f"http://{name}.test/{place}"]
        taken.append(time.monotonic() - begun)
    return taken


def test_small_changes_are_found_within_seconds_while_extractors_hang(tmp_path: Path) -> None:
    with running(tmp_path / "data", environment={"FEEDMILL_EXTRACTION_SECONDS": "120"}) as appliance:
        measure_small_changes(appliance, "calm", 2)
        appliance.push(endless_feed("slowmany", LARGE_FEED_RECORDS), "slowmany")
        appliance.push(endless_feed("slowfew", 60), "slowfew")
        appliance.push(endless_feed("slowsome", 20), "slowsome", "full")
        time.sleep(1)

        taken = measure_small_changes(appliance, "good", 10)

        print(f"small changes took {sorted(round(seconds, 2) for seconds in taken)} s")
        # who waits behind any of these files waits for minutes, who does not for as long as a busy machine takes
        assert max(taken) < 60
        assert statistics.median(taken) < 20
        assert appliance.stop() == 0
