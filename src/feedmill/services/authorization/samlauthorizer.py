"""Authorizes documents at a SAML policy decision point: one SOAP body with the queries of one user.

The reply has a response for each query.

The rule sets whether each document has a query of its own or all documents share one query.
Source: googlegsa/library, ``SamlBatchAuthzHandler``; googlegsa/secmgr.
"""

import secrets
from collections.abc import Sequence

import structlog

from feedmill.core.urls.patterns import parse_pattern
from feedmill.model.authorization import AuthorizationRule, Login, QueryForm
from feedmill.model.decision import Verdict
from feedmill.model.identity import Identity
from feedmill.ports import Clock
from feedmill.ports.http import HttpClient
from feedmill.services.authorization.authorizer import find_login, find_user
from feedmill.services.authorization.posting import Endpoint
from feedmill.wire.samlauthorization.adapt import match_statements
from feedmill.wire.samlauthorization.parse import parse_statements
from feedmill.wire.samlauthorization.render import is_writable, name_of, render_list, render_queries, resource_of
from feedmill.wire.samlauthorization.schema import CONTENT_TYPE, SOAP_ACTION, Envelope, Query

MAX_GROUPS = 2_000
_ANSWERED = {200, 206}
_HEADERS = (("Content-Type", CONTENT_TYPE.encode()), ("SOAPAction", SOAP_ACTION.encode()))

log = structlog.get_logger(__name__)


class SamlAuthorizer:
    """Sends requests to one endpoint. May be used from several threads."""

    def __init__(self, rule: AuthorizationRule, client: HttpClient, now: Clock) -> None:
        self.rule = rule
        self._now = now
        self._patterns = tuple(parse_pattern(text) for text in rule.patterns)
        self._endpoint = Endpoint(rule, client, headers=_HEADERS, answered=_ANSWERED)

    def matches(self, url: str) -> bool:
        """Whether this endpoint decides about a URL."""
        return any(pattern.matches(url) for pattern in self._patterns)

    def split(self, urls: Sequence[str]) -> list[list[str]]:
        """Returns the URLs in batches of one request each."""
        size = 1 if self.rule.form is QueryForm.SINGLE else self.rule.batch
        return [list(urls[place : place + size]) for place in range(0, len(urls), size)]

    def server_of(self, _urls: Sequence[str]) -> str:
        """Returns the endpoint's server, the same for all URLs."""
        return self._endpoint.server

    def decide(self, urls: Sequence[str], current_user: Identity, login: Login | None, seconds: float) -> dict[str, Verdict]:
        """Decides about documents with one request. A URL that the answer does not mention is undecided. Errors: UpstreamFailure."""
        user = find_user(self.rule, current_user)
        if user is None or not is_writable(user):
            return {}
        forwarded = find_login(self.rule, login)
        envelope = Envelope(
            issuer=self.rule.issuer,
            issued_at=self._now(),
            user=user,
            groups=current_user.groups[:MAX_GROUPS],
            holds_credential=self.rule.holds_credential,
            password=None if forwarded is None else forwarded.password,
        )
        # Random, so that an answer cannot be prepared for it. The underscore makes it a valid XML id, which cannot begin with a digit.
        start = secrets.token_hex(16)
        is_one = self.rule.form is QueryForm.BATCH_2
        queries = [Query(id=f"_{start}" if is_one else f"_{start}{place}", resource=resource_of(url)) for place, url in enumerate(urls)]
        written = render_list(envelope, queries) if is_one else render_queries(envelope, queries)
        body = self._endpoint.post(written, documents=len(queries), seconds=seconds)
        statements = parse_statements(body)
        verdicts, reasons = match_statements(queries, statements, subject=name_of(envelope), issuer=envelope.issuer, now=self._now())
        if reasons:
            log.warning("authorization_answer_incomplete", rule=self.rule.label, server=self._endpoint.server, reasons=list(reasons))
        return {url: verdicts[query] for url, query in zip(urls, queries, strict=True)}
