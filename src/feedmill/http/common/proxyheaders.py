"""Reads the user that a reverse proxy signed in, from the headers that it adds.

Rules:

1. Headers count if the peer of the connection is in a trusted network. Headers about addresses (``X-Forwarded-For``,
   ``Forwarded``) never make a peer trusted.
2. Values are UTF-8. One header holds the groups, separated by ``|``. User and groups are split into name and domain by the notation
   rules of ``core/access/principals``, once.
3. If a secret is set, the other headers count only if one header holds that secret, once. Other accounts on the proxy's machine then
   cannot name a user. The value of that header is never logged.
4. An ambiguous identity is anonymous: no user, a repeated header, or a value that is not UTF-8. A proxy replaces what the client
   sent. A proxy that only adds to it would let the client choose.
"""

from dataclasses import dataclass, field
from hmac import compare_digest

import structlog
from starlette.types import Scope as HttpScope

from feedmill.core.access.principals import read_subject
from feedmill.core.urls.networks import Networks
from feedmill.model.access import Scope
from feedmill.model.identity import DEFAULT_NAMESPACE, Identity

SEPARATOR = "|"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyTrust:
    """The trusted proxies, and their headers for user and groups; by default no proxy is trusted.

    If ``secret_header`` or ``secret`` is set, a request needs both.
    """

    trusted: Networks = field(default_factory=Networks)
    user_header: str = "X-Forwarded-User"
    groups_header: str = "X-Forwarded-Groups"
    namespace: str = DEFAULT_NAMESPACE
    secret_header: str = ""
    secret: str = field(default="", repr=False)


class _Ambiguous(Exception):
    """A header has no single meaning."""


def read_proxy_identity(scope: HttpScope, trust: ProxyTrust) -> Identity | None:
    """Returns the identity that a trusted proxy sends; None without a trusted proxy or without a user."""
    peer = scope.get("client")
    if not trust.trusted.covers(peer[0] if peer else None):
        return None
    try:
        user = _read_header(scope, trust.user_header).strip()
        groups = _read_header(scope, trust.groups_header)
    except _Ambiguous as exc:
        log.warning("proxy_headers_refused", peer=peer[0] if peer else None, reason=str(exc))
        return None
    if not user:
        return None
    if not _holds_secret(scope, trust):
        log.warning(
            "proxy_headers_refused", peer=peer[0] if peer else None, reason=f"the header {trust.secret_header} does not hold the secret"
        )
        return None
    names = [name for part in groups.split(SEPARATOR) if (name := part.strip())]
    return Identity(
        users=(read_subject(Scope.USER, user, trust.namespace),),
        groups=tuple(dict.fromkeys(read_subject(Scope.GROUP, name, trust.namespace) for name in names)),
    )


def _holds_secret(scope: HttpScope, trust: ProxyTrust) -> bool:
    if not trust.secret_header and not trust.secret:
        return True
    wanted = trust.secret_header.lower().encode()
    values = [value for header, value in scope["headers"] if header.lower() == wanted]
    # Compared in constant time, so that the secret cannot be guessed byte by byte.
    return bool(trust.secret) and len(values) == 1 and compare_digest(values[0], trust.secret.encode())


def _read_header(scope: HttpScope, name: str) -> str:
    wanted = name.lower().encode()
    values = [value for header, value in scope["headers"] if header.lower() == wanted]
    if len(values) > 1:
        raise _Ambiguous(f"the header {name} stands {len(values)} times")
    try:
        return values[0].decode("utf-8") if values else ""
    except UnicodeDecodeError as exc:
        raise _Ambiguous(f"the header {name} is not UTF-8") from exc
