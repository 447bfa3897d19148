"""Builds the services that fill the index: the extractor with its worker processes, and the indexer."""

import os

from feedmill import __version__
from feedmill.adapters.extract.pool.extractor import ExtractorPool
from feedmill.bootstrap.context import AppContext, utc_now
from feedmill.bootstrap.crawllinks import build_date_rules, build_link_following
from feedmill.bootstrap.indexbackends import build_entry_builder
from feedmill.bootstrap.searchconfig import build_search_config_provider
from feedmill.model.extraction import ExtractionLimits
from feedmill.runtime.roles import EXTRACTOR, INDEXER
from feedmill.services.indexing.extracting import Extracting
from feedmill.services.indexing.indexer import IndexDependencies, Indexing
from feedmill.services.isolation.recording import FailureRecorder
from feedmill.telemetry import metrics

QUICK_WORKERS = 2
QUICK_SECONDS = 0.5


def build_extracting(context: AppContext, *, in_role: bool = False) -> Extracting:
    """Builds the extractor's service with its worker processes. The fork server of a role's workers serves the role's successor too."""
    settings = context.settings.extraction
    limits = ExtractionLimits(
        max_document_bytes=context.settings.limits.max_document_bytes, seconds=settings.seconds, memory_bytes=settings.memory_bytes
    )
    pool = ExtractorPool(
        limits,
        bulk_workers=settings.workers or os.cpu_count() or 2,
        quick_workers=QUICK_WORKERS,
        quick_seconds=QUICK_SECONDS,
        name=str(context.data.resolve()) if in_role else None,
    )
    return Extracting(
        context.store,
        context.blobs,
        pool,
        context.notifier,
        utc_now,
        on_extracted=metrics.EXTRACTIONS.add,
        in_flight=context.in_flight(EXTRACTOR.name),
        recorder=_build_failure_recorder(),
        dates=build_date_rules(context.settings),
    )


def build_indexing(context: AppContext) -> Indexing:
    """Builds the indexer."""
    tools = IndexDependencies(
        store=context.store,
        blobs=context.blobs,
        notifier=context.notifier,
        clock=utc_now,
        search_config=build_search_config_provider(context),
        in_flight=context.in_flight(INDEXER.name),
        builder=build_entry_builder(context.data, context.settings),
        recorder=_build_failure_recorder(),
        following=build_link_following(context),
        embeds=context.settings.semantic.is_on,
    )
    return Indexing(tools, context.index(), on_committed=metrics.count_commit)


def _build_failure_recorder() -> FailureRecorder:
    return FailureRecorder(utc_now, __version__, metrics.FAILURES.add)
