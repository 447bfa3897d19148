"""A policy decision point, and a server of documents that knows its users, on real HTTP; a test can spoil what they answer."""

import base64
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from tests.threadedserver import serve_in_thread
from tests.waiting import PATIENCE_SECONDS

SAMLP = "{urn:oasis:names:tc:SAML:2.0:protocol}"
SAML = "{urn:oasis:names:tc:SAML:2.0:assertion}"
RESOURCE = "{http://www.google.com/}Resource"
CREDENTIAL = "{http://www.google.com/}SecmgrCredential"


@dataclass(slots=True)
class DecisionPoint:
    """The state. ``decisions`` by (user, URL), else Indeterminate; ``passwords`` by user, ``files`` by path: who may read them.

    Units: each answer is delayed by ``delay_seconds``, or until it is ``released``.
    """

    port: int = 0
    decisions: dict[tuple[str, str], str] = field(default_factory=dict)
    passwords: dict[str, str] = field(default_factory=dict)
    files: dict[str, set[str]] = field(default_factory=dict)
    batches: list[list[str]] = field(default_factory=list)
    credentials: list[dict[str, str]] = field(default_factory=list)
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    peers: set[int] = field(default_factory=set)
    delay_seconds: float = 0.0
    released: threading.Event = field(default_factory=threading.Event)
    spoil: Callable[[bytes], bytes] = field(default=lambda body: body)
    misbehave: Callable[[BaseHTTPRequestHandler], object] | None = None

    def permit(self, user: str, *urls: str) -> None:
        self.decisions |= {(user, url): "Permit" for url in urls}

    def answer(self, body: bytes) -> bytes:
        """Answers queries in the reverse order."""
        queries = ElementTree.fromstring(body).findall(f".//{SAMLP}AuthzDecisionQuery")
        listed = [found.get("uri", "") for found in ElementTree.fromstring(body).iter(RESOURCE)]
        self.batches.append(listed or [query.get("Resource", "") for query in queries])
        self.credentials += [dict(found.attrib) for found in ElementTree.fromstring(body).iter(CREDENTIAL)]
        answers = "".join(self._answer_one(query, listed or [query.get("Resource", "")]) for query in reversed(queries))
        soap = f'<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body>{answers}</S:Body></S:Envelope>'
        return self.spoil(soap.encode())

    def _answer_one(self, query: ElementTree.Element, resources: list[str]) -> str:
        name = query.find(f"{SAML}Subject/{SAML}NameID")
        assert name is not None
        user = name.text or ""
        statements = "".join(self._state(user, resource) for resource in resources)
        return (
            f'<p:Response xmlns:p="urn:oasis:names:tc:SAML:2.0:protocol" InResponseTo={quoteattr(query.get("ID", ""))} Version="2.0">'
            '<p:Status><p:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></p:Status>'
            '<a:Assertion xmlns:a="urn:oasis:names:tc:SAML:2.0:assertion" Version="2.0">'
            f"<a:Subject><a:NameID>{user}</a:NameID></a:Subject>{statements}</a:Assertion></p:Response>"
        )

    def _state(self, user: str, resource: str) -> str:
        decision = self.decisions.get((user, resource), "Indeterminate")
        return (
            f'<a:AuthzDecisionStatement Decision="{decision}" Resource={quoteattr(resource)}>'
            '<a:Action Namespace="urn:oasis:names:tc:SAML:1.0:action:ghpp">GET</a:Action></a:AuthzDecisionStatement>'
        )

    def decide_each(self, path: str, headers: dict[str, str]) -> int:
        """Returns the status for a document and who asks for it."""
        readers = self.files.get(path)
        if readers is None:
            return 404
        user = headers.get("x-user", "")
        if headers.get("authorization", "").startswith("Basic "):
            user, _, password = base64.b64decode(headers["authorization"][6:]).decode().partition(":")
            if self.passwords.get(user) != password:
                return 401
        return 200 if user in readers else 403

    @property
    def queried(self) -> list[str]:
        """The URLs of all SAML queries, sorted."""
        return sorted(url for batch in self.batches for url in batch)


def _make_handler(point: DecisionPoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = PATIENCE_SECONDS

        def log_message(self, format: str, *args: object) -> None: ...

        def _begin(self) -> bool:
            self.lowered = {name.lower(): value for name, value in self.headers.items()}
            point.requests.append((self.command, self.path, self.lowered))
            point.peers.add(self.client_address[1])
            point.released.wait(point.delay_seconds)
            if point.misbehave is not None:
                point.misbehave(self)
                self.close_connection = True
            return point.misbehave is None

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self._begin():
                self._send(200, point.answer(body))

        def do_GET(self) -> None:
            if self._begin():
                self._send(point.decide_each(self.path, self.lowered), b"x" * 1000)

        def do_HEAD(self) -> None:
            if self._begin():
                self._send(point.decide_each(self.path, self.lowered), b"")

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is what some tests are about."""


@contextmanager
def running_point(certificate: tuple[Path, Path] | None = None) -> Iterator[DecisionPoint]:
    """Runs a decision point for a block; with a certificate and its key it speaks TLS."""
    point = DecisionPoint()
    server = _Server(("127.0.0.1", 0), _make_handler(point))
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    point.port = server.server_address[1]
    with serve_in_thread(server):
        try:
            yield point
        finally:
            point.released.set()
