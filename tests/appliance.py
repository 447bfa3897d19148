"""A whole server as a process, and a client that speaks to it as the world does: over its ports alone."""

import fcntl
import http.client
import json
import os
import signal
import socket
import subprocess
import time
import urllib.parse
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from tests import programs
from tests.migratedstore import prepare_migrated
from tests.waiting import PATIENCE_SECONDS, lengthen, wait_until

FINAL = {"completed", "completed with errors", "failed in error"}
ROLES = ("gate", "web", "admin", "feeder", "feeder-quick", "extractor", "indexer", "puller", "crawler")
WEB_PROCESSES = 2
"""On a machine with one core too, and no more where there are many. A test that wants another number sets it in the environment."""


def reserve_port() -> socket.socket:
    """Returns a socket that holds a port without listening at it, so that only a server may listen there, also one that is started again.

    Who asks the system for any free port never gets one that is bound, and who asks for this one may have it while none listens there.
    """
    held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held


def close_all(sockets: Sequence[socket.socket]) -> None:
    """Returns ports back."""
    for each in sockets:
        each.close()


class Appliance:
    """A server on a data folder, with ports of its own."""

    def __init__(
        self, data: Path, settings: str = "", environment: Mapping[str, str] | None = None, start: programs.Start = programs.start
    ) -> None:
        self.data = data
        self._start = start
        held = [reserve_port() for _ in range(5)]
        self.gate, self.tls, self.dtd, self.search_port, self.admin = (int(each.getsockname()[1]) for each in held)
        weakref.finalize(self, close_all, held)
        self._settings = settings
        self._environment = dict(environment or {})
        self.process: subprocess.Popen[str] | None = None
        self.log = data.parent / f"{data.name}.log"
        self.config = data.parent / f"{data.name}.toml"

    def start(self) -> "Appliance":
        """Starts the server and waits until it says that it is ready.

        A new folder holds a migrated store already, unless the executable is started: a migration is a third of the work of a start.
        """
        if self._start is programs.start and not self.data.exists():
            prepare_migrated(self.data)
        self.data.mkdir(parents=True, exist_ok=True)
        self.config.write_text(self._settings)
        ports = {"GATE": self.gate, "GATE_TLS": self.tls, "DTD": self.dtd, "SEARCH": self.search_port, "ADMIN": self.admin}
        given = {f"FEEDMILL_{name}_PORT": str(port) for name, port in ports.items()} | {"FEEDMILL_SEARCH_PROCESSES": str(WEB_PROCESSES)}
        environment = os.environ | given | self._environment
        with self.log.open("a") as log:
            words = ("serve", "--data", self.data, "--config", self.config)
            self.process = self._start(*words, environment=environment, stdout=subprocess.PIPE, stderr=log)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if line.strip() != "ready":
            self.process.kill()
            raise AssertionError(f"the server did not become ready: {self.log.read_text()[-4000:]}")
        return self

    def hang_up(self, settings: str) -> None:
        """Changes the settings file and makes the server read it again."""
        assert self.process is not None
        self.config.write_text(settings)
        self.process.send_signal(signal.SIGHUP)

    def reload(self, settings: str) -> None:
        """Does so with settings that are good, and waits until every role works by them, and none by those before."""
        earlier = {pid for pids in self.role_pids().values() for pid in pids}
        self.hang_up(settings)
        wait_until(lambda: self._are_new(earlier), lambda: f"processes other than {earlier}, and saw last {self.role_pids()}")

    def _are_new(self, earlier: set[int]) -> bool:
        now = self.role_pids()
        return all(now.get(role) and not earlier.intersection(now[role]) for role in ROLES)

    def stop(self) -> int:
        """Stops the server in order and returns its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE_SECONDS)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code

    def kill(self) -> None:
        """Kills the parent and waits until all its children are gone."""
        assert self.process is not None
        children = list(self.role_pids().values())
        self.process.kill()
        self.process.wait(PATIENCE_SECONDS)
        if self.process.stdout is not None:
            self.process.stdout.close()
        wait_until(lambda: not any(is_alive(pid) for pids in children for pid in pids), "the end of the children of a parent that is dead")

    def role_pids(self) -> dict[str, list[int]]:
        """Returns the processes of this server by role, read from their command lines."""
        found: dict[str, list[int]] = {}
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            titles = [word.decode() for word in words if word.startswith(b"feedmill: ")]
            if titles and self._descends(int(folder.name)):
                found.setdefault(titles[0].removeprefix("feedmill: "), []).append(int(folder.name))
        return found

    def _descends(self, pid: int) -> bool:
        assert self.process is not None
        while pid > 1:
            if pid == self.process.pid:
                return True
            try:
                pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                return False
        return False

    # --- the feed port ---

    def push(self, xml: bytes, datasource: str = "test", feedtype: str = "incremental") -> str:
        """Pushes a feed as Google's own clients do and returns its id."""
        boundary = b"<<"
        fields = [(b"datasource", datasource.encode()), (b"feedtype", feedtype.encode()), (b"data", xml)]
        parts = [b'--%s\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % (boundary, name, value) for name, value in fields]
        body = b"".join(parts) + b"--%s--\r\n" % boundary
        status, headers, answer = self.request("POST", self.gate, "/xmlfeed", body, {"Content-Type": "multipart/form-data; boundary=<<"})
        assert (status, answer) == (200, b"Success"), (status, answer)
        return headers["x-feedmill-feed"]

    def receipt(self, feed: str) -> dict[str, Any]:
        """Returns a feed's receipt."""
        return dict(self.get_json(self.gate, f"/api/v1/feeds/{feed}"))

    def wait(self, feed: str, *, seconds: float = PATIENCE_SECONDS, searchable: bool = True, pause_seconds: float = 0.01) -> dict[str, Any]:
        """Waits until a feed is final (and all of it searchable) and returns its receipt."""
        deadline = time.monotonic() + seconds
        while True:
            receipt = self.receipt(feed)
            if receipt["state"] in FINAL and (receipt["searchable_at"] is not None or not searchable):
                return receipt
            assert time.monotonic() < deadline, f"the feed is not at its end: {receipt}"
            time.sleep(pause_seconds)
            pause_seconds = lengthen(pause_seconds)

    def feed(
        self, xml: bytes, datasource: str = "test", feedtype: str = "incremental", *, seconds: float = PATIENCE_SECONDS
    ) -> dict[str, Any]:
        """Pushes a feed and waits for its end."""
        return self.wait(self.push(xml, datasource, feedtype), seconds=seconds)

    def document(self, url: str) -> dict[str, Any] | None:
        """Returns what the feed port says of a document, None when it knows none."""
        status, _, body = self.request("GET", self.gate, "/api/v1/documents?" + urllib.parse.urlencode({"url": url}))
        assert status in (200, 404), (status, body)
        return dict(json.loads(body)) if status == 200 else None

    # --- the search port ---

    def search(self, query: str, **parameters: str | int) -> dict[str, Any]:
        """Returns the JSON answer to a search."""
        return dict(self.get_json(self.search_port, "/api/v1/search?" + urllib.parse.urlencode({"q": query, **parameters})))

    def urls(self, query: str, **parameters: str | int) -> list[str]:
        """Returns the URLs that a search finds."""
        return [result["url"] for result in self.search(query, **parameters)["results"]]

    # --- both ---

    def get_json(self, port: int, path: str) -> Any:
        """Gets JSON."""
        status, _, body = self.request("GET", port, path)
        assert status == 200, (path, status, body)
        return json.loads(body)

    def request(
        self,
        method: str,
        port: int,
        path: str,
        body: bytes | BinaryIO | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        seconds: float = 60.0,
    ) -> tuple[int, dict[str, str], bytes]:
        """Sends a request and returns status, headers (names in lower case) and body."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=seconds)
        try:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()


@contextmanager
def running(
    data: Path, settings: str = "", environment: Mapping[str, str] | None = None, start: programs.Start = programs.start
) -> Iterator[Appliance]:
    """Runs a server for a block."""
    appliance = Appliance(data, settings, environment, start).start()
    try:
        yield appliance
    finally:
        if appliance.process is not None and appliance.process.poll() is None:
            appliance.stop()


@contextmanager
def hanging(appliance: Appliance, *roles: str) -> Iterator[None]:
    """Stops the processes of roles for a block, at a moment when none of them holds a lock of the store that others need."""
    pids = [pid for role in roles for pid in appliance.role_pids()[role]]

    def stop() -> bool:
        _signal_all(pids, signal.SIGSTOP)
        if all(_is_free(appliance.data / name) for name in ("store.door", "store.room")):
            return True
        _signal_all(pids, signal.SIGCONT)
        return False

    wait_until(stop, f"{roles} outside of a transaction")
    try:
        yield
    finally:
        _signal_all(pids, signal.SIGCONT)


def _signal_all(pids: Sequence[int], number: int) -> None:
    for pid in pids:
        os.kill(pid, number)


def _is_free(lock: Path) -> bool:
    with lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def is_alive(pid: int) -> bool:
    """Whether a process lives (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
