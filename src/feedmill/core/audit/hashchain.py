"""The audit log's format: one JSON object a line, each with the hash of the previous line.

A line is ``{"number", "at", "kind", "actor", "address", "details", "previous", "hash"}`` in this order. ``hash`` is the SHA-256 of the
line's bytes before ``,"hash":``, in hex. ``previous`` is the hash of the previous line, 64 zeros in line number 1. A changed, removed or
inserted line therefore breaks every hash after it. Old lines may be removed from the beginning: an entry of kind ``audit.trimmed`` names
the number and the hash of the last removed line.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from hashlib import sha256
from typing import Any

from feedmill.model.audit import AuditEntry, AuditEvent, AuditKind, Detail
from feedmill.model.errors import Corrupt

FIRST = "0" * 64
"""The value of ``previous`` in the first entry."""

MAX_TEXT = 2_000
_MARK = b',"hash":"'
_END = b'"}'


def write_line(number: int, event: AuditEvent, previous: str) -> tuple[bytes, AuditEntry]:
    """Writes an entry. Shape: the line without its newline, and the entry that it contains."""
    held = {
        "number": number,
        "at": event.at.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "kind": event.kind.value,
        "actor": event.actor[:MAX_TEXT],
        "address": event.address[:MAX_TEXT],
        "details": {name[:MAX_TEXT]: _cut_detail(value) for name, value in event.details.items()},
        "previous": previous,
    }
    # escaped to ASCII, so that halves of surrogate pairs and line separators of every kind are harmless
    body = json.dumps(held, separators=(",", ":"))[:-1].encode("ascii")
    digest = sha256(body).hexdigest()
    line = body + _MARK + digest.encode() + _END
    return line, AuditEntry(number=number, event=event, previous=previous, digest=digest)


def render_entry(entry: AuditEntry) -> str:
    """Returns an entry as the line that was first written."""
    line, _ = write_line(entry.number, entry.event, entry.previous)
    return line.decode("ascii")


def read_line(line: bytes) -> AuditEntry:
    """Parses an entry and checks its own hash. Errors: Corrupt."""
    # From the right: the details of an entry may hold the mark as well, as those of ``audit.trimmed`` do.
    body, found, rest = line.rpartition(_MARK)
    if not found or not rest.endswith(_END):
        raise Corrupt("the line is no entry of an audit log")
    digest = rest.removesuffix(_END).decode("latin-1")
    if sha256(body).hexdigest() != digest:
        raise Corrupt("the entry was changed: its hash is not that of its text")
    try:
        held = json.loads(body + b"}")
        return AuditEntry(number=held["number"], event=_read_event(held), previous=held["previous"], digest=digest)
    except (ValueError, KeyError, TypeError) as exc:
        raise Corrupt(f"the entry cannot be read: {exc}") from exc


def check_lines(lines: Iterable[tuple[str, bytes]]) -> Iterator[AuditEntry]:
    """Reads entries and yields them as ``check_chain`` does.

    Shape: each line with its source position, which prefixes the error message. Errors: Corrupt.
    """
    place = ""

    def read() -> Iterator[AuditEntry]:
        nonlocal place
        for where, line in lines:
            place = where
            yield read_line(line)
        place = ""

    checked = check_chain(read())
    while True:
        try:
            entry = next(checked)
        except StopIteration:
            return
        except Corrupt as exc:
            raise Corrupt(f"{place}: {exc}" if place else str(exc)) from exc
        yield entry


def check_chain(entries: Iterable[AuditEntry]) -> Iterator[AuditEntry]:
    """Yields entries while each follows the previous one.

    Errors: Corrupt if an entry does not follow, and at the end if the beginning is missing and no entry records that it was trimmed.
    """
    before: AuditEntry | None = None
    missing: tuple[int, str] | None = None
    for entry in entries:
        if before is None:
            # The first entry that exists names its predecessor, which an entry about trimming must confirm.
            missing = None if (entry.number, entry.previous) == (1, FIRST) else (entry.number - 1, entry.previous)
        elif entry.number != before.number + 1:
            raise Corrupt(f"entries are missing or doubled: {before.number} is followed by {entry.number}")
        elif entry.previous != before.digest:
            raise Corrupt(f"entry {entry.number} does not follow entry {before.number}: one of them was replaced")
        if missing is not None and _is_about(entry, missing):
            missing = None
        before = entry
        yield entry
    if missing is not None:
        raise Corrupt(f"entries up to {missing[0]} are missing, and no entry says that they were trimmed")


def _is_about(entry: AuditEntry, missing: tuple[int, str]) -> bool:
    """Whether an entry records that at least the missing entries were trimmed. After a crash, some trimmed entries may remain."""
    trimmed = trimmed_by(entry)
    return trimmed is not None and (trimmed == missing or trimmed[0] > missing[0])


def trimmed_by(entry: AuditEntry) -> tuple[int, str] | None:
    """Returns number and hash of the last trimmed entry if this entry records a trimming, else None."""
    through, digest = entry.event.details.get("through"), entry.event.details.get("hash")
    if entry.event.kind is not AuditKind.TRIMMED or not isinstance(through, int) or not isinstance(digest, str):
        return None
    return through, digest


def _read_event(held: dict[str, Any]) -> AuditEvent:
    return AuditEvent(
        kind=AuditKind(held["kind"]),
        at=datetime.fromisoformat(held["at"]),
        actor=held["actor"],
        address=held["address"],
        details=held["details"],
    )


def _cut_detail(value: Detail) -> Detail:
    if isinstance(value, list):
        return [text[:MAX_TEXT] for text in value[:MAX_TEXT]]
    return value[:MAX_TEXT] if isinstance(value, str) else value
