"""Reads security descriptors of Windows: which accounts may read a file.

1. Entries are read in their order, as Windows does. For one account the first entry that decides on reading counts.
2. A permit counts if it includes reading the data; a denial counts if it includes any of that.
3. Entries that only files below inherit do not count, and neither do permits with a condition. A denial with a condition counts.
4. A descriptor without a DACL permits everyone; one whose DACL is empty permits no user.
Source: MS-DTYP, 2.4.2 (SID), 2.4.4 (ACE), 2.4.5 (ACL), 2.4.6 (SECURITY_DESCRIPTOR), 2.5.3.2 (access check).
"""

import struct
from dataclasses import dataclass
from typing import Final

EVERYONE: Final = "S-1-1-0"

_SELF_RELATIVE: Final = 0x8000
_DACL_PRESENT: Final = 0x0004
_INHERIT_ONLY: Final = 0x08
_FILE_READ_DATA: Final = 0x00000001
_GENERIC_READ: Final = 0x80000000
_GENERIC_ALL: Final = 0x10000000
_READING: Final = _FILE_READ_DATA | _GENERIC_READ | _GENERIC_ALL
_MAX_SUBAUTHORITIES: Final = 15
_SID_OFFSETS_BY_OBJECT: Final = (0, 16, 16, 32)

_PERMIT: Final = 0x00
_DENY: Final = 0x01
_DENY_OBJECT: Final = 0x06
_DENY_CALLBACK: Final = 0x0A
_DENY_CALLBACK_OBJECT: Final = 0x0C
_WITH_OBJECT: Final = (_DENY_OBJECT, _DENY_CALLBACK_OBJECT)
_DENIALS: Final = (_DENY, _DENY_OBJECT, _DENY_CALLBACK, _DENY_CALLBACK_OBJECT)


class UnreadableDescriptor(ValueError):
    """A descriptor whose bytes do not say what they should."""


@dataclass(frozen=True, slots=True)
class Readers:
    """Who may read, by security identifiers (``S-1-5-...``): those permitted, and those denied whatever else permits them."""

    permitted: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()


def parse_readers(raw: bytes) -> Readers:
    """Returns who may read what a self-relative descriptor protects. Errors: UnreadableDescriptor."""
    try:
        revision, _, control, _, _, _, offset = struct.unpack_from("<BBHIIII", raw)
        if revision != 1 or not control & _SELF_RELATIVE:
            raise UnreadableDescriptor("it is no self-relative security descriptor")
        if not control & _DACL_PRESENT or offset == 0:
            return Readers(permitted=(EVERYONE,))
        return _read_dacl(raw[offset:])
    except struct.error as exc:
        raise UnreadableDescriptor("it ends too early") from exc


def _read_dacl(raw: bytes) -> Readers:
    _, _, size, count, _ = struct.unpack_from("<BBHHH", raw)
    decided: dict[str, bool] = {}
    at = 8
    for _ in range(count):
        kind, flags, length = struct.unpack_from("<BBH", raw, at)
        if length < 8 or at + length > min(size, len(raw)):
            raise UnreadableDescriptor("an entry is longer than its list")
        (mask,) = struct.unpack_from("<I", raw, at + 4)
        if (kind == _PERMIT or kind in _DENIALS) and mask & _READING and not flags & _INHERIT_ONLY:
            place = at + 8
            if kind in _WITH_OBJECT:
                (objects,) = struct.unpack_from("<I", raw, place)
                place += 4 + _SID_OFFSETS_BY_OBJECT[objects & 3]
            decided.setdefault(parse_sid(raw[place : at + length]), kind == _PERMIT)
        at += length
    return Readers(
        permitted=tuple(sid for sid, permits in decided.items() if permits),
        denied=tuple(sid for sid, permits in decided.items() if not permits),
    )


def parse_sid(raw: bytes) -> str:
    """Returns a security identifier in its written form. Errors: UnreadableDescriptor."""
    if len(raw) < 8 or raw[0] != 1 or raw[1] > _MAX_SUBAUTHORITIES or len(raw) < 8 + 4 * raw[1]:
        raise UnreadableDescriptor("it has a security identifier that cannot be read")
    parts = struct.unpack_from(f"<{raw[1]}I", raw, 8)
    return "-".join(["S-1", str(int.from_bytes(raw[2:8], "big")), *map(str, parts)])


def write_sid(sid: str) -> bytes:
    """Returns the bytes of a security identifier. Shape: one that ``parse_sid`` returned."""
    authority, *parts = map(int, sid.split("-")[2:])
    return bytes([1, len(parts)]) + authority.to_bytes(6, "big") + struct.pack(f"<{len(parts)}I", *parts)
