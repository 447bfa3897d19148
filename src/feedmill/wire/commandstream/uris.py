"""Checks URIs as ``java.net.URI`` does.

The class follows RFC 2396 with the deviations of its documentation: IPv6 literals (RFC 2732), an empty authority before a path, a query or
a fragment, and "other" characters, which are all characters beyond ASCII except spaces and control characters.

Source: RFC 2396, appendix A; the documentation of ``java.net.URI``, "Deviations from RFC 2396".
"""

import re

_SPACES = r"\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_ESCAPED_OR_OTHER = rf"%[0-9A-Fa-f]{{2}}|[^\x00-\x9f{_SPACES}]"
_UNRESERVED = r"A-Za-z0-9\-_.!~*'()"


def _any_of(marks: str) -> str:
    """Returns the pattern of any number of unreserved, escaped, "other" and these characters."""
    return rf"(?:[{_UNRESERVED}{marks}]|{_ESCAPED_OR_OTHER})*+"


_URIC = _any_of(r";/?:@&=+$,\[\]")
_PATH = _any_of(";/:@&=+$,")
_REGISTRY_NAME = _any_of("$,;:@&=+")
_USER_INFO = _any_of(";:&=+$,")

_OPAQUE = re.compile(rf"{_URIC}")
_QUERY_AND_FRAGMENT = re.compile(rf"{_PATH}(?:\?{_URIC})?(?:#{_URIC})?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+\-.]*")
# the colon of a scheme stands before any of the other three
_BEFORE_COLON = re.compile(r"([^:/?#]*):(.*)", re.DOTALL)
_AUTHORITY = re.compile(r"//([^/?#]*)(.*)", re.DOTALL)

_REGISTRY = re.compile(_REGISTRY_NAME)
_SERVER = re.compile(rf"(?:{_USER_INFO}@)?\[([^\]%]+)(?:%[A-Za-z0-9_.]+)?\](?::([0-9]*))?")
_DIGITS = re.compile(r"[0-9]+")
_HEX_GROUP = re.compile(r"[0-9A-Fa-f]{1,4}")
_MAX_PORT = 2**31 - 1


def is_uri(text: str) -> bool:
    """Returns whether ``new URI(text)`` accepts a text; the empty text is a relative reference."""
    before = _BEFORE_COLON.match(text)
    if before is None:
        return _is_hierarchical(text)
    scheme, rest = before.groups()
    if not _SCHEME.fullmatch(scheme):
        return False
    if rest.startswith("/"):
        return _is_hierarchical(rest)
    opaque, hash_sign, fragment = rest.partition("#")
    return bool(opaque) and bool(_OPAQUE.fullmatch(opaque)) and bool(_OPAQUE.fullmatch(fragment) if hash_sign else True)


def _is_hierarchical(text: str) -> bool:
    found = _AUTHORITY.match(text)
    if found is not None:
        authority, text = found.groups()
        if not _is_authority(authority) if authority else not text:
            return False
    return _QUERY_AND_FRAGMENT.fullmatch(text) is not None


def _is_authority(text: str) -> bool:
    """Returns whether a text is a server or a registry-based name. Everything but an IPv6 literal is also a registry-based name."""
    if _REGISTRY.fullmatch(text):
        return True
    server = _SERVER.fullmatch(text)
    if server is None:
        return False
    address, port = server.groups()
    return _is_ipv6(address) and _is_at_most(port or "", _MAX_PORT)


def _is_ipv6(text: str) -> bool:
    head, compressed, tail = text.partition("::")
    if not compressed:
        # the last four bytes may be written as IPv4, the others not
        return _count_bytes(head) == 16
    before, after = (_count_bytes(part) if part else 0 for part in (head, tail))
    return before is not None and after is not None and "." not in head and before + after < 16


def _count_bytes(text: str) -> int | None:
    """Returns the bytes of groups of an IPv6 address, of which the last may be an IPv4 address; None for other texts."""
    *groups, last = text.split(":")
    if not all(map(_HEX_GROUP.fullmatch, groups)):
        return None
    if _HEX_GROUP.fullmatch(last):
        return 2 * len(groups) + 2
    return 2 * len(groups) + 4 if _is_ipv4(last) else None


def _is_ipv4(text: str) -> bool:
    parts = text.split(".")
    return len(parts) == 4 and all(map(_DIGITS.fullmatch, parts)) and all(_is_at_most(part, 255) for part in parts)


def _is_at_most(digits: str, largest: int) -> bool:
    """Returns whether the number of any count of digits is small enough; none are 0."""
    significant = digits.lstrip("0")
    return len(significant) <= 10 and int(significant or "0") <= largest
