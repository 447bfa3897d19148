"""The counterparts against which authors of clients test, in front of our own clients and of the kit."""

import gzip
import json
import os
import signal
import subprocess
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from typer.testing import CliRunner

from feedmill.cli.main import build_app
from feedmill.conformance.counterparts.adaptor import Adaptor
from feedmill.conformance.counterparts.appliance import Appliance
from feedmill.conformance.counterparts.dataload import DataloadServer
from feedmill.conformance.counterparts.script import AdaptorScript, ApplianceScript, DataloadScript, Script, SeedlistScript, read_script
from feedmill.conformance.counterparts.seedlist import SeedlistServer
from feedmill.conformance.counterparts.server import Counterpart, CounterpartServer, serving
from feedmill.conformance.exchange import Exchange, Reply, write_form
from feedmill.model.errors import BadSettings, UpstreamFailure
from feedmill_client import BadRequest, Busy, Client, DataloadBuilder, Denied, FeedBuilder
from tests import programs
from tests.waiting import PATIENCE_SECONDS

HERE = Path()
LIST: dict[str, Any] = {
    "range": 2,
    "entries": [
        {"id": "a", "title": "A", "content": "text of a", "acls": ["uid=ann, o=x"], "updated": "2026-01-01T10:00:00Z"},
        {"id": "b", "title": "B & b", "fields": {"kind": ["x", "y"]}},
        {"id": "c", "until": 2},
        {"id": "d", "acls": [], "since": 2},
    ],
}


@contextmanager
def appliance(folder: Path | None = None, **script: Any) -> Iterator[CounterpartServer]:
    read = ApplianceScript.model_validate(script)
    with serving(Appliance(read, folder), read, folder=HERE) as server:
        yield server


@contextmanager
def dataloads(folder: Path | None = None, **script: Any) -> Iterator[CounterpartServer]:
    read = DataloadScript.model_validate(script)
    with serving(DataloadServer(read, folder), read, folder=HERE) as server:
        yield server


@contextmanager
def adaptor(**script: Any) -> Iterator[CounterpartServer]:
    read = AdaptorScript.model_validate(script)
    with serving(Adaptor(read, HERE), read, folder=HERE) as server:
        yield server


@contextmanager
def seedlist(**script: Any) -> Iterator[CounterpartServer]:
    read = SeedlistScript.model_validate({**LIST, **script})
    with serving(SeedlistServer(read), read, folder=HERE) as server:
        yield server


def send(server: CounterpartServer, path: str, headers: Mapping[str, str] | None = None, method: str = "GET", body: bytes = b"") -> Reply:
    return Exchange(server.url, seconds=PATIENCE_SECONDS).send(method, path, body, headers)


def run_kit(*words: str) -> dict[str, str]:
    """Runs cases, and returns the results of those that did not hold."""
    done = CliRunner().invoke(build_app(), ["conformance", *words, "--json"])
    report = json.loads(done.stdout)
    assert done.exit_code == (1 if report["failed"] else 0)
    return {case["name"]: case["detail"] for case in report["cases"] if case["outcome"] == "failed"}


# --- the appliance ---


def test_appliance_records_what_our_client_pushes(tmp_path: Path) -> None:
    with appliance(tmp_path) as server:
        client = Client(feeds=server.url)
        with FeedBuilder("full") as feed:
            feed.add("http://a.example.com/1", "text")
            with pytest.raises(BadRequest, match="returned no id"):
                client.push(feed, datasource="hr")
        (first,) = server.list_records()
        assert first["fields"] == {"datasource": "hr", "feedtype": "full"}
        assert first["feed"] == {"items": 1, "repaired": False, "faults": []}
        assert b"http://a.example.com/1" in (tmp_path / "000001.xml").read_bytes()
        assert json.loads(send(server, "/conformance/requests").body) == [first]
        assert send(server, "/conformance/requests", method="DELETE").status == 204
        assert server.list_records() == []


def test_appliance_says_what_is_wrong_with_a_feed() -> None:
    records = '<record url="" mimetype="text/plain"/><record url="http://a.example.com/?a&b" mimetype="text/plain"/>'
    xml = f"<gsafeed><header><datasource>hr</datasource><feedtype>full</feedtype></header>\n<group>{records}</group></gsafeed>"
    body = write_form({"datasource": "hr", "feedtype": "incremental", "data": xml}, "<<")
    headers = {"Content-Type": "multipart/form-data; boundary=<<", "Content-Encoding": "gzip", "Transfer-Encoding": "chunked"}
    with appliance() as server:
        assert send(server, "/xmlfeed", headers, "POST", gzip.compress(body)).body == b"Success"
        feed = server.list_records()[0]["feed"]
    assert (feed["items"], feed["repaired"], [fault["line"] for fault in feed["faults"]]) == (2, True, [2])


def test_appliance_takes_broken_xml_and_says_so() -> None:
    with appliance() as server:
        body = write_form({"datasource": "hr", "feedtype": "full", "data": "<gsafeed><header>"}, "<<")
        assert send(server, "/xmlfeed", {"Content-Type": "multipart/form-data; boundary=<<"}, "POST", body).body == b"Success"
        (fault,) = server.list_records()[0]["feed"]["faults"]
    assert (fault["line"], fault["reason"]) == (1, "the text ends before all elements are closed (no element found)")


def test_appliance_keeps_the_promises_of_the_feed_port() -> None:
    with appliance() as server:
        assert run_kit("gsa", "--url", server.url) == {}


def test_rule_drops_a_connection_and_then_the_usual_answer_comes() -> None:
    rule = {"path": "/xmlfeed", "skip": 1, "times": 1, "fault": "close"}
    body = write_form({"datasource": "hr", "feedtype": "full", "data": "<gsafeed/>"}, "<<")
    with appliance(answers=[rule]) as server:
        headers = {"Content-Type": "multipart/form-data; boundary=<<"}
        assert send(server, "/xmlfeed", headers, "POST", body).body == b"Success"
        with pytest.raises(UpstreamFailure):
            send(server, "/xmlfeed", headers, "POST", body)
        assert send(server, "/xmlfeed", headers, "POST", body).body == b"Success"
        assert [record["fault"] for record in server.list_records()] == ["", "close", ""]


@pytest.mark.parametrize(
    ("script", "error", "text"),
    [
        ({"trusted": False}, Denied, "Unauthorized"),
        ({"answers": [{"status": 503, "body": "later"}]}, Busy, "later"),
        ({"answers": [{"path": "/xml*", "body": "Feed not accepted due to insufficient disk space."}]}, BadRequest, "disk space"),
        ({"answers": [{"method": "post", "fault": "close"}]}, Busy, "no answer"),
    ],
    ids=["stranger", "503", "disk", "closed"],
)
def test_client_meets_scripted_faults(script: dict[str, Any], error: type[Exception], text: str) -> None:
    with appliance(**script) as server, FeedBuilder() as feed, pytest.raises(error, match=text):
        Client(feeds=server.url).push(feed, datasource="hr")


@pytest.mark.parametrize(
    ("rule", "failed"),
    [
        ({"path": "/getdtd", "body": "<!ELEMENT record EMPTY>"}, "dtd"),
        ({"path": "/getbacklogcount", "body": "many"}, "backlog"),
        ({"path": "/xmlgroups", "body": "Error"}, "groups-cleanup-alone"),
        ({"path": "/xmlfeed/", "status": 404}, "path-with-slash"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_kit_notices_a_broken_promise(rule: dict[str, Any], failed: str) -> None:
    with appliance(answers=[rule]) as server:
        assert set(run_kit("gsa", "--url", server.url, "--case", failed, "--case", "boundary-brackets")) == {failed}


# --- the server that takes dataloads ---


def test_dataload_server_keeps_what_the_kit_checks_without_searching() -> None:
    with dataloads() as server:
        assert run_kit("dataload", "--url", server.url) == {}


def test_dataload_server_records_what_became_of_each_item(tmp_path: Path) -> None:
    with dataloads(tmp_path, profiles=["shop"]) as server, DataloadBuilder() as items:
        items.insert("http://a.example.com/1", "text")
        items.update("http://a.example.com/2", "text")
        items.delete("http://a.example.com/1")
        items.insert("no url", "text")
        replies = Client(feeds=server.url).load(items, profile="shop")
        assert [reply.status for reply in replies] == ["OK", "OK", "OK", "FAIL"]
        (recorded,) = server.list_records()
        found = [(item["type"], item["status"], item["info"]) for item in recorded["items"][:3]]
        assert found == [("I", "OK", ""), ("U", "OK", "Not found"), ("D", "OK", "")]
        assert recorded["profile"] == "shop"
        assert b"http://a.example.com/1" in (tmp_path / "000001.xml").read_bytes()


@pytest.mark.parametrize(
    ("script", "fields", "status"),
    [
        ({"trusted": False}, {"profile": "default", "data": "<ThunderstoneReplication/>"}, "Not Allowed"),
        ({}, {"data": "<ThunderstoneReplication/>"}, "No Profile"),
        ({}, {"profile": "other", "data": "<ThunderstoneReplication/>"}, "No Profile"),
        ({}, {"profile": "default"}, "NODATA"),
        ({}, {"profile": "default", "data": "<ThunderstoneReplication><Item>"}, "NODATA"),
    ],
)
def test_dataload_server_refuses_as_the_appliance_does(script: dict[str, Any], fields: dict[str, str], status: str) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=<<"}
    with dataloads(**script) as server:
        reply = send(server, "/texis/dowalk/recvdata.xml", headers, "POST", write_form(fields, "<<"))
        (recorded,) = server.list_records()
    assert f"<Status>{status}</Status>" in reply.body.decode()
    assert recorded["refused"]


def test_dataload_server_has_no_other_resources() -> None:
    with dataloads() as server:
        assert send(server, "/texis/search/main.xml").status == 404
        assert send(server, "/recvdata.xml").status == 405


# --- the adaptor ---


def test_adaptor_sends_the_headers_of_the_library() -> None:
    acl = {
        "inherit_from": "http://a.example.com/p?f",
        "inheritance_type": "AND_BOTH_PERMIT",
        "entries": [{"name": "ann", "case_sensitive": False}],
    }
    document = {
        "id": "a b",
        "content": "text",
        "metadata": {"author": ["Jane Doe", "a,b+c"]},
        "acl": acl,
        "lock": False,
        "robots": ["noindex", "nofollow"],
    }
    with adaptor(documents=[document]) as server:
        reply = send(server, "/doc/a%20b")
    values = [(name, value) for name, value in reply.headers if name.startswith("x-")]
    controls = dict(value.split("=", 1) for name, value in values if name == "x-gsa-doc-controls")
    assert ("x-gsa-external-metadata", "author=Jane%20Doe,author=a%2Cb%2Bc") in values
    assert ("x-gsa-serve-security", "secure") in values
    assert [value for name, value in values if name == "x-robots-tag"] == ["noindex", "nofollow"]
    assert (controls["lock"], controls["scoring"]) == ("false", "content")
    entry = {"access": "permit", "case_sensitivity_type": "everything_case_insensitive", "name": "ann", "scope": "user"}
    assert json.loads(unquote(controls["acl"])) == {**acl, "entries": [entry]}
    assert reply.body == b"text"


def test_adaptor_answers_conditional_and_refused_requests() -> None:
    dated = {"last_modified": "2026-01-01T10:00:00Z"}
    with adaptor(documents=[{"id": "a", **dated}, {"id": "b", "skip_content": True, **dated}]) as server:
        later, earlier = ({"If-Modified-Since": f"Thu, 01 Jan 2026 {hour}:00:00 GMT"} for hour in ("10", "09"))
        assert [send(server, path, later).status for path in ("/doc/a", "/doc/b")] == [304, 204]
        assert not any(name.startswith("x-gsa") for name, _ in send(server, "/doc/a", later).headers)
        assert send(server, "/doc/b", later).find_header("x-gsa-skip-updating-content") == "true"
        assert send(server, "/doc/a", earlier).find_header("last-modified") == "Thu, 01 Jan 2026 10:00:00 GMT"
        assert send(server, "/doc/a", {"User-Agent": "SecMgr"}).status == 403
        assert (send(server, "/doc/none").status, send(server, "/doc/a", method="POST", body=b"x").status) == (404, 405)


def test_adaptor_sends_untrusted_crawlers_no_metadata() -> None:
    with adaptor(documents=[{"id": "a"}], trusted=False) as server:
        assert not any(name.startswith("x-gsa") for name, _ in send(server, "/doc/a").headers)


# --- the seedlist ---


def test_seedlist_keeps_the_promises_of_seedlists() -> None:
    with seedlist() as server:
        assert run_kit("seedlist", "--url", f"{server.url}/seedlist/myserver") == {}


def test_seedlist_needs_the_password_and_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with seedlist(user="crawler", password="secret") as server:
        url = f"{server.url}/seedlist/myserver"
        done = CliRunner().invoke(build_app(), ["conformance", "seedlist", "--url", url])
        assert "name a user with --user" in str(done.exception)
        monkeypatch.setenv("FEEDMILL_CONFORMANCE_PASSWORD", "secret")
        assert run_kit("seedlist", "--url", url, "--user", "crawler", "--case", "paging", "--case", "contents") == {}


def test_seedlist_is_found_by_its_server_and_takes_the_user_of_its_address() -> None:
    with seedlist(user="crawler", password="p:w@") as server:
        url = server.url.replace("://", "://crawler:p%3Aw%40@")
        done = CliRunner().invoke(build_app(), ["conformance", "seedlist", "--url", url, "--case", "paging"])
        assert (done.exit_code, "1 held" in done.stdout, "p%3Aw" in done.output) == (0, True, False)


def test_later_crawls_bring_changes_and_deletions() -> None:
    with seedlist() as server:
        first = send(server, "/seedlist/myserver?Range=10").text
        timestamp = first.partition("<wplc:timestamp>")[2].partition("<")[0]
        later = send(server, f"/seedlist/myserver?Timestamp={timestamp}").text
    assert [f"<id>{name}</id>" in first for name in "abcd"] == [True, True, True, False]
    assert [f"<id>{name}</id>" in later for name in "abcd"] == [False, False, True, True]
    assert '<id>c</id>\n<wplc:action do="delete"/>' in later


@pytest.mark.parametrize(
    ("rule", "failed"),
    [
        ({"path": "/seedlist/document/*", "status": 403}, "contents"),
        ({"query": {"Range": "x"}, "status": 500}, "wrong-numbers"),
        ({"query": {"Action": "GetNonsense"}}, ""),
        ({"query": {"Start": "1"}, "fault": "cut"}, "start"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_kit_notices_a_broken_seedlist(rule: dict[str, Any], failed: str) -> None:
    cases = [word for name in ("contents", "wrong-numbers", "unknown-action", "start") for word in ("--case", name)]
    with seedlist(answers=[rule]) as server:
        assert set(run_kit("seedlist", "--url", f"{server.url}/seedlist/myserver", *cases)) == ({failed} if failed else set())


def test_password_is_not_sent_to_another_server() -> None:
    with adaptor() as other, seedlist() as server:
        secret = "Basic " + b64encode(b"crawler:secret").decode()
        exchange = Exchange(server.url, seconds=PATIENCE_SECONDS, headers={"Authorization": secret})
        exchange.send("GET", f"{server.url}/here")
        exchange.send("GET", f"{other.url}/there")
        assert server.list_records()[0]["headers"]["authorization"] == secret
        assert "authorization" not in other.list_records()[0]["headers"]


# --- scripts, and the command ---


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("entries = [", "Invalid"),
        ("[[entries]]\ntitle = 'x'", "entries.0.id: Field required"),
        ("[[answers]]\nfault = 'burn'", "answers.0.fault: Input should be"),
        ("colour = 1", "colour: Extra inputs"),
    ],
    ids=["syntax", "missing", "value", "unknown"],
)
def test_fault_of_a_script_names_its_place(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "script.toml"
    path.write_text(text)
    with pytest.raises(BadSettings) as caught:
        read_script(path, SeedlistScript)
    assert caught.value.faults[0].startswith(f"{path}: {fault}")


def test_missing_file_of_a_script_is_an_answer(tmp_path: Path) -> None:
    script = ApplianceScript.model_validate({"answers": [{"path": "/a", "file": "none.xml"}]})
    counterpart: Counterpart = Appliance(script)
    with serving(counterpart, Script.model_validate({"answers": script.answers}), folder=tmp_path) as server:
        assert send(server, "/a").status == 500


def test_command_serves_until_it_is_ended(tmp_path: Path) -> None:
    words = ("conformance", "serve", "gsa", "--port", "0", "--record", tmp_path / "feeds")
    process = programs.start(*words, environment=dict(os.environ), stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout as output:
        url = output.readline().removeprefix("ready: ").strip()
        with FeedBuilder() as feed, pytest.raises(BadRequest, match="returned no id"):
            Client(feeds=url).push(feed, datasource="hr")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0
    assert [path.name for path in (tmp_path / "feeds").iterdir()] == ["000001.xml"]
