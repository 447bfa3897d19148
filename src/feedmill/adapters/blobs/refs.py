"""References to blobs in a folder: ``p/PACK/OFFSET/LENGTH`` in a pack, ``f/NAME/LENGTH`` in a file of its own.

A name is made here alone and is always a plain file name; whatever else comes as a reference is refused, so that none leads out of
the folder.
"""

import os
import re
import secrets
from dataclasses import dataclass

from feedmill.model.document import BlobRef
from feedmill.model.errors import Corrupt

_NAME = r"[a-z][a-z0-9]{0,23}-[0-9]{1,10}-[0-9a-f]{16}"
_REF = re.compile(rf"p/(?P<pack>{_NAME})/(?P<offset>[0-9]{{1,15}})/(?P<packed>[0-9]{{1,10}})|f/(?P<file>{_NAME})/(?P<single>[0-9]{{1,15}})")
_NAME_ALONE = re.compile(_NAME)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a blob is; ``offset`` None for a file of its own. Units: bytes."""

    name: str
    offset: int | None
    length: int


def new_name(role: str) -> str:
    """Makes a name that no other process makes; role and process id tell an operator whose it is."""
    kept = "".join(sign for sign in role.lower() if sign.isascii() and sign.isalnum())[:24]
    return f"{kept if kept[:1].isalpha() else 'any'}-{os.getpid()}-{secrets.token_hex(8)}"


def is_name(text: str) -> bool:
    """Whether a text is a name as made here."""
    return _NAME_ALONE.fullmatch(text) is not None


def packed_ref(name: str, offset: int, length: int) -> BlobRef:
    """Returns the reference of a blob in a pack."""
    return BlobRef(f"p/{name}/{offset}/{length}")


def single_ref(name: str, length: int) -> BlobRef:
    """Returns the reference of a blob in a file of its own."""
    return BlobRef(f"f/{name}/{length}")


def parse_ref(ref: str) -> Place:
    """Reads a reference. Errors: Corrupt, for one that was not made here."""
    found = _REF.fullmatch(ref)
    if found is None:
        raise Corrupt(f"'{ref[:100]}' is no blob reference")
    if found["file"] is not None:
        return Place(found["file"], None, int(found["single"]))
    return Place(found["pack"], int(found["offset"]), int(found["packed"]))
