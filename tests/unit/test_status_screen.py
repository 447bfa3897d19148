"""The screen of ``feedmill status``: faults stand first, whatever else there is."""

from typing import Any

import pytest

from feedmill.cli.statusscreen import list_faults, print_status

QUEUE = {
    "name": "extract",
    "waiting": 3,
    "oldest_seconds": 90.0,
    "stuck": True,
    "since": "2026-03-01T12:00:00Z",
    "document": "http://a/",
    "reason": "no disk",
}
CIRCUIT = {"rule": "wiki", "server": "wiki.example.com", "since": "2026-03-01T12:00:00Z", "reason": "timeout", "failures": 5}


def make_status(**changes: Any) -> dict[str, Any]:
    """Returns the status of a server at rest, with changes."""
    rest = {
        "running": True,
        "pid": 7,
        "started_at": "2026-03-01T12:00:00+00:00",
        "addresses": {"gate": "127.0.0.1:19900"},
        "roles": {"gate": {"pids": [8], "restarts": 0}},
        "sandbox": {"seccomp": True, "landlock": 0},
        "feeds_waiting": 0,
        "documents": 2,
        "index_tasks": {},
        "semantic": None,
        "authorization": {"open_circuits": []},
        "queues": [],
        "index": {"folder": "a", "generation": 1, "rebuilding": None, "progress": None, "partial": False, "learning_patterns": False},
        "crawl": {"urls": 0, "sites": 0, "groups": {}, "paused": False, "fetches": [0] * 60},
        "pull_sources": [],
        "warnings": [],
    }
    return rest | changes


def test_server_at_rest_has_no_faults(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(list_faults(make_status())) == []
    print_status(make_status())
    assert capsys.readouterr().out.startswith("server:     runs as process 7")


def make_pull_source(name: str, state: str = "completed", reason: str | None = None) -> dict[str, Any]:
    last = {"id": 7, "state": state, "reason": reason}
    return {"name": name, "kind": "database", "paused": False, "next_run_at": "2026-11-27T21:14:00Z", "last_run": last}


def test_faults_stand_before_warnings_and_everything_else(capsys: pytest.CaptureFixture[str]) -> None:
    status = make_status(
        queues=[QUEUE],
        authorization={"open_circuits": [CIRCUIT]},
        semantic={"model": "bge", "embedded": 1, "documents": 2, "open_circuit": {"since": "2026-03-01T12:00:00Z", "reason": "no route"}},
        roles={"gate": {"pids": [8], "restarts": 0}, "indexer": {"pids": [0], "restarts": 2}},
        index={**make_status()["index"], "partial": True},
        pull_sources=[
            make_pull_source("hr", "failed", "no \x1b[2Jroute"),
            make_pull_source("it", "held", "9 of 10"),
            make_pull_source("ok"),
        ],
        warnings=["gate.trusted: everybody"],
    )
    print_status(status)
    text = capsys.readouterr().out
    faults, _, rest = text.partition("warning:    gate.trusted: everybody\n")
    assert [line for line in faults.splitlines() if line.startswith("error:")] == [
        "error:      queue extract has not moved since 2026-03-01 12:00:00 UTC, http://a/",
        "error:      wiki: wiki.example.com gets no requests since 2026-03-01 12:00:00 UTC",
        "error:      the model bge gets no queries since 2026-03-01 12:00:00 UTC",
        "error:      indexer ended by itself and was started again 2 times, and one of its processes waits for its restart",
        "error:      the index does not hold all documents yet",
        "error:      source hr: the last run failed",
        "error:      source it: the last run was held, because it would delete too much",
    ]
    assert rest.startswith("server: ")
    assert "source:     ok: database, run 7 completed, next 2026-11-27 21:14:00 UTC" in text
    assert text.count("no disk") == 1
    assert "\x1b" not in text


def test_data_folder_without_a_server_has_that_fault_first(capsys: pytest.CaptureFixture[str]) -> None:
    print_status(make_status(running=False, pid=None, roles={}, addresses={}))
    assert capsys.readouterr().out.startswith("error:      no server runs on this data folder")
