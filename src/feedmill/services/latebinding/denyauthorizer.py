"""Denies documents without asking anybody: the end of the way for those that no mechanism before has permitted."""

from collections.abc import Sequence

from feedmill.core.patterns import parse_pattern
from feedmill.model.decision import Verdict
from feedmill.model.identity import Identity
from feedmill.model.latebinding import AuthorizationRule, Login


class DenyAuthorizer:
    """Denies what the rule's patterns mean. May be used from several threads."""

    def __init__(self, rule: AuthorizationRule) -> None:
        self.rule = rule
        self._patterns = tuple(parse_pattern(text) for text in rule.patterns)

    def means(self, url: str) -> bool:
        """Whether a URL is denied."""
        return any(pattern.matches(url) for pattern in self._patterns)

    def split(self, urls: Sequence[str]) -> list[list[str]]:
        """Returns the URLs together."""
        return [list(urls)]

    def server_of(self, _urls: Sequence[str]) -> str:
        """Returns a name for what is no server."""
        return "here"

    def decide(self, urls: Sequence[str], current_user: Identity, login: Login | None, seconds: float) -> dict[str, Verdict]:
        """Denies."""
        del current_user, login, seconds
        return dict.fromkeys(urls, Verdict.DENY)
