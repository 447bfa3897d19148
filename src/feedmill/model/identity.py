"""Who asks: the users and groups that a sign-in verified, the groups that the groups database adds, and how they are compared with entries.

An ACL or a groups feed names a ``Principal`` as somebody wrote it. What stands here is already split into name and domain, and is
never split again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from feedmill.model.scope import Scope

DEFAULT_NAMESPACE = "Default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One user or group that somebody is. Shape: ``domain`` is empty where there is none."""

    scope: Scope
    name: str
    domain: str = ""
    namespace: str = DEFAULT_NAMESPACE


class PrincipalKey(NamedTuple):
    """A user or group in the one form in which it is looked up: an entry has one, a subject is met by several.

    ``folded`` tells the keys of entries in which letter case does not count from the keys of those in which it does; namespace,
    domain and name of the former are folded. A tuple, since keys are made and compared by the ten thousand.
    """

    scope: Scope
    namespace: str
    domain: str
    name: str
    folded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Somebody who asks, over all namespaces; without users and groups it is nobody.

    ``users`` and ``groups`` come from signing in, at most one user a namespace. ``reached`` holds the groups that the groups database
    adds, in the order in which they were found, each with the user or group that is its member, so that the way to it can be told.
    """

    users: tuple[Subject, ...] = ()
    groups: tuple[Subject, ...] = ()
    reached: Mapping[Subject, Subject] = field(default_factory=dict, hash=False)


NOBODY = Identity()
"""Who is not signed in."""
