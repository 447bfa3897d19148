"""The results of two servers are compared query by query."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape

import pytest
from typer.testing import CliRunner

from feedmill.cli.main import build_app
from tests.threadedserver import serve_in_thread

NO_RESULTS = '<?xml version="1.0" encoding="UTF-8" standalone="no"?><GSP VER="3.2"></GSP>'


@contextmanager
def serve(answers: Mapping[str, list[str] | str], asked: list[tuple[str, dict[str, list[str]]]] | None = None) -> Iterator[str]:
    """Serves results, or another text, by query, and yields the address. Status 500 for a query that is not there."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            parameters = parse_qs(parts.query)
            if asked is not None:
                asked.append((parts.path, parameters))
            answer = answers.get(parameters["q"][0])
            text = make_results(answer) if isinstance(answer, list) else answer or "broken"
            self.send_response(500 if answer is None else 200)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with serve_in_thread(server):
        yield f"http://127.0.0.1:{server.server_port}"


def make_results(urls: list[str]) -> str:
    if not urls:
        return NO_RESULTS
    results = "".join(f'<R N="{number}"><U>{escape(url)}</U></R>' for number, url in enumerate(urls, 1))
    return f'<!DOCTYPE GSP SYSTEM "google.dtd"><GSP VER="3.2"><RES SN="1" EN="{len(urls)}">{results}</RES></GSP>'


def compare(tmp_path: Path, old: str, new: str, queries: str, *options: str) -> tuple[int, list[Any]]:
    path = tmp_path / "queries.txt"
    path.write_text(queries, encoding="utf-8")
    done = CliRunner().invoke(build_app(), ["compare", "--old", old, "--url", new, "--queries", str(path), "--json", *options])
    return done.exit_code, [json.loads(line) for line in done.stdout.splitlines()]


def test_queries_are_compared_in_their_order_and_summed_up(tmp_path: Path) -> None:
    before = {"same": ["http://a/?x=1&y=2", "http://b/"], "both ways": ["http://a/", "http://b/"], "lost": ["http://a/"], "none": []}
    after = {"same": ["http://b/", "http://a/?x=1&y=2"], "both ways": ["http://c/", "http://b/"], "lost": [], "none": []}
    with serve(before) as old, serve(after) as new:
        code, said = compare(tmp_path, old, new, "\ufeffsame\r\n\n both ways \nlost\nnone")
    assert code == 0
    assert said == [
        {"query": "same", "overlap": 1.0, "missing": [], "extra": []},
        {"query": "both ways", "overlap": 0.5, "missing": ["http://a/"], "extra": ["http://c/"]},
        {"query": "lost", "overlap": 0.0, "missing": ["http://a/"], "extra": []},
        {"query": "none", "overlap": 1.0, "missing": [], "extra": []},
        {"queries": 4, "overlap": 0.625, "missing": 2, "extra": 1, "errors": 0},
    ]


def test_both_servers_are_asked_alike_and_a_search_page_by_its_own_parameters(tmp_path: Path) -> None:
    asked: list[tuple[str, dict[str, list[str]]]] = []
    with serve({"größe": []}, asked) as server:
        compare(tmp_path, f"{server}/gsa/find?site=press&client=intranet", server, "größe", "--num", "7")
    always = {"q": ["größe"], "num": ["7"], "output": ["xml_no_dtd"], "filter": ["0"], "ie": ["UTF-8"], "oe": ["UTF-8"]}
    assert sorted(asked, key=lambda each: each[0]) == [
        ("/gsa/find", always | {"site": ["press"], "client": ["intranet"]}),
        ("/search", always | {"site": ["default_collection"], "client": ["default_frontend"]}),
    ]


@pytest.mark.parametrize("answer", ["<html>sign in</html>", "no XML", '<!DOCTYPE x [<!ENTITY a "b">]><GSP>&a;</GSP>', None])
def test_query_that_a_server_does_not_answer_is_reported_and_the_others_compared(tmp_path: Path, answer: str | None) -> None:
    answers = {"good": ["http://a/"]} | ({} if answer is None else {"bad": answer})
    with serve(answers) as old, serve({"good": ["http://a/"], "bad": []}) as new:
        code, said = compare(tmp_path, old, new, "bad\ngood\n")
    assert code == 1
    assert set(said[0]) == {"query", "error"}
    assert old in said[0]["error"]
    assert said[1]["overlap"] == 1.0
    assert said[2] == {"queries": 2, "overlap": 1.0, "missing": 0, "extra": 0, "errors": 1}


def test_comparison_without_queries_or_without_a_server(tmp_path: Path) -> None:
    with serve({}) as server:
        assert compare(tmp_path, server, server, "\n \n") == (0, [{"queries": 0, "overlap": None, "missing": 0, "extra": 0, "errors": 0}])
    queries = tmp_path / "queries.txt"
    queries.write_text("x")
    words = ["compare", "--old", "http://127.0.0.1:9", "--queries", str(queries), "--data", str(tmp_path / "data")]
    done = CliRunner().invoke(build_app(), words)
    assert done.exit_code == 1
