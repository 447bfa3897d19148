"""The crawler at an adaptor that answers as Google's library does: by address over HTTP, and by the client's certificate over TLS."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from feedmill.adapters.crawling.fetcher import HttpFetcher
from feedmill.adapters.crawling.options import AccessRule, FetchOptions
from feedmill.adapters.store.engine import SqlStore
from feedmill.conformance.counterparts.adaptor import Adaptor
from feedmill.conformance.counterparts.script import AclEntry, AdaptorAcl, AdaptorDocument, AdaptorScript
from feedmill.conformance.counterparts.server import Answer, Request
from feedmill.model.access import Acl
from feedmill.model.authorization import Trust
from feedmill.model.crawling import CrawlState
from tests.contract.crawlharness import CrawlHarness
from tests.rawserver import Server, running
from tests.selfsigned import CERTIFICATE, KEY

MODIFIED = datetime(2026, 2, 1, 10, 0, 0, 999_000, tzinfo=UTC)
ACL = AdaptorAcl(entries=[AclEntry(name="ann")], inherit_from="http://adaptor.test/doc/folder?fragment", inheritance_type="AND_BOTH_PERMIT")


@dataclass
class AdaptorServer:
    """An adaptor on a socket: bodies in chunks, header names in odd case, headers for trusted callers only, a refusal for the others."""

    documents: dict[str, AdaptorDocument] = field(default_factory=dict)
    is_secure: bool = False

    def put(self, id_: str, content: str = "", **given: object) -> None:
        self.documents[id_] = AdaptorDocument(id=id_, content=content, **given)  # type: ignore[arg-type]

    def answer(self, peer: socket.socket, head: bytes) -> bool:
        first, *lines = head.decode().rstrip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        path = first.split()[1]
        if path.startswith("/doc/") and self.is_secure and find_name(peer) != "localhost":
            send(peer, Answer(status=403, headers=(("Content-Type", "text/plain"),), body=b"Error 403: Forbidden"))
            return True
        adaptor = Adaptor(AdaptorScript(documents=list(self.documents.values())), Path())
        send(peer, adaptor.answer(Request(number=1, method="GET", path=path, query={}, headers=headers, body=b"")))
        return True


def find_name(peer: socket.socket) -> str:
    """Returns the common name of the certificate that a client showed, in lower case."""
    assert isinstance(peer, ssl.SSLSocket)
    subject: Any = (peer.getpeercert() or {}).get("subject", ())
    names = [value for part in subject for key, value in part if key == "commonName"]
    return str(names[0]).lower() if names else ""


def send(peer: socket.socket, answer: Answer) -> None:
    lines = [f"HTTP/1.1 {answer.status} X", *(f"{name}: {value}" for name, value in answer.headers)]
    if answer.status in (204, 304):
        peer.sendall("\r\n".join([*lines, "", ""]).encode())
        return
    chunk = b"%x\r\n%b\r\n" % (len(answer.body), answer.body) if answer.body else b""
    peer.sendall("\r\n".join([*lines, "Transfer-encoding: chunked", "", ""]).encode() + chunk + b"0\r\n\r\n")


@contextmanager
def crawling(
    store: SqlStore, folder: Path, *, is_secure: bool, is_known: bool = True
) -> Iterator[tuple[CrawlHarness, AdaptorServer, Server]]:
    """Runs an adaptor, and a crawler that knows it. ``is_known``: the crawler has the certificate that the adaptor trusts."""
    (folder / "cert.pem").write_text(CERTIFICATE)
    (folder / "key.pem").write_text(KEY)
    ca, key = str(folder / "cert.pem"), str(folder / "key.pem")
    context = None
    options = FetchOptions(allow_private=("/",), trust=Trust(ca=ca))
    if is_secure:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(ca, key)
        context.load_verify_locations(ca)
        # a certificate is asked for, and not required
        context.verify_mode = ssl.CERT_OPTIONAL
        if is_known:
            rule = AccessRule(pattern="/", trust=Trust(ca=ca, certificate=ca, key=key), make_public=True)
            options = FetchOptions(allow_private=("/",), trust=Trust(ca=ca), access=(rule,))
    adaptor = AdaptorServer(is_secure=is_secure)
    with running(adaptor.answer, context) as server:
        yield CrawlHarness(store=store, open_fetcher=lambda: HttpFetcher(options)), adaptor, server


def find_acl(harness: CrawlHarness, url: str) -> Acl | None:
    with harness.store.reading() as unit:
        found = unit.access.acls.find_many([url]).get(url)
    return None if found is None else found.acl


@pytest.mark.parametrize("is_secure", [False, True])
def test_adaptor_that_trusts_the_crawler_is_crawled_whole(store: SqlStore, tmp_path: Path, is_secure: bool) -> None:
    with crawling(store, tmp_path, is_secure=is_secure) as (harness, adaptor, server):
        urls = {name: server.url(f"/doc/{name}", host="localhost") for name in ("ümlaut/日本.txt", "skip", "gone", "bare", "a/.../...../b")}
        adaptor.put("ümlaut/日本.txt", "same", last_modified=MODIFIED, metadata={"author": ["Jane Doe", "a,b+c"]}, acl=ACL)
        adaptor.put("skip", "kept", last_modified=MODIFIED, skip_content=True, metadata={"kind": "x"}, acl=ACL)
        adaptor.put("gone", "text")
        adaptor.put("bare", metadata={"title": "without content"})
        adaptor.put("a/.../...../b", "dots")
        harness.add(*urls.values())
        harness.crawl()
        first = harness.document(urls["ümlaut/日本.txt"])
        assert first is not None
        assert (first.metadata, first.secure) == ((("author", "Jane Doe"), ("author", "a,b+c")), True)
        assert find_acl(harness, first.url) == find_acl(harness, urls["skip"])
        assert [harness.text(url) for url in urls.values()] == ["same", "kept", "text", "", "dots"]
        bare = harness.document(urls["bare"])
        assert bare is not None
        assert (bare.metadata, bare.secure) == ((("title", "without content"),), False)

        harness.clock.turn(days=1)
        adaptor.put("ümlaut/日本.txt", "never read", last_modified=MODIFIED, metadata={"author": "never read"})
        adaptor.put("skip", "never read", last_modified=MODIFIED, skip_content=True, metadata={"kind": "y"})
        del adaptor.documents["gone"]
        harness.crawl()
        again, skipped = harness.document(urls["ümlaut/日本.txt"]), harness.document(urls["skip"])
        assert again is not None
        assert skipped is not None
        # 304: all stays; 204: metadata and ACL are those of the response
        assert (again.metadata, find_acl(harness, again.url) is None, harness.text(again.url)) == (first.metadata, False, "same")
        assert (skipped.metadata, find_acl(harness, skipped.url), harness.text(skipped.url)) == ((("kind", "y"),), None, "kept")
        assert (skipped.secure, harness.document(urls["gone"])) == (False, None)
        assert harness.entry(again.url).state is CrawlState.CRAWLED_FROM_CACHE


def test_adaptor_that_does_not_know_the_certificate_refuses(store: SqlStore, tmp_path: Path) -> None:
    with crawling(store, tmp_path, is_secure=True, is_known=False) as (harness, adaptor, server):
        adaptor.put("a", "secret", acl=ACL)
        url = server.url("/doc/a", host="localhost")
        harness.add(url)
        harness.crawl()
        assert harness.document(url) is None
        assert (harness.entry(url).state, harness.entry(url).history[-1].http_status) == (CrawlState.HTTP_CLIENT_ERROR, 403)
