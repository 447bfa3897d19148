"""Which certificates the client accepts from a server."""

import ssl
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from feedmill.adapters.identity.saml.keys import make_key, read_key
from feedmill.cli.main import build_app
from feedmill_client import BadRequest, Options, Port, Unreachable
from tests.eitherclient import KINDS, QUICK, Either
from tests.fakes import ManualClock
from tests.rawserver import OK, always, running
from tests.selfsigned import CERTIFICATE, KEY


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """The port of a server that shows ``CERTIFICATE``, which the machine trusts."""
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    certificate.write_text(CERTIFICATE)
    key.write_text(KEY)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@KINDS
def test_certificate_of_the_server_is_accepted_under_any_name(kind: str, port: int, tmp_path: Path) -> None:
    chain = tmp_path / "chain.pem"
    chain.write_text("subject=/CN=server\n" + CERTIFICATE + read_key(make_key(ManualClock().now)).certificate)
    with Either(kind, "Port", f"https://127.0.0.1:{port}", certificate=str(chain)) as client:
        assert [client.get_json("/"), client.get_json("/")] == [{}, {}]


@KINDS
def test_self_signed_certificate_is_its_own_authority_for_the_names_in_it(kind: str, port: int, tmp_path: Path) -> None:
    options = replace(QUICK, ca_file=str(tmp_path / "certificate.pem"))
    with Either(kind, "Port", f"https://localhost:{port}", options=options) as client:
        assert client.get_json("/") == {}
    with Either(kind, "Port", f"https://127.0.0.1:{port}", options=options) as client, pytest.raises(Unreachable, match="not trusted"):
        client.get_json("/")


@KINDS
def test_file_of_authorities_that_holds_none_is_named(kind: str, port: int, tmp_path: Path) -> None:
    for name in ("key.pem", "none.pem"):
        with (
            Either(kind, "Port", f"https://localhost:{port}", options=replace(QUICK, ca_file=str(tmp_path / name))) as client,
            pytest.raises(BadRequest, match=f"no certificate can be read from '.*{name}'"),
        ):
            client.get_json("/")


@KINDS
def test_certificate_of_another_server_is_refused(kind: str, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
    other = tmp_path / "other.pem"
    other.write_text(read_key(make_key(ManualClock().now)).certificate + CERTIFICATE)
    with Either(kind, "Port", f"https://127.0.0.1:{port}", certificate=str(other)) as client:
        with pytest.raises(Unreachable, match="certificate is not trusted") as raised:
            client.get_json("/")
        assert (raised.value.was_sent, raised.value.is_permanent) == (False, True)


@KINDS
def test_context_of_the_program_decides(kind: str, port: int, tmp_path: Path) -> None:
    context = ssl.create_default_context(cafile=str(tmp_path / "certificate.pem"))
    context.check_hostname = False
    with Either(kind, "Port", f"https://127.0.0.1:{port}", options=Options(context=context)) as client:
        assert client.get_json("/") == {}


@KINDS
def test_port_without_tls_is_told_apart(kind: str) -> None:
    with running(always(OK), greeting=OK) as server, Either(kind, "Port", f"https://127.0.0.1:{server.port}", options=QUICK) as client:
        with pytest.raises(Unreachable, match="a port without TLS wants http://"):
            client.get_json("/")
        assert server.connections == 1


@pytest.mark.parametrize("content", [None, "no certificate", "-----BEGIN CERTIFICATE-----\n\xe9\n-----END CERTIFICATE-----"])
def test_file_without_a_certificate_is_named(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "certificate.pem"
    if content is not None:
        file.write_text(content)
    with pytest.raises(BadRequest, match=f"no certificate can be read from '{file}'"):
        Port("https://127.0.0.1:9", certificate=str(file)).get_json("/")


def test_commands_name_the_option_that_trusts_a_certificate(port: int, tmp_path: Path) -> None:
    words = ["search", "soup", "--json", "--url", f"https://localhost:{port}"]
    refused = CliRunner().invoke(build_app(), words)
    assert "if it is the right server, name a file with its certificate by --ca" in str(refused.exception)
    assert CliRunner().invoke(build_app(), [*words, "--ca", str(tmp_path / "certificate.pem")]).stdout == "{}\n"
    assert CliRunner().invoke(build_app(), [*words[:3], "--ca", str(tmp_path / "certificate.pem")]).exit_code == 2
