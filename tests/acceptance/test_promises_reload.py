"""Settings are read again while feeds are pushed and users search: no connection is cut off, and later ones use the new settings."""

import http.client
import os
import random
import signal
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from feedmill.runtime.server.deadlines import HEAD_SECONDS
from feedmill.runtime.server.draining import IDLE_SECONDS
from tests.acceptance.promises import put
from tests.appliance import WEB_PROCESSES, Appliance, running
from tests.builders.feedxml import make_feed, make_record
from tests.builders.requests import make_multipart
from tests.selfsigned import CERTIFICATE, KEY
from tests.waiting import wait_for, wait_until

SETTINGS = """
[gate]
certificate = "gate.pem"
key = "gate.key"
server_header = "header-{number}"
"""
BODY = make_multipart(
    ("datasource", b"reloaded"), ("feedtype", b"incremental"), ("data", make_feed(make_record("http://re.example.com/a", "x")))
)
MULTIPART = {"Content-Type": "multipart/form-data; boundary=<<"}
HEAD = (
    f"POST /xmlfeed HTTP/1.1\r\nHost: gsa\r\nContent-Type: multipart/form-data; boundary=<<\r\nContent-Length: {len(BODY)}\r\n\r\n".encode()
)


class Reloading:
    """A server whose settings are read again and again; the header of the feed port says which are in force."""

    def __init__(self, server: Appliance) -> None:
        self.server = server
        self.number = 0

    def reload(self) -> None:
        """Changes the settings and makes the server read them."""
        self.number += 1
        self.server.hang_up(SETTINGS.format(number=self.number))

    def reload_wholly(self) -> None:
        """Does so, and waits until the new settings are in force."""
        self.number += 1
        self.server.reload(SETTINGS.format(number=self.number))
        assert self.server.request("GET", self.server.gate, "/getbacklogcount")[1]["server"] == f"header-{self.number}"


@pytest.fixture(scope="module")
def reloading(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reloading]:
    folder = tmp_path_factory.mktemp("reloading")
    (folder / "gate.pem").write_text(CERTIFICATE)
    (folder / "gate.key").write_text(KEY)
    with running(folder / "data", SETTINGS.format(number=0)) as server:
        put(server, "searched", make_record("http://searched.example.com/a", "searchedword"))
        yield Reloading(server)


def read_whole(connection: socket.socket) -> bytes:
    """Reads until the server ends the connection."""
    return b"".join(iter(lambda: connection.recv(65536), b""))


def assert_follows_settings(answer: bytes, number: int) -> None:
    head, _, text = answer.lower().partition(b"\r\n\r\n")
    assert (head.split()[1], text) == (b"200", b"success"), answer
    assert b"server: header-%d" % number in head
    assert b"connection: close" in head


def connect_plain(server: Appliance) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.gate), timeout=60)


def connect_tls(server: Appliance) -> socket.socket:
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    return trusting.wrap_socket(socket.create_connection(("127.0.0.1", server.tls), timeout=60))


@pytest.mark.parametrize("connect", [connect_plain, connect_tls])
@pytest.mark.parametrize("sent", [0, 30, len(HEAD) + 40], ids=["nothing", "half-a-head", "half-a-body"])
def test_push_begun_before_a_reload_is_taken_after_it_by_the_old_settings(
    reloading: Reloading, connect: Callable[[Appliance], socket.socket], sent: int
) -> None:
    for _ in range(5):
        began = time.monotonic()
        earlier, answer = push_over_a_reload(reloading, connect, sent)
        if time.monotonic() - began < HEAD_SECONDS:  # else the machine may have delayed the rest of a head beyond the timeout
            break
    assert_follows_settings(answer, earlier)


def push_over_a_reload(reloading: Reloading, connect: Callable[[Appliance], socket.socket], sent: int) -> tuple[int, bytes]:
    """Sends part of a push before a reload and the rest after it; returns the number of the earlier settings, and the response."""
    with connect(reloading.server) as connection:
        connection.sendall((HEAD + BODY)[:sent])
        reloading.server.request("GET", reloading.server.gate, "/getbacklogcount")  # by now the connection above was taken
        earlier = reloading.number
        reloading.reload_wholly()
        with suppress(OSError):
            connection.sendall((HEAD + BODY)[sent:])
            return earlier, read_whole(connection)
    return earlier, b""


def test_connection_that_rests_over_a_reload_is_ended(reloading: Reloading) -> None:
    with connect_plain(reloading.server) as connection:
        connection.sendall(HEAD + BODY)
        assert connection.recv(12) == b"HTTP/1.1 200"
        reloading.reload_wholly()
        assert read_whole(connection).endswith(b"Success")


def test_old_processes_end_once_they_have_served_what_they_had(reloading: Reloading) -> None:
    reloading.reload_wholly()
    wait_for({"gate": 1, "web": WEB_PROCESSES, "admin": 1}, lambda: count_of_port_roles(reloading.server))


def count_of_port_roles(server: Appliance) -> dict[str, int]:
    """Counts the processes of the roles with ports; one that leaves has a title of its own."""
    return {name: len(pids) for name, pids in server.role_pids().items() if name.startswith(("gate", "web", "admin"))}


def test_no_push_and_no_search_fails_through_many_reloads(reloading: Reloading) -> None:
    server, is_over, answered = reloading.server, threading.Event(), Counter[str]()

    def work(what: tuple[str, int, str, str, bytes | None], is_reused: bool) -> None:
        kind, port, method, path, body = what
        while not is_over.is_set():
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            is_open, answered_at = True, time.monotonic()
            while is_open and not is_over.is_set():
                try:
                    client.request(method, path, body, MULTIPART)
                    answer = client.getresponse()
                except ConnectionError:
                    if time.monotonic() - answered_at < IDLE_SECONDS:
                        raise
                    break  # the machine delayed the client's next request for longer than a connection may be idle
                text, answered_at = answer.read(), time.monotonic()
                assert (answer.status, text == b"Success" or b"searchedword" in text) == (200, True), text
                answered[kind] += 1
                is_open = is_reused and not answer.will_close
            client.close()

    push = ("push", server.gate, "POST", "/xmlfeed", BODY)
    search = ("search", server.search_port, "GET", "/api/v1/search?q=searchedword", None)
    with ThreadPoolExecutor(6) as pool:
        working = [pool.submit(work, what, is_reused) for what in (push, push, search) for is_reused in (False, True)]
        began = time.monotonic()
        try:
            while time.monotonic() - began < 3 or min(answered["push"], answered["search"]) < 100:
                reloading.reload()
                time.sleep(0.5)
                assert not [each for each in working if each.done()]
        finally:
            is_over.set()
        for each in working:
            each.result()


@pytest.mark.parametrize("seed", range(2))
def test_server_serves_whichever_process_is_killed_during_a_reload(reloading: Reloading, seed: int) -> None:
    server, chance = reloading.server, random.Random(seed)
    for _ in range(4):
        reloading.reload()
        time.sleep(chance.uniform(0.0, 0.6))
        processes = [pid for name, pids in server.role_pids().items() if name.startswith(("gate", "web")) for pid in pids]
        for pid in chance.sample(processes, chance.randint(1, min(2, len(processes)))):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        # a connection that a killed process had accepted is reset; none is refused
        wait_until(lambda: is_answered(server.gate, "/getbacklogcount"), "a response of the feed port")
        wait_until(lambda: is_answered(server.search_port, "/api/v1/search?q=searchedword"), "a response of the search port")
    reloading.reload_wholly()
    wait_for({"gate": 1, "web": WEB_PROCESSES, "admin": 1}, lambda: count_of_port_roles(server))
    assert server.urls("searchedword") == ["http://searched.example.com/a"]


def is_answered(port: int, path: str) -> bool:
    """Whether a new connection is answered. Errors: ConnectionRefusedError."""
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        client.request("GET", path)
        return client.getresponse().status == 200
    except ConnectionRefusedError:
        raise
    except (ConnectionError, http.client.HTTPException):
        return False
    finally:
        client.close()
