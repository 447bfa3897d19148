"""The identity of a user: the users and groups that a sign-in verified, the groups from the groups database, and their look-up keys.

An ACL or a groups feed names a ``Principal`` as it was written. The subjects here are already split into name and domain, and are never
split again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from feedmill.model.scope import Scope

DEFAULT_NAMESPACE = "Default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One user or group of an identity. Shape: ``domain`` is empty if there is none."""

    scope: Scope
    name: str
    domain: str = ""
    namespace: str = DEFAULT_NAMESPACE


class PrincipalKey(NamedTuple):
    """A user or group in the form that is looked up: an entry has one key, a subject matches several.

    ``folded`` distinguishes the keys of entries in which letter case does not count from the keys of those in which it does; namespace,
    domain and name of the former are folded. It is a tuple, since keys are created and compared by the ten thousand.
    """

    scope: Scope
    namespace: str
    domain: str
    name: str
    folded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A user over all namespaces; without users and groups it is anonymous.

    ``users`` and ``groups`` come from signing in, at most one user for each namespace. ``reached`` holds the groups that the groups
    database adds, in the order in which they were found. Each has the user or group that is its member, so that the path to it can be
    shown.
    """

    users: tuple[Subject, ...] = ()
    groups: tuple[Subject, ...] = ()
    reached: Mapping[Subject, Subject] = field(default_factory=dict, hash=False)


ANONYMOUS_IDENTITY = Identity()
"""The identity of users who are not signed in."""
