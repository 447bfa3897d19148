import io
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from feedmill.adapters.blobs.packed import PackedBlobs, PackLimits
from feedmill.adapters.feedfiles import FolderFeedFiles
from feedmill.adapters.store.schema import (
    access_classes,
    acl_versions,
    group_changes,
    group_names,
    group_publications,
    past_classes,
)
from feedmill.core.access.principals import signed_in_keys
from feedmill.model.access import Acl, Scope
from feedmill.model.document import BlobRef, Text
from feedmill.model.errors import Busy
from feedmill.model.feed import FeedKind, FeedState, NewFeed, Phase
from feedmill.model.identity import Subject
from feedmill.ports import FeedFiles, StoredRefs
from feedmill.services.feeds.groupsrun import GroupsRun
from feedmill.services.upkeep import Upkeep, UpkeepLimits
from tests.builders.access import STAFF
from tests.builders.changes import delete, faulty, put, put_acl, url
from tests.builders.groups import make_groups_feed, make_membership
from tests.contract.feedharness import BEGIN, FeedHarness, open_harness

HOUR = 3600.0
NO_REST = UpkeepLimits(rest=0.0)


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[FeedHarness]:
    made = open_harness(tmp_path)
    made.blobs = open_blobs(tmp_path)
    yield made
    made.blobs.close()
    made.store.close()


def open_blobs(folder: Path) -> PackedBlobs:
    return PackedBlobs(folder / "blobs", limits=PackLimits(small_bytes=1_000, pack_bytes=100_000))


def upkeep_of(
    harness: FeedHarness, folder: Path, blobs: PackedBlobs, limits: UpkeepLimits = NO_REST, files: FeedFiles | None = None
) -> Upkeep:
    files = files or FolderFeedFiles(folder / "feeds")
    return Upkeep(store=harness.store, files=files, garbage=blobs, blobs=blobs, clock=harness.clock, limits=limits)


def refresh_regularly(upkeep: Upkeep) -> int:
    """Does all that is due and counts the pieces."""
    pieces = 0
    while upkeep.step():
        pieces += 1
        assert pieces < 1_000
    return pieces


def next_round(harness: FeedHarness, upkeep: Upkeep) -> None:
    harness.now += timedelta(hours=1, minutes=1)
    refresh_regularly(upkeep)


def let_age(folder: Path, seconds: float) -> None:
    """Makes everything in the blob folder older."""
    for path in (folder / "blobs").rglob("*-*-*"):
        os.utime(path, (time.time() - seconds,) * 2)


def put_aside(harness: FeedHarness, folder: Path, age_seconds: float) -> PackedBlobs:
    """Ends the process that wrote the blobs and lets time go by; returns the blobs of the next one."""
    harness.blobs.close()
    let_age(folder, age_seconds)
    fresh = open_blobs(folder)
    harness.blobs = fresh
    return fresh


def extracted(harness: FeedHarness, *names: str) -> None:
    """Returns documents their texts, as the extractor does."""
    with harness.store.writing() as unit:
        documents = unit.documents.reader.find_many([url(name) for name in names])
        texts = []
        for document in documents.values():
            assert document.content is not None
            assert document.id is not None
            texts.append((document.id, Text(source=document.content, blob=put_blob(harness, f"text of {document.url}"), title="t")))
        unit.documents.writer.save_texts(texts, at=harness.clock())


def put_blob(harness: FeedHarness, text: str) -> BlobRef:
    ref = harness.blobs.put(io.BytesIO(text.encode()), len(text.encode()))
    harness.blobs.sync()
    return ref


def contents(harness: FeedHarness) -> dict[str, tuple[bytes | None, bytes | None]]:
    read = {}
    for name, document in harness.live().items():
        content = None if document.content is None else harness.blobs.read(document.content)
        text = None if document.text is None or document.text.blob is None else harness.blobs.read(document.text.blob)
        read[name] = (content, text)
    return read


# --- blobs ----------------------------------------------------------------------------------------------------------------------


def test_pack_of_which_little_is_used_is_rewritten_and_goes_a_round_later(harness: FeedHarness, tmp_path: Path) -> None:
    names = [f"d{number}" for number in range(20)]
    harness.push(*[put(name, f"content of {name} " * 20) for name in names])
    extracted(harness, *names)
    blobs = put_aside(harness, tmp_path, 2 * HOUR)
    (old_pack,) = [pack.name for pack in blobs.list_objects()]
    harness.push(*[delete(name) for name in names[3:]])
    before = contents(harness)
    upkeep = upkeep_of(harness, tmp_path, blobs)

    refresh_regularly(upkeep)
    assert contents(harness) == before
    assert all(blobs.find_object(document.content) != old_pack for document in harness.live().values() if document.content)
    assert all(not document.awaits_extraction for document in harness.live().values())
    assert {document.version for document in harness.live().values()} == {1}
    assert old_pack in [pack.name for pack in blobs.list_objects()]

    next_round(harness, upkeep)
    assert old_pack in [pack.name for pack in blobs.list_objects()]
    next_round(harness, upkeep)
    assert old_pack not in [pack.name for pack in blobs.list_objects()]
    assert contents(harness) == before


def test_pack_of_which_much_is_used_stays_as_it_is(harness: FeedHarness, tmp_path: Path) -> None:
    harness.push(*[put(f"d{number}", "x" * 100) for number in range(10)])
    extracted(harness, "d0")
    blobs = put_aside(harness, tmp_path, 2 * HOUR)
    harness.push(delete("d1"), delete("d2"))
    refs = [document.content for document in harness.live().values()]
    upkeep = upkeep_of(harness, tmp_path, blobs)

    for _ in range(3):
        next_round(harness, upkeep)

    assert [document.content for document in harness.live().values()] == refs
    assert contents(harness)[url("d0")] == (b"x" * 100, b"text of http://docs.test/d0")


@pytest.mark.parametrize("is_young", [True, False])
def test_pack_that_is_young_or_written_to_is_not_touched(harness: FeedHarness, tmp_path: Path, is_young: bool) -> None:
    uncommitted = put_blob(harness, "a transaction is on its way")
    if is_young:
        blobs = put_aside(harness, tmp_path, HOUR / 2)
    else:
        let_age(tmp_path, 5 * HOUR)
        blobs = open_blobs(tmp_path)
    upkeep = upkeep_of(harness, tmp_path, blobs)

    for _ in range(3):
        next_round(harness, upkeep)

    assert blobs.read(uncommitted) == b"a transaction is on its way"


def test_document_that_waits_for_its_extraction_keeps_its_place(harness: FeedHarness, tmp_path: Path) -> None:
    harness.push(*[put(f"d{number}", "x" * 100) for number in range(10)])
    blobs = put_aside(harness, tmp_path, 2 * HOUR)
    harness.push(*[delete(f"d{number}") for number in range(1, 10)])
    waiting = harness.document(url("d0")).content
    upkeep = upkeep_of(harness, tmp_path, blobs)

    for _ in range(3):
        next_round(harness, upkeep)

    assert harness.document(url("d0")).content == waiting
    assert contents(harness) == {url("d0"): (b"x" * 100, None)}


def test_file_that_no_document_names_goes_after_a_day(harness: FeedHarness, tmp_path: Path) -> None:
    harness.push(put("stays", "k" * 5_000), put("gone", "g" * 5_000))
    harness.push(delete("gone"))
    blobs = put_aside(harness, tmp_path, 23 * HOUR)
    upkeep = upkeep_of(harness, tmp_path, blobs)
    for _ in range(3):
        next_round(harness, upkeep)
    assert sum(not each.is_pack for each in blobs.list_objects()) == 2

    let_age(tmp_path, 25 * HOUR)
    next_round(harness, upkeep)
    assert sum(not each.is_pack for each in blobs.list_objects()) == 2
    next_round(harness, upkeep)

    assert sum(not each.is_pack for each in blobs.list_objects()) == 1
    assert contents(harness) == {url("stays"): (b"k" * 5_000, None)}


class RacingBlobs(PackedBlobs):
    """Lets a feed come between the copy of a blob and the change of its reference."""

    harness: FeedHarness
    folder: Path

    def sync(self) -> None:
        super().sync()
        if self.harness.blobs is not self:
            return
        feeding, self.harness.blobs = self.harness.blobs, open_blobs(self.folder)
        self.harness.push(put("d0", "newer"))
        self.harness.blobs.close()
        self.harness.blobs = feeding


def test_feed_that_comes_between_copy_and_change_wins(harness: FeedHarness, tmp_path: Path) -> None:
    names = [f"d{number}" for number in range(10)]
    harness.push(*[put(name, "x" * 100) for name in names])
    extracted(harness, *names)
    harness.blobs.close()
    let_age(tmp_path, 2 * HOUR)
    harness.blobs = open_blobs(tmp_path)
    harness.push(*[delete(name) for name in names[2:]])
    harness.blobs.close()
    blobs = RacingBlobs(tmp_path / "blobs", limits=PackLimits(small_bytes=1_000, pack_bytes=100_000))
    blobs.harness, blobs.folder = harness, tmp_path
    harness.blobs = blobs
    upkeep = upkeep_of(harness, tmp_path, blobs)

    refresh_regularly(upkeep)
    next_round(harness, upkeep)
    next_round(harness, upkeep)

    assert contents(harness) == {url("d0"): (b"newer", None), url("d1"): (b"x" * 100, b"text of http://docs.test/d1")}


# --- feeds and their files ------------------------------------------------------------------------------------------------------


def receive_file(
    harness: FeedHarness, files: FolderFeedFiles, datasource: str, size_bytes: int, *, applied: bool, age_seconds: float
) -> int:
    file = files.create()
    file.write(b"x" * size_bytes)
    file.commit()
    feed = NewFeed(datasource=datasource, kind=FeedKind.INCREMENTAL, file=file.name, size_bytes=size_bytes, received_at=BEGIN)
    with harness.store.writing() as unit:
        feed_id = unit.feeds.queue.add(feed)
        if applied:
            stored = unit.feeds.reader.get(feed_id)
            unit.feeds.queue.save(replace(stored, state=FeedState.COMPLETED, phase=Phase.DONE, finished_at=BEGIN, searchable_at=BEGIN))
    age(files, file.name, harness, age_seconds)
    return feed_id


def age(files: FolderFeedFiles, name: str, harness: FeedHarness, seconds: float) -> None:
    with files.open(name) as opened:
        os.utime(opened.fileno(), (harness.now.timestamp() - seconds,) * 2)


def list_names(files: FolderFeedFiles) -> set[str]:
    return {name for name, _, _ in files.list()}


def file_of(harness: FeedHarness, feed_id: int) -> str:
    return harness.feed(feed_id).file


def test_feeds_beyond_the_newest_of_their_source_go_with_their_files(harness: FeedHarness, tmp_path: Path) -> None:
    files = FolderFeedFiles(tmp_path / "feeds")
    old = [receive_file(harness, files, "hr", 10, applied=True, age_seconds=0) for _ in range(3)]
    waiting = receive_file(harness, files, "hr", 10, applied=False, age_seconds=0)
    feed_ids = [receive_file(harness, files, "hr", 10, applied=True, age_seconds=0) for _ in range(2)]
    other = receive_file(harness, files, "wiki", 10, applied=True, age_seconds=0)

    refresh_regularly(upkeep_of(harness, tmp_path, open_blobs(tmp_path), replace(NO_REST, feeds_of_a_source=2), files))

    with harness.store.reading() as unit:
        assert {feed.id for feed in unit.feeds.reader.list_newest(None, 100)} == {waiting, *feed_ids, other}
    assert list_names(files) == {file_of(harness, feed_id) for feed_id in (waiting, *feed_ids, other)}
    assert len(old) == 3


def test_files_beyond_the_budget_go_oldest_first_but_for_those_still_needed(harness: FeedHarness, tmp_path: Path) -> None:
    files = FolderFeedFiles(tmp_path / "feeds")
    needed = receive_file(harness, files, "hr", 400, applied=False, age_seconds=900)
    oldest = receive_file(harness, files, "wiki", 400, applied=True, age_seconds=800)
    newer = receive_file(harness, files, "wiki", 400, applied=True, age_seconds=700)

    refresh_regularly(upkeep_of(harness, tmp_path, open_blobs(tmp_path), replace(NO_REST, feed_files_bytes=1_000), files))

    assert list_names(files) == {file_of(harness, needed), file_of(harness, newer)}
    assert harness.feed(oldest).state is FeedState.COMPLETED


def test_feeds_of_the_archive_stay_with_their_files_until_its_days_are_over(harness: FeedHarness, tmp_path: Path) -> None:
    files = FolderFeedFiles(tmp_path / "feeds")
    feed_ids = [receive_file(harness, files, "hr", 400, applied=True, age_seconds=0) for _ in range(4)]
    limits = replace(NO_REST, feeds_of_a_source=2, feed_files_bytes=500, archive=timedelta(days=2))
    upkeep = upkeep_of(harness, tmp_path, open_blobs(tmp_path), limits, files)

    refresh_regularly(upkeep)
    assert list_names(files) == {file_of(harness, feed_id) for feed_id in feed_ids}

    harness.now += timedelta(days=2, minutes=1)
    refresh_regularly(upkeep)
    with harness.store.reading() as unit:
        assert [feed.id for feed in unit.feeds.reader.list_newest(None, 100)] == [feed_ids[3], feed_ids[2]]
    assert len(list_names(files)) == 1


def test_files_without_a_feed_go_after_an_hour(harness: FeedHarness, tmp_path: Path) -> None:
    files = FolderFeedFiles(tmp_path / "feeds")
    orphan, young, received = files.create(), files.create(), files.create()
    for file in (orphan, young):
        file.write(b"x")
        file.commit()
    received.write(b"x")
    age(files, orphan.name, harness, 2 * HOUR)
    age(files, young.name, harness, HOUR / 2)
    age(files, received.name + ".part", harness, HOUR / 2)
    upkeep = upkeep_of(harness, tmp_path, open_blobs(tmp_path), files=files)

    refresh_regularly(upkeep)
    assert list_names(files) == {young.name, received.name + ".part"}

    next_round(harness, upkeep)
    assert list_names(files) == set()
    received.discard()


@pytest.mark.parametrize("applied", [True, False])
def test_repaired_copy_goes_once_its_feed_is_applied(harness: FeedHarness, tmp_path: Path, applied: bool) -> None:
    files = FolderFeedFiles(tmp_path / "feeds")
    feed_id = receive_file(harness, files, "hr", 10, applied=applied, age_seconds=2 * HOUR)
    copy = files.create()
    copy.commit()
    age(files, copy.name, harness, 2 * HOUR)
    with harness.store.writing() as unit:
        unit.feeds.queue.save(replace(unit.feeds.reader.get(feed_id), repaired_file=copy.name))

    refresh_regularly(upkeep_of(harness, tmp_path, open_blobs(tmp_path), files=files))

    assert (copy.name in list_names(files)) is not applied
    assert file_of(harness, feed_id) in list_names(files)


# --- history and turns ----------------------------------------------------------------------------------------------------------


def test_history_of_gone_documents_goes_after_ninety_days(harness: FeedHarness, tmp_path: Path) -> None:
    harness.push(put("gone"), put("live"), faulty("rejected"))
    harness.push(delete("gone"))
    harness.now += timedelta(days=89)
    harness.push(put("live"))
    upkeep = upkeep_of(harness, tmp_path, open_blobs(tmp_path))
    refresh_regularly(upkeep)
    assert len(harness.events(url("gone"))) == 2

    harness.now += timedelta(days=2)
    refresh_regularly(upkeep)

    with harness.store.reading() as unit:
        assert set(unit.documents.reader.find_many([url("gone"), url("live"), url("rejected")])) == {url("live")}
    assert len(harness.events(url("live"))) == 1


def test_upkeep_rests_after_work_and_between_rounds(harness: FeedHarness, tmp_path: Path) -> None:
    resting = upkeep_of(harness, tmp_path, open_blobs(tmp_path), UpkeepLimits(rest=1e9))
    assert resting.step()
    assert not resting.step()

    upkeep = upkeep_of(harness, tmp_path, open_blobs(tmp_path))
    assert refresh_regularly(upkeep) > 0
    assert refresh_regularly(upkeep) == 0
    next_round(harness, upkeep)


@pytest.mark.parametrize("error", [Busy("the folder cannot be read"), RuntimeError("a fault of ours")])
def test_upkeep_of_a_task_that_fails_goes_on_with_the_others(harness: FeedHarness, tmp_path: Path, error: Exception) -> None:
    class FailingFiles(FolderFeedFiles):
        def list(self) -> Iterator[tuple[str, int, float]]:
            raise error

    harness.push(put("gone"))
    harness.push(delete("gone"))
    harness.now += timedelta(days=100)

    refresh_regularly(upkeep_of(harness, tmp_path, open_blobs(tmp_path), files=FailingFiles(tmp_path / "feeds")))

    with harness.store.reading() as unit:
        assert unit.documents.reader.find_many([url("gone")]) == {}


def test_stored_refs_of_documents_move_only_as_they_were_read(harness: FeedHarness) -> None:
    harness.push(put("a", "one"), put("b", "two"), put("c", None, metadata=()))
    extracted(harness, "a")
    with harness.store.reading() as unit:
        refs = unit.documents.upkeep.list_refs(after=0, limit=10)
        assert unit.documents.upkeep.list_refs(after=refs[0].document_id, limit=1) == refs[1:2]
    assert len(refs) == 2
    first, second = refs
    assert first.text is not None
    moved = StoredRefs(document_id=first.document_id, content=BlobRef("n"), text=replace(first.text, source=BlobRef("n")))
    stale = replace(second, content=BlobRef("other"))

    with harness.store.writing() as unit:
        assert unit.documents.upkeep.move_refs([(first, moved), (stale, replace(stale, content=BlobRef("x")))]) == 1
        assert unit.documents.upkeep.move_refs([]) == 0

    with harness.store.reading() as unit:
        assert unit.documents.upkeep.list_refs(after=0, limit=10) == [moved, second]
    assert not harness.document(url("a")).awaits_extraction


def test_history_goes_when_its_time_is_over_and_leaves_what_holds_now(harness: FeedHarness, tmp_path: Path) -> None:
    harness.push(put("stays", acl=STAFF), put("gone", acl=STAFF), put("opened", acl=STAFF))
    for user in ("ann", "bob"):
        feed_id = harness.receive([], datasource="ldap", kind=FeedKind.GROUPS_FULL)
        harness.groups[feed_id] = make_groups_feed(make_membership("staff", [user]))
        run = GroupsRun(harness.feed(feed_id), harness.tools)
        while not run.feed.phase.is_past_feeder:
            run.step()
    harness.push(delete("gone"), put_acl("opened", None), put_acl("stays", Acl(inherit_from=url("folder"))))
    history = (acl_versions, past_classes, group_changes, group_names, group_publications)
    assert all(count_rows(harness, table) for table in history)
    upkeep = upkeep_of(harness, tmp_path, open_blobs(tmp_path))
    harness.now += timedelta(days=91)
    refresh_regularly(upkeep)
    harness.now += timedelta(days=1)
    refresh_regularly(upkeep)
    assert [count_rows(harness, table) for table in history] == [1, 0, 0, 0, 0]
    assert set(harness.live()) == {url("stays"), url("opened")}
    with harness.store.reading() as unit:
        assert unit.groups.memberships.find_parents(list(signed_in_keys(Subject(scope=Scope.USER, name="bob"))))
        [number] = unit.access.acls.find_classes([url("stays")]).values()
        assert unit.access.classes.get_many([number])
        assert count_rows(harness, access_classes) == 1


def count_rows(harness: FeedHarness, table: sa.Table) -> int:
    with harness.store.writer.begin() as connection:
        return len(connection.execute(table.select()).all())
