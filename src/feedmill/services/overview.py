"""Reads the state of the whole server: waiting work, documents, and the progress of the index."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from feedmill.core.crawling.rate import list_fetches
from feedmill.model.crawling import CrawlGroup
from feedmill.ports import Store, UnitOfWork
from feedmill.services.authorization.circuitnote import read_open_circuits
from feedmill.services.keyvalues import (
    CRAWL_PAUSED,
    CRAWL_RATE,
    INDEX_COMMITS,
    INDEX_FOLDER,
    INDEX_PARTIAL,
    INDEX_PROGRESS,
    INDEX_REBUILD,
    OPEN_CIRCUITS,
    PATTERNS_CURSOR,
    SEMANTIC_CIRCUITS,
)


def read_overview(store: Store) -> dict[str, Any]:
    """Returns counts and the state of the index, as ``feedmill status`` and the admin port show them. Errors: Busy, Corrupt."""
    with store.reading() as unit:
        tasks = unit.processing.index_tasks.count()
        return {
            "feeds_waiting": unit.feeds.reader.count_waiting(),
            "documents": unit.documents.scan.count_live(),
            "authorization": {"open_circuits": read_open_circuits(unit.state.key_values.get(OPEN_CIRCUITS))},
            "index_tasks": {stage.value: count for stage, count in tasks.items()},
            "index": {
                "folder": unit.state.key_values.get(INDEX_FOLDER),
                "generation": int(unit.state.key_values.get(INDEX_COMMITS) or 0),
                "rebuilding": unit.state.key_values.get(INDEX_REBUILD) or None,
                "progress": json.loads(unit.state.key_values.get(INDEX_PROGRESS) or "null"),
                "partial": bool(unit.state.key_values.get(INDEX_PARTIAL)),
                "learning_patterns": bool(unit.state.key_values.get(PATTERNS_CURSOR)),
            },
        }


def read_semantic_overview(store: Store, model: str) -> dict[str, Any] | None:
    """Returns the model of semantic search, how many documents have an embedding of it, and why it gets no queries, None if it does.

    Shape: None without a model. Errors: Busy, Corrupt.
    """
    if not model:
        return None
    with store.reading() as unit:
        circuits = read_open_circuits(unit.state.key_values.get(SEMANTIC_CIRCUITS))
        return {
            "model": model,
            "embedded": unit.documents.embeddings.count(model),
            "documents": unit.documents.scan.count_live(),
            "open_circuit": next(({"since": each["since"], "reason": each["reason"]} for each in circuits), None),
        }


def read_crawl_overview(store: Store, now: datetime) -> dict[str, Any]:
    """Returns how many URLs the crawl queue has in which group, and the fetches of each minute of the last hour.

    It counts all of them, which takes a while for millions. Errors: Busy.
    """
    with store.reading() as unit:
        return _read_crawl(unit, now)


def _read_crawl(unit: UnitOfWork, now: datetime) -> dict[str, Any]:
    sites = unit.feeds.crawling.reports.count_by_site().values()
    groups = {group.value: sum(counts.get(group, 0) for counts in sites) for group in CrawlGroup}
    fetches = list_fetches(unit.state.key_values.get(CRAWL_RATE) or "", now)
    return {
        "paused": bool(unit.state.key_values.get(CRAWL_PAUSED)),
        "sites": len(sites),
        "urls": sum(groups.values()),
        "groups": groups,
        "fetches": fetches,
    }


def read_gauges(store: Store, now: datetime) -> Mapping[str, float]:
    """Returns the values that the metrics read from the store, under their names as metrics. Errors: Busy, Corrupt."""
    overview = read_overview(store)
    tasks = {f"index_tasks_{stage}": float(count) for stage, count in overview["index_tasks"].items()}
    open_circuits = float(len(overview["authorization"]["open_circuits"]))
    counted = {name: float(overview[name]) for name in ("feeds_waiting", "documents")}
    with store.reading() as unit:
        due, _ = unit.feeds.crawling.reports.count_waiting(now)
    return {**counted, **tasks, "crawl_due": float(due), "authorization_open_circuits": open_circuits}
