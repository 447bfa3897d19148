"""Late binding towards a decision point and a server of documents, as the tests about it set it up."""

import time
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from typing import Any

from feedmill.adapters.http.blocking import BlockingHttpClient
from feedmill.bootstrap.context import utc_now
from feedmill.model.access import ANONYMOUS, AccessFilter, Scope
from feedmill.model.authorization import AuthorizationRule, LateLimits, Login, Mechanism
from feedmill.model.identity import Identity, Subject
from feedmill.services.authorization.authorizer import Authorizer
from feedmill.services.authorization.headauthorizer import HeadAuthorizer
from feedmill.services.authorization.rules import LateBinding
from feedmill.services.authorization.samlauthorizer import SamlAuthorizer
from tests.builders.access import identity
from tests.decisionpoint import DecisionPoint

ANN = Identity(
    users=(Subject(scope=Scope.USER, name="ann", domain="corp"),), groups=(Subject(scope=Scope.GROUP, name="staff", namespace="hr"),)
)
BOB = identity("bob")
LOGIN = Login(name="ann", password="pa:ss", namespaces=("Default",))
URLS = [f"http://wiki.example/{number}" for number in range(5)]


class Now:
    """A clock that a test moves."""

    seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


def saml(point: DecisionPoint, **given: Any) -> SamlAuthorizer:
    rule = AuthorizationRule(
        label="pdp",
        mechanism=Mechanism.SAML,
        patterns=("wiki.example/",),
        endpoint=f"http://127.0.0.1:{point.port}/authz?x=1",
        issuer="urn:search",
        seconds=60.0,
    )
    return SamlAuthorizer(replace(rule, **given), BlockingHttpClient(), utc_now)


def head(point: DecisionPoint, **given: Any) -> HeadAuthorizer:
    here = f"http://127.0.0.1:{point.port}/"
    rule = AuthorizationRule(
        label="head", mechanism=Mechanism.HEAD, patterns=(here,), forwards_password=True, seconds=60.0, allow_private=(here,)
    )
    return HeadAuthorizer(replace(rule, **given), BlockingHttpClient(), time.monotonic)


def binding(*authorizers: Authorizer, clock: Callable[[], float] = time.monotonic, seconds: float = 60.0, **limits: Any) -> LateBinding:
    return LateBinding(authorizers, clock, LateLimits(seconds=seconds, **limits))


def select(late: LateBinding, urls: list[str], who: Identity = ANN, login: Login | None = None) -> set[str]:
    access = late.allow(AccessFilter(permitted=ANONYMOUS.permitted, current_user=who), lambda: frozenset({1}), login)
    return set(late.select(urls, access))


def files(point: DecisionPoint, readers: dict[str, set[str]]) -> list[str]:
    point.files = readers
    return [f"http://127.0.0.1:{point.port}{path}" for path in readers]


def say(*lines: str) -> Callable[[BaseHTTPRequestHandler], object]:
    """Returns a server that answers everybody the same."""
    return lambda handler: handler.wfile.write("\r\n".join((*lines, "Content-Length: 0", "", "")).encode())
