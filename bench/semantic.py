"""Measures the exact vector search against a bare product of numpy: ``python -m bench.semantic [PASSAGES]...``.

Both run in the same process over the same random vectors: the search over what ``ExactVectorSearch`` holds, the product over a matrix of
single precision, without classes, documents or a choice of the best. Times are CPU time, the least of several searches; memory is what the
process grows by. ``few`` is a user who may see one of 50 classes.
"""

import gc
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from feedmill.adapters.vectors import ExactVectorSearch
from feedmill.core.ranking.vectors import Vectors, pack_vectors
from feedmill.model.access import ClassMap
from feedmill.model.semantic import EmbeddingChange

SIZES = (10_000, 100_000, 1_000_000)
PASSAGES_A_DOCUMENT = 5
CLASSES = 50
LIMIT = 100
BATCH = 2_000
REPEATS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One row of the table. Units: milliseconds, megabytes, share of the best 100 documents of the product that the search finds."""

    passages: int
    load_seconds: float
    megabytes: float
    product: float
    whole: float
    few: float
    recall: float


def measure(passages: int, dimensions: int) -> Measured:
    """Measures one size."""
    random = np.random.default_rng(1)
    matrix = np.empty((passages, dimensions), np.float32)
    for start in range(0, passages, 50_000):
        part = random.standard_normal((min(50_000, passages - start), dimensions), dtype=np.float32)
        matrix[start : start + len(part)] = part / np.linalg.norm(part, axis=1, keepdims=True)
    query = matrix[passages // 2] + random.standard_normal(dimensions, dtype=np.float32) * 0.05
    query /= np.linalg.norm(query)
    search, before, begun = ExactVectorSearch(), read_megabytes(), time.process_time()
    documents = passages // PASSAGES_A_DOCUMENT
    for first in range(0, documents, BATCH):
        search.apply([make_change(matrix, document) for document in range(first, min(first + BATCH, documents))])
    gc.collect()
    load_seconds, megabytes = time.process_time() - begun, read_megabytes() - before
    everyone = ClassMap(b"\1" * CLASSES)
    products = matrix @ query
    best = products.reshape(documents, PASSAGES_A_DOCUMENT).max(axis=1)
    wanted = set(np.argsort(-best)[:LIMIT].tolist())
    found = {each.document_id for each in search.find_nearest(query, everyone, LIMIT)}
    return Measured(
        passages=passages,
        load_seconds=load_seconds,
        megabytes=megabytes,
        product=time_least(lambda: matrix @ query),
        whole=time_least(lambda: search.find_nearest(query, everyone, LIMIT)),
        few=time_least(lambda: search.find_nearest(query, frozenset({7}), LIMIT)),
        recall=len(wanted & found) / len(wanted),
    )


def make_change(matrix: Vectors, document: int) -> EmbeddingChange:
    """Returns the embedding of a document, as the store gives it."""
    rows = matrix[document * PASSAGES_A_DOCUMENT : (document + 1) * PASSAGES_A_DOCUMENT]
    return EmbeddingChange(
        number=document + 1,
        document_id=document,
        access_class=document % CLASSES,
        dimensions=rows.shape[1],
        vectors=pack_vectors(rows),
    )


def time_least(call: Callable[[], object]) -> float:
    """Returns the least CPU time of a call. Units: milliseconds."""
    times = []
    for _ in range(REPEATS):
        begun = time.process_time()
        call()
        times.append(time.process_time() - begun)
    return 1_000 * min(times)


def read_megabytes() -> float:
    """Returns the resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def main(sizes: Sequence[int] = SIZES, dimensions: int = 384) -> None:
    """Prints the table."""
    print(f"  {dimensions} dimensions, {PASSAGES_A_DOCUMENT} passages a document, the best {LIMIT} documents")
    print(f"  {'passages':>10} {'load s':>7} {'MB':>7} {'product ms':>11} {'search ms':>10} {'ratio':>6} {'few ms':>7} {'recall':>7}")
    for passages in sizes:
        row = measure(passages, dimensions)
        print(
            f"  {row.passages:>10,} {row.load_seconds:>7.1f} {row.megabytes:>7.0f} {row.product:>11.2f} {row.whole:>10.2f} "
            f"{row.whole / row.product:>6.2f} {row.few:>7.2f} {row.recall:>7.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]] or SIZES)
