"""Signing in at a whole server, by its ports and commands alone."""

import json
import subprocess
from collections.abc import Iterator

import pytest

from tests import programs
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record
from tests.builders.requests import PASSWORD, make_basic

SETTINGS = """
[signin.proxy]
trusted = ["127.0.0.1"]
namespace = "proxied"
"""


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    with running(tmp_path_factory.mktemp("signin") / "data", SETTINGS) as server:
        yield server


def command(server: Appliance, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return programs.run(*words, "--data", server.data, "--json", given=given)


def basic(name: str, password: str = PASSWORD) -> dict[str, str]:
    return {"Authorization": make_basic(name, password)}


def get(server: Appliance, path: str, headers: dict[str, str] | None = None, port: int = 0) -> tuple[int, dict[str, str], bytes]:
    return server.request("GET", port or server.search_port, path, headers=headers)


def test_users_sign_in_at_a_running_server(appliance: Appliance) -> None:
    appliance.feed(make_feed(make_record("http://sign.example/public", "everybody reads")))
    assert get(appliance, "/search?q=everybody&access=a")[0] == 200
    made = command(appliance, "users", "add", "ann", "--role", "viewer", "--password-stdin", given=PASSWORD + "\n")
    assert made.returncode == 0, made.stderr
    assert command(appliance, "users", "add", "ann", "--password-stdin", given=PASSWORD + "\n").returncode == 1
    assert get(appliance, "/search?q=everybody&access=a")[0] == 401
    assert get(appliance, "/search?q=everybody&access=a&proxystylesheet=default_frontend")[0] == 302
    assert get(appliance, "/search?q=everybody&access=a", basic("ann"))[0] == 200
    assert get(appliance, "/api/v1/search?q=everybody", basic("ann", "wrong"))[0] == 401
    assert get(appliance, "/api/v1/search?q=everybody", {"X-Forwarded-User": "root"})[0] == 200
    assert get(appliance, "/api/v1/status", basic("ann"), appliance.admin)[0] == 200
    assert get(appliance, "/api/v1/users", basic("ann"), appliance.admin)[0] == 403
    token = json.loads(command(appliance, "tokens", "add", "script", "--scope", "search", "--user", "ann").stdout)["token"]
    assert get(appliance, "/search?q=everybody&access=a", {"Authorization": f"Bearer {token}"})[0] == 200
    checked = command(appliance, "audit", "verify")
    assert checked.returncode == 0, checked.stderr
    kinds = [json.loads(line)["kind"] for line in command(appliance, "audit", "export").stdout.splitlines()]
    assert {"admin.request", "signin.accepted", "signin.failed", "admin.refused"} <= set(kinds)
    assert PASSWORD not in appliance.log.read_text()
