"""Fingerprints of texts: those of texts that are nearly the same differ in few bits.

A fingerprint is a SimHash over the sentences of a text. Each different sentence votes on each bit, so a changed sentence among many turns
few of them. Texts with few sentences have none: they are often made from one pattern, and a word makes another document of them.

Source: Charikar, "Similarity Estimation Techniques from Rounding Algorithms" (2002); Manku, Jain, Das Sarma, "Detecting Near-Duplicates
for Web Crawling" (2007).
"""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

FINGERPRINT_BYTES = 7
"""No more, so that an index may store a small number beside it in 64 bits."""

MAX_CHARACTERS = 20_000
MIN_SENTENCES = 10
MIN_SENTENCE_CHARACTERS = 15
MAX_DIFFERENT_BITS = 6
"""Two texts of which about one sentence in twenty differs are at this distance. Those of unrelated texts differ in half the bits."""

_ENDS = "!?\u3002\uff01\uff1f\u061f\u0964\n"


def find_fingerprint(text: str) -> int:
    """Returns the fingerprint of a text, 0 for a text that is too short to have one."""
    sentences = {one.strip() for one in _split(text[:MAX_CHARACTERS]) if len(one) >= MIN_SENTENCE_CHARACTERS}
    if len(sentences) < MIN_SENTENCES:
        return 0
    digests = b"".join(blake2b(sentence.encode("utf-8", "replace"), digest_size=FINGERPRINT_BYTES).digest() for sentence in sentences)
    votes = np.unpackbits(np.frombuffer(digests, np.uint8).reshape(-1, FINGERPRINT_BYTES), axis=1).sum(axis=0, dtype=np.int64)
    return int.from_bytes(np.packbits(votes * 2 > len(sentences)).tobytes(), "big")


def _split(text: str) -> list[str]:
    # a regular expression takes ten times as long, for every document that is indexed
    for end in _ENDS:
        text = text.replace(end, ".")
    return text.split(".")


def find_alike(fingerprints: Sequence[int]) -> list[tuple[int, int]]:
    """Lists the pairs of places whose texts are nearly the same, in order, the earlier place first. No text without one is in a pair."""
    marks = np.array(fingerprints, np.uint64)
    near = np.bitwise_count(marks[:, None] ^ marks) <= MAX_DIFFERENT_BITS
    has_mark = marks != 0
    return [(one, other) for one, other in np.argwhere(np.triu(near & has_mark & has_mark[:, None], 1)).tolist()]
