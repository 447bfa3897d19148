"""How somebody proved who he is, and what is kept of it: accounts of local users, credentials, sessions, tokens for programs.

Secrets never stand here: passwords are kept as argon2 hashes, what a cookie or a token holds as its SHA-256.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from feedmill.model.identity import Subject
from feedmill.model.role import Role

LOCAL = "local"
"""The provider of credentials that an account of this server proves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A local user. ``epoch`` grows with each change, and ends what was proved before it."""

    user: Subject
    role: Role
    password_hash: str
    epoch: int
    created_at: datetime
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSession:
    """What a provider calls somebody who signed in there, and his session there ("" where it does not say).

    ``details`` is what the provider wants to be told when the session is to end, in words of its own; ``ends_at`` is when it ends by
    itself, None where the provider does not say.
    """

    name: str
    index: str = ""
    details: str = field(default="", repr=False)
    ends_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """One identity that somebody proved, in one namespace. Shape: ``epoch`` is the account's, 0 for other providers."""

    provider: str
    user: Subject
    groups: tuple[Subject, ...] = ()
    role: Role = Role.SEARCHER
    epoch: int = 0
    session: ProviderSession | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A browser that signed in; at most one credential a namespace."""

    digest: bytes
    credentials: tuple[Credential, ...]
    created_at: datetime
    seen_at: datetime
    expires_at: datetime


class TokenScope(Enum):
    """What a program may do with a token."""

    SEARCH = "search"
    PUSH = "push"
    VIEW = "view"
    MANAGE = "manage"
    ADMINISTER = "administer"


SCOPE_ROLES = {
    TokenScope.SEARCH: Role.SEARCHER,
    TokenScope.VIEW: Role.VIEWER,
    TokenScope.MANAGE: Role.MANAGER,
    TokenScope.ADMINISTER: Role.ADMINISTRATOR,
}
"""The role that a scope gives; ``push`` gives none, since it counts on the feed port alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiToken:
    """A token of a program. ``user`` is the local user for whom it searches, None where it searches as nobody.

    Shape: ``datasources`` are those that a token of scope ``push`` is for, empty for all.
    """

    id: int
    label: str
    digest: bytes
    scopes: frozenset[TokenScope]
    created_at: datetime
    expires_at: datetime | None = None
    used_at: datetime | None = None
    user: Subject | None = None
    datasources: frozenset[str] = frozenset()
