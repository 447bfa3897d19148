"""Ctrl-C, a full disk and closed streams end a command without a traceback, and leave nothing half-written."""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders.feedxml import make_feed, make_record
from tests.migratedstore import prepare_migrated
from tests.waiting import PATIENCE_SECONDS, wait_until

OPTIONS = ("--datasource", "a", "--feedtype", "full")


def interrupt(is_time: Callable[[], bool], *words: str | Path) -> tuple[int, str]:
    """Runs a command, and interrupts it and all that it started, as a terminal does. Returns its exit code and standard error."""
    command = [sys.executable, "-m", "feedmill.cli.start", *words]
    # a run in the background of a shell ignores the signal, and so would all that it starts
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0) as process:
        signal.signal(signal.SIGINT, before)
        wait_until(lambda: is_time() or process.poll() is not None)
        os.killpg(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=PATIENCE_SECONDS)
    assert "Traceback" not in error, error
    return process.returncode, error


def test_push_that_is_interrupted_before_the_feed_is_stored_leaves_no_new_folder(tmp_path: Path) -> None:
    data, pipe = tmp_path / "above" / "d", tmp_path / "feed.xml"
    os.mkfifo(pipe)  # whose other end nobody opens
    code, error = interrupt((data / "store.sqlite").exists, "push", pipe, *OPTIONS, "--data", data)
    assert code == 130, error
    assert not data.parent.exists()


def test_feed_whose_push_is_interrupted_goes_on_with_the_next_command(tmp_path: Path) -> None:
    data, feed = tmp_path / "d", tmp_path / "feed.xml"
    prepare_migrated(data)
    count = 2_000
    feed.write_bytes(make_feed(*(make_record(f"http://a.example.com/{number}", "leek soup") for number in range(count))))
    code, error = interrupt(lambda: any(data.glob("feeds/*")), "push", feed, *OPTIONS, "--data", data)
    if code == 0:
        pytest.fail("the machine applied the feed before it could be interrupted; give it more records")
    assert code == 130, error
    listed = json.loads(run("feeds", "--json", "--data", data))
    if "is stored; 'feedmill serve' or the next push goes on with it" in error:
        assert listed
    feed.write_bytes(make_feed(make_record("http://a.example.com/more", "bread")))
    run("push", feed, "--datasource", "a", "--feedtype", "incremental", "--data", data)
    (source,) = json.loads(run("sources", "--json", "--data", data))
    assert (source["documents"], source["feeds"]) == ((count + 1, 2) if listed else (1, 1))


def test_feed_that_is_made_is_whole_or_not_there(tmp_path: Path) -> None:
    folder, output = tmp_path / "folder", tmp_path / "out"
    folder.mkdir()
    output.mkdir()
    for number in range(2_000):
        (folder / f"{number}.txt").write_text("leek soup\n")
    code, _ = interrupt(lambda: any(output.iterdir()), "make-feed", folder, "--datasource", "a", "--output", output / "a.xml")
    assert (code, [path.name for path in output.iterdir()]) in ((130, []), (0, ["a.xml"]))


def test_interruption_while_the_program_loads_prints_nothing() -> None:
    code = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from feedmill.cli.start import start; start()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_feed_that_finds_no_space_is_not_left_in_part(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("leek soup " * 1_000)
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000)); from feedmill.cli.start import start; start()"
    words = ("make-feed", tmp_path / "folder", "--datasource", "a", "--output", tmp_path / "a.xml", "--json")
    done = subprocess.run([sys.executable, "-c", limited, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_the_caller_has_closed_are_empty(tmp_path: Path, closed: str) -> None:
    prepare_migrated(tmp_path / "d")
    program = f"{shlex.quote(sys.executable)} -m feedmill.cli.start"
    data = f"--data {shlex.quote(str(tmp_path / 'd'))}"
    for words, code in (
        (f"feeds --json {data}", 0),
        (f"users add ann --password-stdin {data}", 1),
        (f"access explain --batch - {data}", 0),
    ):
        given = "</dev/null" if "<&-" not in closed else ""
        done = subprocess.run(["sh", "-c", f"{program} {words} {given} {closed}"], capture_output=True, text=True, check=False)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr


def run(*words: str | Path) -> str:
    return subprocess.run([sys.executable, "-m", "feedmill.cli.start", *words], capture_output=True, text=True, check=True).stdout
