"""Defines which host names a port answers to, as a protection against DNS rebinding.

A web page of another site can make its own name resolve to this machine. The browser then takes this server for the page's own site and
lets the page read the responses. The name in ``Host`` is still that of the other site, so a port answers only to names that it knows.

- An IP literal is always accepted: no page can make a browser send one that differs from the address it was loaded from.
- A name is compared in lower case and in ASCII (an internationalized one in its ``xn--`` form), without port and without one final dot.
- ``*.example.com`` means every name below example.com, but not example.com itself; ``*`` means every name.

Source: RFC 9110, section 7.2; RFC 3986, section 3.2.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Final

from feedmill.model.errors import BadRequest

ANY: Final = "*"
LOCALHOST: Final = "localhost"

_AUTHORITY = re.compile(r"(?P<host>\[[^\[\]]*\]|[^\[\]:@/?#\\\s]+)(?::(?P<port>[0-9]*))?")
# wider than DNS: a label may contain _, as names of Windows machines do
_NAME = re.compile(r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")
_LONGEST_NAME: Final = 253
_LARGEST_PORT: Final = 65_535


@dataclass(frozen=True, slots=True)
class HostNames:
    """The names that a port answers to. Shape: whole names, ends of names with their first dot, both normalized."""

    names: frozenset[str] = frozenset()
    suffixes: tuple[str, ...] = ()
    takes_any: bool = False

    @classmethod
    def parse(cls, entries: Iterable[str]) -> "HostNames":
        """Returns the names that settings entries stand for. Errors: BadRequest."""
        listed = [normalize_entry(entry) for entry in entries]
        return cls(
            names=frozenset(entry for entry in listed if not entry.startswith(ANY)),
            suffixes=tuple(entry.removeprefix(ANY) for entry in listed if entry.startswith(f"{ANY}.")),
            takes_any=ANY in listed,
        )

    def covers(self, authority: str) -> bool:
        """Whether the port answers to a ``Host``, with or without a port. False for a malformed one."""
        # the memory of the cache depends on the length of what a client sends
        read = _read_authority if len(authority) <= _LONGEST_NAME else _read_authority.__wrapped__
        host, is_literal = read(authority)
        if host is None:
            return False
        return self.takes_any or is_literal or host in self.names or host.endswith(self.suffixes)


@lru_cache(maxsize=100)
def _read_authority(authority: str) -> tuple[str | None, bool]:
    """Returns the host, and whether it is an IP literal. Every request has one, mostly the same."""
    host = find_host(authority)
    return host, host is not None and is_address(host)


def find_host(authority: str) -> str | None:
    """Returns the normalized host of a ``Host`` header, None if it is malformed. Shape: an IPv6 address has no brackets."""
    found = _AUTHORITY.fullmatch(authority.strip(" \t"))
    if found is None or (found["port"] and (len(found["port"]) > 5 or int(found["port"]) > _LARGEST_PORT)):
        return None
    host = found["host"]
    if host.startswith("["):
        return host[1:-1].lower() if _is_ipv6(host[1:-1]) else None
    return _normalize_name(host)


def normalize_entry(text: str) -> str:
    """Returns a settings entry in the form that is compared. Errors: BadRequest."""
    entry = text.strip()
    if entry == ANY:
        return entry
    prefix = f"{ANY}." if entry.startswith(f"{ANY}.") else ""
    bare = entry.removeprefix(prefix)
    host = bare.lower() if _is_ipv6(bare) else find_host(bare)
    if host is None or (":" in bare and not _is_ipv6(bare) and not bare.endswith("]")) or (prefix and is_address(host)):
        raise BadRequest(f"'{text}' is no host name; give the name alone, such as search.example.com or *.example.com, or * for every name")
    return prefix + host


def is_address(host: str) -> bool:
    """Whether a host is an IP literal."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


def _normalize_name(host: str) -> str | None:
    name = host.lower().removesuffix(".")
    if not name.isascii():
        try:
            name = name.encode("idna").decode("ascii")
        except UnicodeError:
            return None
    return name if len(name) <= _LONGEST_NAME and _NAME.fullmatch(name) else None
