"""A stream of documents as JSON: its size costs no memory, and one that does not come to its end leaves nothing."""

import http.client
import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from feedmill.http.feeds.gateconfig import GateConfig
from tests.acceptance.gateserver import run_gate
from tests.acceptance.hostile import peak_bytes
from tests.appliance import Appliance, running
from tests.builders.jsonbodies import LARGE_BYTES, iter_array, iter_documents, iter_lines
from tests.waiting import wait_until

MB = 1_000_000
READERS = ("gate", "feeder", "feeder-quick")
FORMS = {"application/x-ndjson": iter_lines, "application/json": iter_array}
PATH = "/api/v1/documents?datasource={}"
CHUNKED = b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    with running(tmp_path_factory.mktemp("stream") / "data") as appliance:
        yield appliance


def send(appliance: Appliance, name: str, content_type: str, *, pages: int, large: int) -> dict[str, Any]:
    """Sends a stream, and returns its receipt once it is applied."""
    connection = http.client.HTTPConnection("127.0.0.1", appliance.gate, timeout=120)
    body = FORMS[content_type](iter_documents(name, pages, large))
    try:
        connection.request("POST", PATH.format(name), body, {"Content-Type": content_type})
        answer = connection.getresponse()
        receipt = json.loads(answer.read())
    finally:
        connection.close()
    assert answer.status == 202, receipt
    return appliance.wait(receipt["id"], seconds=600, searchable=False)


@pytest.mark.parametrize(("pages", "large"), [(300, 2), pytest.param(90_000, 4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("content_type", list(FORMS))
def test_stream_of_any_size_goes_through_in_flat_memory(appliance: Appliance, content_type: str, pages: int, large: int) -> None:
    name = f"{'lines' if 'nd' in content_type else 'array'}{pages}"
    quiet = peak_bytes(appliance, *READERS)
    send(appliance, f"{name}before", content_type, pages=1, large=1)
    before = peak_bytes(appliance, *READERS)

    receipt = send(appliance, name, content_type, pages=pages, large=large)

    assert (receipt["state"], receipt["included"], receipt["errors"]) == ("completed", pages + large, 0)
    assert receipt["size_bytes"] > large * LARGE_BYTES + pages * 9_000
    after = peak_bytes(appliance, *READERS)
    print({role: f"{quiet[role] // MB}, {before[role] // MB} -> {after[role] // MB} MB" for role in READERS})
    # The gate holds no item, the feeder one item of 33 MB as bytes, as text and as a value of JSON.
    assert after["gate"] - quiet["gate"] < 20 * MB
    assert after["feeder"] - before["feeder"] < 50 * MB
    assert after["feeder"] - quiet["feeder"] < 160 * MB


@pytest.mark.parametrize("content_type", list(FORMS))
def test_stream_that_is_cut_or_whose_gate_is_killed_leaves_nothing(appliance: Appliance, content_type: str) -> None:
    name = f"cut{'lines' if 'nd' in content_type else 'array'}"
    pieces = list(FORMS[content_type](iter_documents(name, 400)))

    with begin(appliance, name, content_type, pieces) as connection:
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100) == b""
    with begin(appliance, name, content_type, pieces) as connection:
        (gate,) = appliance.role_pids()["gate"]
        os.kill(gate, signal.SIGKILL)
        with suppress(ConnectionResetError):
            assert connection.recv(100) == b""
    wait_until(lambda: is_answering(appliance), "a gate in place of the killed one")

    assert appliance.get_json(appliance.gate, f"/api/v1/feeds?datasource={name}") == []
    assert send(appliance, name, content_type, pages=50, large=0)["included"] == 50


def begin(appliance: Appliance, name: str, content_type: str, pieces: list[bytes]) -> socket.socket:
    """Sends half of a stream, and returns the connection once the server has read that."""
    connection = socket.create_connection(("127.0.0.1", appliance.gate), timeout=60)
    connection.sendall(CHUNKED % (PATH.format(name).encode(), content_type.encode()))
    earlier = set(list_files(appliance))
    for piece in pieces[: len(pieces) // 2]:
        connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
    wait_until(lambda: set(list_files(appliance)) - earlier, "a file that receives the stream")
    return connection


def list_files(appliance: Appliance) -> list[str]:
    return [path.name for path in (appliance.data / "feeds").iterdir()]


def is_answering(appliance: Appliance) -> bool:
    try:
        return appliance.request("GET", appliance.gate, "/healthz")[0] == 200
    except OSError:
        return False


@pytest.mark.parametrize("content_type", list(FORMS))
def test_client_that_stalls_within_a_stream_is_let_go_and_leaves_nothing(tmp_path: Path, content_type: str) -> None:
    pieces = list(FORMS[content_type](iter_documents("stalled", 9)))
    with run_gate(tmp_path, GateConfig(idle_seconds=0.3)) as gate, socket.create_connection(("127.0.0.1", gate.port), 60) as connection:
        connection.sendall(CHUNKED % (PATH.format("stalled").encode(), content_type.encode()))
        for piece in pieces[:5]:
            connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
        with suppress(ConnectionResetError):
            assert connection.recv(100) == b""
        assert gate.feeds() == []
        assert gate.files() == []
