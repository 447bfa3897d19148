"""The settings of serving that hold now: those of the file, with what was kept by API in their place.

Whoever asks does so inside a unit of work and pays one look at a number; only when that has changed is everything read again.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from feedmill.core.searchconfig import CompiledSearchConfig
from feedmill.model.errors import BadRequest, Corrupt
from feedmill.model.serving import Serving, StoredSetting
from feedmill.ports import UnitOfWork
from feedmill.services.keyvalues import SETTINGS_GENERATION

log = structlog.get_logger(__name__)

Combine = Callable[[Sequence[StoredSetting]], Serving]
"""Puts what was kept in place of what the file says. Errors: Corrupt."""


@dataclass(frozen=True, slots=True)
class _Held:
    generation: str | None
    book: CompiledSearchConfig


class SearchConfigProvider:
    """May be used from several threads."""

    def __init__(self, combine: Combine) -> None:
        self._combine = combine
        self._held: _Held | None = None
        self._lock = threading.Lock()

    def current(self, unit: UnitOfWork) -> CompiledSearchConfig:
        """Returns what holds now; the same object as long as nothing changes.

        Errors: Corrupt, where what was kept cannot be read and nothing was read before; else what held before goes on.
        """
        return self.current_at(unit, unit.key_values.get(SETTINGS_GENERATION))

    def current_at(self, unit: UnitOfWork, generation: str | None) -> CompiledSearchConfig:
        """Returns what holds at the generation that the unit was just asked for. Errors: as above."""
        held = self._held
        if held is None or held.generation != generation:
            with self._lock:
                held = self._held = _Held(generation, self._read(unit, held))
        return held.book

    def _read(self, unit: UnitOfWork, held: _Held | None) -> CompiledSearchConfig:
        try:
            return CompiledSearchConfig(self._combine(unit.stored_settings.list()))
        except (Corrupt, BadRequest) as error:
            if held is None:
                raise
            log.error("settings_lost", reason=str(error))
            return held.book


def nothing_set(_kept: Sequence[StoredSetting]) -> Serving:
    """Returns serving as it is where nothing is set."""
    return Serving()
