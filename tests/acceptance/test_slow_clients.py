"""Half-open connections, slow bodies and responses that no client reads cost others nothing, and are gone by themselves."""

import http.client
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.appliance import Appliance
from tests.selfsigned import CERTIFICATE, KEY
from tests.waiting import wait_until

SETTINGS = """
[gate]
trusted = ["127.0.0.1", "127.0.0.9"]
certificate = "{certificate}"
key = "{key}"
[limits]
max_connections_per_address = 60
"""
EACH = 40
FLOODER, STRANGER, ORDINARY, TRUSTED = "127.0.0.5", "127.0.0.6", "127.0.0.8", "127.0.0.9"
HALF_HEAD = b"GET / HTTP/1.1\r\nHost: loc"
SLOW_FORM = b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 900\r\n\r\nq="
SLOW_FEED = b"POST /xmlfeed HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 900\r\n\r\n--x\r\n"
LARGE_FEED = SLOW_FEED.replace(b"900", b"900000000")
REFUSED = b"Error - Unauthorized Request"


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    """A server that keeps few connections of each address."""
    folder = tmp_path_factory.mktemp("crowded")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    certificate.write_text(CERTIFICATE)
    key.write_text(KEY)
    appliance = Appliance(folder / "data", SETTINGS.format(certificate=certificate, key=key)).start()
    yield appliance
    appliance.stop()


def connect(port: int, source: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60, source_address=(source, 0))


def test_request_without_tls_gets_a_plain_answer_on_the_port_with_tls(crowded: Appliance) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", crowded.tls, timeout=60)
    try:
        connection.request("POST", "/xmlfeed", b"x" * 1_000)
        response = connection.getresponse()
        assert (response.status, response.read()) == (400, b"This port speaks TLS; write https:// in place of http://.\n")
    finally:
        connection.close()


def is_gone(connection: socket.socket) -> bool:
    """Whether the server has ended a connection; what it said before is passed over."""
    connection.setblocking(False)
    try:
        while connection.recv(65_536):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def ask(port: int, source: str, path: str = "/healthz") -> float:
    """Asks on a connection of its own and returns the seconds that the response took."""
    began = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60, source_address=(source, 0))
    connection.request("GET", path)
    assert connection.getresponse().status == 200
    connection.close()
    return time.perf_counter() - began


def read_all(connection: socket.socket) -> bytes:
    answer = b""
    while piece := connection.recv(65_536):
        answer += piece
    return answer


class SteadySender:
    """A trusted client that sends a good feed a byte at a time, until ``finish`` sends the rest."""

    def __init__(self, port: int) -> None:
        fields = (("datasource", "steady"), ("feedtype", "incremental"), ("data", "<gsafeed/>" + " " * 2_000))
        parts = [f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields]
        self._body = ("".join(parts) + "--x--\r\n").encode()
        self._connection = connect(port, TRUSTED)
        head = SLOW_FEED.partition(b"\r\n\r\n")[0].replace(b"900", str(len(self._body)).encode())
        self._connection.sendall(head + b"\r\nConnection: close\r\n\r\n")
        self._is_over = threading.Event()
        self._sending = threading.Thread(target=self._send)
        self._sending.start()

    def _send(self) -> None:
        while not self._is_over.wait(0.5):
            self._connection.sendall(self._body[:1])
            self._body = self._body[1:]

    def finish(self) -> bytes:
        """Sends the rest and returns the response."""
        self._is_over.set()
        self._sending.join()
        self._connection.sendall(self._body)
        with self._connection:
            return read_all(self._connection)


def test_half_open_connections_are_gone_and_others_are_served_throughout(crowded: Appliance) -> None:
    sender = SteadySender(crowded.gate)
    untaken = b"GET /static/search.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 30
    kinds = [
        *((crowded.search_port, piece) for piece in (b"", HALF_HEAD, SLOW_FORM, untaken)),
        *((crowded.gate, piece) for piece in (b"", HALF_HEAD, SLOW_FEED)),
        *((crowded.admin, HALF_HEAD), (crowded.dtd, HALF_HEAD), (crowded.tls, b"\x16\x03\x01")),
    ]
    with ExitStack() as stack:
        slow = []
        for port, piece in kinds:
            source = "127.0.0.1" if port == crowded.gate else FLOODER
            for _ in range(EACH):
                connection = stack.enter_context(connect(port, source))
                connection.sendall(piece)
                slow.append(connection)
        seconds: list[float] = []

        def all_gone() -> bool:
            seconds.extend(ask(port, ORDINARY) for port in (crowded.gate, crowded.search_port, crowded.dtd))
            seconds.append(ask(crowded.admin, ORDINARY))
            slow[:] = [each for each in slow if not is_gone(each)]
            return not slow

        wait_until(all_gone, lambda: f"{len(slow)} connections still open")
    assert statistics.median(seconds) < 5
    assert sender.finish().endswith(b"\r\n\r\nSuccess")


@pytest.mark.parametrize("request_of_a_stranger", [SLOW_FEED, LARGE_FEED], ids=["small", "large"])
def test_stranger_gets_the_promised_answer_among_half_open_connections_and_is_closed(
    crowded: Appliance, request_of_a_stranger: bytes
) -> None:
    with ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(connect(crowded.gate, STRANGER)).sendall(HALF_HEAD)
        with connect(crowded.gate, STRANGER) as connection:
            connection.sendall(request_of_a_stranger)
            assert read_all(connection).endswith(REFUSED)
        ask(crowded.gate, STRANGER)
        ask(crowded.gate, TRUSTED)


def test_client_is_served_beside_half_open_connections_of_its_own_address(crowded: Appliance) -> None:
    with ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(connect(crowded.search_port, FLOODER)).sendall(HALF_HEAD)
        ask(crowded.search_port, FLOODER)


def test_server_may_open_as_many_files_as_the_system_allows(crowded: Appliance) -> None:
    for pids in crowded.role_pids().values():
        with open(f"/proc/{pids[0]}/limits", encoding="ascii") as file:
            limits = next(line.split() for line in file if line.startswith("Max open files"))
        assert limits[3] == limits[4]
