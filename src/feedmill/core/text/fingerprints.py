"""Fingerprints of texts: those of texts that are nearly the same differ in few bits.

A fingerprint is a sketch of the set of sentences of a text (minwise hashing, one bit for each hash function). Two texts differ in half of
the share of their sentences that only one of them has: if a fifth of all sentences is in one of them alone, in about a tenth of the bits.
So the number of different bits says how much of two texts is the same, also of texts that were made from one pattern.

Texts with few sentences are often made from one pattern too, and a word makes another document of them. Their fingerprint is a hash of the
whole text, so that only the same text is alike. A text that says too little has none.

Source: Broder, "On the Resemblance and Containment of Documents" (1997); Li, König, "b-Bit Minwise Hashing" (2010).
"""

from collections.abc import Sequence, Set
from hashlib import blake2b

import numpy as np

PART_BITS = 56
"""The bits of half of a fingerprint: no more, so that an index may store a small number beside it in 64 bits."""

FINGERPRINT_BITS = 2 * PART_BITS
MAX_CHARACTERS = 20_000
MIN_SENTENCES = 10
MIN_SENTENCE_CHARACTERS = 15
LEAST_SENTENCES, LEAST_CHARACTERS = 2, 150
"""Shorter texts have no fingerprint."""

MAX_DIFFERENT_BITS = 5
"""Texts of which about one sentence in twenty differs are at this distance. Measured: decision 60."""

_PART = (1 << PART_BITS) - 1
_SHIFT, _ONE = np.uint64(31), np.uint64(1)
# odd factors that are always the same: a product of the hash of a sentence with each is another hash of it
_DIGESTS = b"".join(blake2b(b"%d" % number, digest_size=8).digest() for number in range(FINGERPRINT_BITS))
_FACTORS = np.frombuffer(_DIGESTS, "<u8") | _ONE
_ENDS = "!?\u3002\uff01\uff1f\u061f\u0964\n"


def find_fingerprint(text: str) -> int:
    """Returns the fingerprint of a text, 0 for a text that is too short to have one."""
    sentences = {one.strip() for one in _split(text[:MAX_CHARACTERS]) if len(one) >= MIN_SENTENCE_CHARACTERS}
    sketch = _sketch(sentences) if len(sentences) >= MIN_SENTENCES else _digest(text) if len(sentences) >= LEAST_SENTENCES else b""
    return int.from_bytes(sketch, "big")


def _sketch(sentences: Set[str]) -> bytes:
    digests = b"".join([blake2b(sentence.encode("utf-8", "replace"), digest_size=8).digest() for sentence in sentences])
    least = np.multiply.outer(np.frombuffer(digests, "<u8"), _FACTORS).min(axis=0)
    # the lowest hash chooses a sentence, and a bit of it says which one
    return np.packbits((least >> _SHIFT & _ONE).astype(bool)).tobytes()


def _digest(text: str) -> bytes:
    words = " ".join(text.split())
    is_telling = len(words) >= LEAST_CHARACTERS and len(text) <= MAX_CHARACTERS
    return blake2b(words.encode("utf-8", "replace"), digest_size=FINGERPRINT_BITS // 8).digest() if is_telling else b""


def split_fingerprint(fingerprint: int) -> tuple[int, int]:
    """Returns the halves of a fingerprint."""
    return fingerprint >> PART_BITS, fingerprint & _PART


def join_fingerprint(high: int, low: int) -> int:
    """Returns the fingerprint of two halves, 0 if one is missing, as an index of an earlier version has it."""
    return high << PART_BITS | low if high and low else 0


def _split(text: str) -> list[str]:
    # a regular expression takes ten times as long, for every document that is indexed
    for end in _ENDS:
        text = text.replace(end, ".")
    return text.split(".")


def is_alike(one: int, other: int) -> bool:
    """Whether two texts are nearly the same. Shape: their fingerprints; 0 is like none."""
    return bool(one and other) and (one ^ other).bit_count() <= MAX_DIFFERENT_BITS


def find_alike(fingerprints: Sequence[int]) -> list[tuple[int, int]]:
    """Lists the pairs of places whose texts are nearly the same, in order, the earlier place first. No text without one is in a pair."""
    halves = np.array([split_fingerprint(fingerprint) for fingerprint in fingerprints], np.uint64).reshape(-1, 2)
    near = np.bitwise_count(halves[:, None] ^ halves).sum(axis=2, dtype=np.int64) <= MAX_DIFFERENT_BITS
    has_mark = np.array([fingerprint != 0 for fingerprint in fingerprints], np.bool_)
    return [(one, other) for one, other in np.argwhere(np.triu(near & has_mark & has_mark[:, None], 1)).tolist()]
