"""A backup is made beside a running server, and a folder that is restored from it serves what there was."""

import json
import os
import tarfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests import programs
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_acl_element, make_feed, make_record
from tests.builders.requests import PASSWORD, make_basic
from tests.waiting import wait_until

URL = "http://kept.example.com/"
LARGE = "large " * 50_000


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    with running(tmp_path_factory.mktemp("backed") / "data") as server:
        programs.run("users", "add", "ann", "--password-stdin", "--data", server.data, given=PASSWORD)
        server.feed(make_feed(make_record(f"{URL}a", "keptword"), make_record(f"{URL}large", LARGE, [("kind", "big")])), "kept", "full")
        server.feed(make_feed(make_record(f"{URL}secret", "keptword", acl=make_acl_element("ann"))), "secret")
        yield server


@pytest.fixture(scope="module")
def backup(server: Appliance, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("backups") / "feedmill.tar"
    code, said = run("backup", file, "--data", server.data)
    assert code == 0, said
    assert said["file"] == str(file)
    assert said["files"] > 3
    assert "FEEDMILL_GATE_PORT" in said["outside"]
    return file


def run(*words: str | Path) -> tuple[int, Any]:
    done = programs.run(*words, "--json")
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


def find(server: Appliance, user: str = "") -> set[str]:
    headers = {"authorization": make_basic(user)} if user else {}
    _, _, body = server.request("GET", server.search_port, "/api/v1/search?q=keptword&match=all", None, headers)
    return {result["url"] for result in json.loads(body)["results"]}


def list_files(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if entry.name != "feedmill.lock") if folder.exists() else []


def test_restored_folder_serves_what_there_was(server: Appliance, backup: Path, tmp_path: Path) -> None:
    server.feed(make_feed(make_record(f"{URL}later", "keptword"), make_record(f"{URL}a", action="delete")), "kept")
    data = tmp_path / "restored"
    restored_as = programs.run("restore", backup, "--data", data)
    assert restored_as.returncode == 0, restored_as.stderr
    assert "it does not hold the index, which a server builds again, and nothing outside the data folder:" in restored_as.stdout
    assert "\n  FEEDMILL_GATE_PORT\n" in restored_as.stdout
    assert restored_as.stdout.endswith(f"'feedmill serve --data {data} --config FILE' starts a server on it, which builds the index\n")
    assert not list_files(server.data / "spool")
    with running(data) as restored:
        wait_until(lambda: find(restored, "ann") == {f"{URL}a", f"{URL}secret"}, lambda: f"the documents, and saw {find(restored, 'ann')}")
        assert find(restored) == {f"{URL}a"}
        large = restored.document(f"{URL}large")
        assert large is not None
        assert large["metadata"] == {"kind": ["big"]}
        assert restored.document(f"{URL}later") is None
        feeds = restored.get_json(restored.gate, "/api/v1/feeds?datasource=kept")
        assert [feed["state"] for feed in feeds] == ["completed"]
        assert b"keptword" in restored.request("GET", restored.gate, f"/api/v1/feeds/{feeds[0]['id']}/content")[2]
        restored.feed(make_feed(make_record(f"{URL}new", "keptword")), "kept")
        assert f"{URL}new" in find(restored)
    assert programs.run("audit", "verify", "--data", data).returncode == 0
    assert run("restore", backup, "--data", data)[0] == 1
    assert find(server) == {f"{URL}later"}


def test_backup_while_documents_come_is_whole(server: Appliance, tmp_path: Path) -> None:
    feeds = [
        server.push(make_feed(*(make_record(f"{URL}{number}/{each}", f"keptword {number} {each}") for each in range(40))), f"s{number}")
        for number in range(15)
    ]
    file, data = tmp_path / "busy.tar", tmp_path / "restored"
    assert run("backup", file, "--data", server.data)[0] == 0
    assert run("restore", file, "--data", data)[0] == 0
    for feed in feeds:
        server.wait(feed)
    with running(data) as restored:
        known = restored.get_json(restored.gate, "/api/v1/feeds?limit=1000")
        for feed in known:
            assert restored.wait(feed["id"])["state"] == "completed"
        for number in range(sum(feed["datasource"].startswith("s") and feed["datasource"] != "secret" for feed in known)):
            document = restored.document(f"{URL}{number}/39")
            assert document is not None
            assert (document["searchable"], document["reason"]) == (True, None)


def test_folder_of_a_backup_that_fails_stays_empty(server: Appliance, backup: Path, tmp_path: Path) -> None:
    whole = backup.read_bytes()
    data = tmp_path / "data"
    file = tmp_path / "damaged.tar"
    for damaged in (b"", b"no backup", whole[:5_000], whole[: len(whole) // 2], rewrite(backup, schema="9999"), rewrite(backup, format=2)):
        file.write_bytes(damaged)
        code, said = run("restore", file, "--data", data)
        assert code == 1
        assert str(file) in said["error"]
        assert list_files(data) == []
    file.write_bytes(rewrite(backup, {"../outside": b"x"}))
    assert run("restore", file, "--data", data)[0] == 1
    assert not (tmp_path / "outside").exists()
    assert programs.run("restore", tmp_path / "absent.tar", "--data", data).returncode == 2
    assert run("restore", backup, "--data", data)[0] == 0


def rewrite(backup: Path, more: dict[str, bytes] | None = None, **changed: str | int) -> bytes:
    """Returns a backup with another description, and with more files."""
    out = BytesIO()
    with tarfile.open(backup) as old, tarfile.open(fileobj=out, mode="w") as new:
        for member in old:
            stream = old.extractfile(member)
            assert stream is not None
            content = stream.read()
            if member.name == "backup.json":
                content = json.dumps(json.loads(content) | changed).encode()
                member.size = len(content)
            new.addfile(member, BytesIO(content))
        for name, content in (more or {}).items():
            head = tarfile.TarInfo(name)
            head.size = len(content)
            new.addfile(head, BytesIO(content))
    return out.getvalue()


def test_backup_is_its_owners_alone_and_not_in_the_folder(server: Appliance, backup: Path) -> None:
    assert backup.stat().st_mode & 0o077 == 0
    with tarfile.open(backup) as tar:
        names = {member.name.partition("/")[0] for member in tar}
    assert {"store.sqlite", "blobs", "feeds"} <= names
    assert not {"admin.token", "index", "settings.json", "run.json"} & names
    code, said = run("backup", server.data / "inside.tar", "--data", server.data)
    assert (code, "in the data folder" in said["error"]) == (1, True)
    assert not list(server.data.glob("backup-*"))


def test_backup_replaces_earlier_files_only(server: Appliance, backup: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for file in (pipe, tmp_path / "absent" / "feedmill.tar"):
        code, said = run("backup", file, "--data", server.data)
        assert code == 1
        assert str(file.parent if file.parent.name == "absent" else file) in said["error"]
    assert pipe.is_fifo()
    feed = tmp_path / "feed.xml"
    feed.write_text("<gsafeed/>")
    code, said = run("backup", feed, "--data", server.data)
    assert (code, feed.read_text()) == (1, "<gsafeed/>")
    assert f"'{feed}' is no backup of a data folder" in said["error"]
    empty = tmp_path / "empty.tar"
    empty.touch()
    assert run("backup", empty, "--data", server.data)[0] == 0
    assert run("backup", backup, "--data", server.data)[0] == 0
