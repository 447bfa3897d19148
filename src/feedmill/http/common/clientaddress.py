"""Finds the address of a request's client, for the count of wrong passwords and for the audit log.

The peer of the connection is the client, unless the settings name the peer as a proxy. Then a header names the client. Each proxy
appends the address that it saw, so the last address that is not one of our proxies is the client's. The client may have written the
addresses before it. Nothing else depends on this header: it never makes a peer trusted.
"""

from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final

from starlette.datastructures import Headers
from starlette.types import Scope

from feedmill.core.urls.networks import Networks

MAX_HOPS: Final = 20


@dataclass(frozen=True, slots=True)
class Client:
    """The origin of a request. ``is_shared``: many people use this address and cannot be distinguished."""

    address: str
    is_shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """Finds clients. ``proxies`` name their client in ``header``. Each peer in ``shared`` stands for many people."""

    proxies: Networks = field(default_factory=Networks)
    header: str = "X-Forwarded-For"
    shared: Networks = field(default_factory=Networks)

    def find_client(self, scope: Scope) -> Client:
        """Returns the client of a request."""
        peer = scope.get("client")
        address = str(peer[0]) if peer else ""
        if not self.proxies.covers(address):
            return Client(address, self.shared.covers(address))
        listed = ",".join(Headers(scope=scope).getlist(self.header)).split(",")
        for hop in reversed(listed[-MAX_HOPS:]):
            named = _read_address(hop)
            if not named:
                break
            if not self.proxies.covers(named):
                return Client(named)
        return Client(address, is_shared=True)


def _read_address(text: str) -> str:
    """Returns the address in a text as proxies write it, with or without a port; "" if there is none."""
    word = text.strip().strip('"')
    bare = word[1:].partition("]")[0] if word.startswith("[") else word.partition(":")[0] if word.count(":") == 1 else word
    try:
        return str(ip_address(bare.partition("%")[0]))
    except ValueError:
        return ""
