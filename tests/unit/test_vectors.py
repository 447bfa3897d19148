"""Vectors of a server are believed only if they have a direction, and are stored in half their size."""

from typing import Any

import numpy as np
import pytest

from feedmill.core.ranking.fusion import fuse
from feedmill.core.ranking.vectors import MAX_DIMENSIONS, pack_vectors, read_vectors, unpack_vectors


def test_read_vectors_makes_them_of_length_one() -> None:
    vectors = read_vectors([[3, 4.0], [0, -2]])
    assert vectors.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0.0, -1.0]]


def test_read_vectors_keeps_zeros_which_are_near_to_nothing() -> None:
    vectors = read_vectors([[0, 0.0], [1, 0]])
    assert vectors.tolist() == [[0.0, 0.0], [1.0, 0.0]]
    assert unpack_vectors(pack_vectors(vectors), 2).tolist() == vectors.tolist()


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [None],
        [[]],
        [["1"]],
        [[True, False]],
        [[[1.0]]],
        [[1.0], [1.0, 2.0]],
        [[float("nan"), 1.0]],
        [[float("inf"), 1.0]],
        [[1e300, 1.0]],
        [[10**400, 1]],
        [[0.0] * MAX_DIMENSIONS + [1.0]],
        "text",
        [{"a": 1}],
    ],
    ids=str,
)
def test_read_vectors_of_anything_else_fails(rows: Any) -> None:
    with pytest.raises(ValueError, match="vector"):
        read_vectors(rows)


def test_packed_vectors_come_back_nearly_the_same() -> None:
    vectors = read_vectors(np.random.default_rng(1).standard_normal((20, 48)).tolist())
    assert np.abs(unpack_vectors(pack_vectors(vectors), 48) - vectors).max() < 0.001


@pytest.mark.parametrize(("stored", "dimensions"), [(b"", 2), (b"abc", 2), (b"ab", 0), (b"\x00\x7e\x00\x7e", 2)])
def test_unpack_of_damaged_bytes_gives_no_vectors(stored: bytes, dimensions: int) -> None:
    assert len(unpack_vectors(stored, dimensions)) == 0


def test_fuse_puts_what_both_lists_hold_first_and_ties_in_the_order_of_the_first() -> None:
    assert [key for key, _ in fuse([1, 2, 3], [4, 3])] == [3, 1, 4, 2]
    assert fuse([], []) == []
    assert fuse([7], []) == [(7, 1 / 61)]
