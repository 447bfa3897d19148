"""The digest that identifies a URL, and the name of its cached copy, which is the beginning of the digest as text.

A front end requests a cached copy by name and URL. If a document is shown under another URL, only the name finds it.
"""

import hashlib
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from functools import lru_cache

DIGEST_BYTES = 16
COPY_BYTES = 9
_COPY_ID = re.compile(r"[A-Za-z0-9_-]{12}")


# applying a change to a URL needs its digest five times
@lru_cache(maxsize=2_000)
def digest_of_url(url: str) -> bytes:
    """Returns the 16-byte digest that identifies a URL or a pattern of URLs."""
    return hashlib.blake2b(url.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()


def copy_id(url: str) -> str:
    """Returns the twelve characters that name the cached copy of a URL for a front end."""
    return urlsafe_b64encode(digest_of_url(url)[:COPY_BYTES]).decode("ascii")


def find_copied(text: str) -> bytes | None:
    """Returns the beginning of the digest from the name of a cached copy, None for an invalid name."""
    return urlsafe_b64decode(text) if _COPY_ID.fullmatch(text) else None
