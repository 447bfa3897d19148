"""Builds semantic search: the model's client, the work in the background, and the part of searches."""

import time

from feedmill.adapters.embeddings import EmbeddingServer, HttpEmbedder
from feedmill.adapters.http.blocking import BlockingHttpClient
from feedmill.adapters.vectors import ExactVectorSearch
from feedmill.bootstrap.context import AppContext, utc_now
from feedmill.model.authorization import Trust
from feedmill.ports import Embedder
from feedmill.services.authorization.circuitnote import CircuitNote
from feedmill.services.indexing.embedding import EmbeddingWork
from feedmill.services.keyvalues import SEMANTIC_CIRCUITS
from feedmill.services.searching.semanticranking import SemanticLimits, SemanticRanking
from feedmill.settings import Settings
from feedmill.settings.secrets import read_secret
from feedmill.telemetry import metrics


def build_embedder(settings: Settings) -> Embedder:
    """Builds the client of the model."""
    given = settings.semantic
    server = EmbeddingServer(
        url=given.url,
        model=given.model,
        name=given.stored_model,
        key=read_secret(given.key, given.key_file),
        query_prefix=given.query_prefix,
        passage_prefix=given.passage_prefix,
        trust=Trust(ca=given.ca_file),
    )
    return HttpEmbedder(server, BlockingHttpClient())


def build_embedding_work(context: AppContext) -> EmbeddingWork:
    """Builds what embeds documents in the background."""
    return EmbeddingWork(
        context.store,
        context.blobs,
        build_embedder(context.settings),
        context.notifier,
        utc_now,
        on_embedded=metrics.count_embedded,
    )


def build_semantic_ranking(context: AppContext) -> SemanticRanking | None:
    """Builds the semantic part of searches; None if it is off."""
    given = context.settings.semantic
    if not given.is_on:
        return None
    limits = SemanticLimits(seconds=given.seconds, least_similarity=given.min_similarity)
    embedder, note = build_embedder(context.settings), build_semantic_note(context)
    return SemanticRanking(context.store, embedder, ExactVectorSearch(), limits, time.monotonic, note)


def build_semantic_note(context: AppContext) -> CircuitNote:
    """Builds the note of a model whose circuit is open."""
    return CircuitNote(context.store, utc_now, context.place.number, SEMANTIC_CIRCUITS)
