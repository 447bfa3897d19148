"""The folder of received feeds."""

import os
from pathlib import Path

import pytest

from feedmill.adapters.feedfiles import FolderFeedFiles
from feedmill.model.errors import DiskFull, NotFound


def test_file_committed_is_read_and_listed_by_its_name(tmp_path: Path) -> None:
    files = FolderFeedFiles(tmp_path / "feeds")
    file = files.create()
    for piece in (b"ab", bytearray(b"cd"), memoryview(b"ef")):
        file.write(piece)
    assert file.commit() == 6
    with files.open(file.name) as stream:
        assert stream.read() == b"abcdef"
    [(name, size_bytes, changed_at)] = list(files.list())
    assert (name, size_bytes) == (file.name, 6)
    assert changed_at > 1_000_000_000


def test_file_being_received_has_another_name(tmp_path: Path) -> None:
    files = FolderFeedFiles(tmp_path)
    file = files.create()
    file.write(b"ab")
    assert os.listdir(tmp_path) == [file.name + ".part"]
    with pytest.raises(NotFound):
        files.open(file.name)
    file.discard()
    assert os.listdir(tmp_path) == []


def test_file_discarded_after_commit_is_gone(tmp_path: Path) -> None:
    files = FolderFeedFiles(tmp_path)
    file = files.create()
    file.commit()
    file.discard()
    file.discard()
    assert list(files.list()) == []


def test_file_beyond_the_write_back_size_is_stored_whole(tmp_path: Path) -> None:
    files = FolderFeedFiles(tmp_path, reserve_bytes=1)
    file = files.create()
    for number in range(20):
        file.write(bytes([number]) * 1_000_000)
    assert file.commit() == 20_000_000
    assert (tmp_path / file.name).read_bytes() == b"".join(bytes([number]) * 1_000_000 for number in range(20))


def test_remove_known_or_unknown_name_leaves_none(tmp_path: Path) -> None:
    files = FolderFeedFiles(tmp_path)
    file = files.create()
    file.commit()
    files.remove(file.name)
    files.remove(file.name)
    assert list(files.list()) == []


def test_create_below_the_reserve_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DiskFull, match="bytes are free"):
        FolderFeedFiles(tmp_path, reserve_bytes=1 << 60).create()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "none"])
def test_open_name_that_is_none_of_ours_is_not_found(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotFound):
        FolderFeedFiles(tmp_path).open(name)


def test_names_are_in_the_order_of_creation(tmp_path: Path) -> None:
    files = FolderFeedFiles(tmp_path)
    created = [files.create() for _ in range(5)]
    assert [file.name for file in created] == sorted(file.name for file in created)
    for file in created:
        file.discard()
