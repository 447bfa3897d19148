"""What tests of the promises share: whole feeds in short words, and the ways by which a document must not leak."""

import io
import json
import sys
import urllib.parse
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from feedmill.cli.main import main
from tests import programs
from tests.appliance import Appliance
from tests.builders.feedxml import make_feed
from tests.builders.requests import make_multipart

Fields = Sequence[tuple[str, bytes]]


def post_fields(server: Appliance, path: str, fields: Fields) -> tuple[int, dict[str, str], bytes]:
    """Posts form fields as multipart."""
    return server.request("POST", server.gate, path, make_multipart(*fields), {"Content-Type": "multipart/form-data; boundary=<<"})


def counts(receipt: dict[str, Any]) -> tuple[str, int, int, int]:
    """Returns state, records, included, errors."""
    return receipt["state"], receipt["records"], receipt["included"], receipt["errors"]


def levels(receipt: dict[str, Any]) -> list[str]:
    """Returns the levels of a receipt's log entries, sorted."""
    return sorted(entry["level"] for entry in receipt["log"])


def put(server: Appliance, source: str, *records: str, feedtype: str = "incremental") -> dict[str, Any]:
    """Feeds records, which must all be good, and returns the receipt."""
    receipt = server.feed(make_feed(*records), source, feedtype)
    assert receipt["state"] == "completed", receipt
    return receipt


def get(server: Appliance, url: str) -> dict[str, Any]:
    """Returns a document that must be known."""
    document = server.document(url)
    assert document is not None, url
    return document


def is_known_to_search(server: Appliance, url: str) -> bool:
    """Returns whether the search port shows a document to every user."""
    path = "/api/v1/documents?" + urllib.parse.urlencode({"url": url})
    status, _, body = server.request("GET", server.search_port, path)
    assert status in (200, 404), body
    return status == 200


def show_page(server: Appliance, query: str, **parameters: str | int) -> str:
    """Returns the search page's HTML."""
    path = "/?" + urllib.parse.urlencode({"q": query, **parameters})
    status, headers, body = server.request("GET", server.search_port, path)
    assert (status, headers["content-type"].lower()) == (200, "text/html; charset=utf-8")
    return body.decode()


def is_public(server: Appliance, url: str, word: str) -> bool:
    """Returns whether every user finds a document by a word of its own. All ways must agree: all of them see it or none does."""
    answer = server.search(word, match="all")
    page = show_page(server, word)
    shown = [url in [result["url"] for result in answer["results"]], is_known_to_search(server, url)]
    shown += [answer["total"] > 0, url in page, server.search(f"info:{url}")["total"] > 0]
    assert len(set(shown)) == 1, (shown, answer)
    return shown[0]


def read_acl(server: Appliance, url: str) -> set[tuple[str, str, str]] | None:
    """Returns a document's principals as (access, scope, name), None without an ACL."""
    acl = get(server, url)["acl"]
    return None if acl is None else {(each["access"], each["scope"], each["name"]) for each in acl["principals"]}


def error_of(answer: tuple[int, dict[str, str], bytes]) -> Any:
    """Returns the JSON of an error answer."""
    return json.loads(answer[2])


def run_process(*words: str | Path) -> tuple[int, str, str]:
    """Runs a command of the program as a process and returns its exit code, standard output and standard error."""
    done = programs.run(*words)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def run_command(*words: str | Path) -> tuple[int, str, str]:
    """Does as ``run_process`` without a process, whose start takes longer than most commands."""
    out, err, arguments = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["feedmill", *map(str, words)]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
        code = 0
    except SystemExit as ended:
        code = int(str(ended.code or 0))
    finally:
        sys.argv = arguments
    return code, out.getvalue(), err.getvalue()


def run_json(*words: str | Path) -> tuple[int, Any]:
    """Runs a command with ``--json`` and returns its exit code and its output."""
    code, out, _ = run_command(*words, "--json")
    return code, json.loads(out)
