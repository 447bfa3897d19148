"""Results of signing in, and what is stored of them: accounts of local users, credentials, sessions, tokens for programs.

No secrets are stored: passwords are argon2 hashes, and the values of cookies and tokens are SHA-256 digests.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from feedmill.model.identity import Subject
from feedmill.model.userrole import UserRole

LOCAL = "local"
"""The provider of credentials that an account of this server verifies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A local user. ``epoch`` grows with each change and invalidates older credentials."""

    user: Subject
    role: UserRole
    password_hash: str
    epoch: int
    created_at: datetime
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSession:
    """A provider's name for a signed-in user, and their session there ("" if the provider does not name it).

    ``details`` is what the provider needs to end the session, in its own format; ``ends_at`` is when the session expires, None if the
    provider does not say.
    """

    name: str
    index: str = ""
    details: str = field(default="", repr=False)
    ends_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """One verified identity in one namespace. Shape: ``epoch`` is the account's, 0 for other providers."""

    provider: str
    user: Subject
    groups: tuple[Subject, ...] = ()
    role: UserRole = UserRole.SEARCHER
    epoch: int = 0
    session: ProviderSession | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A signed-in browser session; at most one credential for each namespace."""

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
    TokenScope.SEARCH: UserRole.SEARCHER,
    TokenScope.VIEW: UserRole.VIEWER,
    TokenScope.MANAGE: UserRole.MANAGER,
    TokenScope.ADMINISTER: UserRole.ADMINISTRATOR,
}
"""The role of a scope; ``push`` has none, since it applies only to the feed port."""

SEARCH_ONLY = frozenset({TokenScope.SEARCH})
"""The scopes of a token that is safe without a role that limits it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiToken:
    """A token of a program. ``user`` is the user with whose access it searches, None if it searches anonymously.

    Shape: ``datasources`` are those that a token of scope ``push`` may feed, empty for all.
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
