"""Stores which circuits are open, so that every process and command can show them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import structlog

from feedmill.model.authorization import OpenCircuit
from feedmill.model.errors import FeedmillError
from feedmill.ports import Store
from feedmill.services.keyvalues import OPEN_CIRCUITS

log = structlog.get_logger(__name__)


class CircuitNote:
    """Writes the note, for the one process that sends authorization requests. May be used from several threads."""

    def __init__(self, store: Store, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock

    def clear(self) -> None:
        """Removes the note of a process that has ended."""
        with self._store.reading() as unit:
            is_empty = not unit.state.key_values.get(OPEN_CIRCUITS)
        if not is_empty:
            self(())

    def __call__(self, circuits: Sequence[OpenCircuit]) -> None:
        """Stores the servers whose circuit is open now."""
        now = self._clock().isoformat(timespec="seconds")
        try:
            with self._store.writing() as unit:
                earlier = {
                    (each["rule"], each["server"]): each["since"] for each in read_open_circuits(unit.state.key_values.get(OPEN_CIRCUITS))
                }
                noted = [{**asdict(each), "since": earlier.get((each.rule, each.server), now)} for each in circuits]
                unit.state.key_values.put(OPEN_CIRCUITS, json.dumps(noted) if noted else "")
        except FeedmillError as exc:
            # the log has the event; a failure to store the state must not stop a search
            log.warning("authorization_not_noted", reason=str(exc))


def read_open_circuits(text: str | None) -> list[dict[str, Any]]:
    """Reads the note: ``rule``, ``server``, ``failures``, ``reason``, ``since`` of each server whose circuit is open."""
    return list(json.loads(text)) if text else []
