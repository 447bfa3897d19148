"""Asks a connector manager about the documents of its connectors: many in one request, for one user.

What it permits or denies counts. A document of which an answer that went well says nothing is denied; where the manager reports a fault,
what it says nothing of is undecided.
Source: gsa-compat 7.2.
"""

from collections.abc import Sequence

import structlog

from feedmill.core.patterns import parse_pattern
from feedmill.core.targets import parse_target
from feedmill.model.decision import Verdict
from feedmill.model.errors import Rejected, Unanswered
from feedmill.model.identity import Identity, Subject
from feedmill.model.latebinding import AuthorizationRule, Login
from feedmill.ports.authorization import Call, Caller, Origin
from feedmill.services.latebinding.samlasking import find_user, may_forward
from feedmill.wire.connectorauthz.parse import parse_answers
from feedmill.wire.connectorauthz.render import connector_of, is_writable, render_query

SERVLET = "/authorization"
ANSWER_BYTES = 65_536
BYTES_A_RESOURCE = 20_000
_WENT_WELL = "0"

log = structlog.get_logger("authorization")


class ConnectorAsking:
    """Asks one manager. May be used from several threads."""

    def __init__(self, rule: AuthorizationRule, caller: Caller) -> None:
        self.rule = rule
        self._caller = caller
        self._patterns = tuple(parse_pattern(text) for text in rule.patterns)
        self._target = parse_target(rule.endpoint)
        path = self._target.path.rstrip("/")
        self._path = path if path.endswith(SERVLET) else path + SERVLET
        # the operator named this one server himself, wherever it stands
        self._origin = Origin(
            is_tls=self._target.is_tls, host=self._target.host, port=self._target.port, trust=rule.trust, allows_private=True
        )

    def means(self, url: str) -> bool:
        """Whether this manager is asked about a URL."""
        return is_writable(url) and any(pattern.matches(url) for pattern in self._patterns)

    def split(self, urls: Sequence[str]) -> list[list[str]]:
        """Gives the URLs as they are asked about together."""
        return [list(urls[place : place + self.rule.batch]) for place in range(0, len(urls), self.rule.batch)]

    def server_of(self, _urls: Sequence[str]) -> str:
        """Gives the manager's server, whatever it is asked about."""
        return self._target.authority

    def decide(self, urls: Sequence[str], asker: Identity, login: Login | None, seconds: float) -> dict[str, Verdict]:
        """Asks about documents. Errors: Unanswered."""
        user = find_user(self.rule, asker)
        password = login.password if may_forward(self.rule, login) and login is not None else None
        if user is None or not _is_writable(user):
            return {}
        if password is not None and not is_writable(password):
            password = None
        resources = [(url, connector_of(url, self.rule.connector)) for url in urls]
        answers = parse_answers(self._post(render_query(user, password, resources), len(urls), seconds))
        went_well = answers.status == _WENT_WELL
        if not went_well:
            log.warning("authorization_answer_incomplete", rule=self.rule.label, server=self._target.authority, status=answers.status[:40])
        missing = Verdict.DENY if went_well else Verdict.INDETERMINATE
        return {url: answers.verdicts.get(url, missing) for url in urls}

    def _post(self, body: bytes, resources: int, seconds: float) -> bytes:
        headers = (
            ("Host", self._target.authority.encode()),
            ("Content-Type", b"text/xml; charset=UTF-8"),
            ("Accept", b"text/xml"),
            ("Connection", b"close"),
        )
        call = Call(method="POST", path=self._path, headers=headers, body=body, max_bytes=ANSWER_BYTES + BYTES_A_RESOURCE * resources)
        line = self._caller.open(self._origin)
        try:
            reply = line.send(call, min(seconds, self.rule.seconds))
        finally:
            line.close()
        if 400 <= reply.status < 500:
            raise Rejected(f"it answers with status {reply.status}")
        if reply.status != 200:
            raise Unanswered(f"it answers with status {reply.status}")
        return reply.body


def _is_writable(user: Subject) -> bool:
    return is_writable(user.name) and is_writable(user.domain)
