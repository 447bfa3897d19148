"""What the feed port refuses, with the exact texts, and that nothing is stored of it."""

import gzip
import json
import socket
from contextlib import suppress
from pathlib import Path

import pytest

from feedmill.core.urls.networks import Networks
from feedmill.http.feeds.gateconfig import GateConfig
from tests.acceptance.gateserver import Gate, body_of, header, read_answer, run_gate, status
from tests.builders.requests import make_multipart
from tests.waiting import PATIENCE_SECONDS

STRANGERS = GateConfig(trusted=Networks.parse(["10.1.2.3"]))
SMALL = GateConfig(max_feed_bytes=100_000)
UNAUTHORIZED = b"Error - Unauthorized Request"
GOOD = make_multipart(("datasource", b"hr"), ("feedtype", b"full"), ("data", b"<gsafeed/>"))
TYPE = "multipart/form-data; boundary=<<"


def check_nothing_stored(gate: Gate) -> None:
    assert gate.feeds() == []
    assert gate.files() == []
    assert gate.notifier.notified == []


def send_until_refused(connection: socket.socket, size_bytes: int) -> int:
    """Sends bytes until the connection breaks and returns how many went out."""
    sent = 0
    with suppress(OSError):
        while sent < size_bytes:
            sent += connection.send(bytes(65536))
    return sent


@pytest.mark.parametrize("path", ["/xmlfeed", "/xmlfeed/", "/xmlgroups"])
def test_stranger_pushing_is_refused_with_the_documented_text(tmp_path: Path, path: str) -> None:
    with run_gate(tmp_path, STRANGERS) as gate:
        answer = gate.post(GOOD, TYPE, "X-Forwarded-For: 10.1.2.3", path=path)
        assert (status(answer), body_of(answer)) == (200, UNAUTHORIZED)
        assert header(answer, "content-type") == "text/plain"
        assert header(answer, "server") == "feedergate_1.0"
        check_nothing_stored(gate)


def test_stranger_with_a_huge_body_is_answered_before_it_is_read(tmp_path: Path) -> None:
    with run_gate(tmp_path, STRANGERS) as gate, socket.create_connection(("127.0.0.1", gate.port), timeout=PATIENCE_SECONDS) as connection:
        connection.sendall(b"POST /xmlfeed HTTP/1.1\r\nHost: gsa\r\nContent-Length: 1000000000\r\n\r\n")
        assert body_of(read_answer(connection)) == UNAUTHORIZED
        assert send_until_refused(connection, 1_000_000_000) < 50_000_000
        check_nothing_stored(gate)


def test_stranger_waiting_for_continue_is_refused_without_it(tmp_path: Path) -> None:
    with run_gate(tmp_path, STRANGERS) as gate, socket.create_connection(("127.0.0.1", gate.port), timeout=PATIENCE_SECONDS) as connection:
        connection.sendall(b"POST /xmlfeed HTTP/1.1\r\nHost: gsa\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n")
        assert read_answer(connection).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("path", ["/api/v1/feeds", "/api/v1/datasources/hr", "/api/v1/nothing"])
def test_stranger_requesting_resources_gets_403(tmp_path: Path, path: str) -> None:
    with run_gate(tmp_path, STRANGERS) as gate:
        answer = gate.get(path)
        assert status(answer) == 403
        assert json.loads(body_of(answer))["code"] == "forbidden"


@pytest.mark.parametrize("path", ["/push", "/", "/getbacklogcount", "/getdtd", "/nothing"])
def test_stranger_requesting_pages_gets_403(tmp_path: Path, path: str) -> None:
    with run_gate(tmp_path, STRANGERS) as gate:
        assert status(gate.get(path)) == 403


def test_stranger_requesting_health_is_answered(tmp_path: Path) -> None:
    with run_gate(tmp_path, STRANGERS) as gate:
        assert status(gate.get("/healthz")) == 200


def test_trust_changed_while_running_counts_at_once(tmp_path: Path) -> None:
    configs = [STRANGERS]
    with run_gate(tmp_path, lambda: configs[-1]) as gate:
        assert body_of(gate.post(GOOD, TYPE)) == UNAUTHORIZED
        configs.append(GateConfig(trusted=Networks.parse(["all"]), server_header="mill"))
        answer = gate.post(GOOD, TYPE)
        assert body_of(answer) == b"Success"
        assert header(answer, "server") == "mill"


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ((("feedtype", b"full"), ("data", b"<a/>")), b"field datasource is missing"),
        ((("datasource", b"hr"), ("data", b"<a/>")), b"field feedtype is missing"),
        ((("datasource", b"hr"), ("feedtype", b"full")), b"field data is missing"),
        ((("datasource", b"hr"), ("feedtype", b"full"), ("data", b"")), b"field data is missing or empty"),
        ((("datasource", b"hr"), ("feedtype", b"some"), ("data", b"<a/>")), b"field feedtype is 'some'; give one of full, incremental,"),
        ((("datasource", b"h r"), ("feedtype", b"full"), ("data", b"<a/>")), b"field datasource is 'h r'"),
        ((("datasource", b"a" * 2000), ("feedtype", b"full"), ("data", b"<a/>")), b"field datasource is longer than 1024 bytes"),
    ],
)
def test_push_with_bad_fields_is_refused_by_name(tmp_path: Path, fields: tuple[tuple[str, bytes], ...], text: bytes) -> None:
    with run_gate(tmp_path) as gate:
        answer = gate.post(make_multipart(*fields), TYPE)
        assert status(answer) == 400
        assert text in body_of(answer)
        check_nothing_stored(gate)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"", "text/xml"),
        (b"<gsafeed><group/></gsafeed>", "text/xml"),
        (b"<gsafeed><header><datasource>hr</datasource></header><group/></gsafeed>", "text/xml"),
        (GOOD[:-8], TYPE),
        (b"hello", "text/plain"),
        (b"--\r\n", TYPE),
        (b"--" + b"x" * 5000, TYPE),
    ],
)
def test_push_that_is_no_feed_is_refused(tmp_path: Path, body: bytes, content_type: str) -> None:
    with run_gate(tmp_path) as gate:
        assert status(gate.post(body, content_type)) == 400
        check_nothing_stored(gate)


def test_push_with_an_unknown_coding_is_refused(tmp_path: Path) -> None:
    with run_gate(tmp_path) as gate:
        answer = gate.post(GOOD, TYPE, "Content-Encoding: br")
        assert status(answer) == 400
        check_nothing_stored(gate)


def test_push_too_large_by_its_length_is_refused_at_once(tmp_path: Path) -> None:
    with run_gate(tmp_path, SMALL) as gate, socket.create_connection(("127.0.0.1", gate.port), timeout=PATIENCE_SECONDS) as connection:
        connection.sendall(f"POST /xmlfeed HTTP/1.1\r\nHost: gsa\r\nContent-Type: {TYPE}\r\nContent-Length: 9000000\r\n\r\n".encode())
        answer = read_answer(connection)
        assert status(answer) == 413
        assert b"100000 bytes" in body_of(answer)
        assert b"gate.max_feed_bytes" in body_of(answer)
        check_nothing_stored(gate)


def test_push_too_large_in_chunks_is_refused(tmp_path: Path) -> None:
    body = make_multipart(("datasource", b"hr"), ("feedtype", b"full"), ("data", bytes(3_000_000)))
    with run_gate(tmp_path, SMALL) as gate:
        head = f"POST /xmlfeed HTTP/1.1\r\nHost: gsa\r\nContent-Type: {TYPE}\r\nTransfer-Encoding: chunked\r\n\r\n"
        answer = gate.send(head.encode() + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
        assert status(answer) == 413
        check_nothing_stored(gate)


def test_push_of_a_gzip_bomb_is_refused(tmp_path: Path) -> None:
    bomb = gzip.compress(make_multipart(("datasource", b"hr"), ("feedtype", b"full"), ("data", bytes(50_000_000))), 1)
    with run_gate(tmp_path, SMALL) as gate:
        assert status(gate.post(bomb, TYPE, "Content-Encoding: gzip")) == 413
        check_nothing_stored(gate)


@pytest.mark.parametrize("origin", ["https://evil.example.com", "null", "http://gsa.evil.example.com:19900"])
def test_push_from_another_site_is_refused(tmp_path: Path, origin: str) -> None:
    with run_gate(tmp_path) as gate:
        assert status(gate.post(GOOD, TYPE, f"Origin: {origin}")) == 403
        assert status(gate.get("/api/v1/datasources/hr", f"Origin: {origin}", method="DELETE")) == 403
        for method in ("POST", "PUT", "DELETE"):
            assert status(gate.get("/api/v1/documents?url=http://a.com/&datasource=hr", f"Origin: {origin}", method=method)) == 403
        check_nothing_stored(gate)


def test_push_from_an_allowed_site_is_taken(tmp_path: Path) -> None:
    with run_gate(tmp_path, GateConfig(allow_origins=("https://tools.example.com",))) as gate:
        assert body_of(gate.post(GOOD, TYPE, "Origin: https://tools.example.com")) == b"Success"


def test_refusal_of_a_body_read_whole_closes_at_once(tmp_path: Path) -> None:
    idle = PATIENCE_SECONDS + 60  # a port that waits for more than it was announced does not close within our patience
    with (
        run_gate(tmp_path, GateConfig(idle_seconds=idle)) as gate,
        socket.create_connection(("127.0.0.1", gate.port), timeout=PATIENCE_SECONDS) as connection,
    ):
        connection.sendall(b"POST /xmlfeed HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello")
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
        assert status(answer) == 400


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_xmlfeed_with_another_method_is_refused(tmp_path: Path, method: str) -> None:
    with run_gate(tmp_path) as gate:
        assert status(gate.get("/xmlfeed", method=method)) == 405
