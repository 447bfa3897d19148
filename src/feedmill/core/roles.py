"""Which role somebody has by the groups that a provider tells."""

from collections.abc import Iterable
from dataclasses import dataclass

from feedmill.core.folding import fold
from feedmill.model.role import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleRules:
    """Names of groups whose members have a role, in any letter case; everybody else is a searcher."""

    administrators: tuple[str, ...] = ()
    managers: tuple[str, ...] = ()
    viewers: tuple[str, ...] = ()

    def find(self, groups: Iterable[str]) -> Role:
        """Gives the highest role of the groups."""
        held = {fold(group) for group in groups}
        for role, names in (
            (Role.ADMINISTRATOR, self.administrators),
            (Role.MANAGER, self.managers),
            (Role.VIEWER, self.viewers),
        ):
            if any(fold(name) in held for name in names):
                return role
        return Role.SEARCHER
