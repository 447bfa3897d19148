"""An embedder in memory, with the vectors of ``tests.embeddingserver``."""

from collections.abc import Sequence

from feedmill.core.ranking.vectors import Vectors, read_vectors
from feedmill.model.errors import Rejected, UpstreamFailure
from tests.embeddingserver import DIMENSIONS, embed


class ConceptEmbedder:
    """Implements ``ports.Embedder``.

    ``is_gone``: it answers nothing; texts with the word ``refused`` are refused; ``is_blank``: no text means anything to it.
    """

    def __init__(self, model: str = "concepts") -> None:
        self.model = model
        self.is_gone = False
        self.refused = ""
        self.dimensions = DIMENSIONS
        self.is_blank = False
        self.queries: list[str] = []
        self.batches: list[list[str]] = []

    def embed_query(self, text: str, seconds: float) -> Vectors:
        self.queries.append(text)
        return self._embed([text], seconds)

    def embed_passages(self, texts: Sequence[str], seconds: float) -> Vectors:
        self.batches.append(list(texts))
        if self.refused and any(self.refused in text for text in texts):
            raise Rejected("it refuses the texts")
        return self._embed(texts, seconds)

    def _embed(self, texts: Sequence[str], seconds: float) -> Vectors:
        if self.is_gone or seconds <= 0:
            raise UpstreamFailure("no server answers")
        if self.is_blank:
            return read_vectors([[0.0] * self.dimensions for _ in texts])
        return read_vectors([embed(text, self.dimensions) for text in texts])
