"""The executable ``feedmill``: other tests start the program by a fork of one that is loaded, so both must act alike."""

import signal
import subprocess
from pathlib import Path

import pytest

from tests import programs
from tests.appliance import is_alive, running
from tests.builders.feedxml import make_feed, make_record
from tests.waiting import PATIENCE_SECONDS, wait_for


def test_executable_serves_reloads_and_stops(tmp_path: Path) -> None:
    with running(tmp_path / "data", start=programs.start_executable) as server:
        server.feed(make_feed(make_record("http://executable.example/", "<p>oneword</p>")))
        assert server.urls("oneword") == ["http://executable.example/"]
        server.reload('[gate]\nserver_header = "other"\n')
        assert server.request("GET", server.gate, "/getbacklogcount")[1]["server"] == "other"
        pids = [pid for found in server.role_pids().values() for pid in found]
        assert server.stop() == 0
        wait_for([], lambda: [pid for pid in pids if is_alive(pid)])


@pytest.mark.parametrize(
    "words",
    [
        ("--version",),
        pytest.param(("nonsense",), marks=pytest.mark.thorough),
        ("push",),
        pytest.param(("push", "--help"), marks=pytest.mark.thorough),
        pytest.param(("status", "--data", "nowhere"), marks=pytest.mark.thorough),
        pytest.param(("status", "--data", "nowhere", "--json"), marks=pytest.mark.thorough),
        ("config", "check", "--config", "bad.toml"),
        ("validate", "-"),
    ],
    ids=" ".join,
)
def test_forked_command_ends_as_the_executable_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.toml").write_text("[gate]\nport = 1\nport = 2\n")
    monkeypatch.setenv("COLUMNS", "90")
    done = [programs.run(*words, given="<gsafeed/>", start=start) for start in (programs.start, programs.start_executable)]
    forked, executed = [(each.returncode, each.stdout, each.stderr) for each in done]
    assert forked == executed


@pytest.mark.parametrize("start", [programs.start, programs.start_executable])
def test_process_reports_the_signal_that_ended_it(start: programs.Start) -> None:
    with start("validate", "/dev/stdin", stdin=subprocess.PIPE) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        assert process.poll() is None
        process.kill()
        assert process.wait(PATIENCE_SECONDS) == -signal.SIGKILL
