"""For every step that works on documents: one for which it ends its process costs only itself.

One server serves all rows. In a feed of 200 documents each of up to three marked ones ends the process in a step of its own; the
processes of all roles go through theirs at the same time.
"""

import json
import urllib.parse
from collections.abc import Iterator
from http.client import HTTPException
from typing import Any

import pytest

from tests.acceptance.promises import post_fields
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record
from tests.builders.groups import make_groups_feed, make_membership
from tests.crawlsite import CrawlSite, html, serving
from tests.faultsteps import COUNT, NOT_KILLED, STEPS, marker_of, word_of
from tests.waiting import wait_for, wait_until

PROXY = '[signin.proxy]\ntrusted = ["127.0.0.0/8"]\n[crawl]\nallow_private = ["127.0.0.1/"]\nhost_load = 0.0\n'
pytestmark = pytest.mark.slow

LARGE_BYTES = 4_000_000
"""Feeds from this size on are applied by another role."""

FEEDS: dict[str, dict[int, str]] = {
    "records": {17: "parse", 100: "content", 180: "apply"},
    "changes": {17: "class", 100: "store"},
    "extracted": {17: "extract.hand_over", 100: "extract.keep"},
    "indexed": {17: "index.text", 100: "index.links", 180: "index.put"},
    "built": {17: "index.entry"},
    "linked": {17: "links.read", 100: "links.write"},
    "swept": {17: "sweep"},
    "patterns": {17: "sweep.patterns"},
    "policies": {17: "sweep.policies"},
    "answers": {17: "result"},
}
"""The marked documents of each feed, with the step that ends its process."""

ELSEWHERE = ("scan", "groups", "fetch")
OPEN = ("admission", "eviction", "index.rebuild")
"""Steps that are killed by the contract tests alone, or not yet."""
NOT_SEARCHABLE = ("index.put", "index.entry")


def test_each_step_has_a_row() -> None:
    rows = {step for marks in FEEDS.values() for step in marks.values()} | set(ELSEWHERE) | set(OPEN)
    assert rows | set(NOT_KILLED) == set(STEPS)


def url_of(feed: str, number: int) -> str:
    step = FEEDS[feed].get(number)
    return f"http://www.example.com/{feed}/{marker_of(step) + '/' if step else ''}{number}"


def feed_for(feed: str, **attributes: str) -> bytes:
    word = word_of(feed)
    pages = (f'<p>{word} <a href="{url_of(feed, (number + 1) % COUNT)}">next {number}</a></p>' for number in range(COUNT))
    return make_feed(*(make_record(url_of(feed, number), page, (), **attributes) for number, page in enumerate(pages)))


class Killed:
    """A server whose processes end on marked documents, and the feeds that were pushed to it."""

    def __init__(self, server: Appliance) -> None:
        self.server = server
        self.pushed: dict[str, str] = {}

    def push_all(self) -> None:
        self.server.feed(feed_for("swept"), "swept", "full")
        scanned = make_feed(make_record("http://www.example.com/scanned", "<p>scanned</p>" + " " * LARGE_BYTES))
        self.pushed["scan"] = self.server.push(scanned, "scan-bad")
        for feed in FEEDS:
            if feed != "swept":
                attributes = {"authmethod": "ntlm"} if feed == "policies" else {}
                self.pushed[feed] = self.server.push(feed_for(feed, **attributes), feed)
            if feed == "changes":
                self.pushed["later"] = self.server.push(make_feed(make_record("http://www.example.com/later", "<p>laterword</p>")), "later")
        self.pushed["swept"] = self.server.push(make_feed(make_record(url_of("swept", 0), f"<p>{word_of('swept')}</p>")), "swept", "full")
        self.pushed["groups"] = self.push_groups()

    def push_groups(self) -> str:
        names = (f"{marker_of('groups') if number == 17 else 'good'}{number}" for number in range(COUNT))
        xml = make_groups_feed(*(make_membership(name, ["bob"]) for name in names))
        fields = [("groupsource", b"staff"), ("feedtype", b"full"), ("data", xml)]
        status, headers, body = post_fields(self.server, "/xmlgroups", fields)
        assert (status, body) == (200, b"Success"), body
        return headers["x-feedmill-feed"]

    def receipt(self, feed: str) -> dict[str, Any]:
        return self.server.wait(self.pushed[feed])

    def count(self, feed: str, user: str = "", **parameters: str | int) -> int:
        query = urllib.parse.urlencode({"q": word_of(feed), "num": 0, **parameters})
        headers = {"X-Forwarded-User": user} if user else {}
        status, _, body = self.server.request("GET", self.server.search_port, f"/api/v1/search?{query}", None, headers)
        assert status == 200, body
        return int(json.loads(body)["total"])

    def list_reasons(self, feed: str) -> dict[str, str]:
        """Returns the reasons of the log of a feed that name a step which ended the process, by URL."""
        return {entry["url"]: entry["reason"] for entry in self.receipt(feed)["log"] if " failed: the process " in entry["reason"]}

    def wait_until_reported(self, feed: str) -> None:
        """Waits until each marked document is named with its step."""
        expected = {url_of(feed, number): step for number, step in FEEDS[feed].items()}

        def steps() -> dict[str, str]:
            return {url: reason.removeprefix("step ").partition(" failed")[0] for url, reason in self.list_reasons(feed).items()}

        # entries are built by another process under another name
        wait_for({url: step.replace("index.put", "index.entry") for url, step in expected.items()}, steps)

    def interruptions_of(self, step: str) -> int:
        return self.server.log.read_text().count(f'"item": "{step} ')

    def administer(self, method: str, path: str, value: Any = None) -> None:
        token = {"Authorization": f"Bearer {(self.server.data / 'admin.token').read_text().strip()}"}
        content = None if value is None else json.dumps(value).encode()
        status, _, body = self.server.request(method, self.server.admin, path, content, token)
        assert status in (200, 201, 202, 204), body


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Killed]:
    faults = [f"{step}=kill:{'scan-bad' if step == 'scan' else marker_of(step)}" for step in STEPS]
    with running(tmp_path_factory.mktemp("killed") / "data", PROXY, {"FEEDMILL_FAULTS": " ".join(faults)}) as server:
        killed = Killed(server)
        killed.push_all()
        yield killed


def test_later_feed_does_not_wait_for_those_that_end_processes(killed: Killed) -> None:
    later = killed.receipt("later")
    assert later["state"] == "completed"
    assert all(later["searchable_at"] < killed.receipt(feed)["searchable_at"] for feed in ("records", "changes", "indexed"))


@pytest.mark.parametrize("feed", ["records", "changes"])
def test_records_that_end_the_feeder_are_in_error(killed: Killed, feed: str) -> None:
    receipt, bad = killed.receipt(feed), len(FEEDS[feed])
    assert (receipt["state"], receipt["included"], receipt["errors"]) == ("completed with errors", COUNT - bad, bad)
    killed.wait_until_reported(feed)
    assert killed.count(feed) == COUNT - bad


def test_feed_whose_scan_ends_the_feeder_fails(killed: Killed) -> None:
    receipt = killed.receipt("scan")
    assert (receipt["state"], receipt["included"]) == ("failed in error", 0)
    assert receipt["log"][-1]["reason"] == "step read failed: the process ended while it read this feed"


def test_membership_that_ends_the_feeder_is_in_error(killed: Killed) -> None:
    receipt = killed.receipt("groups")
    assert (receipt["state"], receipt["included"], receipt["errors"]) == ("completed with errors", COUNT - 1, 1)
    assert receipt["log"][0]["reason"].startswith("step groups failed: the process ended")


def test_document_whose_removal_ends_the_feeder_stays(killed: Killed) -> None:
    receipt = killed.receipt("swept")
    assert (receipt["state"], receipt["errors"], killed.count("swept")) == ("completed with errors", 1, 2)
    killed.wait_until_reported("swept")


@pytest.mark.parametrize("feed", ["extracted", "indexed", "built", "linked"])
def test_documents_that_end_extractor_or_indexer_are_found_by_what_is_left(killed: Killed, feed: str) -> None:
    receipt = killed.receipt(feed)
    assert (receipt["state"], receipt["included"], receipt["errors"]) == ("completed", COUNT, 0)
    killed.wait_until_reported(feed)
    textless = [step for step in FEEDS[feed].values() if step in (*NOT_SEARCHABLE, "index.text") or step.startswith("extract.")]
    assert killed.count(feed) == COUNT - len(textless)
    for number, step in FEEDS[feed].items():
        document = killed.server.document(url_of(feed, number))
        assert document is not None
        assert document["searchable"] is (step not in NOT_SEARCHABLE)


def test_page_that_ends_the_crawler_is_set_aside(killed: Killed) -> None:
    with serving(CrawlSite()) as site:
        paths = [f"/{marker_of('fetch') + '/' if number == 17 else ''}{number}" for number in range(COUNT)]
        site.pages |= {path: html(word_of("fetched")) for path in paths}
        killed.server.push(make_feed(*(make_record(site.url(path)) for path in paths)), "web")
        wait_for(COUNT - 1, lambda: killed.count("fetched"))
        wait_until(lambda: '"page_not_applied"' in killed.server.log.read_text(), "the page that is set aside")
    assert killed.interruptions_of("fetch") == 2


def test_document_that_ends_the_pattern_sweep_is_written_by_the_new_patterns(killed: Killed) -> None:
    assert killed.receipt("patterns")["included"] == COUNT
    killed.administer("PUT", "/api/v1/settings/collections/swept", {"include": ["www.example.com/patterns/"]})
    wait_for(COUNT, lambda: killed.count("patterns", site="swept"))
    assert killed.interruptions_of("sweep.patterns") == 1


def test_document_that_ends_the_policy_sweep_is_in_its_class(killed: Killed) -> None:
    assert killed.receipt("policies")["included"] == COUNT
    assert killed.count("policies", "ann") == 0
    value = {"pattern": "www.example.com/policies/", "permit_users": ["ann"]}
    killed.administer("PUT", "/api/v1/settings/policy_acls/swept", value)
    wait_for(COUNT, lambda: killed.count("policies", "ann"))
    assert killed.interruptions_of("sweep.policies") == 1


def test_answer_that_ends_its_process_costs_the_requests_of_the_moment(killed: Killed) -> None:
    assert killed.receipt("answers")["included"] == COUNT
    with pytest.raises((OSError, HTTPException)):
        killed.server.search(word_of("answers"), num=COUNT)
    seen: list[str] = []

    def is_answered() -> bool:
        seen[:] = killed.server.urls("laterword")
        return bool(seen)

    wait_until(is_answered, "an answer", bearing=(OSError, HTTPException))
    assert seen == ["http://www.example.com/later"]
