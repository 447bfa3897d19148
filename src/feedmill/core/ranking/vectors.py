"""Vectors of length 1, as rows of a matrix, and their stored form: half-precision numbers, one row after the other."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]

STORED = np.dtype("<f2")
MAX_DIMENSIONS = 8_192
_LARGEST = 1e18
"""The largest number of a vector: the squares of 8,192 of them still are numbers of single precision."""
_SHORTEST = 1e-12
"""A vector that is shorter has no direction."""


def read_vectors(rows: Sequence[object]) -> Vectors:
    """Returns rows of numbers as vectors of length 1; one of zeros, as a model may give a text without meaning, is near to nothing.

    Errors: ValueError if they are no finite numbers, not equally long, or too long.
    """
    if not rows or not all(isinstance(row, list) and all(type(number) in (int, float) for number in row) for row in rows):
        raise ValueError("a vector is no list of numbers")
    try:
        vectors = np.array(rows, dtype=np.float64)
    except (ValueError, OverflowError) as exc:
        raise ValueError("the vectors are not equally long, or hold a number that is too large") from exc
    if vectors.ndim != 2 or not 0 < vectors.shape[1] <= MAX_DIMENSIONS:
        raise ValueError(f"a vector has no numbers, or more than {MAX_DIMENSIONS}")
    # also true where there is a NaN, which is not below anything
    if not bool((np.abs(vectors) < _LARGEST).all()):
        raise ValueError("a vector holds a number that is none, or too large")
    lengths = np.sqrt(np.square(vectors).sum(axis=1, keepdims=True))
    lengths[lengths < _SHORTEST] = 1
    return np.asarray(vectors / lengths, dtype=np.float32)


def pack_vectors(vectors: Vectors) -> bytes:
    """Returns the stored form of vectors."""
    return vectors.astype(STORED).tobytes()


def unpack_vectors(stored: bytes, dimensions: int) -> Vectors:
    """Returns stored vectors; those whose bytes are incomplete or hold no number are none."""
    if dimensions <= 0 or len(stored) % (dimensions * STORED.itemsize):
        return np.empty((0, max(dimensions, 1)), np.float32)
    vectors = np.frombuffer(stored, STORED).reshape(-1, dimensions).astype(np.float32)
    return vectors if bool(np.isfinite(vectors).all()) else vectors[:0]
