"""Finds the rules of the settings that hold for a URL."""

from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

from feedmill.core.urls.patterns import parse_pattern


class PatternRule(Protocol):
    """A rule with a URL pattern."""

    @property
    def pattern(self) -> str:
        """The pattern."""


_Rule = TypeVar("_Rule", bound=PatternRule)


class UrlRules(Generic[_Rule]):
    """Rules in the order of the settings. Errors: BadRequest for an invalid pattern."""

    def __init__(self, rules: Iterable[_Rule]) -> None:
        self._rules = [(parse_pattern(rule.pattern), rule) for rule in rules]

    def find(self, url: str) -> _Rule | None:
        """Returns the first rule whose pattern matches a URL."""
        return next((rule for pattern, rule in self._rules if pattern.matches(url)), None)

    def list_all(self, url: str) -> list[_Rule]:
        """Returns all rules whose patterns match a URL."""
        return [rule for pattern, rule in self._rules if pattern.matches(url)]
