"""Authorizes each document at the server that holds it, by a request without a body that is sent as the user.

200 and 206 permit, 401 and 403 deny, any other status decides nothing. A redirect decides nothing either, since it may lead to a sign-in
page that is open to all. No request is sent for a user without credentials for the server (no password to forward, no header with their
name): a server that answers anonymous requests with 200 would permit all.
Source: "Managing Search for Controlled-Access Content", "Head Requests"; googlegsa/secmgr.
"""

import base64
from collections.abc import Callable, Sequence

import structlog

from feedmill.core.urls.patterns import parse_pattern
from feedmill.core.urls.targets import Target, parse_target
from feedmill.model.authorization import AuthorizationRule, Login
from feedmill.model.decision import Verdict
from feedmill.model.errors import BadRequest, UpstreamFailure
from feedmill.model.identity import Identity, Subject
from feedmill.ports.http import HttpClient, HttpConnection, HttpRequest, ServerAddress
from feedmill.services.authorization.authorizer import find_login, find_user

AGENT = b"Feedmill (authorization)"
MAX_FAILURES = 2
FIRST_FAULT = 500
"""From this status on a server reports a problem of its own."""
_VERDICTS = {200: Verdict.PERMIT, 206: Verdict.PERMIT, 401: Verdict.DENY, 403: Verdict.DENY}

log = structlog.get_logger(__name__)


class HeadAuthorizer:
    """Sends requests to the servers of documents. May be used from several threads. Units: ``clock`` counts seconds from any origin."""

    def __init__(self, rule: AuthorizationRule, client: HttpClient, clock: Callable[[], float]) -> None:
        self.rule = rule
        self._clock = clock
        self._client = client
        self._patterns = tuple(parse_pattern(text) for text in rule.patterns)
        self._private = tuple(parse_pattern(text) for text in rule.allow_private)

    def matches(self, url: str) -> bool:
        """Whether the rule applies to a URL. Patterns are matched against the URL as it would be sent."""
        target = _find_target(url)
        return target is not None and any(pattern.matches(target.url) for pattern in self._patterns)

    def split(self, urls: Sequence[str]) -> list[list[str]]:
        """Returns the URLs by server, in batches of one connection each."""
        by_address: dict[ServerAddress, list[str]] = {}
        for url in urls:
            target = _find_target(url)
            if target is not None:
                by_address.setdefault(self._address_of(target), []).append(url)
        # as many batches as connections may be open at once, so that each connection is reused
        return [mine[lane :: self.rule.parallel] for mine in by_address.values() for lane in range(min(self.rule.parallel, len(mine)))]

    def server_of(self, urls: Sequence[str]) -> str:
        """Returns the server of the URLs of one batch."""
        target = next((target for url in urls if (target := _find_target(url)) is not None), None)
        return target.authority if target is not None else ""

    def decide(self, urls: Sequence[str], current_user: Identity, login: Login | None, seconds: float) -> dict[str, Verdict]:
        """Decides about documents at one server, one after the other.

        Shape: the URLs of one server, as ``split`` returned them. Errors: UpstreamFailure.
        """
        user = find_user(self.rule, current_user)
        targets = {url: target for url in urls if (target := _find_target(url)) is not None}
        if user is None or not targets:
            return {}
        proof = self._prove(user, login)
        if not proof:
            return {}
        connection = self._client.open(self._address_of(next(iter(targets.values()))))
        try:
            return self._ask_all(connection, targets, proof, seconds)
        finally:
            connection.close()

    def _ask_all(
        self, connection: HttpConnection, targets: dict[str, Target], proof: tuple[tuple[str, bytes], ...], seconds: float
    ) -> dict[str, Verdict]:
        found: dict[str, Verdict] = {}
        failures, end, reason, is_alive = 0, self._clock() + seconds, "", False
        for url, target in targets.items():
            left = min(self.rule.seconds, end - self._clock())
            if left <= 0:
                reason = reason or "there was no time for all"
                break
            try:
                status = connection.send(self._make_request(target, proof), left).status
            except UpstreamFailure as exc:
                failures, reason = failures + 1, str(exc)
                # A server that hangs would take the whole time of the rule for each further document.
                if failures >= MAX_FAILURES:
                    break
                continue
            found[url] = _VERDICTS.get(status, Verdict.INDETERMINATE)
            is_alive = is_alive or status < FIRST_FAULT
            reason = reason if status < FIRST_FAULT else f"it answers with status {status}"
        if not is_alive:
            raise UpstreamFailure(reason)
        if len(found) < len(targets):
            self._report(next(iter(targets.values())), len(targets) - len(found), reason)
        return found

    def _make_request(self, target: Target, proof: tuple[tuple[str, bytes], ...]) -> HttpRequest:
        ranged = (("Range", b"bytes=0-0"),) if self.rule.uses_get else ()
        headers = (("Host", target.authority.encode()), ("User-Agent", AGENT), ("Accept", b"*/*"), *ranged, *proof)
        return HttpRequest(method="GET" if self.rule.uses_get else "HEAD", path=target.path, headers=headers)

    def _report(self, target: Target, documents: int, reason: str) -> None:
        log.warning("authorization_failed", rule=self.rule.label, server=target.authority, documents=documents, reason=reason)

    def _prove(self, user: Subject, login: Login | None) -> tuple[tuple[str, bytes], ...]:
        """Returns the headers that identify the user to a server."""
        proof: list[tuple[str, bytes]] = []
        forwarded = find_login(self.rule, login)
        if forwarded is not None:
            pair = f"{forwarded.name}:{forwarded.password}".encode("utf-8", "surrogatepass")
            proof.append(("Authorization", b"Basic " + base64.b64encode(pair)))
        if self.rule.user_header:
            name = f"{user.name}@{user.domain}" if user.domain else user.name
            proof.append((self.rule.user_header, name.encode("utf-8", "surrogatepass")))
        return tuple(proof)

    def _address_of(self, target: Target) -> ServerAddress:
        is_open = any(pattern.matches(target.url) for pattern in self._private)
        return ServerAddress(is_tls=target.is_tls, host=target.host, port=target.port, trust=self.rule.trust, allows_private=is_open)


def _find_target(url: str) -> Target | None:
    try:
        return parse_target(url)
    except BadRequest:
        return None
