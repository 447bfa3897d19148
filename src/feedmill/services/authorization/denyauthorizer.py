"""Denies documents without a request: the last rule, for documents that no earlier mechanism has permitted."""

from collections.abc import Sequence

from feedmill.core.urls.patterns import parse_pattern
from feedmill.model.authorization import AuthorizationRule, Login
from feedmill.model.decision import Verdict
from feedmill.model.identity import Identity


class DenyAuthorizer:
    """Denies URLs that match the rule's patterns. May be used from several threads."""

    def __init__(self, rule: AuthorizationRule) -> None:
        self.rule = rule
        self._patterns = tuple(parse_pattern(text) for text in rule.patterns)

    def matches(self, url: str) -> bool:
        """Whether a URL is denied."""
        return any(pattern.matches(url) for pattern in self._patterns)

    def split(self, urls: Sequence[str]) -> list[list[str]]:
        """Returns the URLs as one batch."""
        return [list(urls)]

    def server_of(self, _urls: Sequence[str]) -> str:
        """Returns a placeholder, since no server is involved."""
        return "here"

    def decide(self, urls: Sequence[str], current_user: Identity, login: Login | None, seconds: float) -> dict[str, Verdict]:
        """Denies all URLs."""
        del current_user, login, seconds
        return dict.fromkeys(urls, Verdict.DENY)
