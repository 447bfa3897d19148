"""The roles of users: what a signed-in user may do in addition to searching."""

from enum import Enum


class UserRole(Enum):
    """A role; each includes the permissions of the previous ones.

    A searcher searches, a viewer also views the administration, a manager also works with sources, an administrator may do everything.
    """

    SEARCHER = "searcher"
    VIEWER = "viewer"
    MANAGER = "manager"
    ADMINISTRATOR = "administrator"

    def may_act_as(self, other: "UserRole") -> bool:
        """Whether the role has all permissions of another one."""
        return _ORDER.index(self) >= _ORDER.index(other)


_ORDER = tuple(UserRole)
