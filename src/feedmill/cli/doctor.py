"""``feedmill doctor``: checks machine, data folder and settings for what would keep a server from its work."""

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

import typer

from feedmill.cli.options import DATA, Config, Data, Json, amount, clean, console, print_json, workplace
from feedmill.cli.oserrors import describe_os_error
from feedmill.model.errors import BadSettings, FeedmillError

if TYPE_CHECKING:
    from feedmill.cli.workplace import Workplace
    from feedmill.runtime.doctor import Finding
    from feedmill.settings import LoadedSettings

DOCTOR_EXAMPLES = """Examples:

  feedmill doctor --config feedmill.toml

  feedmill doctor --json --data /var/lib/feedmill"""


def doctor(data: Data = DATA, config: Config = None, as_json: Json = False) -> None:
    """Check settings, ports, data folder, disk, clock, certificates, names and sandbox, and say what to do about each fault.

    Exits 1 if there is a fault. Changes nothing.
    """
    from feedmill.runtime.doctor import State

    findings = list(_examine(workplace(data, config)))
    faults = sum(finding.state is State.FAULT for finding in findings)
    if as_json:
        print_json([{"check": finding.check, "state": finding.state.value, "text": finding.text} for finding in findings])
    else:
        _print(findings, faults)
    if faults:
        raise typer.Exit(1)


def _examine(place: "Workplace") -> "Iterator[Finding]":
    from feedmill.runtime.doctor import Finding, State, check_machine, check_settings_in_force

    server = place.find_server()
    loaded: LoadedSettings | None = None
    try:
        loaded = place.load()
    except FeedmillError as exc:
        faults = exc.faults if isinstance(exc, BadSettings) else (str(exc),)
        yield from (Finding("settings", State.FAULT, fault) for fault in faults)
    if loaded is not None:
        yield from check_settings_in_force(loaded, server)
    newest = None
    if loaded is not None:
        try:
            if place.has_data():
                newest = _find_newest(place)
                yield Finding("store", State.OK, "it can be read")
        except FeedmillError as exc:
            yield Finding("store", State.FAULT, str(exc))
        except OSError as exc:
            yield Finding("store", State.FAULT, describe_os_error(exc))
    yield from check_machine(place.data, server, newest)


def _find_newest(place: "Workplace") -> datetime | None:
    """Returns when the newest feed was received, None if there is none."""
    with place.read() as context, context.store.reading() as unit:
        feeds = unit.feeds.reader.list_newest(None, 1)
    return feeds[0].received_at if feeds else None


def _print(findings: "list[Finding]", faults: int) -> None:
    from feedmill.runtime.doctor import State

    out = console()
    for finding in findings:
        out.print(clean(f"{finding.state.value:<9}{finding.check:<13}{finding.text}"))
    warnings = sum(finding.state is State.WARNING for finding in findings)
    out.print(f"{amount(faults, 'fault')}, {amount(warnings, 'warning')}")
