"""Provides the search config that is in force: the settings of the file, overridden by those that the API stored.

A caller has a unit of work open and pays for reading one number. Only if that number has changed, everything is read again.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from feedmill.core.ranking.searchconfig import CompiledSearchConfig
from feedmill.model.errors import BadRequest, Corrupt
from feedmill.model.serving import Serving, StoredSetting
from feedmill.ports import UnitOfWork
from feedmill.services.keyvalues import SETTINGS_GENERATION

log = structlog.get_logger(__name__)

Combine = Callable[[Sequence[StoredSetting]], Serving]
"""Merges the stored settings into those of the file. Errors: Corrupt."""


@dataclass(frozen=True, slots=True)
class _CachedConfig:
    generation: str | None
    config: CompiledSearchConfig


class SearchConfigProvider:
    """Caches the compiled search config. May be used from several threads."""

    def __init__(self, combine: Combine) -> None:
        self._combine = combine
        self._held: _CachedConfig | None = None
        self._lock = threading.Lock()

    def current(self, unit: UnitOfWork) -> CompiledSearchConfig:
        """Returns the search config in force; the same object as long as nothing changes.

        Errors: Corrupt, if the stored settings cannot be read and none were read before; else the previous ones stay in force.
        """
        return self.current_at(unit, unit.state.key_values.get(SETTINGS_GENERATION))

    def current_at(self, unit: UnitOfWork, generation: str | None) -> CompiledSearchConfig:
        """Returns the search config of a generation that the caller has just read from the unit. Errors: as above."""
        held = self._held
        if held is None or held.generation != generation:
            with self._lock:
                held = self._held = _CachedConfig(generation, self._read_config(unit, held))
        return held.config

    def _read_config(self, unit: UnitOfWork, held: _CachedConfig | None) -> CompiledSearchConfig:
        try:
            return CompiledSearchConfig(self._combine(unit.state.stored_settings.list()))
        except (Corrupt, BadRequest) as error:
            if held is None:
                raise
            log.error("settings_lost", reason=str(error))
            return held.config


def nothing_set(_stored: Sequence[StoredSetting]) -> Serving:
    """Returns the default search config, without any settings."""
    return Serving()
