"""``feedmill config show`` and ``config init``: where a value comes from, and a first settings file."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from feedmill.settings import Settings
from tests import programs
from tests.appliance import running

SECRET = "s3cr3t"


def run(*words: str | Path) -> tuple[int, str]:
    done = programs.run(*words)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


def show(*words: str | Path) -> dict[str, Any]:
    code, text = run("config", "show", "--json", *words)
    assert code == 0, text
    shown: dict[str, Any] = json.loads(text)
    return shown


def test_settings_are_shown_with_their_origin_and_without_secrets(tmp_path: Path) -> None:
    config = tmp_path / "f.toml"
    config.write_text(f'[gate]\nport = 7\n[signin.proxy]\ntrusted = ["192.0.2.7"]\nsecret_header = "X-Proxy"\nsecret = "{SECRET}"\n')
    place = ("--config", config, "--data", tmp_path / "none")
    shown = show(*place)
    assert shown["gate.port"] == {"value": 7, "origin": f"{config}:2"}
    assert shown["search.port"] == {"value": 8080, "origin": "default"}
    assert shown["signin.proxy.secret"] == {"value": "(set)", "origin": f"{config}:6"}
    assert show("--changed", *place) == {key: each for key, each in shown.items() if each["origin"] != "default"}
    code, text = run("config", "show", "--changed", *place)
    assert (code, SECRET in text, "search.port" in text) == (0, False, False)
    assert '["192.0.2.7"]' in text
    assert not (tmp_path / "none").exists()


def test_settings_of_a_running_server_are_shown_with_those_set_by_api(tmp_path: Path) -> None:
    with running(tmp_path / "data") as server:
        token = (server.data / "admin.token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        entry = b'{"include": ["press.example.com/"]}'
        path = "/api/v1/settings/collections/press"
        assert server.request("PUT", server.admin, path, entry, headers)[0] == 201
        shown = show("--data", server.data)
        assert shown["gate.port"] == {"value": server.gate, "origin": "FEEDMILL_GATE_PORT"}
        assert shown["collections.press"]["origin"] == "api"


def test_first_file_has_every_usual_key_with_its_default_and_its_meaning(tmp_path: Path) -> None:
    config = tmp_path / "feedmill.toml"
    assert run("config", "init", config)[0] == 0
    code, text = run("config", "check", "--json", "--config", config)
    assert (code, json.loads(text)["faults"]) == (0, [])
    written = config.read_text()
    assert "# port for feeds over HTTP\n#port = 19900\n" in written
    lines = [line if line.startswith("# ") else line.removeprefix("#") for line in written.splitlines()]
    given = tomllib.loads("\n".join(lines))
    assert Settings.model_validate_json(json.dumps(given)) == Settings()
    assert [table for table, keys in given.items() if not keys] == []


def test_check_says_if_no_file_was_named(tmp_path: Path) -> None:
    file = tmp_path / "f.toml"
    file.touch()
    note = "no settings file was named"
    assert note in programs.run("config", "check").stdout
    assert note not in programs.run("config", "check", "--config", file).stdout


def test_first_file_is_whole_or_not_there(tmp_path: Path) -> None:
    limited = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000)); from feedmill.cli.main import main; main()"
    command = [sys.executable, "-c", limited, "config", "init", str(tmp_path / "f.toml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, list(tmp_path.iterdir())) == (1, [])
    assert done.stderr == "error: file too large\n"


def test_first_file_overwrites_nothing(tmp_path: Path) -> None:
    config = tmp_path / "feedmill.toml"
    config.write_text("# mine\n")
    code, text = run("config", "init", config)
    assert (code, "exists already" in text, config.read_text()) == (1, True, "# mine\n")
    code, text = run("config", "init", tmp_path / "none" / "feedmill.toml", "--json")
    assert (code, "cannot be written" in text) == (1, True)


def test_check_prints_warnings_first_and_where_all_settings_are(tmp_path: Path) -> None:
    config = tmp_path / "f.toml"
    config.write_text('[gate]\nallow_origins = ["*"]\n')
    code, text = run("config", "check", "--config", config)
    assert code == 0
    assert text.startswith("warning: ")
    assert f"{config}:2" in text
    assert "'feedmill config show'" in text
    assert "search.port" not in text


def test_output_that_cannot_be_written_is_a_failure_with_a_reason() -> None:
    with Path("/dev/full").open("w") as full:
        done = programs.start("config", "show", "--json", stdout=full, stderr=subprocess.PIPE)
        _, said = done.communicate()
    assert (done.returncode, said.partition(":")[0]) == (1, "error")
    assert "a disk is full" in said
    assert "Traceback" not in said
