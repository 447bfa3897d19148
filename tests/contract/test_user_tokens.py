"""ACL tokens of users, requested from a server on real HTTP at search time: who gets them, for how long, and searches without them."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from feedmill.adapters.http.blocking import BlockingHttpClient
from feedmill.http.search.forwarding import add_cookies
from feedmill.model.authorization import LateLimits, Login, OpenCircuit, TokenServer
from feedmill.model.identity import ANONYMOUS_IDENTITY, Identity, Subject
from feedmill.model.scope import Scope
from feedmill.services.authorization.circuitbreaker import CircuitBreaker
from feedmill.services.authorization.usertokens import UserTokens
from feedmill.services.deadline import Deadline
from tests.builders.access import identity
from tests.contract.lateharness import Now
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.watching import watch

ANN = identity("ann")
COOKIE = Login(cookies=(("LtpaToken2", "ann-proof="),))


@dataclass
class Service:
    """The service. ``tokens`` by the value of the header that proves the user; it waits while ``released`` is not set."""

    port: int = 0
    tokens: dict[str, str] = field(default_factory=dict)
    status: int = 200
    location: str = ""
    body: bytes | None = None
    requested: list[dict[str, str]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/seedlist/authverify/getACLTokens"


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    service.released.set()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            service.requested.append(headers)
            service.released.wait(PATIENCE_SECONDS)
            proof = headers.get("cookie", headers.get("authorization", headers.get("x-user", "")))
            listed = "".join(f"<token>{token}</token>" for token in service.tokens.get(proof, "").split())
            body = service.body if service.body is not None else f"<groupsforuser>{listed}</groupsforuser>".encode()
            self.send_response(service.status)
            if service.location:
                self.send_header("Location", service.location)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        service.port = server.server_port
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield service
        service.released.set()
        server.shutdown()
        thread.join()


class World:
    """Finds tokens at a clock that a test moves; ``reports`` are the open circuits."""

    def __init__(self, *servers: TokenServer, **limits: Any) -> None:
        self.now = Now()
        self.reports: list[OpenCircuit] = []
        breaker = CircuitBreaker(self.now, LateLimits(**limits), self.reports.extend)
        self.tokens = UserTokens(servers, BlockingHttpClient(), self.now, breaker)
        self.deadline = Deadline(2 * PATIENCE_SECONDS, clock=self.now)

    def groups(self, user: Identity = ANN, login: Login | None = COOKIE) -> list[tuple[str, str]]:
        self.deadline = Deadline(2 * PATIENCE_SECONDS, clock=self.now)
        added = self.tokens.add(user, login, self.deadline)
        assert added.users == user.users
        return [(group.namespace, group.name) for group in added.groups]


def server(service: Service, *sources: str, **given: Any) -> TokenServer:
    given = {"cookies": ("LtpaToken2",), "seconds": PATIENCE_SECONDS, **given}
    return TokenServer(sources=sources or ("con",), url=service.url, **given)


def test_tokens_are_groups_of_each_source_and_requested_for_once(service: Service) -> None:
    service.tokens = {"LtpaToken2=ann-proof=": "a b"}
    world = World(server(service, "files", "blogs"))
    expected = [("files", "a"), ("files", "b"), ("blogs", "a"), ("blogs", "b")]
    assert world.groups() == expected
    assert world.groups() == expected
    assert len(service.requested) == 1
    assert world.deadline.missing == ()


def test_search_says_that_it_waits_for_tokens(service: Service) -> None:
    service.tokens = {"LtpaToken2=ann-proof=": "a"}
    world = World(server(service, "files"))
    assert watch(world.groups) == ([("files", "a")], ["waits", "goes on"])
    assert watch(world.groups) == ([("files", "a")], [])


def test_own_groups_stay_first(service: Service) -> None:
    service.tokens = {"LtpaToken2=ann-proof=": "a"}
    own = Subject(scope=Scope.GROUP, name="staff")
    assert World(server(service)).groups(Identity(users=ANN.users, groups=(own,))) == [("Default", "staff"), ("con", "a")]


def test_answer_holds_for_its_time_and_its_proof(service: Service) -> None:
    service.tokens = {"LtpaToken2=ann-proof=": "a", "LtpaToken2=new": "b"}
    world = World(server(service, cache_seconds=60.0))
    assert world.groups() == [("con", "a")]
    assert world.groups(login=Login(cookies=(("LtpaToken2", "new"),))) == [("con", "b")]
    service.tokens["LtpaToken2=ann-proof="] = "c"
    world.now.seconds += 59
    assert world.groups() == [("con", "a")]
    world.now.seconds += 2
    assert world.groups() == [("con", "c")]


@pytest.mark.parametrize(
    ("user", "login"),
    [
        (ANONYMOUS_IDENTITY, COOKIE),
        (ANN, None),
        (ANN, Login(cookies=(("Other", "x"),))),
        (ANN, Login(name="ann", password="p", namespaces=("elsewhere",))),
    ],
)
def test_no_request_is_sent_without_a_user_and_a_proof(service: Service, user: Identity, login: Login | None) -> None:
    assert World(server(service, forwards_password=True)).groups(user, login) == []
    assert service.requested == []


def test_password_and_name_prove_the_user_where_the_settings_say_so(service: Service) -> None:
    service.tokens = {"Basic YW5uOnBhOnNz": "by-password", "ann": "by-name"}
    login = Login(name="ann", password="pa:ss", namespaces=("Default",))
    assert World(server(service, cookies=(), forwards_password=True)).groups(login=login) == [("con", "by-password")]
    assert World(server(service, cookies=(), user_header="X-User")).groups(login=login) == [("con", "by-name")]
    assert "authorization" not in service.requested[-1]


@pytest.mark.parametrize("status", [302, 401, 403])
def test_rejected_proof_brings_no_tokens_and_no_warning(service: Service, status: int) -> None:
    service.status, service.location = status, "/seedlist/authverify/getACLTokens?public"
    service.tokens = {"LtpaToken2=ann-proof=": "a"}
    world = World(server(service), open_after_failures=1)
    assert world.groups() == [] == world.groups()
    assert len(service.requested) == 1
    assert (world.deadline.missing, world.reports) == ((), [])


@pytest.mark.parametrize(("status", "body"), [(500, b""), (404, b""), (200, b"<tokens><t>a</t>"), (200, b"x" * 5_000_000)])
def test_failure_closes_and_the_circuit_opens(service: Service, status: int, body: bytes) -> None:
    service.status, service.body = status, body
    world = World(server(service, "files", "blogs"), open_after_failures=2, open_seconds=30.0)
    for _ in range(3):
        assert world.groups() == []
        assert "files, blogs" in world.deadline.missing[0]
    assert len(service.requested) == 2
    assert world.reports[-1].rule == "files, blogs"
    service.status, service.body, service.tokens = 200, None, {"LtpaToken2=ann-proof=": "a"}
    world.now.seconds += 31
    assert world.groups() == [("files", "a"), ("blogs", "a")]


def test_slow_answer_counts_for_the_next_search(service: Service) -> None:
    service.tokens = {"LtpaToken2=ann-proof=": "a"}
    service.released.clear()
    world = World(server(service))
    world.deadline = Deadline(0.0, clock=world.now)
    assert world.tokens.add(ANN, COOKIE, world.deadline) == ANN
    assert world.tokens.add(ANN, COOKIE, world.deadline) == ANN
    assert world.deadline.missing
    service.released.set()
    wait_until(lambda: world.groups() == [("con", "a")], "the answer")
    assert len(service.requested) == 1


def test_many_slow_answers_do_not_collect_requests(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("feedmill.services.authorization.usertokens.MAX_WAITING", 2)
    service.released.clear()
    world = World(server(service))
    past = Deadline(0.0, clock=world.now)
    for number in range(5):
        assert world.tokens.add(ANN, Login(cookies=(("LtpaToken2", str(number)),)), past) == ANN
    service.released.set()
    wait_until(lambda: len(service.requested) == 2, "both requests")
    world.tokens.close()


def test_cookies_are_those_that_the_settings_name() -> None:
    scope = {"type": "http", "headers": [(b"cookie", b"a=1; LtpaToken2=x==; b=2; b=3"), (b"cookie", b"JSESSIONID=y:z")]}
    found = add_cookies(None, scope, {"LtpaToken2", "JSESSIONID", "b"})
    assert found == Login(cookies=(("LtpaToken2", "x=="), ("JSESSIONID", "y:z")))
    login = Login(name="ann", password="p", namespaces=("Default",))
    assert add_cookies(login, scope, {"c"}) is login
    assert "x==" not in repr(found)
