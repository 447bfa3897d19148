"""The ports of semantic search: the embeddings in the store, the model that makes them, and the search among them."""

from collections.abc import Sequence, Set
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeAlias

from feedmill.model.semantic import Embedding, EmbeddingChange, Neighbour, QueuedEmbedding

if TYPE_CHECKING:
    # every process imports the ports, and few of them search among vectors
    import numpy as np
    import numpy.typing as npt

Vectors: TypeAlias = "npt.NDArray[np.float32]"
"""One vector in each row, of length 1; one of zeros is near to nothing."""


class EmbeddingQueue(Protocol):
    """The documents that wait to be embedded.

    Example::

        with store.writing() as unit:
            unit.processing.embedding_queue.put_many([7])
    """

    def put_many(self, ids: Sequence[int]) -> None:
        """Queues documents, also those that a worker has just read; their embeddings are read again by searches."""

    def list_due(self, now: datetime, limit: int) -> list[QueuedEmbedding]:
        """Lists documents to embed now, those that have waited longest first."""

    def postpone(self, items: Sequence[QueuedEmbedding], until: datetime) -> None:
        """Counts an attempt that failed, and makes documents wait until a time. Documents that were queued again meanwhile stay due."""

    def remove_many(self, items: Sequence[QueuedEmbedding]) -> None:
        """Removes documents from the queue, unless they were queued again meanwhile."""


class Embeddings(Protocol):
    """The embeddings of documents, with a log of their changes.

    Example::

        with store.reading() as unit:
            changes = unit.documents.embeddings.list_changed("bge-small", after=0, limit=500)
    """

    def find_many(self, ids: Sequence[int]) -> dict[int, Embedding]:
        """Finds the embeddings of documents, of any model."""

    def save_many(self, embeddings: Sequence[Embedding]) -> None:
        """Inserts or replaces embeddings by document."""

    def remove_many(self, ids: Sequence[int]) -> None:
        """Removes the embeddings of documents."""

    def list_outdated(self, model: str, *, after: int, limit: int) -> list[int]:
        """Lists live documents without an embedding of a model for their version, and deleted ones that have one, by id above ``after``."""

    def list_changed(self, model: str, *, after: int, limit: int) -> list[EmbeddingChange]:
        """Lists documents whose embedding changed, by number above ``after``.

        Only an embedding of this model for the present version of a live document is in force.
        """

    def find_dimensions(self, model: str) -> int | None:
        """Finds the length of the vectors of a model; None before the first."""

    def count(self, model: str) -> int:
        """Counts the live documents that have an embedding of a model."""


class Embedder(Protocol):
    """The model that turns texts into vectors: texts of similar meaning into near ones. May be used from several threads.

    Example::

        query = embedder.embed_query("company car", seconds=1.0)
    """

    @property
    def model(self) -> str:
        """The name of the model, with all else on which its vectors depend."""

    def embed_query(self, text: str, seconds: float) -> Vectors:
        """Returns one row: the vector of a query. Errors: as ``embed_passages``."""

    def embed_passages(self, texts: Sequence[str], seconds: float) -> Vectors:
        """Returns the vectors of passages, in their order.

        Errors: Rejected if the server answers that it cannot embed these texts, or answers with what are no vectors for them;
        UpstreamFailure.
        """


class VectorSearch(Protocol):
    """Finds the passages that are nearest to a query. May be used from several threads.

    Example::

        nearest = vectors.find_nearest(query, access.permitted, limit=100)
    """

    @property
    def reached(self) -> int:
        """The number of the last change that was applied, 0 before the first."""

    def apply(self, changes: Sequence[EmbeddingChange]) -> None:
        """Applies changes of embeddings in their order. Each replaces what there was of its document."""

    def find_nearest(self, query: Vectors, classes: Set[int], limit: int) -> list[Neighbour]:
        """Finds the documents of these access classes whose passages are nearest, nearest first, each document once.

        Documents of other classes take no part. Vectors of another length than the query's take no part either.
        """

    def count(self) -> int:
        """Counts the passages in force."""

    def has_length(self, dimensions: int) -> bool:
        """Whether any vector has this length, or there is none at all."""
