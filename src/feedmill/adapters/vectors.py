"""Exact search among vectors in memory: every passage that may take part is compared with the query.

A vector is stored as a byte for each dimension, with one factor for the vector: a quarter of single precision, and fast, since numpy has no
fast arithmetic for half precision. The error of a similarity is about 0.002. Vectors stand in blocks that are never moved, so that a search
reads them while changes are applied; those that were replaced stay as rows without a class until half of all are, then the rest is copied.
"""

import threading
from collections.abc import Sequence, Set
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from feedmill.core.ranking.vectors import Vectors, unpack_vectors
from feedmill.model.access import ClassMap
from feedmill.model.semantic import EmbeddingChange, Neighbour

BLOCK_ROWS = 65_536
SLICE_ROWS = 2_048
"""How many vectors are converted at a time: they stay in the cache of the processor until they are multiplied."""
FEW = 0.5
"""Below this share of rows that take part, only those are read."""
LEAST_GARBAGE = 10_000

_NO_CLASS = -1
_STEP = 127.0


@dataclass(slots=True)
class _Block:
    """Vectors of one length. Shape: the first ``used`` rows are filled; a row without a class takes part in no search."""

    dimensions: int
    vectors: npt.NDArray[np.int8] = field(init=False)
    factors: npt.NDArray[np.float32] = field(init=False)
    documents: npt.NDArray[np.int64] = field(init=False)
    passages: npt.NDArray[np.int32] = field(init=False)
    classes: npt.NDArray[np.int64] = field(init=False)
    used: int = 0

    def __post_init__(self) -> None:
        self.vectors = np.zeros((BLOCK_ROWS, self.dimensions), np.int8)
        self.factors = np.zeros(BLOCK_ROWS, np.float32)
        self.documents = np.zeros(BLOCK_ROWS, np.int64)
        self.passages = np.zeros(BLOCK_ROWS, np.int32)
        self.classes = np.full(BLOCK_ROWS, _NO_CLASS, np.int64)


@dataclass(slots=True, frozen=True)
class _Place:
    block: _Block
    start: int
    end: int


class ExactVectorSearch:
    """Implements ``ports.VectorSearch``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks: list[_Block] = []
        self._places: dict[int, list[_Place]] = {}
        self._reached = 0
        self._live = 0
        self._garbage = 0

    @property
    def reached(self) -> int:
        """The number of the last change that was applied."""
        return self._reached

    def count(self) -> int:
        """Counts the passages in force."""
        return self._live

    def has_length(self, dimensions: int) -> bool:
        """Whether any vector has this length, or there is none at all."""
        with self._lock:
            return not self._live or any(block.dimensions == dimensions for block in self._blocks)

    def apply(self, changes: Sequence[EmbeddingChange]) -> None:
        """Applies changes in their order."""
        with self._lock:
            for change in changes:
                self._forget(change.document_id)
                vectors = unpack_vectors(change.vectors, change.dimensions)
                if len(vectors):
                    codes, factors = _encode(vectors)
                    self._places[change.document_id] = self._add(change.document_id, change.access_class, codes, factors)
                self._reached = max(self._reached, change.number)
            if self._garbage > max(self._live, LEAST_GARBAGE):
                self._compact()

    def find_nearest(self, query: Vectors, classes: Set[int], limit: int) -> list[Neighbour]:
        """Finds the nearest documents of these classes."""
        wanted = np.ascontiguousarray(query.reshape(-1), np.float32)
        if limit <= 0 or not classes:
            return []
        with self._lock:
            # a block that is still being filled is read up to here
            blocks = [(block, block.used) for block in self._blocks if block.dimensions == len(wanted)]
        best: dict[int, Neighbour] = {}
        for block, used in blocks:
            for found in _search(block, used, wanted, classes, limit):
                known = best.get(found.document_id)
                if known is None or found.similarity > known.similarity:
                    best[found.document_id] = found
        return sorted(best.values(), key=lambda found: (-found.similarity, found.document_id))[:limit]

    def _forget(self, document_id: int) -> None:
        for place in self._places.pop(document_id, ()):
            place.block.classes[place.start : place.end] = _NO_CLASS
            self._live -= place.end - place.start
            self._garbage += place.end - place.start

    def _add(self, key: int, access_class: int, codes: npt.NDArray[np.int8], factors: npt.NDArray[np.float32]) -> list[_Place]:
        """Stores the vectors of a document, in the block that is being filled and the next ones."""
        places: list[_Place] = []
        done, dimensions = 0, codes.shape[1]
        while done < len(codes):
            block = self._blocks[-1] if self._blocks else None
            if block is None or block.used == BLOCK_ROWS or block.dimensions != dimensions:
                block = _Block(dimensions)
                self._blocks.append(block)
            start, end = block.used, min(block.used + len(codes) - done, BLOCK_ROWS)
            part = slice(done, done + end - start)
            block.vectors[start:end], block.factors[start:end] = codes[part], factors[part]
            block.documents[start:end], block.passages[start:end] = key, np.arange(part.start, part.stop)
            block.classes[start:end] = access_class
            block.used = end
            places.append(_Place(block, start, end))
            done += end - start
        self._live += len(codes)
        return places

    def _compact(self) -> None:
        """Copies the vectors in force into new blocks. A search that runs still reads the earlier ones."""
        earlier, self._places, self._blocks = self._places, {}, []
        self._live = self._garbage = 0
        for key, places in earlier.items():
            access_class = int(places[0].block.classes[places[0].start])
            codes = np.concatenate([place.block.vectors[place.start : place.end] for place in places])
            factors = np.concatenate([place.block.factors[place.start : place.end] for place in places])
            self._places[key] = self._add(key, access_class, codes, factors)


def _encode(vectors: Vectors) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Returns vectors in bytes, and the factor of each."""
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    largest[largest == 0] = 1
    return np.rint(vectors * (_STEP / largest)).astype(np.int8), (largest[:, 0] / _STEP).astype(np.float32)


def _search(block: _Block, used: int, query: Vectors, classes: Set[int], limit: int) -> list[Neighbour]:
    taking_part = _match_classes(block.classes[:used], classes)
    count = int(np.count_nonzero(taking_part))
    if not count:
        return []
    if count < FEW * used:
        rows = np.flatnonzero(taking_part)
        similarities = _multiply(block, query, rows)
    else:
        rows = np.arange(used)
        similarities = np.where(taking_part, _multiply(block, query, rows, is_whole=True), -np.inf)
    return _choose(block, rows, similarities, limit)


def _match_classes(held: npt.NDArray[np.int64], classes: Set[int]) -> npt.NDArray[np.bool_]:
    """Returns which rows have one of the classes."""
    if not isinstance(classes, ClassMap):
        return np.isin(held, np.fromiter(classes, np.int64, len(classes))) & (held >= 0)
    table = np.frombuffer(classes.table, np.uint8)
    is_known = (held >= 0) & (held < len(table))
    return is_known & (table[np.where(is_known, held, 0)] == 1) if len(table) else is_known


def _multiply(block: _Block, query: Vectors, rows: npt.NDArray[np.int64], *, is_whole: bool = False) -> Vectors:
    """Returns the similarity of rows, a slice at a time."""
    similarities = np.empty(len(rows), np.float32)
    buffer = np.empty((min(SLICE_ROWS, len(rows)), block.dimensions), np.float32)
    for start in range(0, len(rows), SLICE_ROWS):
        end = min(start + SLICE_ROWS, len(rows))
        part = buffer[: end - start]
        part[...] = block.vectors[start:end] if is_whole else block.vectors[rows[start:end]]
        # not ``np.dot``: the library below it would divide each slice among threads, which cost ten times as much as they save
        np.vecdot(part, query, out=similarities[start:end])
    similarities *= block.factors[: len(rows)] if is_whole else block.factors[rows]
    return similarities


def _choose(block: _Block, rows: npt.NDArray[np.int64], similarities: Vectors, limit: int) -> list[Neighbour]:
    """Returns the nearest documents, each once. A document may have many near passages, so more rows are tried until there are enough."""
    tried = 4 * limit
    while True:
        tried = min(tried, len(rows))
        best = np.argpartition(-similarities, tried - 1)[:tried] if tried < len(rows) else np.arange(len(rows))
        best = best[np.argsort(-similarities[best], kind="stable")]
        best = best[similarities[best] > -np.inf]
        _, firsts = np.unique(block.documents[rows[best]], return_index=True)
        if len(firsts) >= limit or tried == len(rows):
            chosen = best[np.sort(firsts)[:limit]]
            return [
                Neighbour(int(block.documents[rows[place]]), int(block.passages[rows[place]]), float(similarities[place]))
                for place in chosen
            ]
        tried *= 4
