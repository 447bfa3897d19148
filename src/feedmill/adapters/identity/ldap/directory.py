"""Authenticates users by an LDAP directory, such as OpenLDAP or Active Directory: find the entry, bind as it, look up its groups.

- A typed login reaches the directory as the value of a filter, escaped. It is never part of a name or of the filter's structure.
- An empty password is never sent: a bind without one succeeds as an anonymous bind (RFC 4513, section 5.1.2).
- Exactly one entry must be found. Referrals are not followed, because they could lead the password to another server.
- The user's name comes from the entry, never from the typed login: an attribute that users can edit may have matched it.
- Servers are tried in order. One that does not respond in time costs its time once a request, and all requests together a bounded one.
Source: RFC 4511, RFC 4513, RFC 4515; Microsoft, "[MS-ADTS]", 3.1.1.4.5.19 (tokenGroups, primaryGroupID).
"""

import math
import ssl
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import structlog

with warnings.catch_warnings():
    # the library uses names of pyasn1 that have newer ones
    warnings.simplefilter("ignore", DeprecationWarning)
    from ldap3 import NONE, SUBTREE, Connection, Server, Tls
    from ldap3.core.exceptions import (
        LDAPBusyResult,
        LDAPConfidentialityRequiredResult,
        LDAPException,
        LDAPOperationResult,
        LDAPSizeLimitExceededResult,
        LDAPStrongerAuthRequiredResult,
        LDAPUnavailableResult,
    )

import os
import socket
import threading
from contextlib import suppress
from typing import Self

from pyasn1.error import PyAsn1Error

from feedmill.adapters.identity.ldap.values import escape_bytes, fill_filter, first_text, primary_group_of
from feedmill.core.access.folding import fold
from feedmill.core.access.principals import shorten_domain, split_name
from feedmill.core.access.userroles import RoleRules
from feedmill.model.access import Scope
from feedmill.model.errors import Busy
from feedmill.model.identity import Subject
from feedmill.model.signin import Credential

MAX_GROUPS = 20_000
MAX_DEPTH = 20
FILTERS_AT_ONCE = 50
ANSWERS_AT_MOST = 12
"""The total time limit, as a multiple of the limit of one response, so that a server that drips is given up."""
_UNREADABLE = (PyAsn1Error, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""The library's errors for a server that sends something other than LDAP."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LdapOptions:
    """The options of one directory. Shape: ``{login}`` in a filter is the typed login, ``{name}`` the same without a domain (in
    ``group_filter`` the name that was found, because some servers compare it letter by letter), ``{dn}`` the entry found.
    """

    name: str
    namespace: str
    urls: tuple[str, ...]
    user_base: str
    group_base: str = ""
    user_filter: str = "(uid={name})"
    group_filter: str = "(|(member={dn})(uniqueMember={dn})(memberUid={name}))"
    name_attribute: str = "uid"
    group_attribute: str = "cn"
    bind_dn: str = ""
    password: str = field(default="", repr=False)
    start_tls: bool = True
    ca_file: str = ""
    domain: str = ""
    nested: bool = True
    timeout_seconds: float = 5.0
    roles: RoleRules = field(default_factory=RoleRules)


class Watchdog:
    """Shuts the connections of a block when the time for the whole exchange is over. Units: seconds.

    The timeouts of the LDAP library restart with every piece that arrives, so a server that drips its response would hold them for ever.
    """

    def __init__(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._shut)
        self._timer.daemon = True
        self._held: list[socket.socket] = []
        self._lock = threading.Lock()
        self.is_over = False

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._timer.cancel()
        with self._lock:
            for held in self._held:
                held.close()
            self._held.clear()

    def hold(self, sock: socket.socket) -> None:
        """Watches a connection by a descriptor of its own, since TLS takes the socket over."""
        with self._lock:
            self._held.append(socket.socket(fileno=os.dup(sock.fileno())))
        if self.is_over:
            self._shut()

    def _shut(self) -> None:
        self.is_over = True
        with self._lock:
            for held in self._held:
                with suppress(OSError):
                    held.shutdown(socket.SHUT_RDWR)


@dataclass(frozen=True, slots=True)
class _Endpoint:
    server: Server
    watchdog: Watchdog


@dataclass(frozen=True, slots=True)
class _Found:
    dn: str
    name: str
    primary_group: bytes


class _CheckedTls(Tls):  # type: ignore[misc]  # ldap3 has no types
    """TLS with Python's own defaults: the certificate's chain and its name are checked before anything is sent."""

    def __init__(self, ca_file: str, timeout_seconds: float) -> None:
        super().__init__(validate=ssl.CERT_REQUIRED)
        self._context = ssl.create_default_context(cafile=ca_file or None)
        self._timeout_seconds = timeout_seconds

    def wrap_socket(self, connection: Connection, do_handshake: bool = False) -> None:
        """Starts TLS on a connection's socket."""
        with Watchdog(self._timeout_seconds) as watchdog:
            watchdog.hold(connection.socket)
            connection.socket = self._context.wrap_socket(
                connection.socket, server_hostname=connection.server.host, do_handshake_on_connect=do_handshake
            )


class LdapDirectory:
    """Implements ``ports.signin.Directory``. Several threads may use it."""

    def __init__(self, options: LdapOptions) -> None:
        self.name, self.namespace = options.name, options.namespace
        self._options = options
        tls = _CheckedTls(options.ca_file, options.timeout_seconds)
        self._servers = [Server(url, get_info=NONE, connect_timeout=options.timeout_seconds, tls=tls) for url in options.urls]

    def verify(self, name: str, password: str) -> Credential | None:
        """Returns the credential of a user, None if name or password is wrong. Errors: Busy."""
        bare, domain = split_name(name.strip())
        if not password or not bare.strip() or not self._is_ours(domain):
            return None
        last: Exception | None = None
        for server in self._servers:
            try:
                with Watchdog(self._options.timeout_seconds * ANSWERS_AT_MOST) as watchdog:
                    return self._verify_at(_Endpoint(server, watchdog), bare.strip(), name.strip(), password)
            except (LDAPException, OSError, *_UNREADABLE) as exc:
                if not _is_trouble(exc):
                    raise Busy(f"the directory {self.name} refuses searches: {_explain(exc)}") from exc
                last = exc
                log.warning("directory_server_unanswered", directory=self.name, server=str(server.name), reason=_explain(exc))
        raise Busy(f"no server of the directory {self.name} answers: {_explain(last)}") from last

    def _is_ours(self, domain: str) -> bool:
        """Returns whether a typed domain is the directory's. Filters that use the whole login decide by themselves."""
        own = self._options.domain
        if not domain or "{login}" in self._options.user_filter:
            return True
        return bool(own) and fold(domain) in (fold(own), fold(shorten_domain(own)))

    def _verify_at(self, endpoint: _Endpoint, name: str, login: str, password: str) -> Credential | None:
        with self._connected(endpoint, self._options.bind_dn, self._options.password) as searching:
            found = self._find_entry(searching, name, login)
            if found is None or not self._is_password(endpoint, found.dn, password):
                return None
            groups = self._list_groups(searching, found, login) if self._options.group_base else ()
        domain, namespace = self._options.domain, self.namespace
        subjects = tuple(Subject(scope=Scope.GROUP, name=group, domain=domain, namespace=namespace) for group in groups)
        return Credential(
            provider=f"ldap:{self.name}",
            user=Subject(scope=Scope.USER, name=found.name, domain=domain, namespace=namespace),
            groups=subjects,
            role=self._options.roles.find_role(subjects),
        )

    @contextmanager
    def _connected(self, endpoint: _Endpoint, dn: str, password: str) -> Iterator[Connection]:
        connection = Connection(
            endpoint.server,
            user=dn or None,
            password=password or None,
            receive_timeout=math.ceil(self._options.timeout_seconds),
            auto_referrals=False,
            read_only=True,
            raise_exceptions=True,
            check_names=False,
        )
        try:
            connection.open()
            endpoint.watchdog.hold(connection.socket)
            if self._options.start_tls and not endpoint.server.ssl:
                connection.start_tls()
            connection.bind()
            yield connection
        finally:
            _close_connection(connection)

    def _is_password(self, endpoint: _Endpoint, dn: str, password: str) -> bool:
        try:
            with self._connected(endpoint, dn, password):
                return True
        except (LDAPBusyResult, LDAPUnavailableResult, LDAPConfidentialityRequiredResult, LDAPStrongerAuthRequiredResult):
            raise
        except LDAPOperationResult:
            # wrong, expired, locked: the directory does not let this user in now
            return False

    def _find_entry(self, connection: Connection, name: str, login: str) -> _Found | None:
        filters = fill_filter(self._options.user_filter, name=name, login=login)
        wanted = [self._options.name_attribute, "objectSid", "primaryGroupID"]
        entries = self._search(connection, self._options.user_base, filters, wanted, limit=2)
        if len(entries) != 1:
            if entries:
                log.warning("directory_name_ambiguous", directory=self.name, name=name[:200])
            return None
        dn, attributes = entries[0]
        held = first_text(attributes, self._options.name_attribute)
        if not held:
            raise Busy(f"the entry {dn[:200]!a} of the directory {self.name} has no {self._options.name_attribute} that may be read")
        return _Found(dn, held, primary_group_of(attributes))

    def _list_groups(self, connection: Connection, found: _Found, login: str) -> tuple[str, ...]:
        """Lists the groups of an entry and their parent groups, by name in the order found. Errors: Busy for too many."""
        known: dict[str, str] = {}
        filters = [fill_filter(self._options.group_filter, name=found.name, login=login, dn=found.dn)]
        if found.primary_group:
            filters.append(f"(objectSid={escape_bytes(found.primary_group)})")
        for _ in range(MAX_DEPTH):
            fresh = self._search_groups(connection, filters, known)
            if not fresh or not self._options.nested:
                break
            filters = [fill_filter("(|(member={dn})(uniqueMember={dn}))", dn=dn) for dn in fresh]
        return tuple(dict.fromkeys(group for group in known.values() if group))

    def _search_groups(self, connection: Connection, filters: Sequence[str], known: dict[str, str]) -> list[str]:
        fresh: list[str] = []
        for start in range(0, len(filters), FILTERS_AT_ONCE):
            together = f"(|{''.join(filters[start : start + FILTERS_AT_ONCE])})"
            for dn, attributes in self._search(connection, self._options.group_base, together, [self._options.group_attribute], limit=0):
                if dn not in known:
                    known[dn] = first_text(attributes, self._options.group_attribute)
                    fresh.append(dn)
            if len(known) > MAX_GROUPS:
                raise Busy(f"a user of the directory {self.name} is in more than {MAX_GROUPS} groups")
        return fresh

    def _search(
        self, connection: Connection, base: str, filters: str, attributes: Sequence[str], *, limit: int
    ) -> list[tuple[str, dict[str, list[bytes]]]]:
        try:
            found = connection.extend.standard.paged_search(
                base, filters, SUBTREE, attributes=list(attributes), paged_size=500, generator=True, size_limit=0
            )
            entries: list[tuple[str, dict[str, list[bytes]]]] = []
            for entry in found:
                if entry.get("type") == "searchResEntry":
                    entries.append((str(entry["dn"]), dict(entry["raw_attributes"])))
                if limit and len(entries) >= limit:
                    break
        except LDAPSizeLimitExceededResult as exc:
            # a shortened list of groups could lack one that is denied access
            raise Busy(f"the directory {self.name} returns a part of the groups only; raise its size limit") from exc
        return entries


def _is_trouble(exc: Exception) -> bool:
    """Returns whether another server may succeed: this one is unreachable or reports that it is busy."""
    return not isinstance(exc, LDAPOperationResult) or isinstance(exc, (LDAPBusyResult, LDAPUnavailableResult))


def _explain(exc: Exception | None) -> str:
    kind = f"{type(exc).__name__}: " if isinstance(exc, _UNREADABLE) else ""
    return (kind + str(exc) or type(exc).__name__)[:300]


def _close_connection(connection: Connection) -> None:
    held = connection.socket
    try:
        connection.unbind()
    except (LDAPException, OSError):
        log.debug("directory_connection_gone")
    if held is not None:
        held.close()  # unbinding does not close a connection that was never established
