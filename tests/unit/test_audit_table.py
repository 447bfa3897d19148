"""The audit log as people read it."""

from datetime import UTC, datetime

import pytest

from feedmill.cli.audittable import print_entries
from feedmill.model.audit import AuditEntry, AuditEvent, AuditKind, Detail

NOON = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


def show(capsys: pytest.CaptureFixture[str], kind: AuditKind, details: dict[str, Detail], actor: str = "ann", address: str = "") -> str:
    """Returns the line of an entry, without its number and time."""
    event = AuditEvent(kind=kind, at=NOON, actor=actor, address=address, details=details)
    print_entries([AuditEntry(number=7, event=event, previous="", digest="")])
    titles, line = capsys.readouterr().out.splitlines()
    assert titles.split() == ["entry", "time", "(UTC)", "actor", "what", "about", "outcome"]
    number, day, time, shown = line.split(maxsplit=3)
    assert (number, day, time) == ("7", "2026-03-01", "12:30:00")
    return " ".join(shown.split())


@pytest.mark.parametrize(
    ("kind", "details", "shown"),
    [
        (
            AuditKind.ADMINISTERED,
            {"method": "POST", "path": "/api/v1/users", "query": "name=bob", "status": 201, "request_id": "x"},
            "ann admin.request POST /api/v1/users ?name=bob 201",
        ),
        (AuditKind.ADMINISTRATION_REFUSED, {"method": "POST", "path": "/a", "status": 403}, "ann admin.refused POST /a refused: 403"),
        (AuditKind.SIGN_IN_FAILED, {"name": "ann", "way": "page"}, "ann signin.failed ann way=page failed"),
        (AuditKind.COMMANDED, {"command": "users add", "name": "bob", "role": "viewer"}, "ann command users add bob role=viewer done"),
        (AuditKind.DOCUMENT_FETCHED, {"url": "http://a/", "found": False}, "ann assistant.fetch http://a/ not found"),
        (AuditKind.ASSISTANT_SEARCHED, {"results": 3}, "ann assistant.search 3 results"),
        (AuditKind.SETTINGS_READ, {"on": "start", "changed": ["gate.port"], "sha256": "ff"}, "ann settings.read on=start gate.port done"),
        (AuditKind.DECISION_REQUESTED, {"command": "why", "user": "bob", "groups": []}, "ann decision.asked why user=bob done"),
    ],
)
def test_entry_says_who_did_what_and_how_it_ended(
    capsys: pytest.CaptureFixture[str], kind: AuditKind, details: dict[str, Detail], shown: str
) -> None:
    assert show(capsys, kind, details) == shown


def test_entry_without_an_actor_has_the_address(capsys: pytest.CaptureFixture[str]) -> None:
    assert show(capsys, AuditKind.SIGNED_OUT, {}, actor="", address="192.0.2.7").startswith("unknown at 192.0.2.7 signout")


def test_hostile_text_moves_no_cursor_and_fills_no_screen(capsys: pytest.CaptureFixture[str]) -> None:
    shown = show(capsys, AuditKind.SIGN_IN_FAILED, {"name": "\x1b[2J" + "x" * 5_000})
    assert "\x1b" not in shown
    assert len(shown) < 300
