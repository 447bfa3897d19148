"""Late binding: documents of which no ACL says who may see them, and the servers that are asked instead.

Source: "Managing Search for Controlled-Access Content", "SAML Authorization" and "Head Requests".
"""

from collections.abc import Set
from dataclasses import dataclass, field
from enum import Enum

from feedmill.model.identity import DEFAULT_NAMESPACE


class Mechanism(Enum):
    """How another server is asked, or (``DENY``) that none is and the answer is no."""

    SAML = "saml"
    CONNECTOR = "connector"
    HEAD = "head"
    DENY = "deny"


class QueryForm(Enum):
    """How a decision point is asked about several documents: each by a request of its own, several queries in one body, or one query
    that lists them in Google's extension. The last two the old appliance called its first and its second batch protocol."""

    SINGLE = "single"
    BATCH = "batch"
    BATCH_2 = "batch2"


class LateOutcome(Enum):
    """What came of a document that another server was, or might have been, asked about."""

    PERMITTED = "permitted"
    DENIED = "denied"
    UNDECIDED = "undecided"
    CACHED = "cached"
    FAILED = "failed"
    LATE = "late"
    LEFT_ALONE = "left alone"
    BUSY = "busy"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCircuit:
    """A server that is left alone for a while, and why."""

    rule: str
    server: str
    failures: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """What somebody signed in with by HTTP Basic in the request at hand, and the namespaces for which it proved him."""

    name: str
    password: str = field(repr=False)
    namespaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LateAccess:
    """Of which classes another server may be asked for one request; ``confirms``: also where ACL or policy permits.

    Units: ``until`` in seconds of the clock that set it.
    """

    classes: Set[int]
    until: float
    login: Login | None = None
    confirms: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """Which certificates are believed (a PEM file, "" the system's), and the one that is shown (two PEM files, "" none)."""

    ca: str = ""
    certificate: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationRule:
    """Where is asked about the documents of URL patterns, and how.

    Units: ``seconds`` for one request, ``batch`` documents a request, ``parallel`` requests at once for one search. ``label`` is for the
    log. ``endpoint``, ``issuer``, ``holds_credential`` and ``form`` are for SAML; ``uses_get``, ``user_header`` ("" for none) and
    ``allow_private``, the patterns of documents whose servers may have private addresses, for requests as the user.
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
    """What late binding may cost. Units: seconds and documents for one search; seconds and decisions that are kept.

    A server that failed ``rest_after`` times without a success between is left alone for ``rest_seconds`` at first; 0: never.
    """

    seconds: float = 5.0
    candidates: int = 1_000
    kept_seconds: float = 300.0
    kept: int = 100_000
    confirms: bool = False
    rest_after: int = 5
    rest_seconds: float = 30.0
