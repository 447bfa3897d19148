"""Several processes serve the search port: each finds what is committed, and together they hold the bounds of one."""

import http.client
import json
import os
import signal
import socket
import threading
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests import programs
from tests.acceptance.feedload import TROUBLE
from tests.acceptance.promises import put
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record
from tests.waiting import wait_for, wait_until

PROCESSES = 3
SETTINGS = """
[search]
processes = {processes}
[signin]
max_failures = 3
"""
OWN_NUMBER = {"FEEDMILL_SEARCH_PROCESSES": ""}


class Served:
    """A connection to the search port that stays open, and the process that serves it."""

    def __init__(self, server: Appliance) -> None:
        self._server = server
        self._connection = http.client.HTTPConnection("127.0.0.1", server.search_port, timeout=60)
        self.get("/healthz")
        self.pid = self._find_process()

    def get(self, path: str, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
        """Gets a resource."""
        self._connection.request("GET", path, headers=headers or {})
        answer = self._connection.getresponse()
        return answer.status, answer.read()

    def urls(self, query: str) -> list[str]:
        """Returns the URLs that a search finds."""
        status, body = self.get(f"/api/v1/search?q={query}")
        assert status == 200, body
        return [result["url"] for result in json.loads(body)["results"]]

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    def _find_process(self) -> int:
        assert isinstance(self._connection.sock, socket.socket)
        # its end at the server: an earlier connection to another port may have had our number, and waits to be forgotten
        ends = [f":{port:04X}" for port in (self._server.search_port, self._connection.sock.getsockname()[1])]
        lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        inode = next(words[9] for words in lines if words[1].endswith(ends[0]) and words[2].endswith(ends[1]))
        found: list[int] = []

        def is_found() -> bool:
            # descriptors come and go while they are listed, so one listing may miss the connection
            found.extend(self._list_holders(f"socket:[{inode}]"))
            return bool(found)

        wait_until(is_found, "the web process that has the connection")
        return found[0]

    def _list_holders(self, link: str) -> Iterator[int]:
        for pid in self._server.role_pids()["web"]:
            for entry in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):
                    if os.readlink(entry) == link:
                        yield pid


@contextmanager
def connected_to_each(server: Appliance) -> Iterator[list[Served]]:
    """Connects to each process."""
    with ExitStack() as stack:
        found: dict[int, Served] = {}

        def connect() -> bool:
            served = Served(server)
            stack.callback(served.close)
            found.setdefault(served.pid, served)
            return found.keys() == set(server.role_pids()["web"])

        wait_until(connect, "a connection to each web process")
        yield list(found.values())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    data = tmp_path_factory.mktemp("processes") / "data"
    with running(data, SETTINGS.format(processes=PROCESSES), OWN_NUMBER) as appliance:
        put(appliance, "processes", make_record("http://processes.example.com/first", "firstword"))
        yield appliance


def test_connections_are_spread_over_all_processes(server: Appliance) -> None:
    assert len(server.role_pids()["web"]) == PROCESSES
    with connected_to_each(server) as served:
        assert [each.urls("firstword") for each in served] == [["http://processes.example.com/first"]] * PROCESSES


def test_each_process_finds_and_hides_what_is_committed(server: Appliance) -> None:
    url = "http://processes.example.com/changing"
    with connected_to_each(server) as served:
        for round_ in range(10):
            server.feed(make_feed(make_record(url, f"changingword{round_}")), "changing")
            assert [each.urls(f"changingword{round_}") for each in served] == [[url]] * PROCESSES
            assert [each.urls(f"changingword{round_ - 1}") for each in served] == [[]] * PROCESSES
        secret = make_record(url, "changingword9", acl='<acl><principal scope="user" access="permit">ann</principal></acl>')
        server.feed(make_feed(secret), "changing")
        assert [each.urls("changingword9") for each in served] == [[]] * PROCESSES


def test_wrong_passwords_are_counted_over_all_processes(server: Appliance) -> None:
    added = programs.run("users", "add", "ann", "--password-stdin", "--data", server.data, given="the right password\n")
    assert added.returncode == 0, added.stderr

    def status_of(each: Served, password: str) -> int:
        return each.get("/api/v1/search?q=firstword", {"Authorization": f"Basic {b64encode(f'ann:{password}'.encode()).decode()}"})[0]

    with connected_to_each(server) as served:
        assert [status_of(each, "the right password") for each in served] == [200] * PROCESSES
        assert [status_of(each, f"wrong {number}") for number, each in enumerate(served)] == [401] * PROCESSES
        # three failures are one too many for any of them, however right the next password is
        assert {status_of(each, "the right password") for each in served} == {429}


def test_wrong_passwords_are_counted_over_the_search_port_and_the_admin_port(server: Appliance) -> None:
    added = programs.run("users", "add", "bob", "--password-stdin", "--data", server.data, given="the right password\n")
    assert added.returncode == 0, added.stderr

    def status_of(port: int, password: str) -> int:
        header = {"Authorization": f"Basic {b64encode(f'bob:{password}'.encode()).decode()}"}
        return server.request("GET", port, "/api/v1/documents?url=x" if port == server.admin else "/api/v1/search?q=x", headers=header)[0]

    ports = (server.search_port, server.admin)
    assert [status_of(port, "a wrong password") for port in (*ports, server.search_port)] == [401] * 3
    assert [status_of(port, "the right password") for port in ports] == [429, 429]


def test_killed_process_is_replaced_and_the_others_go_on(server: Appliance) -> None:
    with connected_to_each(server) as served:
        killed, *others = served
        before = set(server.role_pids()["web"])
        os.kill(killed.pid, signal.SIGKILL)
        assert [each.urls("firstword") for each in others] == [["http://processes.example.com/first"]] * (PROCESSES - 1)
        wait_until(lambda: len(server.role_pids()["web"]) == PROCESSES, bearing=TROUBLE)
        assert len(before & set(server.role_pids()["web"])) == PROCESSES - 1
    with connected_to_each(server) as served:
        assert [each.urls("firstword") for each in served] == [["http://processes.example.com/first"]] * PROCESSES


def test_process_that_stands_still_keeps_no_new_connection(server: Appliance) -> None:
    still = server.role_pids()["web"][0]
    os.kill(still, signal.SIGSTOP)
    try:
        for _ in range(20):
            assert server.urls("firstword") == ["http://processes.example.com/first"]
    finally:
        os.kill(still, signal.SIGCONT)


def test_metrics_and_status_are_those_of_all_processes(server: Appliance) -> None:
    token = {"Authorization": f"Bearer {(server.data / 'admin.token').read_text().strip()}"}

    def count_searches() -> float:
        lines = server.request("GET", server.admin, "/metrics", headers=token)[2].decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith("feedmill_query_seconds_count"))

    before = count_searches()
    with connected_to_each(server) as served:
        for each in served:
            each.urls("firstword")
    assert count_searches() == before + PROCESSES
    status = json.loads(server.request("GET", server.admin, "/api/v1/status", headers=token)[2])
    assert sorted(status["roles"]["web"]["pids"]) == sorted(server.role_pids()["web"])


def test_settings_change_the_number_of_processes_while_users_search(server: Appliance) -> None:
    is_over = threading.Event()

    def search() -> None:
        while not is_over.is_set():
            assert server.urls("firstword") == ["http://processes.example.com/first"]

    with ThreadPoolExecutor(2) as pool:
        searching = [pool.submit(search) for _ in range(2)]
        try:
            for processes in (1, 4, PROCESSES):
                server.reload(SETTINGS.format(processes=processes))
                wait_for(processes, lambda: len(server.role_pids()["web"]))
        finally:
            is_over.set()
        for each in searching:
            each.result()
