"""Numbers by digest, held against a plain dictionary."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from feedmill.services.access.digesttable import DigestTable, split_digests

DIGESTS = st.one_of(
    st.binary(min_size=16, max_size=16),
    # many of one bucket, of one first half, and at both ends
    st.builds(lambda last: bytes(15) + bytes([last]), st.integers(0, 3)),
    st.builds(lambda last: b"\xff" * 15 + bytes([last]), st.integers(252, 255)),
)
PAIRS = st.lists(st.tuples(DIGESTS, st.integers(0, 50)), max_size=60)


@given(st.lists(PAIRS, max_size=5), st.lists(DIGESTS, max_size=10))
def test_find_returns_every_number_of_every_digest(batches: list[list[tuple[bytes, int]]], others: list[bytes]) -> None:
    table = DigestTable()
    for pairs in batches:
        table.add_pairs(*split_digests(b"".join(digest for digest, _ in pairs)), np.array([number for _, number in pairs], np.int64))
    held = [pair for pairs in batches for pair in pairs]
    wanted = list(dict.fromkeys([digest for digest, _ in held] + others))
    positions, numbers = table.find_pairs(*split_digests(b"".join(wanted)))
    found = Counter((wanted[place], number) for place, number in zip(positions.tolist(), numbers.tolist(), strict=True))
    assert found == Counter(held)


@given(PAIRS, PAIRS)
def test_tidied_leaves_out_what_the_filter_removes(first: list[tuple[bytes, int]], second: list[tuple[bytes, int]]) -> None:
    table = DigestTable()
    for digest, number in (*first, *second):
        one = DigestTable()
        one.add_pairs(*split_digests(digest), np.array([number], np.int64))
        table.absorb(one, lambda numbers: numbers + 1)
    put = table.prepare_merge(lambda numbers: numbers > 25)
    if put is not None:
        put()
    held = [(digest, number + 1) for digest, number in (*first, *second)]
    wanted = list(dict.fromkeys(digest for digest, _ in held))
    positions, numbers = table.find_pairs(*split_digests(b"".join(wanted)))
    found = Counter((wanted[place], number) for place, number in zip(positions.tolist(), numbers.tolist(), strict=True))
    assert found == Counter(pair for pair in held if put is None or pair[1] > 25)
