"""The ports of signing in: repositories of the store, password hashing, directories, providers and the audit log."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from feedmill.model.audit import AuditEntry, AuditEvent
from feedmill.model.signin import Account, ApiToken, Credential, ProviderSession, Session


class Accounts(Protocol):
    """The local users, by namespace and key (``core/signin/accounts``)."""

    def find(self, namespace: str, key: str) -> Account | None:
        """Finds the account of a key in one namespace."""

    def find_everywhere(self, key: str) -> list[Account]:
        """Finds the accounts of a key in all namespaces, by namespace."""

    def list_all(self) -> list[Account]:
        """Lists all accounts, by namespace and key."""

    def list_namespaces(self) -> list[str]:
        """Lists the namespaces that have accounts."""

    def save(self, account: Account) -> None:
        """Inserts an account or replaces it."""

    def remove(self, namespace: str, key: str) -> bool:
        """Removes an account and the tokens that search as its user. Returns whether the account existed."""


class Sessions(Protocol):
    """The sessions, by the digest of the cookie's value."""

    def find(self, digest: bytes) -> Session | None:
        """Finds a session, including an expired one."""

    def save(self, session: Session) -> None:
        """Inserts or replaces a session and stores the digests of its user's names with it (``core/signin/sessiondigests``)."""

    def list_by_name_digest(self, digest: bytes) -> list[bytes]:
        """Lists the digests of the sessions of a user, by the digest of one of their names."""

    def remove(self, digest: bytes) -> None:
        """Ends a session. A session that does not exist is no error."""

    def remove_expired(self, now: datetime) -> int:
        """Removes expired sessions and returns how many it removed."""


class ApiTokens(Protocol):
    """The API tokens."""

    def find(self, digest: bytes) -> ApiToken | None:
        """Finds a token by the digest of its text."""

    def list_all(self) -> list[ApiToken]:
        """Lists all tokens, by id."""

    def add(self, token: ApiToken) -> int:
        """Stores a token and returns its new id. The id in ``token`` is ignored."""

    def remove(self, token_id: int) -> bool:
        """Removes a token. Returns whether it existed."""

    def touch(self, token_id: int, at: datetime) -> None:
        """Stores when a token was last used."""


class OneTimeValues(Protocol):
    """Values that can be taken once and names that can be used once, each until it expires.

    Example::

        with store.writing() as unit:
            is_first_use = unit.signin.one_time_values.put(digest, "", now + timedelta(minutes=5))
    """

    def put(self, digest: bytes, value: str, expires_at: datetime) -> bool:
        """Stores a value. Returns whether the digest was free."""

    def take(self, digest: bytes, now: datetime) -> str | None:
        """Returns a value and removes it. Returns None if the value is missing or expired."""

    def remove_expired(self, now: datetime) -> int:
        """Removes expired values and returns how many it removed."""


class PasswordHasher(Protocol):
    """Hashes passwords, slowly enough to make guessing expensive."""

    def hash(self, password: str) -> str:
        """Returns a hash that contains its own parameters and salt."""

    def is_match(self, password_hash: str, password: str) -> bool:
        """Whether a password matches a hash. A wrong password takes as long as a right one. Errors: Busy when too many calls wait."""

    def is_outdated(self, password_hash: str) -> bool:
        """Whether a hash was made with parameters other than the current ones."""


class Provider(Protocol):
    """A directory or server that authenticates users for this server."""

    @property
    def name(self) -> str:
        """The provider's name in the settings."""

    @property
    def namespace(self) -> str:
        """The namespace of the provider's users and groups."""


class Directory(Provider, Protocol):
    """A directory that authenticates users by password. Errors: Busy when it does not answer."""

    def verify(self, name: str, password: str) -> Credential | None:
        """Returns the credential of a user, or None if the name or password is wrong. Shape: an empty password is always wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRedirect:
    """How a browser is sent to a provider: by a redirect to an address, or by a form that it posts."""

    url: str
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogoutRequest:
    """A provider's request to end its sessions: those with these indexes, or all sessions of ``name`` if there are no indexes.

    ``id`` can be used once, until ``until``. The response names ``number``.
    """

    id: str
    name: str
    until: datetime
    indexes: tuple[str, ...] = ()
    number: str = ""


class BrowserProvider(Provider, Protocol):
    """A provider to which a browser is redirected."""

    @property
    def label(self) -> str:
        """The provider's name on the sign-in page."""

    @property
    def qualified_name(self) -> str:
        """The provider's name in credentials and the audit log, such as ``saml:example``. No two providers share it."""


class OpenIdProvider(BrowserProvider, Protocol):
    """An OpenID Connect provider. Errors: Busy when it does not answer."""

    def begin(self, back_url: str, *, state: str, nonce: str, verifier: str) -> str:
        """Returns the address to which the browser is redirected. The provider sends the browser back to ``back_url``."""

    def finish(self, back_url: str, *, code: str, issuer: str, nonce: str, verifier: str) -> Credential:
        """Exchanges a code for the user's credential. Errors: Denied, for anything that is not as it must be."""

    @property
    def single_logout(self) -> bool:
        """Whether each side notifies the other when a user signs out."""

    def build_logout(self, session: ProviderSession, left_url: str) -> ProviderRedirect | None:
        """Returns how a browser notifies the provider that the user signs out; None if the provider has no logout address."""

    def read_logout(self, text: str) -> LogoutRequest:
        """Reads the provider's logout token, which can be used once. Errors: Denied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """What a SAML provider asserts about a user. Shape: ``in_response_to`` is the id of the request to which it responds."""

    id: str
    in_response_to: str
    credential: Credential
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LogoutMessage:
    """A logout message as received: the whole query string of an address, or the field of a form."""

    query: str = ""
    encoded: str = ""


class SamlLogout(Protocol):
    """Single logout between a SAML provider and this server."""

    def begin(self, session: ProviderSession, entity_id: str) -> ProviderRedirect | None:
        """Returns how a browser notifies the provider that the user signs out; None if the provider has no logout address."""

    def read_logout_request(self, message: LogoutMessage, logout_url: str) -> LogoutRequest:
        """Reads a logout request of the provider. Errors: Denied, for anything that is not as it must be."""

    def answer(self, request: LogoutRequest, entity_id: str, relay_state: str, *, is_done: bool) -> ProviderRedirect | None:
        """Returns how a browser takes the response to the provider; None if the provider has no address for it."""

    def confirm(self, message: LogoutMessage, logout_url: str) -> None:
        """Reads the provider's response to a logout request of this server. Errors: Denied, also if it did not end the session."""


class SamlProvider(BrowserProvider, Protocol):
    """A SAML 2.0 provider, which responds with a form."""

    def begin(self, back_url: str, request_id: str) -> str:
        """Returns the address to which the browser is redirected. The provider posts its form to ``back_url``."""

    def read_assertion(self, encoded: str, back_url: str) -> Assertion:
        """Reads a posted response. Errors: Denied, for anything that is not as it must be."""

    def describe(self, back_url: str) -> bytes:
        """Returns this server's metadata for the provider, as XML."""

    def entity_id(self, back_url: str) -> str:
        """Returns the name by which the provider knows this server."""

    @property
    def logout(self) -> SamlLogout | None:
        """Single logout with this provider; None if the settings turn it off."""


class AuditLog(Protocol):
    """The append-only log of decisions and commands."""

    def append(self, event: AuditEvent) -> AuditEntry:
        """Stores an event durably and chains it to the event before it. Errors: DiskFull, Corrupt."""

    def iter_entries(self) -> Iterator[AuditEntry]:
        """Yields the stored entries, oldest first. Errors: Corrupt, naming the place, where the chain does not hold."""
