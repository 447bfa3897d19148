"""Late binding: other servers decide about documents that no ACL decides.

Source: "Managing Search for Controlled-Access Content", "SAML Authorization" and "Head Requests".
"""

from collections.abc import Set
from dataclasses import dataclass, field
from enum import Enum

from feedmill.model.identity import DEFAULT_NAMESPACE


class Mechanism(Enum):
    """How another server is queried; ``ADAPTOR`` calls a command of an adaptor instead, and ``DENY`` denies without a query."""

    SAML = "saml"
    CONNECTOR = "connector"
    HEAD = "head"
    ADAPTOR = "adaptor"
    DENY = "deny"


class QueryForm(Enum):
    """How a decision point is queried about several documents.

    Each has its own request, or one body has several queries, or one query lists them in Google's extension. The old appliance called the
    last two its first and its second batch protocol.
    """

    SINGLE = "single"
    BATCH = "batch"
    BATCH_2 = "batch2"


class LateOutcome(Enum):
    """The outcome for a document that another server decided, or might have decided."""

    PERMITTED = "permitted"
    DENIED = "denied"
    UNDECIDED = "undecided"
    CACHED = "cached"
    FAILED = "failed"
    LATE = "late"
    CIRCUIT_OPEN = "circuit open"
    BUSY = "busy"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCircuit:
    """A server that is not queried for a while because its circuit is open, and the reason."""

    rule: str
    server: str
    failures: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """What the current request can prove the user with at other servers.

    ``name`` and ``password`` are those of HTTP Basic, "" without it; ``namespaces`` are those for which they verified the user.
    ``cookies`` are the names and values of cookies that the settings forward.
    """

    name: str = ""
    password: str = field(default="", repr=False)
    namespaces: tuple[str, ...] = ()
    cookies: tuple[tuple[str, str], ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LateAccess:
    """The classes that another server may decide for one request. ``confirms``: also those that ACL or policy permits.

    Units: ``until`` in seconds of the clock that set it.
    """

    classes: Set[int]
    until: float
    login: Login | None = None
    confirms: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """The trusted certificates (a PEM file, "" the system's), and the client certificate (two PEM files, "" none)."""

    ca: str = ""
    certificate: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationRule:
    """The server that decides about the documents of URL patterns, and how it is queried.

    - ``seconds`` is the time limit of one request, ``batch`` the documents in a request, ``parallel`` the concurrent requests of one
      search.
    - ``label`` is for the log.
    - ``endpoint``, ``issuer``, ``holds_credential`` and ``form`` are for SAML.
    - ``uses_get``, ``user_header`` ("" for none) and ``allow_private`` are for requests as the user. ``allow_private`` holds the patterns
      of documents whose servers may have private addresses.
    """

    label: str
    mechanism: Mechanism
    patterns: tuple[str, ...]
    endpoint: str = ""
    issuer: str = ""
    namespace: str = DEFAULT_NAMESPACE
    holds_credential: bool = True
    form: QueryForm = QueryForm.BATCH
    forwards_password: bool = False
    user_header: str = ""
    uses_get: bool = False
    seconds: float = 2.0
    batch: int = 100
    parallel: int = 4
    trust: Trust = Trust()
    allow_private: tuple[str, ...] = ()
    connector: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LateLimits:
    """The limits of late binding. Units: seconds and documents for one search; seconds and decisions in the cache.

    After ``open_after_failures`` failures without a success between them, a server is not queried for ``open_seconds`` at first; 0: never.
    """

    seconds: float = 5.0
    candidates: int = 1_000
    cache_seconds: float = 300.0
    cache_entries: int = 100_000
    confirms: bool = False
    open_after_failures: int = 5
    open_seconds: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenServer:
    """The service of a seedlist's server that lists the ACL tokens of a user, and the proof of the user that it gets.

    - ``sources`` are the seedlists whose ACLs have these tokens; each is the namespace of its tokens.
    - ``cookies`` are names of cookies to forward, ``user_header`` the header with the user's name, "" for none.
    - ``seconds`` is the time limit of a request; ``cache_seconds`` is how long an answer holds.
    """

    sources: tuple[str, ...]
    url: str
    cookies: tuple[str, ...] = ()
    forwards_password: bool = False
    user_header: str = ""
    namespace: str = DEFAULT_NAMESPACE
    seconds: float = 2.0
    cache_seconds: float = 300.0
    trust: Trust = Trust()
