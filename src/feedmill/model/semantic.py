"""Semantic search: the embeddings of documents, and the passages that are near a query."""

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """What a model made of the passages of one document.

    Shape: ``version`` is that of the document; ``digest`` covers the model and the texts; ``vectors`` holds a vector of half-precision
    numbers for each passage, one after the other, each of length 1.
    """

    document_id: int
    version: int
    model: str
    digest: bytes
    dimensions: int
    vectors: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingChange:
    """The embedding that a document has now.

    Shape: ``number`` grows with each change; without ``vectors`` the document has none in force.
    """

    number: int
    document_id: int
    access_class: int
    dimensions: int = 0
    vectors: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedEmbedding:
    """A document that waits to be embedded. ``attempts`` counts those that failed."""

    document_id: int
    queued_at: datetime
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A document near a query: the place of its nearest passage, from 0, and the cosine of both vectors."""

    document_id: int
    passage: int
    similarity: float
