"""For every step that works on documents, but for those of indexing: those for which it raises cost only themselves.

One server serves all rows, since each step has a marker of its own. The steps of indexing are in ``test_faults_steps``, those that end
their process in ``test_faults_table_kill``.
"""

import json
import sqlite3
import urllib.parse
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.acceptance.promises import post_fields, run_command
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record
from tests.builders.groups import make_groups_feed, make_membership
from tests.crawlsite import CrawlSite, html, serving
from tests.faultsteps import ANSWERING, BAD, COUNT, FEEDING, PULLING, STEPS, documents, marker_of, page_of, source_of, url_of, word_of
from tests.waiting import wait_for, wait_until

PROXY = '[signin.proxy]\ntrusted = ["127.0.0.0/8"]\n[crawl]\nallow_private = ["127.0.0.1/"]\nhost_load = 0.0\n'
GOOD = COUNT - len(BAD)
XML_RESULTS = 100
"""The most results that a page of the appliance has."""
SOURCES = "".join(
    f"""
[[sources]]
name = "{step}"
kind = "database"
dsn = "sqlite:///pulled.db"
crawl_query = "SELECT url, page, 'text/html' AS type FROM {step}_rows"
url_column = "url"
blob_column = "page"
mime_column = "type"
"""
    for step in PULLING
)


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    faults = [f"{step}=raise:{'scan-bad' if step == 'scan' else marker_of(step)}" for step in STEPS]
    with running(tmp_path_factory.mktemp("table") / "data", PROXY + SOURCES, {"FEEDMILL_FAULTS": " ".join(faults)}) as appliance:
        yield appliance


def bad_urls(step: str) -> set[str]:
    return {url_of(step, number) for number in BAD}


def named(receipt: dict[str, Any], step: str, level: str) -> set[str]:
    """Returns the URLs that a receipt names for a step."""
    return {entry["url"] for entry in receipt["log"] if f"step {step} failed: " in entry["reason"] and entry["level"] == level}


def find(server: Appliance, step: str, user: str = "", **parameters: str | int) -> dict[str, Any]:
    """Returns what a user finds of the documents of a step."""
    encoded = urllib.parse.urlencode({"q": word_of(step), "num": 1000, **parameters})
    headers = {"X-Forwarded-User": user} if user else {}
    status, _, body = server.request("GET", server.search_port, f"/api/v1/search?{encoded}", None, headers)
    assert status == 200, body
    return dict(json.loads(body))


def read_xml(server: Appliance, step: str) -> None:
    """Has all documents of a step shown as XML of the appliance, page by page."""
    for start in range(0, COUNT, XML_RESULTS):
        encoded = urllib.parse.urlencode({"q": word_of(step), "num": XML_RESULTS, "start": start, "output": "xml_no_dtd", "filter": 0})
        status, _, body = server.request("GET", server.search_port, f"/search?{encoded}")
        assert status == 200, body


def found_urls(server: Appliance, step: str, user: str = "", **parameters: str | int) -> set[str]:
    return {result["url"] for result in find(server, step, user, **parameters)["results"]}


def logged(server: Appliance, event: str, word: str) -> set[str]:
    """Returns the URLs that the log names for an event and a step."""
    lines = [json.loads(line) for line in server.log.read_text().splitlines() if f'"{event}"' in line and word in line]
    return {line["url"] for line in lines if line["event"] == event}


def administer(server: Appliance, method: str, path: str, value: Any = None) -> None:
    token = {"Authorization": f"Bearer {(server.data / 'admin.token').read_text().strip()}"}
    status, _, body = server.request(method, server.admin, path, None if value is None else json.dumps(value).encode(), token)
    assert status in (200, 201, 202, 204), body


def check_later(server: Appliance) -> None:
    assert server.feed(make_feed(make_record("http://www.example.com/later", "<p>later</p>")), "later")["state"] == "completed"


@pytest.mark.parametrize("step", FEEDING)
def test_records_of_which_a_step_fails_are_in_error(faulty: Appliance, step: str) -> None:
    receipt = faulty.feed(documents(step), source_of(step))
    assert (receipt["state"], receipt["included"], receipt["errors"]) == ("completed with errors", GOOD, len(BAD))
    assert named(receipt, step, "error") == bad_urls(step)
    assert found_urls(faulty, step) == {url_of(step, number) for number in range(COUNT)} - bad_urls(step)
    check_later(faulty)


def test_feed_whose_scan_fails_changes_nothing(faulty: Appliance) -> None:
    receipt = faulty.feed(documents("scan"), "scan-bad")
    assert (receipt["state"], receipt["included"]) == ("failed in error", 0)
    assert "step scan failed: " in receipt["log"][-1]["reason"]
    assert faulty.feed(documents("scan"), "scan-good")["included"] == COUNT
    assert find(faulty, "scan")["total"] == COUNT


def test_documents_that_cannot_be_removed_stay_behind_a_full_feed(faulty: Appliance) -> None:
    faulty.feed(documents("sweep"), "sweep", "full")
    receipt = faulty.feed(make_feed(page_of("sweep", url_of("sweep", 0), 0)), "sweep", "full")
    assert (receipt["state"], receipt["errors"]) == ("completed with errors", len(BAD))
    assert named(receipt, "sweep", "error") == bad_urls("sweep")
    assert found_urls(faulty, "sweep") == bad_urls("sweep") | {url_of("sweep", 0)}
    check_later(faulty)


def push_groups(server: Appliance, source: str, xml: bytes) -> str:
    fields = [("groupsource", source.encode()), ("feedtype", b"full"), ("data", xml)]
    status, headers, body = post_fields(server, "/xmlgroups", fields)
    assert (status, body) == (200, b"Success"), body
    return headers["x-feedmill-feed"]


def test_groups_for_which_it_fails_are_in_error(faulty: Appliance) -> None:
    names = (f"{'groups/bad' if number in BAD else 'good'}{number}" for number in range(COUNT))
    receipt = faulty.wait(push_groups(faulty, "staff", make_groups_feed(*(make_membership(name, ["bob"]) for name in names))))
    assert (receipt["state"], receipt["included"], receipt["errors"]) == ("completed with errors", GOOD, len(BAD))
    assert all("step groups failed: " in entry["reason"] for entry in receipt["log"])
    assert [entry["record"] for entry in receipt["log"]] == [number + 1 for number in BAD]
    check_later(faulty)


def test_fetched_pages_that_cannot_be_applied_are_tried_again_later(faulty: Appliance) -> None:
    with serving(CrawlSite()) as site:
        paths = [urlsplit(url_of("fetch", number)).path for number in range(COUNT)]
        site.pages |= {path: html(word_of("fetch")) for path in paths}
        faulty.push(make_feed(*(make_record(site.url(path)) for path in paths)), "web")
        wait_for(GOOD, lambda: find(faulty, "fetch")["total"])
        bad = {site.url(paths[number]) for number in BAD}
        wait_for(bad, lambda: logged(faulty, "page_not_applied", "step fetch failed"))
    assert found_urls(faulty, "fetch") == {site.url(path) for path in paths} - bad
    check_later(faulty)


def test_documents_of_which_the_pattern_sweep_fails_are_written_by_the_new_patterns(faulty: Appliance) -> None:
    faulty.feed(documents("sweep.patterns"), "patterns")
    administer(faulty, "PUT", "/api/v1/settings/collections/swept", {"include": ["www.example.com/sweep.patterns/"]})
    wait_for(COUNT, lambda: find(faulty, "sweep.patterns", site="swept")["total"])
    assert logged(faulty, "document_failed", "step sweep.patterns failed") == bad_urls("sweep.patterns")
    check_later(faulty)


def test_documents_of_which_the_policy_sweep_fails_are_in_their_classes(faulty: Appliance) -> None:
    faulty.feed(documents("sweep.policies", authmethod="ntlm"), "policies")
    assert find(faulty, "sweep.policies", "ann")["total"] == 0
    value = {"pattern": "www.example.com/sweep.policies/", "permit_users": ["ann"]}
    administer(faulty, "PUT", "/api/v1/settings/policy_acls/swept", value)
    wait_for(COUNT, lambda: find(faulty, "sweep.policies", "ann")["total"])
    assert logged(faulty, "document_failed", "step sweep.policies failed") == bad_urls("sweep.policies")
    assert find(faulty, "sweep.policies", "bob")["total"] == 0
    check_later(faulty)


def test_documents_of_which_a_rebuild_fails_are_in_the_new_index(faulty: Appliance) -> None:
    faulty.feed(documents("index.rebuild"), "rebuild")
    administer(faulty, "POST", "/api/v1/reindex")
    wait_until(lambda: '"rebuild_ended"' in faulty.log.read_text(), "the end of the rebuild")
    assert find(faulty, "index.rebuild")["total"] == COUNT
    check_later(faulty)


@pytest.fixture(scope="module")
def answering(faulty: Appliance) -> Appliance:
    """Has documents of which the steps of an answer fail."""
    feeds = [(faulty.push(documents(step), source_of(step)), step) for step in ANSWERING]
    assert [faulty.wait(feed)["included"] for feed, _ in feeds] == [COUNT] * len(feeds)
    return faulty


@pytest.mark.parametrize(("step", "left_out"), [("result", 3), ("decision", 3), ("snippet", 0), ("title", 0)])
def test_results_for_which_it_fails_cost_themselves(answering: Appliance, step: str, left_out: int) -> None:
    answer = find(answering, step)
    assert answer["total"] == len(answer["results"]) == COUNT - left_out
    assert {result["url"] for result in answer["results"]} >= {url_of(step, number) for number in range(COUNT)} - bad_urls(step)
    assert len(answer.get("warnings", [])) == (step == "result")
    if step == "snippet":
        assert {result["url"] for result in answer["results"] if not result["snippet"]} == bad_urls(step)
    if step == "title":
        # JSON has no marks in titles
        read_xml(answering, step)
    if step != "decision":
        assert logged(answering, "step_failed", f'"{step}"') == bad_urls(step)


def test_cached_copy_that_fails_is_an_error_of_its_own(answering: Appliance) -> None:
    def show(number: int) -> int:
        path = f"/cache?{urllib.parse.urlencode({'url': url_of('copy', number)})}"
        return answering.request("GET", answering.search_port, path)[0]

    assert [show(number) for number in (16, 17, 18)] == [200, 404, 200]
    assert logged(answering, "step_failed", '"copy"') == {url_of("copy", 17)}


def test_documents_of_which_a_passage_fails_give_none(answering: Appliance) -> None:
    def retrieve(more: str) -> list[str]:
        body = json.dumps({"query": word_of("passages") + more, "num": 50}).encode()
        status, _, raw = answering.request("POST", answering.search_port, "/api/v1/retrieve", body)
        assert status == 200
        return [passage["url"] for passage in json.loads(raw)["passages"]]

    assert retrieve(" inurl:bad") == []
    assert logged(answering, "step_failed", '"passages"') == bad_urls("passages")
    assert len(set(retrieve(" -inurl:bad"))) == 20


def test_suggestions_are_of_titles_that_do_not_fail(answering: Appliance) -> None:
    response = answering.get_json(answering.search_port, f"/api/v1/suggest?q={word_of('suggest')[:9]}&num=50")
    assert word_of("suggest") in response["suggestions"]


def test_clusters_are_of_results_that_do_not_fail(answering: Appliance) -> None:
    status, _, body = answering.request("GET", answering.search_port, f"/cluster?q={word_of('cluster')}&coutput=json")
    assert status == 200, body
    assert b"cluster/bad" not in body


def pull(server: Appliance, step: str, *options: str) -> dict[str, Any]:
    """Runs the pull source of a step."""
    code, output, errors = run_command("sources", "run", step, *options, "--data", server.data, "--config", server.config, "--json")
    assert code == 1, output + errors
    return dict(json.loads(output))


def fill_table(server: Appliance, step: str, numbers: Iterable[int]) -> None:
    with closing(sqlite3.connect(server.data.parent / "pulled.db")) as connection, connection:
        connection.execute(f"DROP TABLE IF EXISTS {step}_rows")
        connection.execute(f"CREATE TABLE {step}_rows (url TEXT, page TEXT)")
        rows = ((url_of(step, number), f"<p>{word_of(step)} {number}</p>") for number in numbers)
        connection.executemany(f"INSERT INTO {step}_rows VALUES (?, ?)", rows)


@pytest.mark.parametrize("step", ["load", "pull"])
def test_items_of_a_pull_source_of_which_a_step_fails_are_errors_of_the_run(faulty: Appliance, step: str) -> None:
    fill_table(faulty, step, range(COUNT))
    run = pull(faulty, step)
    assert (run["added"], run["errors"]) == (GOOD, len(BAD))
    wait_for({url_of(step, number) for number in range(COUNT)} - bad_urls(step), lambda: found_urls(faulty, step))
    check_later(faulty)


def test_documents_that_a_run_cannot_delete_stay(faulty: Appliance) -> None:
    fill_table(faulty, "delete", range(COUNT))
    command = ("sources", "run", "delete", "--data", faulty.data, "--config", faulty.config)
    assert run_command(*command)[0] == 0
    fill_table(faulty, "delete", range(1))
    run = pull(faulty, "delete", "--force")
    assert (run["deleted"], run["errors"]) == (GOOD - 1, len(BAD))
    wait_for(bad_urls("delete") | {url_of("delete", 0)}, lambda: found_urls(faulty, "delete"))
    check_later(faulty)


def test_documents_for_which_changed_settings_fail_cost_themselves(faulty: Appliance) -> None:
    """Patterns refuse a URL of all, and a licence limit pushes out those of the lowest rank: what fails is hidden from all, or stays."""
    faulty.feed(documents("admission"), "admission")
    faulty.feed(documents("eviction", pagerank="70"), "eviction")
    live = sum(source["documents"] for source in faulty.get_json(faulty.gate, "/api/v1/datasources"))
    refused = 'do_not_follow = ["www.example.com/admission/"]'
    faulty.reload(f"{PROXY}{SOURCES}[urls]\n{refused}\n[limits]\nmax_documents = {live - 2 * GOOD}\n")
    wait_for(set(), lambda: found_urls(faulty, "admission"))
    wait_for(bad_urls("eviction"), lambda: found_urls(faulty, "eviction"))
    assert logged(faulty, "document_not_checked", "step admission failed") == bad_urls("admission")
    assert logged(faulty, "document_not_pushed_out", "step eviction failed") == bad_urls("eviction")
    receipt = faulty.feed(make_feed(make_record("http://www.example.com/later/beyond", "<p>beyond</p>", pagerank="99")), "later")
    assert (receipt["state"], faulty.urls("beyond")) == ("completed", ["http://www.example.com/later/beyond"])
