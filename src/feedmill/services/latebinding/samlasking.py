"""Asks a policy decision point about documents: in one SOAP body, one user, one answer.

The documents stand in a query each, or all in one query, as the rule says.
Source: gsa-compat 7.1 and 7.2.
"""

import secrets
from collections.abc import Sequence

import structlog

from feedmill.core.patterns import parse_pattern
from feedmill.core.targets import parse_target
from feedmill.model.decision import Verdict
from feedmill.model.errors import Rejected, Unanswered
from feedmill.model.identity import Identity, Subject
from feedmill.model.latebinding import AuthorizationRule, Login, QueryForm
from feedmill.ports import Clock
from feedmill.ports.authorization import Call, Caller, Origin
from feedmill.wire.samlauthz.adapt import match_statements
from feedmill.wire.samlauthz.parse import parse_statements
from feedmill.wire.samlauthz.render import is_writable, name_of, render_list, render_queries, resource_of
from feedmill.wire.samlauthz.schema import CONTENT_TYPE, SOAP_ACTION, Envelope, Query

MAX_GROUPS = 2_000
ANSWER_BYTES = 65_536
BYTES_A_QUERY = 20_000
_ANSWERED = (200, 206)

log = structlog.get_logger("authorization")


class SamlAsking:
    """Asks one endpoint. May be used from several threads."""

    def __init__(self, rule: AuthorizationRule, caller: Caller, now: Clock) -> None:
        self.rule = rule
        self._caller = caller
        self._now = now
        self._patterns = tuple(parse_pattern(text) for text in rule.patterns)
        self._target = parse_target(rule.endpoint)
        # the operator named this one server himself, wherever it stands
        self._origin = Origin(
            is_tls=self._target.is_tls, host=self._target.host, port=self._target.port, trust=rule.trust, allows_private=True
        )

    def means(self, url: str) -> bool:
        """Whether this endpoint is asked about a URL."""
        return any(pattern.matches(url) for pattern in self._patterns)

    def split(self, urls: Sequence[str]) -> list[list[str]]:
        """Gives the URLs as they are asked about together."""
        size = 1 if self.rule.form is QueryForm.SINGLE else self.rule.batch
        return [list(urls[place : place + size]) for place in range(0, len(urls), size)]

    def server_of(self, _urls: Sequence[str]) -> str:
        """Gives the endpoint's server, whatever it is asked about."""
        return self._target.authority

    def decide(self, urls: Sequence[str], asker: Identity, login: Login | None, seconds: float) -> dict[str, Verdict]:
        """Asks about documents; what is not in the answer is undecided. Errors: Unanswered."""
        user = find_user(self.rule, asker)
        if user is None or not is_writable(user):
            return {}
        envelope = Envelope(
            issuer=self.rule.issuer,
            issued_at=self._now(),
            user=user,
            groups=asker.groups[:MAX_GROUPS],
            tells_credential=self.rule.tells_credential,
            password=login.password if may_forward(self.rule, login) and login is not None else None,
        )
        start = secrets.token_hex(16)
        is_one = self.rule.form is QueryForm.BATCH_2
        queries = [Query(id=f"_{start}" if is_one else f"_{start}{place}", resource=resource_of(url)) for place, url in enumerate(urls)]
        written = render_list(envelope, queries) if is_one else render_queries(envelope, queries)
        body = self._post(written, len(queries), seconds)
        verdicts, reasons = match_statements(queries, parse_statements(body), subject=name_of(envelope), now=self._now())
        if reasons:
            log.warning("authorization_answer_incomplete", rule=self.rule.label, server=self._target.authority, reasons=list(reasons))
        return {url: verdicts[query] for url, query in zip(urls, queries, strict=True)}

    def _post(self, body: bytes, queries: int, seconds: float) -> bytes:
        headers = (
            ("Host", self._target.authority.encode()),
            ("Content-Type", CONTENT_TYPE.encode()),
            ("SOAPAction", SOAP_ACTION.encode()),
            ("Accept", b"text/xml"),
            ("Connection", b"close"),
        )
        max_bytes = ANSWER_BYTES + BYTES_A_QUERY * queries
        call = Call(method="POST", path=self._target.path, headers=headers, body=body, max_bytes=max_bytes)
        line = self._caller.open(self._origin)
        try:
            reply = line.send(call, min(seconds, self.rule.seconds))
        finally:
            line.close()
        if 400 <= reply.status < 500:
            raise Rejected(f"it answers with status {reply.status}")
        if reply.status not in _ANSWERED:
            raise Unanswered(f"it answers with status {reply.status}")
        return reply.body


def find_user(rule: AuthorizationRule, asker: Identity) -> Subject | None:
    """Gives the user of the rule's namespace, None where the asker is nobody there."""
    return next((user for user in asker.users if user.namespace == rule.namespace and user.name), None)


def may_forward(rule: AuthorizationRule, login: Login | None) -> bool:
    """Whether a login may go to where the rule asks: it proved the asker for the rule's namespace, and the rule says so."""
    return rule.forwards_password and login is not None and rule.namespace in login.namespaces
