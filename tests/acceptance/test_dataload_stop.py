"""The server stops, or its processes are killed, while the reply to a dataload waits."""

import http.client
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

import pytest

from tests.appliance import Appliance, hanging, running
from tests.waiting import wait_until

SETTINGS = '[[dataload.profiles]]\nname = "default"\nallowed = ["127.0.0.0/8"]\n'
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
HOST = "http://www.example.com"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    faults = {"FEEDMILL_FAULTS": "apply=kill:killer"}
    with running(tmp_path_factory.mktemp("stopped") / "data", SETTINGS, faults) as appliance:
        yield appliance


def write_load(*names: str) -> bytes:
    items = "".join(f"<Item><Type>I</Type><Url>{HOST}/{name}</Url><Body>text {name}</Body></Item>" for name in names)
    return urlencode({"profile": "default", "data": f"<ThunderstoneReplication>{items}</ThunderstoneReplication>"}).encode()


def post(server: Appliance, *names: str) -> list[str]:
    """Loads documents, and returns the status of each."""
    status, _, body = server.request("POST", server.gate, "/recvdata.xml", write_load(*names), FORM)
    assert status == 200, body
    return [result.findtext("Status") or "" for result in ET.fromstring(body).findall("ItemResult")]


def count_feeds(server: Appliance) -> int:
    return len(server.get_json(server.gate, "/api/v1/feeds"))


def test_item_that_kills_the_feeder_costs_itself_and_the_reply_says_so(server: Appliance) -> None:
    assert post(server, "a", "killer", "b") == ["OK", "FAIL", "OK"]
    assert [server.document(f"{HOST}/{name}") is not None for name in ("a", "killer", "b")] == [True, False, True]


def test_kill_of_the_gate_while_the_reply_waits_loses_nothing_received(server: Appliance) -> None:
    before = count_feeds(server)
    with ThreadPoolExecutor(1) as threads:
        with hanging(server, "feeder", "feeder-quick"):
            answer = threads.submit(post, server, "stored")
            wait_until(lambda: count_feeds(server) > before, "a stored feed")
            (gate,) = server.role_pids()["gate"]
            os.kill(gate, signal.SIGKILL)
            with pytest.raises((OSError, http.client.HTTPException)):
                answer.result()
        wait_until(lambda: server.document(f"{HOST}/stored") is not None, "the document", bearing=(OSError, http.client.HTTPException))
    # the client has no reply and loads it again
    assert post(server, "stored") == ["OK"]
    assert count_feeds(server) == before + 2


def test_kill_of_the_gate_in_the_middle_of_a_request_leaves_nothing(server: Appliance) -> None:
    before, body = count_feeds(server), write_load("half", "other")
    connection = http.client.HTTPConnection("127.0.0.1", server.gate)
    connection.putrequest("POST", "/recvdata.xml")
    for name, value in (*FORM.items(), ("Content-Length", str(len(body)))):
        connection.putheader(name, value)
    connection.endheaders(body[: len(body) // 2])
    (gate,) = server.role_pids()["gate"]
    os.kill(gate, signal.SIGKILL)
    with pytest.raises((OSError, http.client.HTTPException)):
        connection.getresponse()
    connection.close()
    wait_until(lambda: count_feeds(server) == before, "the next gate", bearing=(OSError, http.client.HTTPException))
    assert server.document(f"{HOST}/half") is None
    assert post(server, "half") == ["OK"]


def test_stop_answers_a_dataload_that_waits(tmp_path: Path) -> None:
    with running(tmp_path / "data", SETTINGS) as server, ThreadPoolExecutor(1) as threads:
        with hanging(server, "feeder", "feeder-quick"):
            answer = threads.submit(server.request, "POST", server.gate, "/recvdata.xml", write_load("a"), FORM)
            wait_until(lambda: "default" in str(server.get_json(server.gate, "/api/v1/feeds")), "a stored feed")
            (gate,) = server.role_pids()["gate"]
            begun = time.monotonic()

            os.kill(gate, signal.SIGTERM)

            status, _, text = answer.result()
        assert (status, b"not applied yet, see feed 1" in text) == (200, True)
        assert time.monotonic() - begun < 50
        assert "Traceback" not in server.log.read_text()
