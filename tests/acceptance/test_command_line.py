"""The commands as processes: without a server, and with one on the same data folder."""

import json
from pathlib import Path
from typing import Any

from tests import programs
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record
from tests.waiting import wait_until

SOUP = make_record("http://intranet.example.com/soup", "leek soup at noon", [("kind", "menu")], mimetype="text/plain")
FAULTY = make_record("", "nowhere", mimetype="text/plain")


def run(*words: str | Path) -> tuple[int, str, str]:
    done = programs.run(*words)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def run_json(*words: str | Path) -> tuple[int, Any]:
    code, out, _ = run(*words, "--json")
    return code, json.loads(out)


def write(folder: Path, name: str, more: str = "") -> Path:
    path = folder / name
    path.write_bytes(make_feed(SOUP, more, datasource="menu"))
    return path


def test_commands_without_a_server_do_the_work_themselves(tmp_path: Path) -> None:
    data = tmp_path / "data"
    good, faulty = write(tmp_path, "good.xml"), write(tmp_path, "faulty.xml", FAULTY)
    code, receipt = run_json("push", good, "--datasource", "menu", "--feedtype", "full", "--data", data)
    assert (code, receipt["state"], receipt["included"]) == (0, "completed", 1)
    code, receipt = run_json("push", faulty, "--datasource", "menu", "--feedtype", "full", "--data", data)
    assert (code, receipt["state"], receipt["errors"]) == (1, "completed with errors", 1)
    assert [result["url"] for result in run_json("search", "leek", "--data", data)[1]["results"]] == ["http://intranet.example.com/soup"]
    assert run_json("reindex", "--data", data)[1]["state"] == "done"
    assert run_json("search", "leek", "--data", data)[1]["total"] == 1
    assert "kind: menu" in run("search", "leek", "--getfields", "kind", "--data", data)[1]
    assert "did you mean: leek" in run("search", "leak", "--data", data)[1]
    assert "without: zebra" in run("search", "leek zebra", "--data", data)[1]
    assert run_json("sources", "destroy", "menu", "--data", data) == (0, {"name": "menu", "state": "destroyed"})
    assert run_json("sources", "--data", data) == (0, [])


def test_commands_with_a_server_read_beside_it_and_write_through_it(tmp_path: Path) -> None:
    data = tmp_path / "data"
    good, faulty = write(tmp_path, "good.xml"), write(tmp_path, "faulty.xml", FAULTY)
    with running(data) as server:
        code, out, err = run("serve", "--data", data)
        assert (code, out) == (1, "")
        assert "is in use by process" in err
        code, pushed = run_json("push", good, "--datasource", "menu", "--feedtype", "full", "--data", data)
        assert code == 0
        server.wait(pushed["id"])
        assert server.urls("leek") == ["http://intranet.example.com/soup"]
        there = ("--datasource", "menu", "--feedtype", "full", "--url", f"http://127.0.0.1:{server.admin}")
        code, _, err = run("push", good, *there)
        assert (code, "accepts no feeds; give the address of the feed port" in err) == (1, True)
        code, _, err = run("search", "leek", "--url", f"http://127.0.0.1:{server.gate}")
        assert (code, "answers no searches; give the address of the search port" in err) == (1, True)
        push_there = ("push", faulty, "--datasource", "menu", "--feedtype", "full", "--wait", "--url", f"http://127.0.0.1:{server.gate}")
        code, receipt = run_json(*push_there)
        assert (code, receipt["state"]) == (1, "completed with errors")
        assert run_json("search", "leek", "--url", f"http://127.0.0.1:{server.search_port}")[1]["total"] == 1
        code, shown = run_json("documents", "show", "http://intranet.example.com/soup", "--data", data)
        assert (code, shown["datasource"], shown["searchable"]) == (0, "menu", True)
        assert [event["event"] for event in shown["history"]] != []
        assert run_json("reindex", "--wait", "--data", data)[1]["state"] == "done"
        assert server.urls("leek") == ["http://intranet.example.com/soup"]
        code, output = run_json("status", "--data", data)
        assert (output["running"], output["documents"], output["feeds_waiting"]) == (True, 1, 0)
        assert_admin_port_answers(server)
        assert output["settings"]["gate.port"] == {"value": server.gate, "origin": "FEEDMILL_GATE_PORT"}
        assert set(output["roles"]) == {"gate", "web", "admin", "feeder", "feeder-quick", "extractor", "indexer", "puller", "crawler"}
        assert run_json("sources", "delete", "menu", "--data", data)[0] == 0
        assert server.urls("leek") == []
        assert server.stop() == 0
    assert not (data / "run.json").exists()


def assert_admin_port_answers(server: Appliance) -> None:
    token = (server.data / "admin.token").read_text().strip()
    assert server.request("GET", server.admin, "/api/v1/status")[0] == 401
    status, _, body = server.request("GET", server.admin, "/metrics", headers={"Authorization": f"Bearer {token}"})
    assert status == 200
    assert b"feedmill_feeds_waiting 0.0" in body
    assert b'feedmill_feeds_received_total{kind="full"} 2.0' in body
    for port in (server.gate, server.search_port, server.dtd, server.admin):
        assert server.request("GET", port, "/healthz")[0] == 200
        assert server.request("GET", port, "/readyz")[0] == 200


def test_server_that_reads_good_settings_again_obeys_them_and_stays_with_the_old_when_they_are_wrong(tmp_path: Path) -> None:
    with running(tmp_path / "data") as server:
        server.hang_up("[gate]\nserver_header = 5\n")
        wait_until(lambda: "must be text in quotes" in server.log.read_text(), server.log.read_text)
        assert server.request("GET", server.gate, "/getbacklogcount")[1]["server"] == "feedergate_1.0"
        server.reload('[gate]\nserver_header = "other"\n')
        assert server.request("GET", server.gate, "/getbacklogcount")[1]["server"] == "other"
        listed = run("audit", "list", "--kind", "settings", "--json", "--data", server.data)[1]
        read = json.loads(listed.splitlines()[-1])["details"]
        assert (read["on"], read["changed"]) == ("SIGHUP", ["gate.server_header"])
        assert "on=SIGHUP gate.server_header" in run("audit", "list", "--limit", "1", "--data", server.data)[1]


def test_import_takes_an_exported_file_without_a_server_and_with_one(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (tmp_path / "k.csv").write_text("holiday,KeywordMatch,http://hr.example.com/,Holidays\n")
    (tmp_path / "bad.csv").write_text("holiday\n")
    words = ("import", "keymatches", tmp_path / "k.csv", "--data", data)
    assert run_json(*words) == (0, {"section": "frontends", "name": "default_frontend", "added": 1, "total": 1})
    with running(data) as appliance:
        assert appliance.search("holiday")["keymatches"] == [{"url": "http://hr.example.com/", "title": "Holidays"}]
        assert run_json(*words) == (0, {"section": "frontends", "name": "default_frontend", "added": 0, "total": 1})
        code, output = run_json("import", "keymatches", tmp_path / "bad.csv", "--data", data)
        assert (code, "line 1: 1 fields" in output["error"]) == (1, True)
    assert run("import", "pages", tmp_path / "k.csv", "--data", data)[0] == 2
