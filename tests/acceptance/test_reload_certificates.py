"""Certificates that are set or removed while the server runs: no port for TLS speaks plain HTTP, and commands find the others."""

import json
import ssl
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.appliance import Appliance, running
from tests.selfsigned import CERTIFICATE, KEY
from tests.waiting import wait_until

GATE = '[gate]\ncertificate = "server.pem"\nkey = "server.key"\n'
SEARCH = '[search]\ncertificate = "server.pem"\nkey = "server.key"\n'


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Appliance]:
    (tmp_path / "server.pem").write_text(CERTIFICATE)
    (tmp_path / "server.key").write_text(KEY)
    with running(tmp_path / "data", GATE) as server:
        yield server


def is_healthy(scheme: str, port: int) -> bool:
    context = ssl._create_unverified_context()
    try:
        with urllib.request.urlopen(f"{scheme}://127.0.0.1:{port}/healthz", context=context, timeout=30) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_removed_certificate_of_the_gate_never_opens_its_port_in_clear(server: Appliance) -> None:
    server.hang_up("")
    wait_until(lambda: "settings_refused" in server.log.read_text(), lambda: f"the refusal, and saw {server.log.read_text()[-2000:]}")
    assert is_healthy("https", server.tls)
    assert not is_healthy("http", server.tls)


def test_commands_find_a_port_that_begins_to_speak_tls(server: Appliance) -> None:
    server.reload(GATE + SEARCH)
    assert is_healthy("https", server.search_port)
    wait_until(
        lambda: json.loads((server.data / "run.json").read_text())["tls"] == ["gate_tls", "search"],
        lambda: f"both listeners, and saw {(server.data / 'run.json').read_text()}",
    )
