"""Stores which circuits are open, so that every process and command can show them.

Each process that sends authorization requests, or has a model embed queries, has circuits of its own, and its own part of a note.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from operator import itemgetter
from typing import Any, Final

import structlog

from feedmill.model.authorization import OpenCircuit
from feedmill.model.errors import FeedmillError
from feedmill.ports import Store
from feedmill.services.keyvalues import OPEN_CIRCUITS

_PROCESS: Final = "process"

log = structlog.get_logger(__name__)


class CircuitNote:
    """Writes the part of one process, by its number, of the note under a key. May be used from several threads."""

    def __init__(self, store: Store, clock: Callable[[], datetime], number: int = 0, key: str = OPEN_CIRCUITS) -> None:
        self._store = store
        self._clock = clock
        self._number = number
        self._key = key

    def clear(self, processes: int = 1) -> None:
        """Removes what earlier processes noted: the one with this number, and those beyond so many."""
        with self._store.reading() as unit:
            noted = {entry.get(_PROCESS, 0) for entry in _read_entries(unit.state.key_values.get(self._key))}
        if any(number == self._number or number >= processes for number in noted):
            self._write((), processes)

    def __call__(self, circuits: Sequence[OpenCircuit]) -> None:
        """Stores the servers whose circuit is open now in this process."""
        self._write(circuits)

    def _write(self, circuits: Sequence[OpenCircuit], processes: int | None = None) -> None:
        now = self._clock().isoformat(timespec="seconds")
        try:
            with self._store.writing() as unit:
                entries = _read_entries(unit.state.key_values.get(self._key))
                own = {(each["rule"], each["server"]): each["since"] for each in entries if each.get(_PROCESS, 0) == self._number}
                others = [each for each in entries if each.get(_PROCESS, 0) != self._number]
                noted = [each for each in others if processes is None or each.get(_PROCESS, 0) < processes]
                noted += [{**asdict(each), "since": own.get((each.rule, each.server), now), _PROCESS: self._number} for each in circuits]
                unit.state.key_values.put(self._key, json.dumps(noted) if noted else "")
        except FeedmillError as exc:
            # the log has the event; a failure to store the state must not stop a search
            log.warning("circuits_not_noted", reason=str(exc))


def read_open_circuits(text: str | None) -> list[dict[str, Any]]:
    """Reads the note: ``rule``, ``server``, ``failures``, ``reason``, ``since`` of each server whose circuit is open in any process.

    Of several processes, the one whose circuit opened first says the rest.
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in sorted(_read_entries(text), key=itemgetter("since")):
        found.setdefault((entry["rule"], entry["server"]), {name: value for name, value in entry.items() if name != _PROCESS})
    return list(found.values())


def _read_entries(text: str | None) -> list[dict[str, Any]]:
    return list(json.loads(text)) if text else []
