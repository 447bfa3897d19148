"""Authorization by a connector manager, over real HTTP."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from feedmill.adapters.http.blocking import BlockingHttpClient
from feedmill.model.access import ANONYMOUS, AccessFilter, Scope
from feedmill.model.authorization import AuthorizationRule, LateLimits, Login, Mechanism
from feedmill.model.decision import Verdict
from feedmill.model.errors import UpstreamFailure
from feedmill.model.identity import Identity, Subject
from feedmill.services.authorization.authorizer import Authorizer
from feedmill.services.authorization.connectorauthorizer import ConnectorAuthorizer
from feedmill.services.authorization.denyauthorizer import DenyAuthorizer
from feedmill.services.authorization.rules import LateBinding
from feedmill.wire.connectorauthorization.parse import parse_answers
from feedmill.wire.connectorauthorization.render import connector_of, render_query
from tests.thorough import count_examples
from tests.threadedserver import serve_in_thread

ANN = Identity(users=(Subject(scope=Scope.USER, name="ann & <co>", domain="corp"),))
DOCUMENTS = [f"googleconnector://files.localhost/doc?docid={number}&x=<y>" for number in range(5)]


@dataclass(slots=True)
class Manager:
    """A connector manager: ``decisions`` by URL; what it has no word for it leaves out. A test can spoil its answers."""

    port: int = 0
    decisions: dict[str, str] = field(default_factory=dict)
    status: str = "0"
    queries: list[ElementTree.Element] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    spoil: Callable[[bytes], bytes] = field(default=lambda body: body)
    http_status: int = 200
    delay_seconds: float = 0.0
    released: threading.Event = field(default_factory=threading.Event)

    def answer(self, body: bytes) -> bytes:
        query = ElementTree.fromstring(body)
        self.queries.append(query)
        answers = ""
        for resource in query.iter("Resource"):
            word = self.decisions.get(resource.text or "")
            if word is not None:
                name = quoteattr(resource.get("connectorname", ""))
                shown = f"<Resource connectorname={name}>{escape(resource.text or '')}</Resource>"
                answers += f"<Answer>{shown}<Decision>{word}</Decision></Answer>"
        response = f"<AuthorizationResponse>{answers}</AuthorizationResponse>" if answers else ""
        return self.spoil(f"<CmResponse>{response}<StatusId>{self.status}</StatusId></CmResponse>".encode())


@pytest.fixture
def manager() -> Iterator[Manager]:
    made = Manager()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None: ...

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            made.paths.append(self.path)
            made.released.wait(made.delay_seconds)
            answer = made.answer(body)
            self.send_response(made.http_status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that hangs up is what a test is about."""

    server = Server(("127.0.0.1", 0), Handler)
    made.port = server.server_address[1]
    with serve_in_thread(server):
        yield made
        made.released.set()


def make_authorizer(manager: Manager, **given: Any) -> ConnectorAuthorizer:
    rule = AuthorizationRule(
        label="cm",
        mechanism=Mechanism.CONNECTOR,
        patterns=("^googleconnector://",),
        endpoint=f"http://127.0.0.1:{manager.port}/connector-manager/",
        seconds=60.0,
        batch=2,
    )
    return ConnectorAuthorizer(replace(rule, **given), BlockingHttpClient())


def select(urls: list[str], *authorizers: Authorizer, login: Login | None = None, who: Identity = ANN, seconds: float = 60.0) -> set[str]:
    late = LateBinding(authorizers, time.monotonic, LateLimits(seconds=seconds))
    access = late.allow(AccessFilter(permitted=ANONYMOUS.permitted, current_user=who), lambda: frozenset({1}), login)
    return set(late.select(urls, access))


def test_manager_is_queried_in_batches_and_what_it_permits_is_shown(manager: Manager) -> None:
    manager.decisions = dict(zip(DOCUMENTS, ("PERMIT", "DENY", "Permit", "INDETERMINATE"), strict=False))
    assert select(DOCUMENTS, make_authorizer(manager)) == {DOCUMENTS[0], DOCUMENTS[2]}
    assert set(manager.paths) == {"/connector-manager/authorization"}
    assert sorted(len(query.findall(".//Resource")) for query in manager.queries) == [1, 2, 2]
    identity = manager.queries[0].find("ConnectorQuery/Identity")
    assert identity is not None
    assert (identity.text, identity.attrib) == ("ann & <co>", {"domain": "corp"})
    resource = manager.queries[0].find("ConnectorQuery/Resource")
    assert resource is not None
    assert resource.get("connectorname") == "files"


def test_password_is_forwarded_to_a_manager_only_if_configured(manager: Manager) -> None:
    login = Login(name="ann", password='p"<&', namespaces=("Default",))
    select(DOCUMENTS[:1], make_authorizer(manager), login=login)
    select(DOCUMENTS[:1], make_authorizer(manager, forwards_password=True), login=login)
    select(DOCUMENTS[:1], make_authorizer(manager, forwards_password=True), login=replace(login, namespaces=("hr",)))
    found = [query.find("ConnectorQuery/Identity") for query in manager.queries]
    assert [one.get("password") for one in found if one is not None] == [None, 'p"<&', None]


def test_document_without_an_answer_is_denied_without_a_further_request(manager: Manager) -> None:
    url = "http://wiki.example.com/a"
    first = make_authorizer(manager, patterns=("/",), connector="wiki")
    assert first.decide([url], ANN, None, 5.0) == {url: Verdict.DENY}
    resource = manager.queries[0].find("ConnectorQuery/Resource")
    assert resource is not None
    assert resource.get("connectorname") == "wiki"
    manager.status = "5305"
    with capture_logs() as logs:
        assert first.decide([url], ANN, None, 5.0) == {url: Verdict.INDETERMINATE}
    assert logs[0]["status"] == "5305"


def test_no_request_is_sent_for_a_user_without_a_name_there(manager: Manager) -> None:
    bad = Identity(users=(Subject(scope=Scope.USER, name="a\0b"),))
    for who in (bad, Identity(users=(Subject(scope=Scope.USER, name="ann", namespace="hr"),)), Identity()):
        assert select(DOCUMENTS, make_authorizer(manager), who=who) == set()
    assert manager.queries == []


def _doubled(body: bytes) -> bytes:
    return body.replace(
        b"</AuthorizationResponse>", body.partition(b"<AuthorizationResponse>")[2].replace(b"PERMIT", b"DENY").partition(b"<StatusId")[0]
    )


SPOILT: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "no xml": lambda _: b"PERMIT",
    "cut": lambda body: body[:-20],
    "other root": lambda body: body.replace(b"CmResponse", b"Response"),
    "doctype": lambda body: b'<!DOCTYPE CmResponse [<!ENTITY a "PERMIT">]>' + body,
    "elsewhere": lambda body: body.replace(b"<AuthorizationResponse>", b"<Other><AuthorizationResponse>").replace(
        b"</AuthorizationResponse>", b"</AuthorizationResponse></Other>"
    ),
    "other word": lambda body: body.replace(b"PERMIT", b"PERMITTED"),
    "other document": lambda body: body.replace(b"docid=", b"docid=x"),
    "two decisions": lambda body: body.replace(b"<Decision>", b"<Decision>DENY</Decision><Decision>"),
    "contradicting": _doubled,
    "fault": lambda body: body.replace(b"<StatusId>0<", b"<StatusId>5305<"),
    "no status": lambda body: body.replace(b"<StatusId>0</StatusId>", b""),
    "huge": lambda body: body + b" " * 1_000_000,
    "encoding": lambda body: b'<?xml version="1.0" encoding="klingon"?>' + body,
}


@pytest.mark.parametrize("name", list(SPOILT))
def test_answer_that_is_spoilt_permits_nothing(manager: Manager, name: str) -> None:
    manager.decisions = dict.fromkeys(DOCUMENTS, "PERMIT")
    manager.spoil = SPOILT[name]
    assert select(DOCUMENTS, make_authorizer(manager, batch=100)) == set()


@pytest.mark.parametrize("status", [500, 404, 302, 206])
def test_status_other_than_200_permits_nothing(manager: Manager, status: int) -> None:
    manager.decisions = dict.fromkeys(DOCUMENTS, "PERMIT")
    manager.http_status = status
    assert select(DOCUMENTS, make_authorizer(manager)) == set()


def test_manager_that_is_slow_is_waited_for_no_longer_than_the_search_may_take(manager: Manager) -> None:
    manager.decisions = dict.fromkeys(DOCUMENTS, "PERMIT")
    manager.delay_seconds = 60.0
    begun = time.monotonic()
    assert select(DOCUMENTS, make_authorizer(manager), seconds=0.3) == set()
    assert time.monotonic() - begun < 50


def test_documents_that_were_denied_before_are_in_no_request(manager: Manager) -> None:
    manager.decisions = dict.fromkeys(DOCUMENTS, "PERMIT")
    deny = DenyAuthorizer(AuthorizationRule(label="no", mechanism=Mechanism.DENY, patterns=("contains:docid=1",), parallel=1))
    assert select(DOCUMENTS, deny, make_authorizer(manager)) == {*DOCUMENTS} - {DOCUMENTS[1]}
    assert DOCUMENTS[1] not in {resource.text for query in manager.queries for resource in query.iter("Resource")}
    assert select(DOCUMENTS, make_authorizer(manager), deny) == {*DOCUMENTS}


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("googleconnector://c1.localhost/doc?docid=1", "c1"),
        ("GoogleConnector://c2/doc", "c2"),
        ("googleconnector://.localhost/doc", ""),
        ("http://googleconnector/", "set"),
    ],
)
def test_connector_is_that_of_the_url_or_the_one_that_is_set(url: str, name: str) -> None:
    assert connector_of(url, "set") == name


@settings(max_examples=count_examples(200))
@given(st.binary(max_size=200) | st.text(alphabet="<>/CmResponseAnswerPERMIT &;", max_size=100).map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(UpstreamFailure):
        parse_answers(data)


@settings(max_examples=count_examples(200))
@given(st.text(alphabet=st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=30).map(str.strip).filter(bool))
def test_texts_arrive_as_they_were(text: str) -> None:
    user = Subject(scope=Scope.USER, name=text, domain=text)
    read = ElementTree.fromstring(render_query(user, text, [(text, text)]))
    identity, resource = read.find("ConnectorQuery/Identity"), read.find("ConnectorQuery/Resource")
    assert identity is not None
    assert resource is not None
    assert [identity.text, identity.get("domain"), identity.get("password"), resource.text, resource.get("connectorname")] == [text] * 5
