"""For every step of indexing: 3 of 200 documents for which it raises, or kills its process, cost only themselves."""

import json
import random
import statistics
import string
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from feedmill.adapters.store.sqlite import open_sqlite
from feedmill.ports import Store
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record
from tests.faultsteps import BAD, EXTRACTING, INDEXING, documents, marker_of, source_of, url_of, word_of
from tests.waiting import wait_until

STEPS = (*EXTRACTING, *INDEXING)
NOT_FOUND = ("index.entry", "index.put")
"""Steps without which nothing of a document can be indexed; after the others it is found by what is left."""

OFTEN = ("extract.keep", "index.entry", "links.write")
"""Steps that every run breaks; ``contract/test_indexing_isolation.py`` breaks each of them without a server."""

FOUND_WHOLE = ("index.links", "links.read", "links.write")
"""Steps that only bring what links say."""


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    """Runs one server for all steps that raise: each step has a marker of its own."""
    faults = " ".join(f"{step}=raise:{marker_of(step)}" for step in STEPS)
    with running(tmp_path_factory.mktemp("faulty") / "data", environment={"FEEDMILL_FAULTS": faults}) as appliance:
        yield appliance


def count_found(appliance: Appliance, step: str) -> int:
    return int(appliance.search(word_of(step), num=1)["total"])


def check_bad_ones(appliance: Appliance, step: str, feed: str) -> None:
    """Checks that document, receipt and log name each bad document and the step."""

    def warnings() -> list[dict[str, Any]]:
        return [entry for entry in appliance.receipt(feed)["log"] if f"step {step} failed" in entry["reason"]]

    wait_until(lambda: len(warnings()) == len(BAD), lambda: f"three warnings: {appliance.receipt(feed)['log'][:5]}")
    assert {entry["url"] for entry in warnings()} == {url_of(step, number) for number in BAD}
    assert {entry["level"] for entry in warnings()} == {"warning"}
    for number in BAD:
        document = appliance.document(url_of(step, number))
        assert document is not None
        assert f"step {step} failed" in document["reason"]
        assert document["searchable"] is (step not in NOT_FOUND)
    assert appliance.log.read_text().count(f'"step": "{step}"') >= len(BAD)


@pytest.mark.parametrize("step", [step if step in OFTEN else pytest.param(step, marks=pytest.mark.thorough) for step in STEPS])
def test_step_that_raises_costs_its_documents_alone(faulty: Appliance, step: str) -> None:
    receipt = faulty.feed(documents(step, has_title=False), source_of(step))
    assert (receipt["included"], receipt["errors"], receipt["state"]) == (200, 0, "completed")
    assert count_found(faulty, step) == (200 if step in FOUND_WHOLE else 197)
    check_bad_ones(faulty, step, receipt["id"])
    later = faulty.feed(make_feed(make_record(f"http://www.example.com/{step}/later", "<p>later</p>")), "later")
    assert later["state"] == "completed"
    assert faulty.role_pids()


@pytest.mark.parametrize(
    ("step", "role", "restarts"),
    [
        ("index.entry", "indexer", 1),
        pytest.param("extract.hand_over", "extractor", 6, marks=pytest.mark.thorough),
        ("extract.keep", "extractor", 6),
    ],
)
def test_step_that_kills_costs_its_documents_alone(tmp_path: Path, step: str, role: str, restarts: int) -> None:
    """A later feed waits for one restart, not for those over all marked documents: each process takes documents of others first.

    Each marked document ends the extractor twice, and no restart is put off; the indexer is ended once, since another process builds the
    entries then.
    """
    with running(tmp_path / "data", environment={"FEEDMILL_FAULTS": f"{step}=kill:/bad/"}) as appliance:
        feed = appliance.push(documents(step, has_title=False), "killing")
        later = appliance.feed(make_feed(make_record("http://www.example.com/later", "<p>later</p>")), "later")
        assert later["searchable_at"] < appliance.wait(feed)["searchable_at"]
        assert count_found(appliance, step) == 197
        check_bad_ones(appliance, step, feed)
        ended = [line for line in map(json.loads, appliance.log.read_text().splitlines()) if line["event"] == "role_ended"]
        assert [line["process"] for line in ended] == [role] * restarts
        assert max(line["again_in_seconds"] for line in ended) <= 0.1


def has_index_tasks(store: Store) -> bool:
    with store.reading() as unit:
        return any(unit.processing.index_tasks.count().values())


def test_document_that_ended_the_indexer_ends_it_no_second_time_when_pages_link_to_it(tmp_path: Path) -> None:
    with running(tmp_path / "data", environment={"FEEDMILL_FAULTS": "index.entry=kill:/bad/"}) as appliance:
        targets = ["http://www.example.com/bad/1", "http://www.example.com/good"]
        assert appliance.feed(make_feed(*(make_record(url, "<p>leek</p>") for url in targets)), "killing")["state"] == "completed"
        links = "".join(f'<p><a href="{url}">turnip</a> is a text of a link</p>' for url in targets)
        appliance.feed(make_feed(make_record("http://www.example.com/links", links)), "later")
        wait_until(lambda: appliance.search("turnip leek", match="all")["total"] == 1, "the text of the link finds the other page")
        with closing(open_sqlite(appliance.data / "store.sqlite")) as store:
            wait_until(lambda: not has_index_tasks(store), "no document waits")
        ended = [line for line in map(json.loads, appliance.log.read_text().splitlines()) if line["event"] == "role_ended"]
        assert [line["process"] for line in ended] == ["indexer"]


def random_words(characters: int) -> str:
    """Returns so many characters of words that are all different ones."""
    dice = random.Random(characters)
    return " ".join("".join(dice.choices(string.ascii_lowercase, k=9)) for _ in range(characters // 10))


def test_large_text_holds_up_no_other_document(faulty: Appliance) -> None:
    large = faulty.push(
        make_feed(make_record("http://www.example.com/large", f"largeneedle {random_words(1_000_000)}", mimetype="text/plain")), "large"
    )
    small = faulty.feed(make_feed(make_record("http://www.example.com/small", "<p>small</p>")), "small")
    assert small["searchable_at"] < faulty.wait(large)["searchable_at"]
    assert faulty.urls("largeneedle") == ["http://www.example.com/large"]


@pytest.mark.slow
def test_largest_text_holds_up_no_other_document(faulty: Appliance) -> None:
    large = faulty.push(
        make_feed(make_record("http://www.example.com/largest", f"largest {random_words(10_000_000)}", mimetype="text/plain")), "large"
    )
    seconds: list[float] = []
    while faulty.receipt(large)["searchable_at"] is None:
        begun = time.monotonic()
        faulty.feed(make_feed(make_record(f"http://www.example.com/beside/{len(seconds)}", "<p>beside</p>")), "small")
        seconds.append(time.monotonic() - begun)
    assert statistics.median(seconds) < 1.0
    assert len(seconds) > 10
    assert faulty.urls("largest") == ["http://www.example.com/largest"]


def test_document_of_a_failed_step_is_tried_again_by_reindex(faulty: Appliance) -> None:
    """Nothing has changed, so that it fails again; it is reported once, and the rebuild ends."""
    url = "http://www.example.com/index.entry/bad/again"
    receipt = faulty.feed(make_feed(make_record(url, "<p>againword</p>")), "again")
    token = (faulty.data / "admin.token").read_text().strip()
    headers = {"Authorization": f"Bearer {token}"}
    assert faulty.request("POST", faulty.admin, "/api/v1/reindex", b"", headers)[0] in (200, 202)
    wait_until(lambda: '"event": "rebuild_ended"' in faulty.log.read_text(), "the end of the rebuild")
    assert faulty.urls("againword") == []
    assert sum("step index.entry failed" in entry["reason"] for entry in faulty.receipt(receipt["id"])["log"]) == 1
