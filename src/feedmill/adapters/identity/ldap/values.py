"""Values for an LDAP filter, and values of an entry."""

import struct
import warnings

with warnings.catch_warnings():
    # the library uses names of pyasn1 that have newer ones
    warnings.simplefilter("ignore", DeprecationWarning)
    from ldap3.utils.conv import escape_filter_chars


def fill_filter(template: str, **values: str) -> str:
    """Inserts values into a filter, escaped, so that each is only a value. Source: RFC 4515, section 3."""
    filled = template
    # all values are inserted in one pass, so a placeholder within a value stays as it is
    parts = {name: escape_filter_chars(value) for name, value in values.items()}
    pieces: list[str] = []
    while filled:
        before, found, rest = filled.partition("{")
        pieces.append(before)
        name, closed, behind = rest.partition("}")
        if found and closed and name in parts:
            pieces.append(parts[name])
            filled = behind
        elif found:
            pieces.append(found)
            filled = rest
        else:
            break
    return "".join(pieces)


def primary_group_of(attributes: dict[str, list[bytes]]) -> bytes:
    """Returns the SID of the group that Active Directory names by number instead of as a member; empty if there is none."""
    sid, number = first_value(attributes, "objectSid"), first_value(attributes, "primaryGroupID")
    if len(sid) < 12 or not number.isdigit() or int(number) >= 1 << 32:
        return b""
    return sid[:-4] + struct.pack("<I", int(number))


def first_value(attributes: dict[str, list[bytes]], wanted: str) -> bytes:
    """Returns the first value of an attribute, empty if there is none."""
    for name, values in attributes.items():
        if name.lower() == wanted.lower() and values:
            return bytes(values[0])
    return b""


def first_text(attributes: dict[str, list[bytes]], wanted: str) -> str:
    """Returns the first value of an attribute as text, "" if there is none."""
    try:
        return first_value(attributes, wanted).decode("utf-8").strip()
    except UnicodeDecodeError:
        return ""


def escape_bytes(value: bytes) -> str:
    """Returns bytes as the value of a filter."""
    return "".join(f"\\{byte:02x}" for byte in value)
