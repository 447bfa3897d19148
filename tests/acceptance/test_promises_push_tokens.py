"""A whole server that wants a token for pushing, by its ports and commands alone."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from feedmill_client import Client, Denied, FeedBuilder
from tests import programs
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record
from tests.builders.requests import make_basic

UNAUTHORIZED = b"Error - Unauthorized Request"
TYPE = {"Content-Type": "multipart/form-data; boundary=xx"}


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    with running(tmp_path_factory.mktemp("tokens") / "data", "[gate]\nrequire_token = true\n") as server:
        yield server


def command(server: Appliance, *words: str) -> subprocess.CompletedProcess[str]:
    return programs.run(*words, "--data", server.data, "--json")


def make_token(server: Appliance, *words: str) -> str:
    done = command(server, "tokens", "add", "script", "--scope", "push", *words)
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["token"])


def push(server: Appliance, datasource: str, headers: Mapping[str, str]) -> tuple[int, bytes]:
    feed = make_feed(make_record(f"http://{datasource}.example/", "words")).decode()
    fields = {"datasource": datasource, "feedtype": "incremental", "data": feed}
    parts = [f'--xx\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()]
    body = ("".join(parts) + "--xx--\r\n").encode()
    status, _, answer = server.request("POST", server.gate, "/xmlfeed", body=body, headers={**TYPE, **headers})
    return status, answer


def test_a_server_with_require_token_takes_feeds_with_a_token_alone(appliance: Appliance, tmp_path: Path) -> None:
    limited = make_token(appliance, "--datasource", "hr")
    basic = {"Authorization": make_basic("old-script", limited)}
    assert push(appliance, "hr", basic) == (200, b"Success")
    assert push(appliance, "finance", basic) == (401, UNAUTHORIZED)
    assert push(appliance, "hr", {"Authorization": "Bearer fm_wrong"}) == (401, UNAUTHORIZED)
    assert push(appliance, "hr", {}) == (401, UNAUTHORIZED)
    # a token opens its own port alone, and the passwords of users open none but theirs
    bearer = {"Authorization": f"Bearer {limited}"}
    assert appliance.request("GET", appliance.search_port, "/api/v1/search?q=words", headers=bearer)[0] == 401
    assert appliance.request("GET", appliance.admin, "/api/v1/status", headers=bearer)[0] == 401
    # commands on this machine need none
    feed = tmp_path / "feed.xml"
    feed.write_bytes(make_feed(make_record("http://wiki.example/", "words")))
    done = command(appliance, "push", str(feed), "--datasource", "wiki", "--feedtype", "incremental", "--wait")
    assert done.returncode == 0, done.stderr
    # those elsewhere send one, by option or in the URL
    there = ("push", str(feed), "--datasource", "hr", "--feedtype", "incremental", "--wait", "--url")
    for words in ((f"http://127.0.0.1:{appliance.gate}", "--token", limited), (f"http://any:{limited}@127.0.0.1:{appliance.gate}",)):
        done = command(appliance, *there, *words)
        assert done.returncode == 0, done.stderr
    done = command(appliance, *there, f"http://any:fm_wrong@127.0.0.1:{appliance.gate}")
    assert done.returncode == 1
    assert "fm_wrong" not in done.stdout + done.stderr
    kinds = [json.loads(line)["kind"] for line in command(appliance, "audit", "export").stdout.splitlines()]
    assert "push.refused" in kinds
    assert limited not in appliance.log.read_text()


def test_the_python_client_sends_a_push_token(appliance: Appliance) -> None:
    search, feeds = f"http://127.0.0.1:{appliance.search_port}", f"http://127.0.0.1:{appliance.gate}"
    client = Client(search, feeds, push_token=make_token(appliance, "--datasource", "hr"))
    with FeedBuilder() as feed:
        feed.add("http://hr.example/client", "<title>One</title>clientword")
        receipt = client.wait(client.push(feed, datasource="hr"))
    assert (receipt.state, [source.name for source in client.list_datasources()]) == ("completed", ["hr"])
    with pytest.raises(Denied):
        Client(search, feeds).list_datasources()


def test_the_start_says_who_may_push_without_tokens(tmp_path: Path) -> None:
    with running(tmp_path / "data") as server:
        assert "local accounts are administrators of content" in server.log.read_text()
        warnings = json.loads(command(server, "status").stdout)["warnings"]
        assert [warning.partition(": ")[0] for warning in warnings] == ["gate.require_token"]
