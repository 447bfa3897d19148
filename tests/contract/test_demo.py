"""The demonstration where it cannot start, and the files of its folders."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest

from feedmill.cli.demofiles import USUAL_PORT, FileServer, serving_files
from feedmill.cli.workplace import Workplace
from feedmill.model.errors import BadSettings


@pytest.fixture
def files(tmp_path: Path) -> Iterator[FileServer]:
    folder = tmp_path / "mine"
    (folder / "sub folder").mkdir(parents=True)
    (folder / "sub folder" / "größe#1.txt").write_text("leek soup")
    (folder / "page.html").write_text("<script>1</script>")
    (folder / "notes.md").write_text("# Notes")
    (folder / "old.txt.gz").write_bytes(b"\x1f\x8b")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "up").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    with serving_files({"folder": folder}) as server:
        yield server


def ask(server: FileServer, path: str, method: str = "GET", host: str = "") -> tuple[HTTPResponse, bytes]:
    port = server.server_address[1]
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, headers={"Host": host or f"127.0.0.1:{port}"})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_files_are_served_under_the_addresses_that_a_feed_has(files: FileServer) -> None:
    answer, body = ask(files, "/folder/sub%20folder/gr%C3%B6%C3%9Fe%231.txt")
    assert (answer.status, answer.headers["content-type"], body) == (200, "text/plain; charset=utf-8", b"leek soup")
    assert ask(files, "/folder/notes.md")[0].headers["content-type"] == "text/plain; charset=utf-8"
    assert ask(files, "/folder/old.txt.gz")[0].headers["content-type"] == "application/octet-stream"
    answer, body = ask(files, "/folder/page.html", "HEAD")
    assert (answer.status, body) == (200, b"")
    assert answer.headers["content-security-policy"].startswith("sandbox;")
    assert files.url("folder") == f"http://127.0.0.1:{files.server_address[1]}/folder/"


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/folder", "/folder/", "/folder/none.txt", "/folder/link.txt", "/folder/up/secret.txt", "/folder/pipe", "/other/page.html"),
        *("/folder/../secret.txt", "/folder/%2e%2e/secret.txt", "/folder/..%2fsecret.txt", "/folder//page.html", "/folder/%00", "/%ff/a"),
    ],
)
def test_nothing_else_is_served(files: FileServer, path: str) -> None:
    assert ask(files, path)[0].status == 404


def test_files_are_served_to_this_machine_alone(files: FileServer) -> None:
    assert files.server_address[0] == "127.0.0.1"
    assert ask(files, "/folder/page.html", host="evil.example.com")[0].status == 421


def test_port_that_is_taken_is_replaced_by_a_free_one(files: FileServer, tmp_path: Path) -> None:
    with serving_files({"folder": tmp_path}) as other:
        assert other.server_address[1] != files.server_address[1]
        assert ask(other, "/folder/secret.txt")[1] == b"secret"


def test_variable_names_the_port_of_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEEDMILL_FILES_PORT", "0")
    with serving_files({"folder": tmp_path}) as server:
        assert server.server_address[1] not in (0, USUAL_PORT)
    for text in ("-1", "65536", "x", "²"):
        monkeypatch.setenv("FEEDMILL_FILES_PORT", text)
        with pytest.raises(BadSettings, match=f"FEEDMILL_FILES_PORT: '{text}' is no port"), serving_files({"folder": tmp_path}):
            pass


def test_demo_that_cannot_start_says_why(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "feedmill.cli.demo", "--once", "--data", str(tmp_path / "data")]
        environment = os.environ | {"FEEDMILL_SEARCH_PORT": str(port)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    said = " ".join(done.stdout.split())
    assert done.returncode == 1
    assert f"the server did not start; error: port {port} on 127.0.0.1 (search.port) is in use" in said
    # its own new folder was never open to others, so there is nothing to warn of
    assert "data_folder_closed" not in (tmp_path / "data" / "server.log").read_text()


def test_demo_that_is_ended_ends_its_server(tmp_path: Path) -> None:
    command = [sys.executable, "-u", "-m", "feedmill.cli.demo", "--data", str(tmp_path / "data")]
    environment = os.environ | {f"FEEDMILL_{name}_PORT": "0" for name in ("GATE", "GATE_TLS", "DTD", "SEARCH", "ADMIN")}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        assert "the server runs on" in demo.stdout.readline()
        server = Workplace(data=tmp_path / "data", config=None)
        assert server.find_server() is not None
        demo.terminate()
        demo.communicate()
    assert demo.returncode == 0
    assert server.find_server() is None
