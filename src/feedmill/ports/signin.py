"""What signing in needs of the outside world: repositories of the store, hashing of passwords, directories, the audit log."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from feedmill.model.audit import AuditEntry, AuditEvent
from feedmill.model.signin import Account, ApiToken, Credential, ProviderSession, Session


class Accounts(Protocol):
    """The local users, by namespace and key (``core/accounts``)."""

    def find(self, namespace: str, key: str) -> Account | None:
        """Finds an account."""

    def find_everywhere(self, key: str) -> list[Account]:
        """Finds the accounts of a key in all namespaces, by namespace."""

    def list_all(self) -> list[Account]:
        """Lists all, by namespace and key."""

    def list_namespaces(self) -> list[str]:
        """Lists the namespaces that have accounts."""

    def save(self, account: Account) -> None:
        """Inserts an account or replaces it."""

    def remove(self, namespace: str, key: str) -> bool:
        """Removes an account with the tokens that search for it. Whether it was there."""


class Sessions(Protocol):
    """The sessions, by the digest of what their cookie holds."""

    def find(self, digest: bytes) -> Session | None:
        """Finds a session, an expired one too."""

    def save(self, session: Session) -> None:
        """Inserts a session or replaces it; it is marked by whom it is of (``core/sessionmarks``)."""

    def list_marked(self, mark: bytes) -> list[bytes]:
        """Lists the digests of the sessions that have a mark."""

    def remove(self, digest: bytes) -> None:
        """Ends a session; one that is not there is no error."""

    def remove_expired(self, now: datetime) -> int:
        """Removes what has expired, and counts it."""


class ApiTokens(Protocol):
    """The tokens of programs."""

    def find(self, digest: bytes) -> ApiToken | None:
        """Finds a token by the digest of its text."""

    def list_all(self) -> list[ApiToken]:
        """Lists all, by id."""

    def add(self, token: ApiToken) -> int:
        """Keeps a token and gives its id; that of ``token`` does not count."""

    def remove(self, token_id: int) -> bool:
        """Removes a token. Whether it was there."""

    def touch(self, token_id: int, at: datetime) -> None:
        """Keeps when a token was used last."""


class OneTimeValues(Protocol):
    """Values that may be taken once, and names that may be used once, each for a bounded time."""

    def put(self, digest: bytes, value: str, expires_at: datetime) -> bool:
        """Keeps a value. Whether there was none of that digest."""

    def take(self, digest: bytes, now: datetime) -> str | None:
        """Returns a value and forgets it; None for an expired one too."""

    def remove_expired(self, now: datetime) -> int:
        """Removes what has expired, and counts it."""


class PasswordHasher(Protocol):
    """Hashes passwords so slowly that guessing is dear."""

    def hash(self, password: str) -> str:
        """Returns a hash that holds its own parameters and salt."""

    def is_match(self, password_hash: str, password: str) -> bool:
        """Whether a password is the one of a hash; takes as long for a wrong one. Errors: Busy when too many wait."""

    def is_outdated(self, password_hash: str) -> bool:
        """Whether a hash was made with other parameters than those of now."""


class Provider(Protocol):
    """Who proves users in this server's place."""

    @property
    def name(self) -> str:
        """What the settings call it."""

    @property
    def namespace(self) -> str:
        """The namespace of its users and groups."""


class Directory(Provider, Protocol):
    """A directory that proves users by their passwords. Errors: Busy when it does not answer."""

    def verify(self, name: str, password: str) -> Credential | None:
        """Returns the credential of a user, None when name or password is wrong. Shape: an empty password proves nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderRedirect:
    """How a browser is sent to a provider: by going to an address, or by sending it a form."""

    url: str
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogoutRequest:
    """What a provider wants ended: its sessions of these indexes, or all of ``name`` where there are none.

    ``id`` may be used once until ``until``; ``number`` is what an answer names.
    """

    id: str
    name: str
    until: datetime
    indexes: tuple[str, ...] = ()
    number: str = ""


class BrowserProvider(Provider, Protocol):
    """A provider to which a browser is sent."""

    @property
    def label(self) -> str:
        """What people call it."""

    @property
    def way(self) -> str:
        """What credentials and the audit log call it, such as ``saml:example``; no two providers share it."""


class OpenIdProvider(BrowserProvider, Protocol):
    """A provider of OpenID Connect. Errors: Busy when it does not answer."""

    def begin(self, back_url: str, *, state: str, nonce: str, verifier: str) -> str:
        """Returns the address to send a browser to; it comes back to ``back_url``."""

    def finish(self, back_url: str, *, code: str, issuer: str, nonce: str, verifier: str) -> Credential:
        """Returns the credential that a code stands for. Errors: Denied, for anything that is not as it must be."""

    @property
    def single_logout(self) -> bool:
        """Whether both sides tell each other that somebody leaves."""

    def leave(self, session: ProviderSession, left_url: str) -> ProviderRedirect | None:
        """Returns how a browser tells the provider that somebody leaves; None where the provider has no place for it."""

    def read_logout(self, text: str) -> LogoutRequest:
        """Reads the provider's word that somebody left, which counts once. Errors: Denied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """What a provider of SAML asserted. Shape: ``answers`` is the id of the request that it answers."""

    id: str
    answers: str
    credential: Credential
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LogoutMessage:
    """A message about logging out as it came: the whole query of an address, or the field of a form."""

    query: str = ""
    encoded: str = ""


class SamlLogout(Protocol):
    """How a provider of SAML and this server tell each other that somebody leaves."""

    def begin(self, session: ProviderSession, entity_id: str) -> ProviderRedirect | None:
        """Returns how a browser tells the provider that somebody leaves; None where the provider has no place for it."""

    def read(self, message: LogoutMessage, logout_url: str) -> LogoutRequest:
        """Reads the provider's request. Errors: Denied, for anything that is not as it must be."""

    def answer(self, asked: LogoutRequest, entity_id: str, relay_state: str, *, is_done: bool) -> ProviderRedirect | None:
        """Returns how a browser takes the answer back; None where the provider has no place for it."""

    def confirm(self, message: LogoutMessage, logout_url: str) -> None:
        """Reads what the provider says to a request of this server. Errors: Denied, also where it did not end the session."""


class SamlProvider(BrowserProvider, Protocol):
    """A provider of SAML 2.0, which sends a form back."""

    def begin(self, back_url: str, request_id: str) -> str:
        """Returns the address to send a browser to; the form comes to ``back_url``."""

    def read(self, encoded: str, back_url: str) -> Assertion:
        """Reads a posted response. Errors: Denied, for anything that is not as it must be."""

    def describe(self, back_url: str) -> bytes:
        """Returns the metadata of this server for the provider, as XML."""

    def entity_id(self, back_url: str) -> str:
        """Returns the name by which the provider knows this server."""

    @property
    def logout(self) -> SamlLogout | None:
        """How both sides tell each other that somebody leaves; None where that is not wanted."""


class AuditLog(Protocol):
    """The append-only log of what was done."""

    def append(self, event: AuditEvent) -> AuditEntry:
        """Keeps an event durably, chained to the one before it. Errors: DiskFull, Corrupt."""

    def iter_entries(self) -> Iterator[AuditEntry]:
        """Yields the entries that are kept, oldest first. Errors: Corrupt, naming the place, where the chain does not hold."""
