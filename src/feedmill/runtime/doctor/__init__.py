"""Looks for what would keep a server from starting or from working here: the machine, the data folder, and what the settings name."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from feedmill.runtime.doctor.certificates import check_certificates
from feedmill.runtime.doctor.findings import Finding, State
from feedmill.runtime.doctor.folder import check_clock, check_disk, check_folder, check_token
from feedmill.runtime.doctor.kernel import check_sandbox
from feedmill.runtime.doctor.names import check_names
from feedmill.runtime.doctor.ports import check_ports
from feedmill.runtime.runstate import RunState
from feedmill.settings import LoadedSettings

__all__ = ["Finding", "State", "check_machine", "check_settings_in_force"]


def check_machine(data: Path, server: RunState | None, newest: datetime | None) -> Iterator[Finding]:
    """Yields what is found without settings. Shape: ``newest`` is when the store received its newest feed, None if it has none."""
    yield from check_folder(data)
    yield from check_disk(data)
    yield from check_clock(data, server, newest)
    yield from check_token(data)
    yield from check_sandbox()


def check_settings_in_force(loaded: LoadedSettings, server: RunState | None) -> Iterator[Finding]:
    """Yields what is found about valid settings, and about the ports, files and names in them."""
    if not loaded.warnings:
        yield Finding("settings", State.OK, "they have no fault and cause no warning")
    yield from (Finding("settings", State.WARNING, warning) for warning in loaded.warnings)
    yield from check_ports(loaded.settings, server)
    yield from check_certificates(loaded.settings)
    yield from check_names(loaded.settings)
