"""Embeddings from a server that speaks OpenAI's protocol, as most servers of models do: llama.cpp, vLLM, Ollama, TEI, LocalAI.

A request is ``{"model", "input": [text, ...]}``; an answer ``{"data": [{"index", "embedding": [number, ...]}, ...]}``. Nothing of an
answer is believed: it must hold exactly one vector of finite numbers for each text, all equally long.
Source: platform.openai.com/docs/api-reference/embeddings.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from feedmill.core.ranking.vectors import MAX_DIMENSIONS, Vectors, read_vectors
from feedmill.core.urls.targets import parse_target
from feedmill.model.authorization import Trust
from feedmill.model.errors import Rejected, UpstreamFailure
from feedmill.ports.http import HttpClient, HttpRequest, ServerAddress

_BYTES_A_NUMBER = 32
_BYTES_OF_REST = 65_536
_REFUSED = frozenset({400, 413, 422})
"""The statuses by which a server refuses texts, rather than the program, its key or its model."""
_AGENT = b"Feedmill (embeddings)"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingServer:
    """The server and the model.

    Shape: ``name`` is that of ``Embedder.model``; the prefixes are put before each query and each passage, as some models want.
    """

    url: str
    model: str
    name: str
    key: str = field(default="", repr=False)
    query_prefix: str = ""
    passage_prefix: str = ""
    trust: Trust = field(default_factory=Trust)


class HttpEmbedder:
    """Implements ``ports.Embedder``. Each request uses a connection of its own."""

    def __init__(self, server: EmbeddingServer, client: HttpClient) -> None:
        target = parse_target(server.url)
        self._server = server
        self._client = client
        self._path = target.path
        # the operator chose this server, so a private address is allowed
        self._address = ServerAddress(is_tls=target.is_tls, host=target.host, port=target.port, trust=server.trust, allows_private=True)
        proof = (("Authorization", f"Bearer {server.key}".encode()),) if server.key else ()
        self._headers = (
            ("Host", target.authority.encode()),
            ("User-Agent", _AGENT),
            ("Content-Type", b"application/json"),
            ("Accept", b"application/json"),
            ("Connection", b"close"),
            *proof,
        )

    @property
    def model(self) -> str:
        """The name of the model, with all else on which its vectors depend."""
        return self._server.name

    def embed_query(self, text: str, seconds: float) -> Vectors:
        """Returns the vector of a query."""
        return self._embed([self._server.query_prefix + text], seconds)

    def embed_passages(self, texts: Sequence[str], seconds: float) -> Vectors:
        """Returns the vectors of passages."""
        return self._embed([self._server.passage_prefix + text for text in texts], seconds)

    def _embed(self, texts: Sequence[str], seconds: float) -> Vectors:
        body = json.dumps({"model": self._server.model, "input": list(texts)}).encode()
        max_bytes = _BYTES_OF_REST + _BYTES_A_NUMBER * MAX_DIMENSIONS * len(texts)
        connection = self._client.open(self._address)
        try:
            request = HttpRequest(method="POST", path=self._path, headers=self._headers, body=body, max_bytes=max_bytes)
            response = connection.send(request, seconds)
        finally:
            connection.close()
        if response.status in _REFUSED:
            raise Rejected(f"the embeddings server refuses the texts with status {response.status}")
        if response.status != 200:
            raise UpstreamFailure(f"the embeddings server answers with status {response.status}")
        try:
            return read_answer(response.body, len(texts))
        except ValueError as exc:
            raise Rejected(f"the embeddings server answers with no embeddings: {exc}") from exc


def read_answer(body: bytes, count: int) -> Vectors:
    """Returns the vectors of an answer about so many texts, in the order of these. Errors: ValueError."""
    return read_vectors(_read_rows(body, count))


def _read_rows(body: bytes, count: int) -> list[object]:
    """Returns the vectors of an answer in the order of their texts. Errors: ValueError."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise ValueError("it is no JSON") from exc
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or len(data) != count or not all(isinstance(item, dict) for item in data):
        raise ValueError("it does not hold one vector for each text")
    indexes = [item.get("index", place) for place, item in enumerate(data)]
    if not all(type(index) is int for index in indexes) or sorted(indexes) != list(range(count)):
        raise ValueError("the numbers of its vectors are not those of the texts")
    by_index = dict(zip(indexes, data, strict=True))
    return [by_index[index].get("embedding") for index in range(count)]
