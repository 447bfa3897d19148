"""References to blobs in a folder: ``p/PACK/OFFSET/LENGTH`` in a pack, ``f/NAME/LENGTH`` in a file of its own.

Only this module makes names, and each is a plain file name. Any other text is refused as a reference, so that none leads out of
the folder.
"""

import os
import re
import secrets

from feedmill.model.document import BlobRef
from feedmill.model.errors import Corrupt
from feedmill.model.lightdataclass import light_dataclass

# Role, process id, 64 random bits. No slash and no dot, so a name cannot lead out of its folder.
_NAME = r"[a-z][a-z0-9]{0,23}-[0-9]{1,10}-[0-9a-f]{16}"
_REF = re.compile(rf"p/(?P<pack>{_NAME})/(?P<offset>[0-9]{{1,15}})/(?P<packed>[0-9]{{1,10}})|f/(?P<file>{_NAME})/(?P<single>[0-9]{{1,15}})")
_NAME_ALONE = re.compile(_NAME)


@light_dataclass(frozen=True, slots=True)
class BlobLocation:
    """The place of a blob; ``offset`` None for a file of its own. Units: bytes."""

    name: str
    offset: int | None
    length: int


def new_name(role: str) -> str:
    """Returns a name that no other process makes. Role and process id show an operator its origin."""
    letters = "".join(sign for sign in role.lower() if sign.isascii() and sign.isalnum())[:24]
    return f"{letters if letters[:1].isalpha() else 'any'}-{os.getpid()}-{secrets.token_hex(8)}"


def is_name(text: str) -> bool:
    """Returns whether a text has the form of such a name."""
    return _NAME_ALONE.fullmatch(text) is not None


def packed_ref(name: str, offset: int, length: int) -> BlobRef:
    """Returns the reference of a blob in a pack."""
    return BlobRef(f"p/{name}/{offset}/{length}")


def single_ref(name: str, length: int) -> BlobRef:
    """Returns the reference of a blob in a file of its own."""
    return BlobRef(f"f/{name}/{length}")


def parse_ref(ref: str) -> BlobLocation:
    """Returns the place in a reference. Errors: Corrupt if this module did not make it."""
    found = _REF.fullmatch(ref)
    if found is None:
        raise Corrupt(f"'{ref[:100]}' is no blob reference")
    pack, offset, packed, file, single = found.groups()
    return BlobLocation(pack, int(offset), int(packed)) if file is None else BlobLocation(file, None, int(single))
