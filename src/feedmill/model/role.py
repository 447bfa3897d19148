"""What somebody who signed in may do besides searching."""

from enum import Enum


class Role(Enum):
    """A role; each may do what those before it may.

    A searcher searches, a viewer also looks at the administration, a manager also works with sources, an administrator does all.
    """

    SEARCHER = "searcher"
    VIEWER = "viewer"
    MANAGER = "manager"
    ADMINISTRATOR = "administrator"

    def may_act_as(self, other: "Role") -> bool:
        """Whether the role may do what another one may."""
        return _ORDER.index(self) >= _ORDER.index(other)


_ORDER = tuple(Role)
