"""From which address a request comes, for counting wrong passwords and for the audit log.

The peer of the connection is the client, unless it is a proxy that the settings name: then a header says whom it speaks for. Each proxy on
the way adds the address that it saw at the end, so the last one that is no proxy of ours is the client; what stands before it the client
may have written himself. Nothing else is ever decided by that header: it makes nobody trusted.
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
    """Where a request comes from. ``is_shared``: many people come from there, who cannot be told apart."""

    address: str
    is_shared: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Clients:
    """Finds clients. ``proxies`` tell by ``header`` whom they speak for; of ``shared`` peers it is only known that they speak for many."""

    proxies: Networks = field(default_factory=Networks)
    header: str = "X-Forwarded-For"
    shared: Networks = field(default_factory=Networks)

    def find(self, scope: Scope) -> Client:
        """Finds the client of a request."""
        peer = scope.get("client")
        address = str(peer[0]) if peer else ""
        if not self.proxies.covers(address):
            return Client(address, self.shared.covers(address))
        told = ",".join(Headers(scope=scope).getlist(self.header)).split(",")
        for hop in reversed(told[-MAX_HOPS:]):
            named = _read_address(hop)
            if not named:
                break
            if not self.proxies.covers(named):
                return Client(named)
        return Client(address, is_shared=True)


def _read_address(text: str) -> str:
    """Reads one address as proxies write it, with or without a port; "" for what is none."""
    word = text.strip().strip('"')
    bare = word[1:].partition("]")[0] if word.startswith("[") else word.partition(":")[0] if word.count(":") == 1 else word
    try:
        return str(ip_address(bare.partition("%")[0]))
    except ValueError:
        return ""
