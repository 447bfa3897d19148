"""The audit log as people read it: when, who, what, about what, and how it ended."""

from collections.abc import Iterable, Iterator
from typing import Final

from feedmill.cli.options import clean, make_table, print_table
from feedmill.core.text.times import ZONE, write_in_utc
from feedmill.model.audit import AuditEntry, AuditEvent, AuditKind, Detail

_OUTCOMES: Final = ("status", "reason", "found", "results", "passages", "entries", "sessions")
"""The details that say how an event ended. The first that is there counts."""

_NOT_SHOWN: Final = {*_OUTCOMES, "request_id", "sha256"}
_PLAIN: Final = {"command", "method", "path", "url", "urls", "name", "file", "changed"}
"""Details that need no name before their value."""

_ENDS: Final = {
    AuditKind.SIGNED_IN: "accepted",
    AuditKind.SIGN_IN_FAILED: "failed",
    AuditKind.SIGN_IN_REFUSED: "refused",
    AuditKind.ADMINISTRATION_REFUSED: "refused",
    AuditKind.PUSH_REFUSED: "refused",
}
_LONGEST: Final = 200
"""How many characters of what an event is about are shown; its line of JSON has all."""


def print_entries(entries: Iterable[AuditEntry]) -> None:
    """Prints entries in their order."""
    table = make_table("entry", f"time ({ZONE})", "actor", "what", "about", "outcome")
    for entry in entries:
        event = entry.event
        table.add_row(
            str(entry.number),
            write_in_utc(event.at),
            clean(_describe_actor(event)),
            event.kind.value,
            clean(_shorten(" ".join(_list_subjects(event)))),
            clean(_shorten(_describe_outcome(event))),
        )
    print_table(table)


def _describe_actor(event: AuditEvent) -> str:
    actor = event.actor or "unknown"
    return f"{actor} at {event.address}" if event.address else actor


def _list_subjects(event: AuditEvent) -> Iterator[str]:
    for name, value in event.details.items():
        if name in _NOT_SHOWN or value in ("", []):
            continue
        if name == "query" and "path" in event.details:
            yield f"?{value}"
        else:
            yield _write(value) if name in _PLAIN else f"{name}={_write(value)}"


def _describe_outcome(event: AuditEvent) -> str:
    end = _ENDS.get(event.kind, "")
    name = next((name for name in _OUTCOMES if name in event.details), "")
    match event.details.get(name):
        case None:
            return end or "done"
        case bool(is_found):
            return "found" if is_found else "not found"
        case value if name in ("status", "reason"):
            return ": ".join(filter(None, (end, _write(value))))
        case value:
            return f"{value} {name}"


def _write(value: Detail) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
