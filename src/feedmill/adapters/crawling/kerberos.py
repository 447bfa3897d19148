"""Proves who the crawler is by Kerberos: gets the ticket of an account, and exchanges tokens with a server.

- A ticket is requested once and used for all servers of an access rule until it expires.
- After a failure no ticket is requested for some minutes. If the password was rejected, the pause grows each time, so that the account is
  not locked.
- The server has to prove who it is, and credentials are never delegated to it.
- Without the library gssapi (the extra ``crawl-kerberos``) there are no tickets, and the error says what to install.
Source: RFC 4120, RFC 4178 (SPNEGO), RFC 4559.
"""

import asyncio
import time
import uuid
from collections.abc import Callable
from enum import Enum, auto
from typing import Any, Final, TypeVar

from feedmill.adapters.crawling.blockingreads import call_in_thread

try:
    import gssapi
    from gssapi import raw
except ImportError:  # pragma: no cover
    IS_INSTALLED = False
else:
    IS_INSTALLED = True

NOT_INSTALLED: Final = (
    "Kerberos needs the extra crawl-kerberos (the package gssapi), which is not installed: "
    "apt-get install gcc libkrb5-dev python3-dev && pip install 'feedmill[crawl-kerberos]'"
)
PAUSE_SECONDS: Final = 60.0
REJECTED_SECONDS: Final = 300.0
MAX_REJECTED_SECONDS: Final = 3_600.0
_SPARE_SECONDS: Final = 60.0
"""A ticket is renewed so long before it expires."""

_KERBEROS: Final = "1.2.840.113554.1.2.2"
_SPNEGO: Final = "1.3.6.1.5.5.2"

_FIRST_CODE: Final = -1_765_328_384
"""The first error code of Kerberos; those below it are counted from there, as in RFC 4120, 7.5.9."""
_REJECTED: Final = frozenset({1, 12, 18, 23, 24, 31})
"""The account or its password has expired, is locked or wrong, or a policy forbids it. 31 is a wrong password without preauthentication."""
_UNUSABLE: Final = frozenset({6, 7, 14, 68, 135, 136, 154, 179, 180, 181, 184, 195, 217, 224, 235, 237})
"""The KDC does not know the account or the server, nothing says where the KDC of the realm is, or the keytab has no key of the account."""
_NO_KEY: Final = 195
_SKEWED: Final = frozenset({37, 148})

T = TypeVar("T")


class Problem(Enum):
    """Why there is no ticket."""

    REJECTED = auto()
    """The KDC rejects the account or its password."""
    UNUSABLE = auto()
    """Kerberos is not set up here for the account or the server; another scheme may serve."""
    TEMPORARY = auto()
    """The KDC does not answer, or clocks differ: the request may succeed later."""


class KerberosFailure(Exception):
    """There is no ticket, or the server does not accept it. The text has no secrets."""

    def __init__(self, reason: str, problem: Problem) -> None:
        super().__init__(reason)
        self.problem = problem


class Tickets:
    """The tickets of one account. Only the event loop that first uses it may use it.

    ``principal`` is the account, such as ``crawler@EXAMPLE.COM``; without a realm it is one of the default realm of krb5.conf. ``keytab``
    is a file with its keys, "" = the password counts.
    """

    def __init__(self, principal: str, password: str, keytab: str = "") -> None:
        self._principal = principal
        self._password = password
        self._keytab = keytab
        self._cache = f"MEMORY:feedmill-{uuid.uuid4().hex}".encode()
        self._valid_until = 0.0
        self._failure: KerberosFailure | None = None
        self._paused_until, self._rejected_seconds = 0.0, REJECTED_SECONDS
        self._request: asyncio.Task[None] | None = None

    async def open(self, host: str, seconds: float) -> "Handshake":
        """Returns a handshake with the service ``HTTP`` of a host. Errors: KerberosFailure. Units: ``seconds`` to wait for a ticket."""
        if not IS_INSTALLED:
            raise KerberosFailure(NOT_INSTALLED, Problem.UNUSABLE)
        if self._valid_until <= time.monotonic():
            await self._renew(seconds)
        return Handshake(self._cache, host)

    def forget(self) -> None:
        """Drops the tickets, because a server rejects them: it may have new keys."""
        self._valid_until = 0.0

    async def _renew(self, seconds: float) -> None:
        if self._failure is not None and self._paused_until > time.monotonic():
            raise KerberosFailure(f"{self._failure}; it is tried again in some minutes", self._failure.problem)
        if self._request is None:
            self._request = asyncio.create_task(self._request_ticket())
        try:
            async with asyncio.timeout(seconds):
                # other requests wait for the same ticket
                await asyncio.shield(self._request)
        except TimeoutError:
            raise KerberosFailure("Kerberos does not answer in time", Problem.TEMPORARY) from None
        if self._failure is not None:
            raise KerberosFailure(str(self._failure), self._failure.problem)

    async def _request_ticket(self) -> None:
        """Requests a ticket and notes the outcome. Does not raise, since perhaps no request waits any more."""
        try:
            lifetime = await call_in_thread(lambda: _translating(self._log_in, f"the account {self._principal}"))
        except KerberosFailure as exc:
            self._failure = exc
            pause = PAUSE_SECONDS
            if exc.problem is Problem.REJECTED:
                pause, self._rejected_seconds = self._rejected_seconds, min(2 * self._rejected_seconds, MAX_REJECTED_SECONDS)
            self._paused_until = time.monotonic() + pause
        else:
            self._failure, self._rejected_seconds = None, REJECTED_SECONDS
            self._valid_until = time.monotonic() + max(lifetime - _SPARE_SECONDS, 1.0)
        finally:
            self._request = None

    def _log_in(self) -> float:
        """Puts a new ticket in the cache. Returns how many seconds it lasts."""
        mech, store = gssapi.OID.from_int_seq(_KERBEROS), {b"ccache": self._cache}
        name = gssapi.Name(self._principal, gssapi.NameType.kerberos_principal)
        if self._keytab:
            # the library leaves a cache alone that has a ticket, and does not look at a new keytab
            self._cache = store[b"ccache"] = f"MEMORY:feedmill-{uuid.uuid4().hex}".encode()
            store[b"client_keytab"] = b"FILE:" + self._keytab.encode()
            return float(raw.acquire_cred_from(store, name=name, mechs=[mech], usage="initiate").lifetime)
        acquired = raw.acquire_cred_with_password(name, self._password.encode(errors="replace"), mechs=[mech], usage="initiate")
        raw.store_cred_into(store, acquired.creds, usage="initiate", mech=mech, overwrite=True)
        return float(acquired.lifetime)


class Handshake:
    """The exchange of tokens with one server over one connection. ``is_proven``: the server has authenticated itself."""

    def __init__(self, cache: bytes, host: str) -> None:
        self._cache = cache
        self._service = f"HTTP@{host}"
        self._context: Any = None
        self.is_proven = False

    async def step(self, token: bytes | None, seconds: float) -> bytes:
        """Returns the next token for the server, empty if none is left to send. Errors: KerberosFailure. Units: ``seconds`` to wait."""
        try:
            async with asyncio.timeout(seconds):
                return await call_in_thread(lambda: self._step(token))
        except TimeoutError:
            raise KerberosFailure("Kerberos does not answer in time", Problem.TEMPORARY) from None

    def _step(self, token: bytes | None) -> bytes:
        if self._context is None:
            # its errors have the codes of Kerberos, and the ticket that it gets stays in the cache; SPNEGO has codes of its own
            _translating(lambda: self._start(_KERBEROS, None), f"the service {self._service}")
        try:
            done = self._start(_SPNEGO, token)
        except raw.GSSError as exc:
            text = _explain(exc)
            raise KerberosFailure(f"Kerberos fails with the service {self._service}: {text}", Problem.REJECTED) from exc
        self._context = done.context
        self.is_proven = not done.more_steps and gssapi.RequirementFlag.mutual_authentication in done.flags
        return bytes(done.token or b"")

    def _start(self, mech_name: str, token: bytes | None) -> Any:
        mech = gssapi.OID.from_int_seq(mech_name)
        return raw.init_sec_context(
            gssapi.Name(self._service, gssapi.NameType.hostbased_service),
            raw.acquire_cred_from({b"ccache": self._cache}, mechs=[mech], usage="initiate").creds,
            context=self._context,
            mech=mech,
            flags=[gssapi.RequirementFlag.mutual_authentication],
            input_token=token,
        )


def make_principal(user: str, domain: str) -> str:
    """Returns the name of an account. A domain without a dot is one of NTLM, and then the default realm counts."""
    return f"{user}@{domain.upper()}" if "." in domain and "@" not in user else user


def _translating(work: Callable[[], T], what: str) -> T:
    try:
        return work()
    except raw.GSSError as exc:
        text = _explain(exc)
        number = (exc.min_code - 2**32 if exc.min_code >= 2**31 else exc.min_code) - _FIRST_CODE
        if number == _NO_KEY:
            text = "the keytab cannot be read, or has no key of it"
        if number in _SKEWED:
            raise KerberosFailure(f"{text}; set the clocks of this machine and the KDC by NTP", Problem.TEMPORARY) from exc
        if number in _REJECTED:
            raise KerberosFailure(f"Kerberos rejects {what} of [[crawl.access]]: {text}", Problem.REJECTED) from exc
        problem = Problem.UNUSABLE if number in _UNUSABLE else Problem.TEMPORARY
        raise KerberosFailure(f"Kerberos has no ticket for {what}: {text}", problem) from exc
    except (UnicodeError, ValueError) as exc:
        raise KerberosFailure(f"Kerberos has no ticket for {what}: the name cannot be written", Problem.UNUSABLE) from exc


def _explain(exc: Any) -> str:
    return "; ".join(status.rstrip("\0") for status in exc.get_all_statuses(exc.min_code, False)) or type(exc).__name__
