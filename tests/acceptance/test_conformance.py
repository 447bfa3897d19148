"""The conformance kit against our own server: it keeps every promise that the kit knows."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from feedmill.cli.main import build_app
from tests import programs
from tests.acceptance.promises import put
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_acl_element, make_feed, make_record
from tests.builders.requests import PASSWORD
from tests.waiting import wait_until

SETTINGS = """
[crawl]
allow_private = ["127.0.0.1/"]
[signin.proxy]
trusted = ["127.0.0.0/8"]
[[dataload.profiles]]
name = "default"
allowed = ["127.0.0.0/8"]
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    with running(tmp_path_factory.mktemp("conformance") / "data", SETTINGS) as appliance:
        yield appliance


def count_left(server: Appliance) -> int:
    sources = server.get_json(server.gate, "/api/v1/datasources")
    return sum(source["documents"] for source in sources)


@pytest.mark.parametrize(
    ("protocol", "options"), [("gsa", ["--user-header", "X-Forwarded-User", "--site", "http://127.0.0.1:0"]), ("dataload", [])]
)
def test_our_server_keeps_every_promise(server: Appliance, protocol: str, options: list[str]) -> None:
    urls = ["--url", f"http://127.0.0.1:{server.gate}", "--search-url", f"http://127.0.0.1:{server.search_port}"]
    done = CliRunner().invoke(build_app(), ["conformance", protocol, *urls, *options, "--wait", "120", "--json"])

    report = json.loads(done.stdout)
    assert [(case["name"], case["detail"]) for case in report["cases"] if case["outcome"] != "held"] == []
    assert (done.exit_code, report["held"]) == (0, len(report["cases"]))
    # the kit leaves no documents behind
    wait_until(lambda: count_left(server) == 0, lambda: f"the removal of the kit's documents, and saw last {count_left(server)}")


def test_server_that_wants_a_token_is_tried_with_one(tmp_path: Path) -> None:
    with running(tmp_path / "data", f"[gate]\nrequire_token = true\n{SETTINGS}") as server:
        made = programs.run("tokens", "add", "kit", "--scope", "push", "--json", "--data", server.data)
        token = json.loads(made.stdout)["token"]
        urls = ["--url", f"http://127.0.0.1:{server.gate}", "--search-url", f"http://127.0.0.1:{server.search_port}"]
        for protocol, case in (("gsa", "success-exact"), ("dataload", "reply-grammar")):
            command = ["conformance", protocol, *urls, "--case", case, "--wait", "120", "--json"]
            done = CliRunner().invoke(build_app(), [*command, "--token", token])
            assert (done.exit_code, json.loads(done.stdout)["held"]) == (0, 1), done.output
            assert CliRunner().invoke(build_app(), command).exit_code == 1


def test_our_seedlist_keeps_every_promise(server: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("users", "add", "crawler", "--role", "administrator", "--password-stdin", "--data", server.data)
    assert programs.run(*words, given=PASSWORD + "\n").returncode == 0
    put(
        server,
        "listed",
        *(make_record(f"http://listed.example.com/{number}", f"text {number}") for number in range(5)),
        make_acl_element("ann", url="http://listed.example.com/1"),
    )
    monkeypatch.setenv("FEEDMILL_CONFORMANCE_PASSWORD", PASSWORD)

    search_url = f"http://127.0.0.1:{server.search_port}"
    options = ["--url", f"{search_url}/seedlist/myserver", "--search-url", search_url, "--user", "crawler", "--json"]
    done = CliRunner().invoke(build_app(), ["conformance", "seedlist", *options])

    report = json.loads(done.stdout)
    assert [(case["name"], case["detail"]) for case in report["cases"] if case["outcome"] != "held"] == []
    assert done.exit_code == 0
    server.wait(server.push(make_feed(), "listed", "full"))
