"""Commands of the operator as processes: what they get, and that none outlives its time; listings as files."""

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from feedmill.adapters.commands import ERROR_BYTES, ProcessCommands
from feedmill.adapters.listings import RETAINED, FolderListings
from feedmill.model.errors import BadRequest, NotFound, UpstreamFailure
from feedmill.ports.commands import CommandLine
from tests.appliance import is_alive
from tests.waiting import wait_until


def line(folder: Path, script: str, *arguments: str) -> CommandLine:
    return CommandLine(
        label="command", arguments=("sh", "-c", script, "sh", *arguments), folder=str(folder), seconds=60, max_bytes=1_000_000
    )


def output_of(folder: Path, given: CommandLine, standard_input: bytes = b"") -> bytes:
    pieces: list[bytes] = []
    ProcessCommands(folder).run(given, pieces.append, standard_input=standard_input)
    return b"".join(pieces)


def test_command_gets_its_arguments_folder_input_and_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEEDMILL_GATE_TOKEN", "secret")
    monkeypatch.setenv("ADAPTOR_HOME", "/opt")
    script = 'pwd; echo "$1,$2"; cat; env | grep -e ^FEEDMILL -e ^ADAPTOR | sort'
    given = replace(line(tmp_path, script, "a b", "$HOME;*"), variables={"FEEDMILL_SINCE": "7"})
    lines = output_of(tmp_path, given, b"input\n").decode().splitlines()
    assert lines == [str(tmp_path.resolve()), "a b,$HOME;*", "input", "ADAPTOR_HOME=/opt", "FEEDMILL_SINCE=7"]


def test_command_has_no_other_open_file(tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as secret:
        os.set_inheritable(secret.fileno(), True)
        found = output_of(tmp_path, line(tmp_path, "ls /proc/$$/fd")).split()
    assert {int(each) for each in found} <= {0, 1, 2}


def test_large_input_and_output_pass_at_the_same_time(tmp_path: Path) -> None:
    data = os.urandom(900_000)
    assert output_of(tmp_path, line(tmp_path, "exec cat"), data) == data


def test_errors_are_bounded_and_quoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UpstreamFailure, match=r"^the command ended with status 3: eee"):
        output_of(tmp_path, line(tmp_path, "head -c 5000000 /dev/zero | tr '\\0' e >&2; exit 3"))
    assert 0 < len(capsys.readouterr().out) < ERROR_BYTES + 1_000


@pytest.mark.parametrize("ending", ["exec sleep 1000", "exec cat /dev/zero"])
def test_whole_group_is_killed_when_the_command_exceeds_a_limit(tmp_path: Path, ending: str) -> None:
    given = replace(line(tmp_path, f"sleep 1000 & echo $! > child; {ending}"), seconds=3 if ending[5:] == "sleep 1000" else 60)
    with pytest.raises(UpstreamFailure, match=r"did not end within 3 s|printed more than 1000000 bytes, see limits.output_mb"):
        output_of(tmp_path, given)
    child = int((tmp_path / "child").read_text())
    wait_until(lambda: not is_alive(child), "the end of the child")


def test_error_of_the_reader_ends_the_command(tmp_path: Path) -> None:
    def refuse(_: bytes) -> None:
        raise BadRequest("refused")

    with pytest.raises(BadRequest, match="refused"):
        ProcessCommands(tmp_path).run(line(tmp_path, "echo $$ > pid; echo x; exec sleep 1000"), refuse)
    assert not is_alive(int((tmp_path / "pid").read_text()))


def test_process_that_holds_the_output_open_is_not_waited_for(tmp_path: Path) -> None:
    assert output_of(tmp_path, line(tmp_path, "setsid sleep 30 & echo $! > pid; echo done")) == b"done\n"
    os.kill(int((tmp_path / "pid").read_text()), 9)


def test_stop_ends_commands_that_run_and_those_that_begin_later(tmp_path: Path) -> None:
    commands = ProcessCommands(tmp_path)
    failures: list[UpstreamFailure] = []

    def work() -> None:
        try:
            commands.run(line(tmp_path, "touch begun; exec sleep 1000"), lambda _: None)
        except UpstreamFailure as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    wait_until(lambda: (tmp_path / "begun").exists(), "the command")
    commands.stop()
    thread.join()
    work()
    assert [str(failure) for failure in failures] == ["the command was ended by signal 9"] * 2


def test_files_are_rewritten_and_removed(tmp_path: Path) -> None:
    commands = ProcessCommands(tmp_path / "files")
    given = line(tmp_path, 'cat "$1" "$2" > joined; cat joined > "$2"')
    assert commands.rewrite(given, [b"a\0", b"b\0"]) == [b"a\0", b"a\0b\0"]
    assert list((tmp_path / "files").iterdir()) == []
    with pytest.raises(UpstreamFailure, match="left no file that can be read"):
        commands.rewrite(line(tmp_path, 'rm "$1"'), [b""])


def test_listing_is_read_from_any_line_and_few_older_ones_stay(tmp_path: Path) -> None:
    listings = FolderListings(tmp_path)

    def write(number: int) -> str:
        def fill(add: Callable[[bytes], object]) -> None:
            add(b"%d" % number)
            add(b"end")

        return listings.write(fill)

    names = [write(number) for number in range(RETAINED + 3)]
    lines = list(listings.iter_lines(names[-1], 0))
    assert [text for text, _ in lines] == [b"%d" % (RETAINED + 2), b"end"]
    assert [text for text, _ in listings.iter_lines(names[-1], lines[0][1])] == [b"end"]
    assert len(list(tmp_path.iterdir())) == RETAINED + 1
    for name in (names[0], "../etc.listing", "x"):
        with pytest.raises(NotFound):
            next(listings.iter_lines(name, 0))


def test_listing_that_is_not_finished_is_none(tmp_path: Path) -> None:
    def fail(_: object) -> None:
        raise BadRequest("no more")

    with pytest.raises(BadRequest):
        FolderListings(tmp_path).write(fail)
    assert list(tmp_path.glob("*.listing")) == []
