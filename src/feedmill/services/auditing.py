"""Writes events to the audit log, and reads the log.

An event that cannot be written does not stop the action that it records, since an administrator must be able to work on a full disk. The
whole event then goes to the server's log, as an error.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import structlog

from feedmill.model.audit import AuditEntry, AuditEvent, AuditKind, Details
from feedmill.model.errors import BadRequest, FeedmillError
from feedmill.ports import Clock
from feedmill.ports.signin import AuditLog
from feedmill.telemetry.requestids import find_request_id

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainVerification:
    """The result of a successful check of the log."""

    entries: int
    first: int
    last: int
    digest: str


class Auditing:
    """The audit log of one data folder. May be used from several threads."""

    def __init__(self, audit_log: AuditLog, clock: Clock) -> None:
        self._audit_log = audit_log
        self._clock = clock

    def record(self, event: AuditEvent) -> None:
        """Writes an event."""
        try:
            self._audit_log.append(event)
        except FeedmillError as exc:
            log.error("audit_entry_not_written", reason=str(exc), **_describe(event))

    def log_event(self, kind: AuditKind, *, actor: str = "", address: str = "", details: Details | None = None) -> None:
        """Writes an event that happens now, with the id of the request that causes it."""
        request_id = find_request_id()
        named = {**(details or {}), **({"request_id": request_id} if request_id else {})}
        self.record(AuditEvent(kind=kind, at=self._clock(), actor=actor, address=address, details=named))

    def verify(self) -> ChainVerification:
        """Checks every entry and the chain of entries. Errors: Corrupt, naming the first place that is wrong."""
        return count_entries(self._audit_log.iter_entries())

    def iter_entries(self, *, since: datetime | None = None, until: datetime | None = None, kind: str = "") -> Iterator[AuditEntry]:
        """Yields the entries of a time whose kind begins with ``kind``. Errors: Corrupt."""
        for entry in self._audit_log.iter_entries():
            is_timely = (since is None or entry.event.at >= since) and (until is None or entry.event.at < until)
            if is_timely and entry.event.kind.value.startswith(kind):
                yield entry


def check_kind(kind: str) -> str:
    """Returns the beginning of a kind. Errors: BadRequest if no kind begins with it."""
    if not any(known.value.startswith(kind) for known in AuditKind):
        raise BadRequest(f"no kind begins with {kind[:80]!a}; kinds are {', '.join(known.value for known in AuditKind)}")
    return kind


def count_entries(entries: Iterable[AuditEntry]) -> ChainVerification:
    """Returns the number of entries, the first and last number, and the last digest. Errors: those of the entries."""
    first: AuditEntry | None = None
    last: AuditEntry | None = None
    count = 0
    for last in entries:
        first = first or last
        count += 1
    if first is None or last is None:
        return ChainVerification(entries=0, first=0, last=0, digest="")
    return ChainVerification(entries=count, first=first.number, last=last.number, digest=last.digest)


def _describe(event: AuditEvent) -> dict[str, Any]:
    return {**asdict(event), "kind": event.kind.value, "at": event.at.isoformat()}
