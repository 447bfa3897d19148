"""The feed port in trouble: a full disk, a busy store, senders that go away; nothing half is stored and no client gets ``Success``."""

import socket
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feedmill.http.feeds.gateconfig import GateConfig
from feedmill.model.errors import Busy, DiskFull
from feedmill.ports import FeedFile, FeedFiles, Store, UnitOfWork
from tests.acceptance.gateserver import Gate, body_of, read_answer, run_gate, status
from tests.acceptance.smalldisk import small_disk
from tests.builders.requests import make_multipart
from tests.thorough import count_examples
from tests.waiting import PATIENCE_SECONDS, wait_for

DISK_FULL = b"Feed not accepted due to insufficient disk space. Contact Google Cloud Support."
TYPE = "multipart/form-data; boundary=<<"
GOOD = make_multipart(("datasource", b"hr"), ("feedtype", b"full"), ("data", b"<gsafeed/>"))
LARGE = make_multipart(("datasource", b"hr"), ("feedtype", b"full"), ("data", b"<a/>" * 1_000_000))


@dataclass
class TroubledStore:
    """A store whose writing fails."""

    store: Store
    error: Exception

    def writing(self) -> AbstractContextManager[UnitOfWork]:
        raise self.error

    def reading(self) -> AbstractContextManager[UnitOfWork]:
        return self.store.reading()

    def close(self) -> None:
        self.store.close()


class FullFile:
    """A file on a disk that is full after some bytes, or that cannot be synced."""

    def __init__(self, file: FeedFile, free_bytes: int, pause_seconds: float) -> None:
        self.name = file.name
        self._file = file
        self._free_bytes = free_bytes
        self._pause_seconds = pause_seconds

    def write(self, data: bytes | bytearray | memoryview) -> None:
        time.sleep(self._pause_seconds)
        self._free_bytes -= len(data)
        if self._free_bytes < 0:
            raise DiskFull("no space")
        self._file.write(data)

    def commit(self) -> int:
        return self._file.commit()

    def discard(self) -> None:
        self._file.discard()


@dataclass
class TroubledFiles:
    """A folder whose files are made worse."""

    files: FeedFiles
    worsen: Callable[[FeedFile], FeedFile]

    def create(self) -> FeedFile:
        return self.worsen(self.files.create())

    def __getattr__(self, name: str) -> object:
        return getattr(self.files, name)


def check_nothing_stored(gate: Gate) -> None:
    wait_for([], gate.files)
    assert gate.feeds() == []


def full_after(free_bytes: int, pause_seconds: float = 0.0) -> Callable[[FeedFiles], FeedFiles]:
    def wrap(files: FeedFiles) -> FeedFiles:
        return TroubledFiles(files, lambda file: FullFile(file, free_bytes, pause_seconds))  # type: ignore[return-value]

    return wrap


@pytest.mark.parametrize("free_bytes", [5, 1_500_000, 3_000_000])
def test_push_on_a_disk_that_fills_is_refused_with_the_documented_text(tmp_path: Path, free_bytes: int) -> None:
    with run_gate(tmp_path, wrap_files=full_after(free_bytes)) as gate:
        answer = gate.post(LARGE, TYPE)
        assert (status(answer), body_of(answer)) == (200, DISK_FULL)
        check_nothing_stored(gate)


def test_push_on_a_slow_disk_is_stored_whole(tmp_path: Path) -> None:
    with run_gate(tmp_path, wrap_files=full_after(1_000_000_000, pause_seconds=0.02)) as gate:
        assert body_of(gate.post(LARGE, TYPE)) == b"Success"
        assert gate.content(gate.feeds()[0]) == b"<a/>" * 1_000_000


def test_push_below_the_reserve_is_refused_with_the_documented_text(tmp_path: Path) -> None:
    with run_gate(tmp_path, reserve_bytes=1 << 60) as gate:
        answer = gate.post(GOOD, TYPE)
        assert (status(answer), body_of(answer)) == (200, DISK_FULL)
        check_nothing_stored(gate)


def test_push_on_a_full_file_system_is_refused_with_the_documented_text() -> None:
    with small_disk(8_000_000) as disk, run_gate(disk.folder) as gate:
        answer = gate.post(make_multipart(("datasource", b"hr"), ("feedtype", b"full"), ("data", bytes(20_000_000))), TYPE)
        assert (status(answer), body_of(answer)) == (200, DISK_FULL)
        check_nothing_stored(gate)


def test_push_when_the_store_is_full_is_refused_with_the_documented_text(tmp_path: Path) -> None:
    with run_gate(tmp_path, wrap_store=lambda store: TroubledStore(store, DiskFull("full"))) as gate:
        assert body_of(gate.post(GOOD, TYPE)) == DISK_FULL
        check_nothing_stored(gate)


def test_push_when_the_store_is_busy_breaks_the_connection(tmp_path: Path) -> None:
    with run_gate(tmp_path, wrap_store=lambda store: TroubledStore(store, Busy("later"))) as gate:
        assert gate.post(GOOD, TYPE) == b""
        assert gate.notifier.notified == []
        check_nothing_stored(gate)


def test_push_when_the_store_is_broken_answers_500(tmp_path: Path) -> None:
    with run_gate(tmp_path, wrap_store=lambda store: TroubledStore(store, ZeroDivisionError())) as gate:
        assert b"Success" not in gate.post(GOOD, TYPE)
        check_nothing_stored(gate)


@pytest.mark.parametrize("sent_bytes", [10, 200, 2_500_000])
def test_sender_that_goes_away_leaves_nothing(tmp_path: Path, sent_bytes: int) -> None:
    with run_gate(tmp_path) as gate:
        with socket.create_connection(("127.0.0.1", gate.port), timeout=PATIENCE_SECONDS) as connection:
            head = f"POST /xmlfeed HTTP/1.1\r\nHost: gsa\r\nContent-Type: {TYPE}\r\nContent-Length: {len(LARGE)}\r\n\r\n"
            connection.sendall(head.encode() + LARGE[:sent_bytes])
            time.sleep(0.1)
        assert body_of(gate.post(b"", TYPE)) != b"Success"
        check_nothing_stored(gate)


def test_sender_that_says_nothing_is_dropped(tmp_path: Path) -> None:
    with run_gate(tmp_path, GateConfig(idle_seconds=0.3)) as gate, connect(gate) as connection:
        head = f"POST /xmlfeed HTTP/1.1\r\nHost: gsa\r\nContent-Type: {TYPE}\r\nContent-Length: {len(LARGE)}\r\n\r\n"
        connection.sendall(head.encode() + LARGE[:1000])
        assert read_answer(connection) == b""
        check_nothing_stored(gate)


def test_sender_that_is_slow_but_steady_is_waited_for(tmp_path: Path) -> None:
    for idle_seconds in (0.5, 2.0, 8.0, 32.0):
        (tmp_path / str(idle_seconds)).mkdir()
        with run_gate(tmp_path / str(idle_seconds), GateConfig(idle_seconds=idle_seconds)) as gate, connect(gate) as connection:
            longest = send_steadily(connection, idle_seconds / 3)
            answer = read_answer(connection)
        if longest < idle_seconds * 2 / 3:  # else the machine was too busy for a steady sender
            break
    assert body_of(answer) == b"Success"


def send_steadily(connection: socket.socket, pause_seconds: float) -> float:
    """Sends a push in pieces, and returns the longest time between two of them. Units: seconds."""
    connection.sendall(f"POST /xmlfeed HTTP/1.1\r\nHost: gsa\r\nContent-Type: {TYPE}\r\nContent-Length: {len(GOOD)}\r\n\r\n".encode())
    sent_at = [time.monotonic()]
    with suppress(ConnectionError):
        for start in range(0, len(GOOD), 40):
            connection.sendall(GOOD[start : start + 40])
            sent_at.append(time.monotonic())
            time.sleep(pause_seconds)
    return max(later - earlier for earlier, later in pairwise(sent_at))


def connect(gate: Gate) -> socket.socket:
    return socket.create_connection(("127.0.0.1", gate.port), timeout=PATIENCE_SECONDS)


def test_any_body_is_answered_below_500(tmp_path: Path) -> None:
    with run_gate(tmp_path) as gate:

        @settings(max_examples=count_examples(80))
        @given(
            body=st.one_of(st.binary(max_size=2000), st.text("-<>=&%\r\n", max_size=60).map(str.encode)),
            content_type=st.sampled_from([TYPE, "multipart/form-data", "text/xml", "application/x-www-form-urlencoded", "\u00ff"]),
            coding=st.sampled_from(["", "gzip", "deflate", "x"]),
        )
        def check(body: bytes, content_type: str, coding: str) -> None:
            answer = gate.post(body, content_type, f"Content-Encoding: {coding}")
            assert 200 <= status(answer) < 500

        check()


def test_bytes_that_are_no_http_leave_the_port_working(tmp_path: Path) -> None:
    with run_gate(tmp_path) as gate:
        for noise in (b"\x16\x03\x01\x02\x00\x01", b"POST\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"):
            with suppress(OSError, TimeoutError), socket.create_connection(("127.0.0.1", gate.port), timeout=1) as connection:
                connection.sendall(noise)
                connection.recv(1000)
        assert body_of(gate.post(GOOD, TYPE)) == b"Success"
