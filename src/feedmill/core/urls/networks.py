"""Lists of trusted peers: single addresses, networks, or all addresses.

An IPv4 address over an IPv6 socket (``::ffff:10.0.0.1``) counts as the IPv4 address. An IPv6 zone (``fe80::1%eth0``) is ignored.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, collapse_addresses, ip_address, ip_interface, ip_network
from typing import Self

from feedmill.model.errors import BadRequest

Network = IPv4Network | IPv6Network

EVERYBODY = "all"
"""The word that means every address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Networks:
    """A list of networks; an empty one trusts no peer."""

    networks: tuple[Network, ...] = ()
    everybody: bool = False

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Self:
        """Parses addresses, networks (``10.0.0.0/8``, ``10.0.0.0/255.0.0.0``) or the word ``all``. Errors: BadRequest."""
        listed = tuple(texts)
        networks = tuple(parse_network(text) for text in listed if text != EVERYBODY)
        return cls(networks=networks, everybody=EVERYBODY in listed)

    @property
    def covers_everybody(self) -> bool:
        """Whether every IPv4 or every IPv6 address is in the list, in one network or in several together."""
        four = collapse_addresses(each for each in self.networks if isinstance(each, IPv4Network))
        six = collapse_addresses(each for each in self.networks if isinstance(each, IPv6Network))
        return self.everybody or any(each.prefixlen == 0 for each in four) or any(each.prefixlen == 0 for each in six)

    def covers(self, address: str | None) -> bool:
        """Whether a peer's address is in the list. A text that is no address is covered only by ``all``."""
        if self.everybody:
            return True
        peer = _parse_peer(address)
        return peer is not None and any(peer in network for network in self.networks)


def parse_network(text: str) -> Network:
    """Parses one address or network. Errors: BadRequest, also for a network whose address has bits beyond its mask."""
    try:
        return ip_network(text)
    except ValueError as exc:
        raise BadRequest(_explain(text)) from exc


_WILDCARDS = re.compile(r"(?:[0-9]{1,3}\.){1,3}\*(?:\.\*){0,2}")


def parse_allowed(texts: Iterable[str]) -> Networks:
    """Parses addresses and networks as Thunderstone's appliance writes them: also ``10.1.2.*``, and a host with its mask.

    Errors: BadRequest.
    """
    return Networks(networks=tuple(_parse_allowed(text.strip()) for text in texts))


def _parse_allowed(text: str) -> Network:
    if _WILDCARDS.fullmatch(text):
        octets = text.replace("*", "").strip(".").split(".")
        text = f"{'.'.join([*octets, *['0'] * (4 - len(octets))])}/{8 * len(octets)}"
    try:
        return ip_network(text, strict=False)
    except ValueError as exc:
        raise BadRequest(f"'{text}' is no address, no network and no address with '*' in its last places") from exc


def _explain(text: str) -> str:
    try:
        network = ip_interface(text).network
    except ValueError:
        return f"'{text}' is no address, no network and not the word 'all'"
    return f"'{text}' has bits beyond its mask, the network is '{network}'"


# each request asks for the address of its client several times, and the next one has the same
@lru_cache(maxsize=1_024)
def _parse_peer(address: str | None) -> IPv4Address | IPv6Address | None:
    try:
        peer = ip_address((address or "").partition("%")[0])
    except ValueError:
        return None
    mapped = peer.ipv4_mapped if isinstance(peer, IPv6Address) else None
    return mapped or peer


def name_network(address: str) -> str:
    """Returns the unit by which clients are counted: an IPv4 address, or the /64 network that an IPv6 host chooses its addresses from.

    A text that is no address is returned unchanged.
    """
    peer = _parse_peer(address)
    if peer is None:
        return address
    return str(ip_network((peer, 64), strict=False)) if isinstance(peer, IPv6Address) else str(peer)


LOOPBACK = Networks.parse(("127.0.0.0/8", "::1"))
"""The addresses of this machine only."""
