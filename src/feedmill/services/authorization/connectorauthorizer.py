"""Authorizes documents of connectors at a connector manager: many documents in one request, for one user.

If the answer reports success, its permits and denials count, and a document that it does not mention is denied. If the manager reports an
error, only its denials count, and every other document is undecided.
Source: googlegsa/manager.v3, ``Authorization`` servlet; googlegsa/secmgr.
"""

from collections.abc import Sequence

import structlog

from feedmill.core.urls.patterns import parse_pattern
from feedmill.model.authorization import AuthorizationRule, Login
from feedmill.model.decision import Verdict
from feedmill.model.identity import Identity, Subject
from feedmill.ports.http import HttpClient
from feedmill.services.authorization.authorizer import find_login, find_user
from feedmill.services.authorization.posting import Endpoint
from feedmill.wire.connectorauthorization.parse import parse_answers
from feedmill.wire.connectorauthorization.render import connector_of, is_writable, render_query

SERVLET = "/authorization"
_ANSWERED = {200}
_HEADERS = (("Content-Type", b"text/xml; charset=UTF-8"),)
_WENT_WELL = "0"

log = structlog.get_logger(__name__)


class ConnectorAuthorizer:
    """Sends requests to one connector manager. May be used from several threads."""

    def __init__(self, rule: AuthorizationRule, client: HttpClient) -> None:
        self.rule = rule
        self._patterns = tuple(parse_pattern(text) for text in rule.patterns)
        self._endpoint = Endpoint(rule, client, headers=_HEADERS, answered=_ANSWERED, servlet=SERVLET)

    def matches(self, url: str) -> bool:
        """Whether this manager decides about a URL."""
        return is_writable(url) and any(pattern.matches(url) for pattern in self._patterns)

    def split(self, urls: Sequence[str]) -> list[list[str]]:
        """Returns the URLs in batches of one request each."""
        return [list(urls[place : place + self.rule.batch]) for place in range(0, len(urls), self.rule.batch)]

    def server_of(self, _urls: Sequence[str]) -> str:
        """Returns the manager's server, the same for all URLs."""
        return self._endpoint.server

    def decide(self, urls: Sequence[str], current_user: Identity, login: Login | None, seconds: float) -> dict[str, Verdict]:
        """Decides about documents with one request. Errors: UpstreamFailure."""
        user = find_user(self.rule, current_user)
        if user is None or not _is_writable(user):
            return {}
        forwarded = find_login(self.rule, login)
        password = forwarded.password if forwarded is not None and is_writable(forwarded.password) else None
        resources = [(url, connector_of(url, self.rule.connector)) for url in urls]
        body = self._endpoint.post(render_query(user, password, resources), documents=len(urls), seconds=seconds)
        answers = parse_answers(body)
        if answers.status != _WENT_WELL:
            log.warning("authorization_answer_incomplete", rule=self.rule.label, server=self._endpoint.server, status=answers.status[:40])
            # A denial is trusted even then. A permit is not: the manager says that something went wrong.
            return {url: Verdict.DENY if answers.verdicts.get(url) is Verdict.DENY else Verdict.INDETERMINATE for url in urls}
        return {url: answers.verdicts.get(url, Verdict.DENY) for url in urls}


def _is_writable(user: Subject) -> bool:
    return is_writable(user.name) and is_writable(user.domain)
