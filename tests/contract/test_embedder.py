"""The client of a server of embeddings: what it sends, and which answers it refuses."""

from collections.abc import Iterator

import pytest

from feedmill.adapters.embeddings import EmbeddingServer as Given
from feedmill.adapters.embeddings import HttpEmbedder
from feedmill.adapters.http.blocking import BlockingHttpClient
from feedmill.core.ranking.vectors import read_vectors
from feedmill.model.errors import Rejected, UpstreamFailure
from tests.embeddingserver import EmbeddingServer, embed, embedding_server

PATIENT = 60.0


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as made:
        yield made


def make_embedder(server: EmbeddingServer, key: str = "", query_prefix: str = "", passage_prefix: str = "") -> HttpEmbedder:
    given = Given(url=server.url, model="concepts", name="concepts", key=key, query_prefix=query_prefix, passage_prefix=passage_prefix)
    return HttpEmbedder(given, BlockingHttpClient())


def test_texts_become_vectors_in_their_order(server: EmbeddingServer) -> None:
    vectors = make_embedder(server).embed_passages(["a car", "the doctor"], PATIENT)
    assert (vectors == read_vectors([embed("a car"), embed("the doctor")])).all()
    assert (server.models, server.keys, server.requests) == (["concepts"], [None], 1)


def test_key_and_prefixes_are_sent(server: EmbeddingServer) -> None:
    embedder = make_embedder(server, key="secret", query_prefix="query: ", passage_prefix="passage: ")
    embedder.embed_query("car", PATIENT)
    embedder.embed_passages(["car"], PATIENT)
    assert server.texts == ["query: car", "passage: car"]
    assert server.keys == ["Bearer secret"] * 2
    assert "secret" not in repr(Given(url=server.url, model="m", name="m", key="secret"))


@pytest.mark.parametrize("fault", ["html", "nan", "words", "count", "deep", "null", "indexes"])
def test_answer_without_vectors_is_refused(server: EmbeddingServer, fault: str) -> None:
    server.fault = fault
    with pytest.raises(Rejected, match="no embeddings"):
        make_embedder(server).embed_passages(["a", "b"], PATIENT)


@pytest.mark.parametrize("fault", ["huge", "status"])
def test_server_that_fails_is_not_taken_for_a_refusal(server: EmbeddingServer, fault: str) -> None:
    server.fault = fault
    with pytest.raises(UpstreamFailure) as caught:
        make_embedder(server).embed_query("a", PATIENT)
    assert not isinstance(caught.value, Rejected)


def test_status_that_refuses_the_texts_is_a_refusal(server: EmbeddingServer) -> None:
    server.refused = "bad"
    with pytest.raises(Rejected, match="400"):
        make_embedder(server).embed_passages(["good", "bad"], PATIENT)


def test_slow_server_is_given_up_in_time(server: EmbeddingServer) -> None:
    server.seconds = 5.0
    with pytest.raises(UpstreamFailure):
        make_embedder(server).embed_query("a", 0.05)


def test_server_that_is_not_there_fails() -> None:
    with embedding_server() as gone:
        embedder = make_embedder(gone)
    with pytest.raises(UpstreamFailure):
        embedder.embed_query("a", PATIENT)
