"""Decides which addresses belong to the public internet: those in no special-purpose registry.

1. Every block of the registries is special, including those that are reachable globally (anycast of AS112 and AMT), since they serve no
   documents. Python's own ``is_global`` differs from release to release.
2. Of IPv6 only ``2000::/3`` is assigned as global unicast; everything else is special, known or not.
3. An IPv6 address that represents an IPv4 one (mapped, NAT64 with the well-known prefix, 6to4) is judged by that one. Teredo is always
   special, and so are the NAT64 prefixes of a site.
Source: IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890), RFC 5771 and RFC 4291 for multicast, RFC 3879 for site-local.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

SPECIAL_IPV4: Final = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private use
        "100.64.0.0/10",  # shared address space of providers
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link local; services of clouds
        "172.16.0.0/12",  # private use
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays, deprecated
        "192.168.0.0/16",  # private use
        "192.175.48.0/24",  # AS112, direct delegation
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and limited broadcast
    )
)

SPECIAL_IPV6: Final = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments: Teredo, benchmarking, AMT, AS112, ORCHID, drone remote identification
        "2001:db8::/32",  # documentation
        "2620:4f:8000::/48",  # AS112, direct delegation
        "3fff::/20",  # documentation
    )
)
"""The special blocks inside of ``2000::/3``. Everything outside of it is special anyway: ``::/128``, ``::1/128``, IPv4-compatible
``::/96``, ``64:ff9b:1::/48``, ``100::/64``, ``100:0:0:1::/64``, ``5f00::/16``, ``fc00::/7``, ``fe80::/10``, ``fec0::/10``, ``ff00::/8``.
"""

_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_LAST_32_BITS: Final = 0xFFFFFFFF


def is_public(address: str) -> bool:
    """Whether a text is an address of the public internet. An IPv6 zone is ignored."""
    try:
        peer = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(peer, IPv6Address):
        inner = _find_inner(peer)
        if inner is None:
            return peer in _GLOBAL_UNICAST and not any(peer in block for block in SPECIAL_IPV6)
        peer = inner
    return not any(peer in block for block in SPECIAL_IPV4)


def _find_inner(peer: IPv6Address) -> IPv4Address | None:
    """Returns the IPv4 address that an IPv6 one represents, None if there is none."""
    if peer in _NAT64:
        return IPv4Address(int(peer) & _LAST_32_BITS)
    return peer.ipv4_mapped or peer.sixtofour
