"""How the house stands as a whole: what waits, what is there, how far the index is."""

import json
from collections.abc import Mapping
from typing import Any

from feedmill.ports import Store
from feedmill.services.facts import (
    AUTHORIZATION_RESTING,
    INDEX_FOLDER,
    INDEX_GENERATION,
    INDEX_PARTIAL,
    INDEX_PROGRESS,
    INDEX_REBUILD,
    PATTERNS_CURSOR,
)
from feedmill.services.latebinding.restingnote import read_resting


def tell_overview(store: Store) -> dict[str, Any]:
    """Gives counts and the state of the index, as ``feedmill status`` and the admin port show them. Errors: Busy, Corrupt."""
    with store.reading() as unit:
        marks = unit.marks.count()
        return {
            "feeds_waiting": unit.feeds.count_waiting(),
            "documents": unit.documents.count_live(),
            "authorization": {"left_alone": read_resting(unit.facts.get(AUTHORIZATION_RESTING))},
            "marks": {stage.value: count for stage, count in marks.items()},
            "index": {
                "folder": unit.facts.get(INDEX_FOLDER),
                "generation": int(unit.facts.get(INDEX_GENERATION) or 0),
                "rebuilding": unit.facts.get(INDEX_REBUILD) or None,
                "progress": json.loads(unit.facts.get(INDEX_PROGRESS) or "null"),
                "partial": bool(unit.facts.get(INDEX_PARTIAL)),
                "learning_patterns": bool(unit.facts.get(PATTERNS_CURSOR)),
            },
        }


def tell_gauges(store: Store) -> Mapping[str, float]:
    """Gives what the metrics ask of the store, by the names that they have there. Errors: Busy, Corrupt."""
    overview = tell_overview(store)
    marks = {f"marks_{stage}": float(count) for stage, count in overview["marks"].items()}
    left_alone = float(len(overview["authorization"]["left_alone"]))
    counted = {name: float(overview[name]) for name in ("feeds_waiting", "documents")}
    return {**counted, **marks, "authorization_servers_left_alone": left_alone}
