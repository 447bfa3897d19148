"""Heads of requests that are too long are refused in words, on the ports of people and of feed clients alike."""

import socket
from contextlib import suppress

import pytest

from tests.appliance import Appliance

MOST_SENT = 40_000_000
PIECE = b"a" * 65_536


def port_of(server: Appliance, name: str) -> int:
    return server.gate if name == "feeds" else server.search_port


def send_head(port: int, start: bytes, size: int, end: bytes) -> tuple[int, bytes]:
    """Sends a head as far as the server reads it, and returns how much of it that was and the response."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        sent, answer = 0, b""
        with suppress(ConnectionError):
            connection.sendall(start)
            while sent < size:
                connection.sendall(PIECE[: size - sent])
                sent += len(PIECE[: size - sent])
            connection.sendall(end)
        with suppress(ConnectionError):
            while piece := connection.recv(65_536):
                answer += piece
    return sent, answer


@pytest.mark.parametrize("name", ["search", "feeds"])
def test_url_that_is_too_long_is_refused_in_words(server: Appliance, name: str) -> None:
    _, answer = send_head(port_of(server, name), b"GET /search?q=", 100_000, b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 414 ")
    assert answer.endswith(b"the URL has more than 65535 bytes; send fewer or shorter parameters")


@pytest.mark.parametrize("name", ["search", "feeds"])
def test_headers_that_are_too_long_are_refused_in_words(server: Appliance, name: str) -> None:
    _, answer = send_head(port_of(server, name), b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ", 300_000, b"")
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert b"send fewer or shorter headers" in answer


@pytest.mark.parametrize("start", [b"GET /", b"GET / HTTP/1.1\r\nX-Long: "], ids=["url", "header"])
@pytest.mark.parametrize("name", ["search", "feeds"])
def test_head_without_end_is_not_read_on(server: Appliance, name: str, start: bytes) -> None:
    sent, _ = send_head(port_of(server, name), start, MOST_SENT, b"")
    assert sent < MOST_SENT


def test_long_head_within_the_bound_and_several_on_one_connection_are_answered(server: Appliance) -> None:
    request = b"GET /api/v1/search?num=0&q=" + b"a" * 60_000 + b" HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"b" * 60_000 + b"\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.search_port), timeout=60) as connection:
        file = connection.makefile("rb")
        for _ in range(6):
            connection.sendall(request)
            assert file.readline().startswith(b"HTTP/1.1 200 ")
            length = 0
            while (line := file.readline().strip()) != b"":
                length = int(line.partition(b":")[2]) if line.lower().startswith(b"content-length:") else length
            file.read(length)
