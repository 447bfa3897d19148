"""``feedmill feeds`` and ``feedmill groups``: what they say without a server, and beside one."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests import programs
from tests.appliance import running
from tests.builders.feedxml import make_feed, make_record
from tests.builders.groups import make_groups_feed, make_membership
from tests.waiting import wait_until

SOUP = make_record("http://intranet.example.com/soup", "leek soup at noon", mimetype="text/plain")
ACL = '<acl><principal scope="group" access="permit">staff</principal></acl>'
STOCK = make_record("http://intranet.example.com/stock", "stock of beef", mimetype="text/plain", acl=ACL)
FAULTY = make_record("", "nowhere", mimetype="text/plain")


def run(data: Path, *words: str) -> tuple[int, str]:
    done = programs.run(*words, "--data", data)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


def run_json(data: Path, *words: str) -> tuple[int, Any]:
    done = programs.run(*words, "--json", "--data", data)
    return done.returncode, json.loads(done.stdout)


def push(data: Path, folder: Path, content: bytes, *words: str) -> str:
    """Pushes a feed without a server and returns its id."""
    path = folder / "pushed.xml"
    path.write_bytes(content)
    receipt = run_json(data, words[0], str(path), *words[1:])[1]
    return str(receipt["id"])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a feed of a good and a faulty record, and with two groups feeds."""
    folder = tmp_path_factory.mktemp("commands")
    data = folder / "data"
    push(data, folder, make_feed(SOUP, STOCK, FAULTY, datasource="menu"), "push", "--datasource", "menu", "--feedtype", "full")
    inner = make_groups_feed(make_membership("cooks", ["CORP\\ann", "bob"]), make_membership("staff", ["eve"], groups=["cooks"]))
    push(data, folder, inner, "push-groups", "--groupsource", "ldap", "--feedtype", "full")
    again = make_groups_feed(make_membership("cooks", ["dora"]))
    push(data, folder, again, "push-groups", "--groupsource", "wiki", "--feedtype", "incremental")
    return data


def test_feeds_are_listed_newest_first_and_by_source(data: Path) -> None:
    code, listed = run_json(data, "feeds")
    assert (code, [(feed["id"], feed["datasource"], feed["state"]) for feed in listed]) == (
        0,
        [("3", "wiki", "completed"), ("2", "ldap", "completed"), ("1", "menu", "completed with errors")],
    )
    assert run_json(data, "feeds", "--datasource", "menu", "--limit", "5")[1] == run_json(data, "feeds", "list", "--datasource", "menu")[1]
    assert "completed with" in run(data, "feeds")[1]


def test_feed_shows_its_receipt_and_its_log(data: Path) -> None:
    code, receipt = run_json(data, "feeds", "show", "1")
    assert (code, receipt["records"], receipt["included"], receipt["errors"]) == (0, 3, 2, 1)
    code, log = run_json(data, "feeds", "log", "1")
    assert (code, log) == (0, receipt["log"])
    assert [entry["level"] for entry in log] == ["error"]
    text = run(data, "feeds", "log", "1")[1]
    assert text.startswith(f"error: line {log[0]['line']}: ")
    assert "3 records, 2 included, 1 in error" in run(data, "feeds", "show", "1")[1]
    assert run(data, "feeds", "show", "99")[0] == 1


def test_feed_is_sent_again_without_a_server_and_with_one(tmp_path: Path) -> None:
    data = tmp_path / "data"
    first = push(data, tmp_path, make_feed(SOUP, datasource="menu"), "push", "--datasource", "menu", "--feedtype", "full")
    code, receipt = run_json(data, "feeds", "resend", first)
    assert (code, receipt["id"], receipt["state"], receipt["included"]) == (0, "2", "completed", 1)
    with running(data) as server:
        code, resent = run_json(data, "feeds", "resend", first)
        assert (code, resent) == (0, {"id": "3"})
        server.wait("3")
        code, receipt = run_json(data, "feeds", "resend", first, "--wait")
        assert (code, receipt["state"], receipt["feedtype"]) == (0, "completed", "full")
        assert run_json(data, "sources", "delete", "menu")[0] == 0
        removal = run_json(data, "feeds")[1][0]["id"]
        code, error = run_json(data, "feeds", "resend", removal)
        assert (code, "cannot be sent again" in error["error"]) == (1, True)
        wait_until(lambda: server.urls("leek") == [], "the end of the deletion")


def test_groups_are_counted_by_source(data: Path) -> None:
    assert run_json(data, "groups") == (
        0,
        [
            {"name": "ldap", "feeds": ["2"], "groups": 2, "memberships": 4},
            {"name": "wiki", "feeds": ["3"], "groups": 1, "memberships": 1},
        ],
    )


def test_group_shows_its_members_by_source_and_the_groups_that_contain_it(data: Path) -> None:
    code, shown = run_json(data, "groups", "show", "cooks")
    assert code == 0
    named = {
        each["source"]: (each["feed"], each["memberships"], [member["name"] for member in each["members"]]) for each in shown["definitions"]
    }
    assert named == {"ldap": ("2", 2, ["CORP\\ann", "bob"]), "wiki": ("3", 1, ["dora"])}
    assert [parent["name"] for parent in shown["parents"]] == ["staff"]
    code, text = run(data, "groups", "show", "cooks", "--limit", "1")
    assert (code, "and more" in text, 'group "staff"' in text) == (0, True, True)
    assert run(data, "groups", "show", "unknown")[0] == 1


def test_search_as_a_user_finds_what_they_may_see(data: Path) -> None:
    def find(*words: str) -> list[str]:
        code, page = run_json(data, "search", "stock", *words)
        assert code == 0
        return [result["url"] for result in page["results"]]

    hidden = "http://intranet.example.com/stock"
    assert (find(), find("--user", "dora"), find("--user", "zoe")) == ([], [hidden], [])
    assert find("--group", "staff") == [hidden]
    assert run(data, "search", "stock", "--user", "dora", "--url", "http://127.0.0.1:9")[0] == 2


def test_groups_of_a_user_come_with_their_paths(data: Path) -> None:
    code, shown = run_json(data, "groups", "of", "CORP\\ann")
    paths = {group["name"]: group["path"] for group in shown["groups"]}
    assert (code, paths) == (
        0,
        {"cooks": ['user "CORP\\ann"', 'group "cooks"'], "staff": ['user "CORP\\ann"', 'group "cooks"', 'group "staff"']},
    )
    assert 'group "staff"  through group "cooks"' in run(data, "groups", "of", "CORP\\ann")[1]
    assert run_json(data, "groups", "of", "ann") == (0, {"user": "ann", "groups": []})


def test_dry_run_of_a_push_counts_and_changes_nothing(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "next.xml"
    path.write_bytes(make_feed(SOUP, STOCK.replace("beef", "bone"), make_record("http://intranet.example.com/salad", "salad"), FAULTY))
    words = ("push", str(path), "--datasource", "menu", "--feedtype", "full", "--dry-run")
    code, effect = run_json(data, *words)
    assert (code, effect["state"]) == (1, "completed with errors")
    assert [effect[name] for name in ("add", "change", "delete", "errors")] == [1, 1, 0, 1]
    assert [entry["reason"] for entry in effect["log"]] == ["the url is missing or empty"]
    path.write_bytes(make_feed(SOUP))
    with running(data):
        code, said = run(data, *words)
        assert (code, said) == (0, "would add 0, change 0, delete 1; 0 in error\n")
    assert len(run_json(data, "documents")[1]) == 2
    assert len(run_json(data, "feeds")[1]) == 3
    assert run(data, *words, "--url", "http://127.0.0.1:9")[0] == 2
