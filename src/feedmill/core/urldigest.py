"""The digest by which a URL is found, and the name of its cached copy, which is the digest's beginning as text.

A front end asks for a cached copy by both, name and URL; where a document is shown under another URL, only the name leads to it.
"""

import hashlib
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode

DIGEST_BYTES = 16
COPY_BYTES = 9
_COPY_ID = re.compile(r"[A-Za-z0-9_-]{12}")


def digest_of_url(url: str) -> bytes:
    """Returns the 16 bytes by which a URL, or a pattern of URLs, is found."""
    return hashlib.blake2b(url.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()


def copy_id(url: str) -> str:
    """Returns the twelve characters by which a front end names the cached copy of a URL."""
    return urlsafe_b64encode(digest_of_url(url)[:COPY_BYTES]).decode("ascii")


def find_copied(text: str) -> bytes | None:
    """Finds the beginning of the digest that a copy's name stands for; None for what is no such name."""
    return urlsafe_b64decode(text) if _COPY_ID.fullmatch(text) else None
