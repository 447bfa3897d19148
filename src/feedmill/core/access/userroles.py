"""Determines a user's role from the groups that a provider reports.

A rule that names a domain, in any notation (``CORP\\admins``), matches only groups of that domain, by its whole name or its first label. A
rule without a domain matches groups of that name in any domain.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from feedmill.core.access.folding import fold
from feedmill.core.access.principals import shorten_domain, split_name
from feedmill.model.identity import Subject
from feedmill.model.userrole import UserRole


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleRules:
    """Names of groups whose members have a role, in any letter case; all other users are searchers."""

    administrators: tuple[str, ...] = ()
    managers: tuple[str, ...] = ()
    viewers: tuple[str, ...] = ()

    def find_role(self, groups: Iterable[Subject]) -> UserRole:
        """Returns the highest role that the groups have."""
        held = {form for group in groups for form in _forms_of(group)}
        for role, names in (
            (UserRole.ADMINISTRATOR, self.administrators),
            (UserRole.MANAGER, self.managers),
            (UserRole.VIEWER, self.viewers),
        ):
            if any(_read_group_name(name) in held or ("", fold(name.strip())) in held for name in names):
                return role
        return UserRole.SEARCHER


def _read_group_name(text: str) -> tuple[str, str]:
    name, domain = split_name(text.strip())
    return fold(domain), fold(name)


def _forms_of(group: Subject) -> Iterator[tuple[str, str]]:
    """Yields domain and name in the forms that rules may use; "" means any domain."""
    for domain in ("", group.domain, shorten_domain(group.domain)):
        yield fold(domain), fold(group.name)
