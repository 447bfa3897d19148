"""The server stops while the reply to a dataload waits."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

from tests.appliance import hanging, running
from tests.waiting import wait_until

SETTINGS = '[[dataload.profiles]]\nname = "default"\nallowed = ["127.0.0.0/8"]\n'
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
DATA = "<ThunderstoneReplication><Item><Type>I</Type><Url>http://www.example.com/a</Url></Item></ThunderstoneReplication>"


def test_stop_answers_a_dataload_that_waits(tmp_path: Path) -> None:
    body = urlencode({"profile": "default", "data": DATA}).encode()
    with running(tmp_path / "data", SETTINGS) as server, ThreadPoolExecutor(1) as threads:
        with hanging(server, "feeder", "feeder-quick"):
            answer = threads.submit(server.request, "POST", server.gate, "/recvdata.xml", body, FORM)
            wait_until(lambda: "default" in str(server.get_json(server.gate, "/api/v1/feeds")), "a stored feed")
            (gate,) = server.role_pids()["gate"]
            begun = time.monotonic()

            os.kill(gate, signal.SIGTERM)

            status, _, text = answer.result()
        assert (status, b"not applied yet, see feed 1" in text) == (200, True)
        assert time.monotonic() - begun < 5.0
        assert "Traceback" not in server.log.read_text()
