"""The server as something to operate: its processes, what a kill and a restart leave, its exit codes, the admin port, its commands."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.feedload import TROUBLE
from tests.acceptance.promises import get, is_public, levels, put, read_acl, run_command, run_json, run_process
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_acl_element, make_feed, make_record
from tests.waiting import wait_until

URL = "http://operated.example.com/a"
SECRET = "http://operated.example.com/secret"
LINK = "http://operated.example.com/link"


@pytest.fixture(scope="module")
def operated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    with running(tmp_path_factory.mktemp("operated") / "data") as appliance:
        put(
            appliance,
            "operated",
            make_record(URL, "operatedword", [("k", "v")]),
            make_record(SECRET, "operatedsecret", acl=make_acl_element("ann")),
        )
        appliance.feed(make_feed(make_record(LINK)), "operatedlinks", "metadata-and-url")
        yield appliance


def ask_admin(server: Appliance, method: str, path: str, token: str | None, **headers: str) -> int:
    given = headers | ({"Authorization": f"Bearer {token}"} if token is not None else {})
    return server.request(method, server.admin, path, None, given)[0]


def check_all_is_there(server: Appliance) -> None:
    """What was fed before must be found again, and no more than that."""
    assert server.urls("operatedword", match="all") == [URL]
    assert get(server, URL)["metadata"] == {"k": ["v"]}
    assert read_acl(server, SECRET) == {("permit", "user", "ann")}
    assert not is_public(server, SECRET, "operatedsecret")
    assert get(server, LINK)["searchable"] is False


def test_every_role_shows_in_the_process_list(operated: Appliance) -> None:
    assert {"gate", "web", "admin", "feeder", "indexer", "extractor"} <= set(operated.role_pids())


@pytest.mark.parametrize("role", ["gate", "web", "admin", "feeder", "feeder-quick", "indexer", "extractor", "puller", "crawler"])
def test_killed_role_is_started_again_and_the_work_goes_on(operated: Appliance, role: str) -> None:
    before = operated.role_pids()[role]
    os.kill(min(before), signal.SIGKILL)

    def answers() -> bool:
        pids = operated.role_pids().get(role, [])
        if not pids or min(before) in pids:
            return False
        return all(operated.request("GET", port, "/readyz")[0] == 200 for port in (operated.gate, operated.search_port, operated.admin))

    wait_until(answers, lambda: f"another {role} than {min(before)}, and saw last {operated.role_pids()}", bearing=TROUBLE)
    url = f"http://operated.example.com/killed/{role}"
    put(operated, "operatedkills", make_record(url, f"killedword{role}"))
    assert operated.urls(f"killedword{role}", match="all") == [url]


def test_administration_goes_on_while_the_process_of_searches_stands_still(operated: Appliance) -> None:
    webs = operated.role_pids()["web"]
    token = (operated.data / "admin.token").read_text().strip()
    for web in webs:
        os.kill(web, signal.SIGSTOP)
    try:
        output = operated.request("GET", operated.admin, "/api/v1/status", headers={"Authorization": f"Bearer {token}"})
    finally:
        for web in webs:
            os.kill(web, signal.SIGCONT)
    assert output[0] == 200


def test_second_server_on_the_same_folder_is_refused(operated: Appliance) -> None:
    code, out, err = run_process("serve", "--data", operated.data)
    assert (code, out) == (1, "")
    assert str(operated.data) in err or "in use" in err
    check_all_is_there(operated)


def test_restart_in_order_and_after_a_kill_keeps_everything(operated: Appliance) -> None:
    receipts = operated.get_json(operated.gate, "/api/v1/feeds?limit=1000")
    assert operated.stop() == 0
    operated.start()
    check_all_is_there(operated)
    operated.kill()  # and waits until the children, which got no signal, have ended too
    operated.start()
    check_all_is_there(operated)
    assert operated.get_json(operated.gate, "/api/v1/feeds?limit=1000") == receipts
    put(operated, "operated", make_record(URL, "operatedword", [("k", "v")]))


def test_admin_port_wants_the_token_of_its_data_folder(operated: Appliance) -> None:
    path = operated.data / "admin.token"
    token = path.read_text().strip()
    assert (len(token) >= 20, path.stat().st_mode & 0o077) == (True, 0)
    for given in (None, "", "wrong", token[:-1], token + "x"):
        for method, resource in (
            ("GET", "/api/v1/status"),
            ("POST", "/api/v1/reindex"),
            ("GET", "/metrics"),
            ("GET", "/nothing"),
        ):
            assert ask_admin(operated, method, resource, given) == 401, (given, resource)
        assert ask_admin(operated, "DELETE", "/api/v1/datasources/operated", given) == 401
        # a browser, which sends no token, is led to the form of signing in
        assert ask_admin(operated, "GET", "/", given) == (302 if given is None else 401)
    assert ask_admin(operated, "GET", "/api/v1/status", token) == 200
    assert ask_admin(operated, "GET", "/nothing", token) == 404
    assert ask_admin(operated, "POST", "/api/v1/reindex", token, Origin="http://evil.example.com") == 403
    check_all_is_there(operated)


def test_health_and_metrics_answer(operated: Appliance) -> None:
    for port in (operated.gate, operated.search_port, operated.admin, operated.dtd):
        for path in ("/healthz", "/readyz"):
            assert operated.request("GET", port, path)[0] == 200, (port, path)
    status, _, body = operated.request("GET", operated.gate, "/metrics")
    assert (status, b"feedmill_" in body) == (200, True)


def test_push_that_waits_prints_the_receipt_and_reports_by_its_exit_code(operated: Appliance, tmp_path: Path) -> None:
    good, bad, refused = (tmp_path / f"{name}.xml" for name in ("good", "bad", "refused"))
    url = "http://operated.example.com/pushed"
    good.write_bytes(make_feed(make_record(url, "operatedpushed")))
    bad.write_bytes(make_feed(make_record(url, "operatedpushed"), make_record("", "nowhere")))
    refused.write_bytes(b"<gsafeed><group>")
    options = ("--datasource", "operatedpush", "--feedtype", "incremental", "--data", operated.data)
    code, receipt = run_json("push", good, *options, "--wait")
    assert (code, receipt["state"], receipt["included"]) == (0, "completed", 1)
    assert operated.urls("operatedpushed", match="all") == [url]
    code, receipt = run_json("push", bad, *options, "--wait")
    assert (code, receipt["state"], receipt["errors"], "error" in levels(receipt)) == (1, "completed with errors", 1, True)
    there = ("--url", f"http://127.0.0.1:{operated.gate}")
    assert run_json("push", refused, *options[:4], *there, "--wait")[0] == 1
    code, output = run_json("search", "operatedpushed", "--url", f"http://127.0.0.1:{operated.search_port}")
    assert (code, output["total"]) == (0, 1)
    assert run_command("push", good, "--datasource", "x", "--feedtype", "nonsense", "--data", operated.data)[0] == 2
    assert run_command("push", good, "--feedtype", "full", "--data", operated.data)[0] == 2
    assert run_command("push", good, *options[:4], "--url", "http://127.0.0.1:1")[0] == 1


def test_deleted_source_remains_listed_and_a_destroyed_one_does_not(operated: Appliance) -> None:
    url = "http://operated.example.com/leaving"
    for verb, remains in (("delete", True), ("destroy", False)):
        source = f"operated-{verb}"
        receipt = put(operated, source, make_record(url, "operatedleaving"))
        assert run_command("sources", verb, source, "--data", operated.data)[0] == 0
        assert operated.document(url) is None
        assert operated.urls("operatedleaving", match="all") == []
        code, sources = run_json("sources", "--data", operated.data)
        assert (code, source in [each["name"] for each in sources]) == (0, remains)
        assert (operated.request("GET", operated.gate, f"/api/v1/feeds/{receipt['id']}")[0] == 200) is remains
        put(operated, source, make_record(url, "operatedleaving"))
        assert operated.urls("operatedleaving", match="all") == [url]
    assert run_command("sources", "delete", "neverheard", "--data", operated.data)[0] == 1


def test_wrong_settings_are_refused_with_their_line(tmp_path: Path) -> None:
    config = tmp_path / "feedmill.toml"
    faults = {
        "[gate]\nport = 'x'\n": 2,
        "[gate]\n\nbogus = 1\n": 3,
        "[urls]\nfollow = ['regexp:(']\n": 2,
        "[gate\n": 1,
        "[nonsense]\nx = 1\n": 1,
    }
    for text, line in faults.items():
        config.write_text(text)
        code, _, err = run_command("config", "check", "--config", config)
        assert code == 1, text
        assert f"{config.name}:{line}" in err or f"line {line}" in err, (text, err)
    code, out, err = run_process("serve", "--data", tmp_path / "data", "--config", config)
    assert (code, out) == (1, "")
    assert config.name in err
    config.write_text("[gate]\nport = 19901\n")
    assert run_command("config", "check", "--config", config)[0] == 0


def test_documents_are_listed_and_the_index_is_rebuilt(operated: Appliance) -> None:
    code, listed = run_json("documents", "--datasource", "operated", "--data", operated.data)
    assert (code, sorted(each["url"] for each in listed)) == (0, sorted([URL, SECRET]))
    assert run_command("reindex", "--wait", "--data", operated.data)[0] == 0
    check_all_is_there(operated)
    code, output = run_json("status", "--data", operated.data)
    assert (code, output["running"]) == (0, True)
    assert set(output["settings"]["gate.port"]) >= {"value", "origin"}


@pytest.mark.parametrize("command", [["--help"], ["serve", "--help"], ["push", "--help"], ["documents", "show", "--help"]])
def test_help_has_words_and_ends_well(command: list[str]) -> None:
    code, out, _ = run_command(*command)
    assert code == 0
    assert "Usage" in out


def test_wrong_use_ends_with_two() -> None:
    assert run_process("nonsense")[0] == 2
    assert run_command("search", "--nonsense")[0] == 2
