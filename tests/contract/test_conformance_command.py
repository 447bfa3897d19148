"""The conformance kit against servers that are not there, are others, hang, or do something else than they should."""

import json
import socket
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from feedmill.cli.main import build_app
from feedmill.conformance import dataload, gsa
from feedmill.conformance.cases import Case
from feedmill.model.errors import BadRequest, FeedmillError

Serve = Callable[[bytes], str]


def run(*words: str) -> Result:
    return CliRunner().invoke(build_app(), ["conformance", *words])


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Returns a function that starts a server which answers every request in the same way, and returns its URL."""
    servers: list[ThreadingHTTPServer] = []

    def start(body: bytes) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"] or 0))
                self.send_response(200)
                self.send_header("Content-Type", "text/plain")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                return

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("protocol", ["gsa", "dataload"])
def test_server_that_is_not_there_is_named(protocol: str) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        done = run(protocol, "--url", url)
    assert isinstance(done.exception, FeedmillError)
    assert f"{url}/" in str(done.exception)
    assert "cannot be reached: Connection refused" in str(done.exception)


@pytest.mark.parametrize("protocol", ["gsa", "dataload"])
def test_server_that_does_not_answer_is_named_in_time(protocol: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        done = run(protocol, "--url", f"http://127.0.0.1:{silent.getsockname()[1]}", "--timeout", "0.2")
    assert "does not answer in time" in str(done.exception)


def test_other_server_is_refused_with_what_it_answers(serve: Serve) -> None:
    url = serve(b"It works!")
    assert "takes no feeds: it answers /xmlfeed with status 200 with 'It works!'" in str(run("gsa", "--url", url).exception)
    assert "takes no dataloads" in str(run("dataload", "--url", url).exception)


def test_server_that_does_not_trust_us_is_refused(serve: Serve) -> None:
    assert "does not trust this machine" in str(run("gsa", "--url", serve(b"Error - Unauthorized Request")).exception)


def test_url_that_is_none_is_refused() -> None:
    assert "no address of a server" in str(run("gsa", "--url", "ftp://nowhere").exception)


@pytest.mark.parametrize(
    "site", ["http://127.0.0.1", "https://127.0.0.1:0", "http://127.0.0.1:99999", "http://127.0.0.1:0/x", "http://192.0.2.1:0"]
)
def test_site_that_cannot_be_served_is_refused(site: str, serve: Serve) -> None:
    done = run("gsa", "--url", serve(b"Success"), "--case", "crawl-user-agent", "--site", site)
    assert isinstance(done.exception, BadRequest)
    assert "site of the kit" in str(done.exception)


def test_server_that_crawls_nothing_fails_the_cases_of_crawling(serve: Serve) -> None:
    words = ("gsa", "--url", serve(b"Success"), "--case", "crawl-user-agent", "--wait", "0.2", "--json")
    outcomes = [
        [(case["outcome"], case["detail"]) for case in json.loads(run(*words, *site).stdout)["cases"]]
        for site in ((), ("--site", "http://127.0.0.1:0"))
    ]
    assert outcomes == [[("not tried", "needs --site")], [("failed", "the page 'a' is fetched 0 times within 0.2 seconds")]]


def test_unknown_case_is_wrong_use() -> None:
    assert run("gsa", "--url", "http://127.0.0.1:1", "--case", "nonsense").exit_code == 2


def test_line_end_after_success_fails_and_is_shown(serve: Serve) -> None:
    url = serve(b"Success\n")
    done = run("gsa", "--url", url, "--case", "success-exact", "--case", "content-text", "--json")
    first, second = json.loads(done.stdout)["cases"]
    assert (done.exit_code, first["outcome"], second["outcome"]) == (1, "failed", "not tried")
    assert "answered with status 200 with 'Success\\n', not with exactly 'Success'" in first["detail"]
    assert first["sources"][0].startswith("Feeds Protocol Developer's Guide")


def test_table_shows_outcome_name_expectation_and_source(serve: Serve) -> None:
    done = run("gsa", "--url", serve(b"Success"), "--case", "groups-cleanup-alone", "--case", "content-text")
    first, second, reason, _, total = done.stdout.splitlines()
    assert first.startswith("held       groups-cleanup-alone  cleanup is taken at /xmlgroups without any other field  [googlegsa/library")
    assert second.startswith("not tried  content-text          Text in <content> is found by its words  [Feeds Protocol")
    assert reason.strip() == "-> needs --search-url"
    assert total.endswith("1 held, 0 failed, 1 not tried")
    assert done.exit_code == 0


@pytest.mark.parametrize("cases", [gsa.CASES, dataload.CASES.cases], ids=["gsa", "dataload"])
def test_cases_have_names_of_their_own_and_sources(cases: Sequence[Case[Any]]) -> None:
    assert len({case.name for case in cases}) == len(cases)
    assert all(case.sources and case.expectation for case in cases)
