"""Pull sources at a whole server: a database whose rows are searched by users who may see them."""

import json
import os
import signal
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests import staffsource
from tests.acceptance.promises import run_command
from tests.appliance import Appliance, running
from tests.waiting import wait_until

SETTINGS = """
[[sources]]
name = "staff"
kind = "database"
dsn = "sqlite:///staff.db"
crawl_query = "SELECT id, title, body FROM articles"
incremental_query = "SELECT id, title, body, changed AS GSA_TIMESTAMP FROM articles WHERE changed > :since"
serve_query = "SELECT title, body FROM articles WHERE id = :id"
acl_query = "SELECT reader AS GSA_PERMIT_USERS FROM grants WHERE article = :id"
keys = ["id"]
[[sources]]
name = "often"
kind = "database"
dsn = "sqlite:///staff.db"
crawl_query = "SELECT id, title FROM articles WHERE id = 1"
keys = ["id"]
schedule = "every 1s"
[signin.proxy]
trusted = ["127.0.0.1"]
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Appliance]:
    change(
        tmp_path,
        "CREATE TABLE articles (id INTEGER, title TEXT, body TEXT, changed TEXT)",
        "CREATE TABLE grants (article INTEGER, reader TEXT)",
        *(f"INSERT INTO articles VALUES ({n}, 'Article {n}', 'wombat number{n}', '2026-01-01 00:00:0{n}')" for n in range(1, 6)),
        "INSERT INTO grants VALUES (1, 'ann'), (2, 'ann'), (2, 'bob'), (3, 'bob')",
    )
    with running(tmp_path / "data", SETTINGS) as appliance:
        yield appliance


def change(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / "staff.db")) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def run(server: Appliance, *options: str) -> tuple[int, dict[str, Any]]:
    code, output, _ = run_command("sources", "run", "staff", *options, "--data", server.data, "--config", server.config, "--json")
    return code, json.loads(output)


def seen_by(server: Appliance, user: str, query: str = "wombat") -> list[str]:
    path = f"/api/v1/search?q={query}&num=100"
    status, _, body = server.request("GET", server.search_port, path, headers={"X-Forwarded-User": user})
    assert status == 200, body
    return sorted(result["url"].rpartition("/")[2] for result in json.loads(body)["results"] if "/staff/" in result["url"])


def test_database_is_searched_by_those_who_may_see_its_rows_and_follows_its_changes(server: Appliance, tmp_path: Path) -> None:
    code, counts = run(server, "--dry-run")
    assert (code, counts["added"]) == (0, 5)
    assert run(server) == (0, {"added": 5, "changed": 0, "deleted": 0, "unchanged": 0, "errors": 0})
    wait_until(lambda: seen_by(server, "ann") == ["1", "2"], "what ann may see")
    assert seen_by(server, "bob") == ["2", "3"]
    assert seen_by(server, "eve") == []

    change(
        tmp_path,
        "UPDATE articles SET body = 'wombat kiwi', changed = '9999-01-01 00:00:00' WHERE id = 2",
        "DELETE FROM articles WHERE id = 1",
    )
    code, counts = run(server)
    assert (code, counts["changed"], counts["deleted"]) == (0, 1, 0)
    wait_until(lambda: seen_by(server, "bob", "kiwi") == ["2"], "the changed row")
    code, counts = run(server, "--full")
    assert (code, counts["deleted"]) == (0, 1)
    wait_until(lambda: seen_by(server, "ann") == ["2"], "the end of the deleted row")

    change(tmp_path, "DELETE FROM articles WHERE id > 2")
    code, counts = run(server, "--full")
    assert (code, counts["held"], counts["deleted"]) == (1, 3, 0)
    assert seen_by(server, "bob") == ["2", "3"]
    code, counts = run(server, "--full", "--force")
    assert (code, counts["deleted"]) == (0, 3)
    wait_until(lambda: seen_by(server, "bob") == ["2"], "the end of the deleted rows")

    change(tmp_path, "ALTER TABLE articles RENAME TO moved")
    code, counts = run(server, "--full")
    assert (code, counts["deleted"], counts["errors"]) == (1, 0, 1)
    assert "articles" in counts["reason"]
    assert seen_by(server, "bob") == ["2"]


def test_run_that_is_killed_goes_on_at_its_page(tmp_path: Path) -> None:
    change(
        tmp_path,
        "CREATE TABLE articles (id TEXT, body TEXT)",
        "WITH RECURSIVE few (n) AS (SELECT 1000 UNION ALL SELECT n + 1 FROM few WHERE n < 1699)INSERT INTO articles SELECT n, 'x' FROM few",
        "INSERT INTO articles VALUES ('1600-hangs', 'x')",
    )
    url = "googledb://localhost/staff"
    with (
        running(tmp_path / "data", staffsource.SETTINGS, {"FEEDMILL_FAULTS": "load=hang:hangs"}) as server,
        ThreadPoolExecutor(1) as threads,
    ):
        running_command = threads.submit(run, server)
        wait_until(lambda: server.document(f"{url}/1499") is not None, "the first page")
        # a reading from the beginning would not find the first row, and delete its document
        change(tmp_path, "DELETE FROM articles WHERE id IN ('1000', '1600-hangs')")
        (puller,) = server.role_pids()["puller"]
        os.kill(puller, signal.SIGKILL)
        assert running_command.result() == (0, {"added": 700, "changed": 0, "deleted": 0, "unchanged": 0, "errors": 0})
        assert server.document(f"{url}/1000") is not None
        code, counts = run(server, "--full")
        assert (code, counts["deleted"], counts["unchanged"]) == (0, 1, 699)


def test_row_that_kills_the_puller_is_set_aside_and_the_others_are_searched(tmp_path: Path) -> None:
    change(
        tmp_path,
        "CREATE TABLE articles (id TEXT, body TEXT)",
        "INSERT INTO articles VALUES ('a', 'wombat'), ('kills', 'wombat'), ('z', 'wombat')",
    )
    with running(tmp_path / "data", staffsource.SETTINGS, {"FEEDMILL_FAULTS": "load=kill:/kills"}) as server:
        assert run(server) == (1, {"added": 2, "changed": 0, "deleted": 0, "unchanged": 0, "errors": 1})
        wait_until(lambda: len(server.urls("wombat")) == 2, "the other rows")
        assert sorted(url.rpartition("/")[2] for url in server.urls("wombat")) == ["a", "z"]


def open_row(server: Appliance, user: str, path: str) -> tuple[int, dict[str, str], str]:
    status, headers, body = server.request("GET", server.search_port, path, headers={"X-Forwarded-User": user})
    return status, headers, body.decode()


def test_row_is_shown_as_it_is_now_to_those_who_may_see_its_document(server: Appliance, tmp_path: Path) -> None:
    # before its table is gone
    wait_until(lambda: server.document("googledb://localhost/often/1") is not None, "the scheduled run")
    assert run(server)[0] == 0
    wait_until(lambda: seen_by(server, "ann") == ["1", "2"], "what ann may see")
    change(tmp_path, "UPDATE articles SET body = 'newest <b>text</b>' WHERE id = 1")
    _, _, page = open_row(server, "ann", "/?q=wombat")
    assert 'href="/db/staff/1"' in page
    status, headers, page = open_row(server, "ann", "/db/staff/1")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert headers["content-security-policy"].startswith("sandbox")
    assert "newest &lt;b&gt;text" in page
    hidden, unknown = (open_row(server, "bob", path) for path in ("/db/staff/1", "/db/staff/99"))
    assert (hidden[0], hidden[2].replace("99", "1")) == (404, unknown[2].replace("99", "1"))
    assert [open_row(server, "ann", path)[0] for path in ("/db/other/1", "/db/staff/1/2", "/db/staff/1%20OR%201", "/db/")] == [404] * 4
    change(tmp_path, "DELETE FROM articles WHERE id = 2")
    assert open_row(server, "ann", "/db/staff/2")[0] == 404
    change(tmp_path, "ALTER TABLE articles RENAME TO away")
    status, headers, _ = open_row(server, "ann", "/db/staff/1")
    assert (status // 100, headers["location"]) == (3, "/cache?url=googledb%3A%2F%2Flocalhost%2Fstaff%2F1")
    assert open_row(server, "bob", "/db/staff/1")[0] == 404
    status, headers, _ = open_row(server, "eve", "/db/often/1")
    assert (status // 100, headers["location"]) == (3, "/cache?url=googledb%3A%2F%2Flocalhost%2Foften%2F1")


def test_source_with_a_schedule_is_run_by_itself_and_can_be_paused(server: Appliance) -> None:
    wait_until(lambda: server.document("googledb://localhost/often/1") is not None, "the scheduled run")
    places = ("--data", server.data, "--config", server.config, "--json")
    assert run_command("sources", "pause", "often", *places)[0] == 0
    _, output, _ = run_command("sources", *places)
    listed = {source["name"]: source for source in json.loads(output)}
    last = listed["often"]["pull"]["last_run"]
    assert (listed["often"]["pull"]["paused"], last["added"] + last["unchanged"]) == (True, 1)
    _, output, _ = run_command("status", *places)
    assert [source["name"] for source in json.loads(output)["pull_sources"]] == ["staff", "often"]
    document = server.document("googledb://localhost/often/1")
    assert document is not None
    assert document["datasource"] == "often"
