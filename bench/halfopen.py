"""What 1,000 half-open connections of one address cost an ordinary client of another.

For each port and kind: requests a second and latency of one client that opens a connection for each request, without the crowd
and with it, in the same run. The server is started with the usual soft limit of 1,024 open files. The crowd is a process of its
own, and opens again what the server ends. The aim: each answer within a second.
"""

import http.client
import multiprocessing
import resource
import socket
import sys
import time
from contextlib import suppress
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.figures import percentile
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record

CONNECTIONS = 1_000
REQUESTS = 300
SOFT_LIMIT = 1_024
PATIENCE_SECONDS = 5.0
PAUSE_SECONDS = 1.0
CROWD, ORDINARY = "127.0.0.5", "127.0.0.9"
HALF_HEAD = b"GET / HTTP/1.1\r\nHost: loc"
SLOW_FORM = b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 900\r\n\r\nq="
SLOW_FEED = b"POST /xmlfeed HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 900\r\n\r\n--x\r\n"


def main(connections: int = CONNECTIONS, requests: int = REQUESTS) -> None:
    """Prints the figures of each port and kind."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(SOFT_LIMIT, hard), hard))
    with TemporaryDirectory() as folder, running(Path(folder) / "data") as appliance:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        appliance.feed(make_feed(make_record("http://half.example.com/", "<p>halfopen</p>")))
        search, count = "/api/v1/search?q=halfopen", "/getbacklogcount"
        report("search, silent", appliance.search_port, search, b"", connections, requests)
        report("search, half a head", appliance.search_port, search, HALF_HEAD, connections, requests)
        report("search, slow form", appliance.search_port, search, SLOW_FORM, connections, requests)
        report("gate, half a head", appliance.gate, count, HALF_HEAD, connections, requests)
        report("gate, slow feed", appliance.gate, count, SLOW_FEED, connections, requests)
        report("admin, half a head", appliance.admin, "/healthz", HALF_HEAD, connections, requests)
        report_console(appliance, connections, requests)


def report_console(appliance: Appliance, connections: int, requests: int) -> None:
    """Prints what a crowd on the search port costs the admin port."""
    report("admin, crowd on search", appliance.admin, "/healthz", HALF_HEAD, connections, requests, crowded_port=appliance.search_port)


def report(name: str, port: int, path: str, piece: bytes, connections: int, requests: int, *, crowded_port: int = 0) -> None:
    """Measures without and with a crowd, and prints both with their ratio."""
    alone, _ = measure(port, path, requests)
    with Crowd(crowded_port or port, piece, connections) as crowd:
        beside, unanswered = measure(port, path, requests)
        opened = crowd.opened
    fast, slow = (percentile(seconds, 50) for seconds in (alone, beside))
    print(
        f"  {name:24} alone {describe(alone)}; beside {connections:,}: {describe(beside)}; p50 ratio {slow / fast:.1f}; "
        f"unanswered {unanswered}; connections opened {opened:,}",
        flush=True,
    )


def describe(seconds: list[float]) -> str:
    """Returns requests a second, p50 and p99."""
    rate = len(seconds) / sum(seconds)
    return f"{rate:5.0f}/s p50 {percentile(seconds, 50) * 1000:6.1f} ms p99 {percentile(seconds, 99) * 1000:7.1f} ms"


def measure(port: int, path: str, requests: int) -> tuple[list[float], int]:
    """Returns the seconds that each request took, and how many had no answer in time; a few of these end it."""
    seconds: list[float] = []
    unanswered = 0
    while len(seconds) < requests and unanswered < 4:
        began = time.perf_counter()
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS, source_address=(ORDINARY, 0))
            connection.request("GET", path)
            connection.getresponse().read()
            connection.close()
        except (OSError, http.client.HTTPException):
            unanswered += 1
        seconds.append(time.perf_counter() - began)
    return seconds, unanswered


class Crowd:
    """Keeps half-open connections of one address standing, in a process of its own."""

    def __init__(self, port: int, piece: bytes, count: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._is_over = context.Event()
        self._stands = context.Event()
        self._opened = context.Value("i", 0)
        self._process = context.Process(target=keep_open, args=(port, piece, count, self._stands, self._is_over, self._opened))

    @property
    def opened(self) -> int:
        """How many connections were opened so far."""
        return int(self._opened.value)

    def __enter__(self) -> "Crowd":
        self._process.start()
        self._stands.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._process.join()


def keep_open(port: int, piece: bytes, count: int, stands: Event, is_over: Event, opened: "Synchronized[int]") -> None:
    """Opens connections, and again those that are ended, until it is over."""
    connections = [connect(port, piece) for _ in range(count)]
    opened.value = count
    stands.set()
    while not is_over.wait(PAUSE_SECONDS):
        for place, connection in enumerate(connections):
            if is_ended(connection):
                connection.close()
                connections[place] = connect(port, piece)
                opened.value += 1


def is_ended(connection: socket.socket) -> bool:
    """Whether the server has ended a connection."""
    try:
        return connection.recv(65_536) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def connect(port: int, piece: bytes) -> socket.socket:
    """Opens a connection and sends what keeps it half-open."""
    connection = socket.socket()
    connection.bind((CROWD, 0))
    connection.settimeout(PATIENCE_SECONDS)
    with suppress(OSError):
        connection.connect(("127.0.0.1", port))
        connection.sendall(piece)
    connection.setblocking(False)
    return connection


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
