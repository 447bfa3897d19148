"""The audit log on a real disk: what it stores, and which changes it detects."""

import json
import multiprocessing
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from feedmill.adapters.auditlog import FolderAuditLog
from feedmill.core.audit.hashchain import FIRST, MAX_TEXT, check_chain, read_line, render_entry
from feedmill.model.audit import AuditEvent, AuditKind
from feedmill.model.errors import Corrupt
from feedmill.services.auditing import Auditing
from tests.waiting import PATIENCE_SECONDS

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def an_event(at: datetime = NOW, actor: str = "ann") -> AuditEvent:
    return AuditEvent(
        kind=AuditKind.SIGNED_IN, at=at, actor=actor, address="10.0.0.1", details={"way": "page", "proved": ["local:Default"]}
    )


def fill(folder: Path, count: int = 5) -> list[Path]:
    log = FolderAuditLog(folder)
    for number in range(count):
        log.append(an_event(actor=f"user {number}"))
    return sorted(folder.glob("*.jsonl"))


def verify(folder: Path) -> int:
    return Auditing(FolderAuditLog(folder), lambda: NOW).verify().entries


def test_audit_line_is_as_documented(tmp_path: Path) -> None:
    (path,) = fill(tmp_path, 2)
    first, second = path.read_bytes().splitlines()
    held = json.loads(second)
    assert list(held) == ["number", "at", "kind", "actor", "address", "details", "previous", "hash"]
    assert held["previous"] == json.loads(first)["hash"]
    assert json.loads(first)["previous"] == FIRST
    assert held["hash"] == sha256(second.partition(b',"hash":')[0]).hexdigest()
    assert (held["number"], held["at"], held["kind"]) == (2, "2026-03-01T12:00:00.000000Z", "signin.accepted")


def test_audit_entries_are_read_back_and_written_again_byte_for_byte(tmp_path: Path) -> None:
    log = FolderAuditLog(tmp_path)
    actor = 'a"\u2028\ud800\n{},"hash":"'
    log.append(an_event(actor=actor))
    (path,) = tmp_path.glob("*.jsonl")
    (entry,) = log.iter_entries()
    assert entry.event.actor == actor
    assert (render_entry(entry) + "\n").encode() == path.read_bytes()


def test_audit_entry_of_any_length_is_cut_and_found_again(tmp_path: Path) -> None:
    log = FolderAuditLog(tmp_path)
    log.append(AuditEvent(kind=AuditKind.COMMANDED, at=NOW, actor="x" * 100_000, details={"list": ["ü" * 9_000] * 50}))
    assert FolderAuditLog(tmp_path).append(an_event()).number == 2
    assert len(next(log.iter_entries()).event.actor) == MAX_TEXT


def test_audit_log_that_is_gone_whole_or_was_replaced_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    fill(folder)
    FolderAuditLog(folder).append(an_event(NOW + timedelta(days=1)))
    assert verify(folder) == 6
    shutil.rmtree(folder)
    with pytest.raises(Corrupt, match=r"entry 6 is not there as .*audit-begun.json"):
        verify(folder)
    assert FolderAuditLog(folder).append(an_event(NOW + timedelta(days=1))).number == 7
    with pytest.raises(Corrupt, match="entries up to 6 are missing"):
        verify(folder)
    shutil.rmtree(folder)
    elsewhere = tmp_path / "elsewhere" / "audit"
    elsewhere.parent.mkdir()
    fill(elsewhere, 9)
    elsewhere.rename(folder)
    with pytest.raises(Corrupt, match=r"entry 7 is not there"):
        verify(folder)
    (tmp_path / "audit-begun.json").unlink()
    assert verify(folder) == 9


def test_audit_log_is_whole_after_its_beginning_was_trimmed(tmp_path: Path) -> None:
    log = FolderAuditLog(tmp_path / "audit", keep=timedelta(days=2))
    for day in range(6):
        log.append(an_event(NOW + timedelta(days=day)))
    assert verify(tmp_path / "audit") < 12
    assert not (tmp_path / "audit" / "000000000001.jsonl").exists()


def change(path: Path, edit: Callable[[list[bytes]], None]) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    edit(lines)
    path.write_bytes(b"".join(lines))


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda lines: lines.__setitem__(2, lines[2].replace(b"user 2", b"user 9")), "000000000001.jsonl:3: the entry was changed"),
        (lambda lines: lines.pop(2), "000000000001.jsonl:3: .*2 is followed by 4"),
        (lambda lines: lines.pop(), "missing at the end: the last one should be 5"),
        (lambda lines: lines.clear(), "missing at the end"),
        (lambda lines: lines.insert(2, lines[1]), "000000000001.jsonl:3: .*2 is followed by 2"),
        (lambda lines: lines.reverse(), "000000000001.jsonl:2: .*5 is followed by 4"),
        (lambda lines: lines.pop(0), "up to 1 are missing, and no entry says"),
        (lambda lines: lines.__setitem__(1, b"{}\n"), ":2: the line is no entry"),
        (lambda lines: lines.__setitem__(1, b"\xff\n"), ":2: the line is no entry"),
    ],
    ids=["changed", "removed", "cut", "emptied", "doubled", "turned round", "beheaded", "other", "bytes"],
)
def test_audit_log_that_was_tampered_with_is_noticed(tmp_path: Path, edit: Callable[[list[bytes]], None], reason: str) -> None:
    (path,) = fill(tmp_path)
    change(path, edit)
    with pytest.raises(Corrupt, match=reason):
        verify(tmp_path)


def test_audit_log_with_an_entry_forged_whole_is_noticed(tmp_path: Path) -> None:
    (path,) = fill(tmp_path)
    other = tmp_path / "other"
    log = FolderAuditLog(other)
    for number in range(5):
        log.append(an_event(actor="nobody" if number == 2 else f"user {number}"))
    forged = next(other.glob("*.jsonl")).read_bytes().splitlines(keepends=True)[2]
    change(path, lambda lines: lines.__setitem__(2, forged))
    with pytest.raises(Corrupt, match=r"000000000001\.jsonl:4: entry 4 does not follow entry 3"):
        verify(tmp_path)


def test_audit_log_goes_on_behind_a_line_that_a_crash_left(tmp_path: Path) -> None:
    (path,) = fill(tmp_path, 2)
    with path.open("ab") as file:
        file.write(b'{"number":3,"at"')
    assert verify(tmp_path) == 2
    assert FolderAuditLog(tmp_path).append(an_event()).number == 3
    assert verify(tmp_path) == 3


def test_audit_log_whose_last_entry_was_spoilt_goes_on_and_the_place_is_named(tmp_path: Path) -> None:
    (path,) = fill(tmp_path, 3)
    change(path, lambda lines: lines.__setitem__(2, lines[2].replace(b"user 2", b"user 9")))
    assert [FolderAuditLog(tmp_path).append(an_event()).number for _ in range(2)] == [4, 5]
    with pytest.raises(Corrupt, match=r"000000000001\.jsonl:3: the entry was changed"):
        verify(tmp_path)
    change(path, lambda lines: lines.__setitem__(2, lines[2].replace(b"user 9", b"user 2")))
    assert verify(tmp_path) == 5


@pytest.mark.parametrize("left", [b"", b'{"number":3,"at"'], ids=["whole line", "part of a line"])
def test_audit_log_whose_end_was_cut_off_shows_the_gap_also_when_it_has_gone_on(tmp_path: Path, left: bytes) -> None:
    (path,) = fill(tmp_path, 3)
    change(path, lambda lines: lines.__setitem__(2, left))
    assert FolderAuditLog(tmp_path).append(an_event()).number == 4
    with pytest.raises(Corrupt, match=r"000000000001\.jsonl:3: .*2 is followed by 4"):
        verify(tmp_path)


def test_audit_log_without_its_head_goes_on(tmp_path: Path) -> None:
    fill(tmp_path, 3)
    (tmp_path / "head.json").write_text("")
    assert FolderAuditLog(tmp_path).append(an_event()).number == 4
    assert verify(tmp_path) == 4


def test_audit_log_keeps_what_it_should_and_its_chain(tmp_path: Path) -> None:
    log = FolderAuditLog(tmp_path, keep=timedelta(days=3))
    for day in range(8):
        log.append(an_event(NOW + timedelta(days=day)))
    entries = list(log.iter_entries())
    assert entries[0].event.at >= NOW + timedelta(days=4)
    assert AuditKind.TRIMMED in {entry.event.kind for entry in entries}
    assert [entry.number for entry in entries] == list(range(entries[0].number, entries[0].number + len(entries)))
    sorted(tmp_path.glob("*.jsonl"))[0].unlink()
    with pytest.raises(Corrupt, match="no entry says that they were trimmed"):
        list(log.iter_entries())


def test_audit_log_whose_trimming_a_crash_cut_short_is_whole(tmp_path: Path) -> None:
    log = FolderAuditLog(tmp_path)
    for day in range(5):
        log.append(an_event(NOW + timedelta(days=day)))
    contents = {path.name: path.read_bytes() for path in tmp_path.glob("*.jsonl")}
    FolderAuditLog(tmp_path, keep=timedelta(days=2)).append(an_event(NOW + timedelta(days=5)))
    left = len(list(tmp_path.glob("*.jsonl")))
    for name in sorted(contents)[1:3]:
        (tmp_path / name).write_bytes(contents[name])
    assert left == 3
    assert verify(tmp_path) == 6
    FolderAuditLog(tmp_path, keep=timedelta(days=2)).append(an_event(NOW + timedelta(days=6)))
    assert len(list(tmp_path.glob("*.jsonl"))) == 3
    verify(tmp_path)


def test_audit_log_begins_a_new_file_where_one_is_large(tmp_path: Path) -> None:
    log = FolderAuditLog(tmp_path, max_file_bytes=500)
    for _ in range(5):
        log.append(an_event())
    assert len(list(tmp_path.glob("*.jsonl"))) > 1
    assert verify(tmp_path) == 5


def _append_many(folder: str) -> None:
    log = FolderAuditLog(Path(folder), max_file_bytes=3_000)
    for _ in range(20):
        log.append(an_event())


def test_audit_log_of_several_processes_is_one_chain(tmp_path: Path) -> None:
    spawning = multiprocessing.get_context("spawn")
    writers = [spawning.Process(target=_append_many, args=(str(tmp_path),)) for _ in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(PATIENCE_SECONDS)
        assert writer.exitcode == 0
    assert verify(tmp_path) == 60


def test_audit_log_that_cannot_be_written_stops_no_request_and_is_logged(tmp_path: Path) -> None:
    (tmp_path / "audit").write_text("no folder")
    with capture_logs() as logs:
        Auditing(FolderAuditLog(tmp_path / "audit"), lambda: NOW).record(an_event())
    assert [(each["log_level"], each["event"]) for each in logs] == [("error", "audit_entry_not_written")]


def test_audit_export_of_a_part_is_a_chain_of_its_own_lines(tmp_path: Path) -> None:
    (path,) = fill(tmp_path)
    lines = path.read_bytes().splitlines()
    with pytest.raises(Corrupt, match="up to 2 are missing"):
        list(check_chain(read_line(line) for line in lines[2:]))
    assert [entry.number for entry in check_chain(read_line(line) for line in lines)] == [1, 2, 3, 4, 5]
