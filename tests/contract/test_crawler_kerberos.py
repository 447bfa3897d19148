"""How the crawler proves by Kerberos who it is: to Apache, with tickets of a real KDC."""

import base64
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from feedmill.model.crawling import CrawlState
from tests.contract import apache
from tests.contract.apache import Apache, running_apache
from tests.contract.kdc import IS_USABLE, OTHER_USER, PASSWORD, REALM, USER, Kdc, running_kdc
from tests.contract.kerberosclient import IS_INSTALLED, KerberosClient, running_client
from tests.rawserver import OK, running
from tests.selfsigned import CERTIFICATE, KEY

pytestmark = pytest.mark.skipif(
    not (IS_USABLE and IS_INSTALLED and apache.PROGRAM and apache.HAS_KERBEROS),
    reason="needs a KDC, Apache's mod_auth_gssapi, libfaketime and the extra crawl-kerberos in .tools/kerberos-packages",
)

RULE = {"pattern": "/", "user": USER, "password": PASSWORD}


@pytest.fixture(scope="module")
def kdc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc]:
    with running_kdc(tmp_path_factory.mktemp("kdc")) as made:
        yield made


@pytest.fixture(scope="module")
def server(kdc: Kdc) -> Iterator[Apache]:
    with running_apache({}, kdc) as made:
        yield made


@pytest.fixture(scope="module")
def client(kdc: Kdc) -> Iterator[KerberosClient]:
    with running_client(kdc.environment) as made:
        yield made


def count_tickets(kdc: Kdc, service: str) -> int:
    return sum("ISSUE" in line and f" for {service}" in line for line in kdc.read_log().splitlines())


@pytest.mark.parametrize("secret", ["password", "keytab"])
def test_one_ticket_serves_all_requests(kdc: Kdc, server: Apache, client: KerberosClient, secret: str) -> None:
    rule = {"pattern": "/", "user": f"{USER}@{REALM}", "schemes": ["negotiate"]}
    rule |= {"password": PASSWORD} if secret == "password" else {"keytab": str(kdc.user_keytab)}
    before = count_tickets(kdc, "krbtgt"), count_tickets(kdc, "HTTP/localhost")
    pages = client.fetch([rule], *(server.url(f"/kerberos/{name}.txt") for name in "abab"))
    assert [(page["state"], page["body"], page["used_access"]) for page in pages] == [(CrawlState.CRAWLED, "kerberos word", True)] * 4
    # the KDC's configuration lets tickets be forwarded, and the server keeps those that are
    assert {(page["headers"]["x-user"], page["headers"].get("x-delegated", "")) for page in pages} == {(f"{USER}@{REALM}", "")}
    assert (count_tickets(kdc, "krbtgt"), count_tickets(kdc, "HTTP/localhost")) == (before[0] + 1, before[1] + 1)


def test_domain_with_a_dot_is_the_realm(server: Apache, client: KerberosClient) -> None:
    assert client.fetch([RULE | {"domain": "example.test"}], server.url("/kerberos/a.txt"))[0]["state"] is CrawlState.CRAWLED


def test_connection_of_one_user_serves_no_other(server: Apache, client: KerberosClient) -> None:
    rules = [RULE | {"pattern": server.url("/bound/a")}, RULE | {"user": OTHER_USER}]
    pages = client.fetch(rules, *(server.url(f"/bound/{name}.txt") for name in "abab"))
    assert [page["headers"]["x-user"] for page in pages] == [f"{USER}@{REALM}", f"{OTHER_USER}@{REALM}"] * 2


def test_rejected_password_is_sent_once(kdc: Kdc, server: Apache, client: KerberosClient) -> None:
    before = kdc.read_log().count("verify failure")
    pages = client.fetch([RULE | {"password": "wrong word"}], *([server.url("/kerberos/a.txt")] * 4))
    assert {page["state"] for page in pages} == {CrawlState.AUTHENTICATION_FAILED}
    assert all("rejects the account crawler" in page["reason"] and "wrong word" not in page["reason"] for page in pages)
    assert kdc.read_log().count("verify failure") == before + 1


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ({"user": "stranger"}, "Client 'stranger@EXAMPLE.TEST' not found"),
        ({"user": "x@NO.WHERE"}, 'Cannot find KDC for realm "NO.WHERE"'),
        ({"password": "", "keytab": "/nowhere/x.keytab"}, "the keytab cannot be read"),
    ],
)
def test_account_without_a_ticket_says_why(server: Apache, client: KerberosClient, rule: dict[str, Any], reason: str) -> None:
    page = client.fetch([RULE | rule], server.url("/kerberos/a.txt"))[0]
    assert page["state"] is CrawlState.AUTHENTICATION_FAILED
    assert reason in page["reason"]


def test_ticket_is_for_the_host_of_the_url_also_after_a_redirect(server: Apache, client: KerberosClient) -> None:
    page = client.fetch([RULE], server.url("/moved"))[0]
    assert page["state"] is CrawlState.AUTHENTICATION_FAILED
    assert "Server HTTP/127.0.0.1@EXAMPLE.TEST not found" in page["reason"]


def answering(*headers: str) -> Callable[[socket.socket, bytes], bool]:
    """Returns a server that takes any ticket, and has no key to look into it."""
    found = "".join(f"WWW-Authenticate: {each}\r\n" for each in headers).encode()

    def handle(peer: socket.socket, head: bytes) -> bool:
        has_token = b"\nauthorization:" in head.lower()
        challenge = b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Negotiate\r\nContent-Length: 0\r\n\r\n"
        peer.sendall(OK.replace(b"\r\n", b"\r\n" + found, 1) if has_token else challenge)
        return not has_token

    return handle


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ((), "does not prove by Kerberos"),
        (("Negotiate " + base64.b64encode(b"\xa1\x07\x30\x05\xa0\x03\x0a\x01\x00").decode(),), ""),
        (("Negotiate " + base64.b64encode(b"made up").decode(),), "fails with the service HTTP@localhost"),
    ],
)
def test_server_without_a_key_is_no_source_of_documents(client: KerberosClient, headers: tuple[str, ...], reason: str) -> None:
    with running(answering(*headers)) as impostor:
        page = client.fetch([RULE], impostor.url(host="localhost"))[0]
    assert (page["state"], page["body"]) == (CrawlState.AUTHENTICATION_FAILED, "")
    assert reason in page["reason"]


def test_tls_proves_a_server_that_sends_no_token(client: KerberosClient, tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text(CERTIFICATE)
    (tmp_path / "key.pem").write_text(KEY)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    with running(answering(), context) as server:
        page = client.fetch([RULE | {"trust": str(tmp_path / "cert.pem")}], server.url(host="localhost"))[0]
    assert (page["state"], page["used_access"]) == (CrawlState.CRAWLED, True)


def test_kdc_that_is_gone_or_has_another_time_is_tried_again(kdc: Kdc, server: Apache, client: KerberosClient) -> None:
    url = server.url("/kerberos/a.txt")
    rule = RULE | {"domain": "NTLM"}
    try:
        kdc.stop()
        gone = client.fetch([rule], url, url)
        kdc.start(ahead="1h")
        skewed = client.fetch([rule | {"make_public": True}], url)
    finally:
        kdc.stop()
        kdc.start()
    assert {page["state"] for page in (*gone, *skewed)} == {CrawlState.CONNECTION_FAILED}
    assert "Cannot contact any KDC" in gone[0]["reason"]
    assert "tried again in some minutes" in gone[1]["reason"]
    assert "set the clocks" in skewed[0]["reason"]


def test_kdc_that_hangs_costs_the_time_of_the_fetch(kdc: Kdc, server: Apache, client: KerberosClient) -> None:
    assert kdc.process is not None
    kdc.process.send_signal(signal.SIGSTOP)
    try:
        page = client.fetch([RULE | {"domain": "HANGS"}], server.url("/kerberos/a.txt"), seconds=3.0)[0]
    finally:
        kdc.process.send_signal(signal.SIGCONT)
    assert page["state"] in (CrawlState.CONNECTION_FAILED, CrawlState.CONNECTION_TIMED_OUT)
    assert "does not answer in time" in page["reason"]
