"""Files for what is too large to be held in memory."""

import errno
import os
import resource
from pathlib import Path

import pytest

from feedmill.adapters.spool import FolderSpool
from feedmill.model.errors import DiskFull


def test_spool_file_returns_what_was_written_and_leaves_no_name(tmp_path: Path) -> None:
    with FolderSpool(tmp_path / "spool").open() as file:
        file.writelines([b"one ", b"two "])
        assert file.write(b"three") == 5
        file.seek(0)
        assert file.read(5) == b"one t"
        assert file.read() == b"wo three"
        assert os.listdir(tmp_path / "spool") == []
    assert file.closed


def test_spool_file_without_disk_space_says_so_and_closes(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    file = FolderSpool(tmp_path).open()
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(DiskFull) as caught:
            file.write(bytes(200_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.__cause__.errno == errno.EFBIG
    file.close()
