"""A worker that hangs is found by the other processes: /readyz, status, metrics and all waiting commands name its queue."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from feedmill.model.feed import FeedState
from feedmill_client import Client, Stuck
from tests.acceptance.promises import run_command, run_json
from tests.appliance import Appliance, hanging, running
from tests.builders.feedxml import make_feed, make_record
from tests.waiting import wait_until

QUICK = "feeder-quick"
STUCK = {"indexer": "index", "extractor": "extract", QUICK: "feeds-quick"}
SETTINGS = "[limits]\nstuck_seconds = 3\n"


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    with running(tmp_path_factory.mktemp("stuck") / "data", SETTINGS) as appliance:
        # the first document pays for the start of the workers
        appliance.feed(make_feed(make_record("http://stuck.example.com/first", "first words")), "first")
        yield appliance


def readiness(appliance: Appliance) -> list[tuple[int, bytes]]:
    answers = [
        appliance.request("GET", port, "/readyz") for port in (appliance.gate, appliance.dtd, appliance.search_port, appliance.admin)
    ]
    return [(status, body) for status, _, body in answers]


def is_ready(appliance: Appliance) -> bool:
    return all(status == 200 for status, _ in readiness(appliance))


@pytest.mark.parametrize("role", [QUICK, *(pytest.param(role, marks=pytest.mark.thorough) for role in STUCK if role != QUICK)])
def test_queue_of_a_process_that_hangs_is_reported_everywhere(watched: Appliance, role: str, tmp_path: Path) -> None:
    wait_until(lambda: is_ready(watched), "readiness")
    queue, url = STUCK[role], f"http://stuck.example.com/{role}"
    file = tmp_path / "feed.xml"
    file.write_bytes(make_feed(make_record(url, f"stuckword {role}")))
    with hanging(watched, role):
        feed = watched.push(file.read_bytes(), "stuck")
        wait_until(
            lambda: (watched.receipt(feed)["stuck"] or {}).get("queue") == queue, lambda: f"{queue}, and saw {watched.receipt(feed)}"
        )
        assert watched.receipt(feed)["stuck"]["reason"]
        options = ("--datasource", "stuck", "--feedtype", "incremental", "--wait", "--url", f"http://127.0.0.1:{watched.gate}")
        code, receipt = run_json("push", file, *options)
        assert (code, receipt["stuck"]["queue"]) == (1, queue)
        code, _, err = run_command("push", file, *options)
        assert (code, f"queue {queue}, which has not moved since" in err) == (1, True), err
        client = Client(search=f"http://127.0.0.1:{watched.search_port}", feeds=f"http://127.0.0.1:{watched.gate}")
        with pytest.raises(Stuck, match=queue):
            client.wait(feed)
        # a process may be unavailable for a moment for another reason
        wait_until(
            lambda: all(status == 503 and queue.encode() in body for status, body in readiness(watched)),
            lambda: f"503 because of {queue}, and saw {readiness(watched)}",
        )
        assert all(url.encode() not in body for _, body in readiness(watched))
        code, output = run_json("status", "--data", watched.data)
        (shown,) = (each for each in output["queues"] if each["name"] == queue)
        assert (code, shown["stuck"], shown["waiting"] >= 1, shown["oldest_seconds"] >= 3) == (0, True, True, True), shown
        assert shown["document"] == url or queue == "feeds-quick"
        token = (watched.data / "admin.token").read_text().strip()
        _, _, body = watched.request("GET", watched.admin, "/api/v1/status", headers={"Authorization": f"Bearer {token}"})
        assert [each["stuck"] for each in json.loads(body)["queues"] if each["name"] == queue] == [True]
        code, out, _ = run_command("status", "--data", watched.data)
        assert (code, f"queue {queue} has not moved since" in out) == (0, True), out
        _, _, metrics = watched.request("GET", watched.gate, "/metrics")
        found = re.search(rf'feedmill_oldest_waiting_seconds{{queue="{queue}"}} ([0-9.]+)', metrics.decode())
        assert found is not None
        assert float(found[1]) >= 3
    wait_until(lambda: is_ready(watched), lambda: f"readiness, and saw {readiness(watched)}")
    done = watched.wait(receipt["id"])
    assert (done["state"], done["stuck"]) == (FeedState.COMPLETED.value, None)
