"""A running server answers only under names that it knows, on each of its ports."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.appliance import Appliance
from tests.selfsigned import CERTIFICATE, KEY

SETTINGS = """
[gate]
certificate = "{certificate}"
key = "{key}"
hosts = ["feeds.example.com"]
[dtd]
hosts = ["feeds.example.com"]
[search]
hosts = ["*.search.example.com"]
[signin]
public_url = "https://find.example.com"
"""
PORTS = ["gate", "tls", "dtd", "search", "admin"]


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    """A server with names in its settings."""
    folder = tmp_path_factory.mktemp("named")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    certificate.write_text(CERTIFICATE)
    key.write_text(KEY)
    appliance = Appliance(folder / "data", SETTINGS.format(certificate=certificate, key=key)).start()
    yield appliance
    appliance.stop()


def port_of(server: Appliance, name: str) -> int:
    return {"gate": server.gate, "tls": server.tls, "dtd": server.dtd, "search": server.search_port, "admin": server.admin}[name]


def send(port: int, request: bytes, *, tls: bool = False) -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with ExitStack() as stack:
        connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
        if tls:
            connection = stack.enter_context(context.wrap_socket(connection))
        connection.sendall(request)
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
    return answer


def get(server: Appliance, name: str, path: str, *headers: str, method: str = "GET") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", *headers, "Connection: close", "", ""]
    return send(port_of(server, name), "\r\n".join(lines).encode("utf-8"), tls=name == "tls")


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


@pytest.mark.parametrize("name", PORTS)
@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/", "/api/v1/status", "/nothing"])
def test_unknown_name_is_answered_421_on_every_path(named: Appliance, name: str, path: str) -> None:
    for headers in (["Host: evil.example"], [], ["Host: localhost", "Host: localhost"], ["Host: x", "X-Forwarded-Host: localhost"]):
        answer = get(named, name, path, *headers)
        assert status(answer) == 421, headers
        assert f"{'gate' if name == 'tls' else name}.hosts".encode() in answer


@pytest.mark.parametrize("name", PORTS)
def test_address_localhost_and_the_machines_names_are_answered(named: Appliance, name: str) -> None:
    for host in ("127.0.0.1", "10.9.8.7:80", "[::1]:9", "localhost", "LOCALHOST.:1", socket.gethostname(), socket.getfqdn()):
        assert status(get(named, name, "/healthz", f"Host: {host}")) == 200, host


@pytest.mark.parametrize(
    ("name", "host", "wanted"),
    [
        *(("gate", "feeds.example.com", 200), ("dtd", "Feeds.Example.com:7800", 200), ("gate", "find.example.com", 421)),
        *(("search", "a.search.example.com", 200), ("search", "search.example.com", 421), ("search", "feeds.example.com", 421)),
        *(("search", "find.example.com", 200), ("admin", "find.example.com", 200), ("dtd", "find.example.com", 421)),
    ],
)
def test_names_of_the_settings_hold_for_their_port(named: Appliance, name: str, host: str, wanted: int) -> None:
    assert status(get(named, name, "/healthz", f"Host: {host}")) == wanted


@pytest.mark.parametrize("target", ["http://evil.example/healthz", "http://user@127.0.0.1/healthz", "HTTP://evil.example/"])
def test_target_that_is_a_whole_url_must_be_under_a_known_name_too(named: Appliance, target: str) -> None:
    assert status(get(named, "search", target, "Host: localhost")) == 421
    assert status(get(named, "search", "http://localhost/healthz", "Host: localhost")) == 200


def test_feed_client_of_old_pushes_under_any_name_and_a_page_does_not(named: Appliance) -> None:
    fields = "".join(
        f'--<<\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in (("datasource", "old"), ("feedtype", "incremental"), ("data", "<gsafeed/>"))
    )
    body = (fields + "--<<--\r\n").encode()
    for version, headers in (("1.0", []), ("1.0", ["Host: gsa"]), ("1.1", ["Host: gsa.example.com:19900"])):
        lines = [
            f"POST /xmlfeed HTTP/{version}",
            *headers,
            f"Content-Length: {len(body)}",
            "Content-Type: multipart/form-data; boundary=<<",
        ]
        request = "\r\n".join([*lines, "Connection: close", "", ""]).encode() + body
        assert send(named.gate, request).endswith(b"\r\n\r\nSuccess"), (version, headers)
    for origin in ("http://gsa.example.com:19900", "null"):
        assert status(get(named, "gate", "/xmlfeed", "Host: gsa.example.com:19900", f"Origin: {origin}", method="POST")) == 421


@pytest.mark.parametrize(
    ("name", "path"), [("gate", "/getdtd"), ("gate", "/gsafeed.dtd"), ("gate", "/getbacklogcount"), ("dtd", "/getdtd")]
)
def test_paths_that_feed_clients_read_are_answered_under_any_name(named: Appliance, name: str, path: str) -> None:
    for headers in (["Host: gsa.example.com"], []):
        assert status(get(named, name, path, *headers)) == 200
    assert status(get(named, name, path, "Host: gsa.example.com", "Origin: http://gsa.example.com")) == 421


def test_path_of_a_feed_client_has_no_exception_on_other_ports(named: Appliance) -> None:
    for name in ("search", "admin"):
        assert status(get(named, name, "/xmlfeed", "Host: gsa.example.com", method="POST")) == 421
