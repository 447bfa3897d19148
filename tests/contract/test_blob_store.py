import io
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feedmill.adapters.blobs.memory import MemoryBlobs
from feedmill.adapters.blobs.packed import PackedBlobs, PackLimits
from feedmill.model.document import BlobRef
from feedmill.model.errors import Broken, Conflict, Corrupt, DiskFull
from feedmill.ports import BlobStore
from tests.thorough import count_examples

SMALL = PackLimits(small_bytes=64, pack_bytes=256)

OPENERS: dict[str, Callable[[Path], BlobStore]] = {
    "memory": lambda _folder: MemoryBlobs(),
    "packed": lambda folder: PackedBlobs(folder / "blobs", role="feeder"),
    "packed in small packs": lambda folder: PackedBlobs(folder / "blobs", limits=SMALL),
}


@pytest.fixture(params=OPENERS)
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BlobStore]:
    store = OPENERS[request.param](tmp_path)
    yield store
    store.close()


def put(store: BlobStore, data: bytes) -> BlobRef:
    return store.put(io.BytesIO(data), len(data))


class Dribble(io.RawIOBase):
    """A stream that returns one byte a read."""

    def __init__(self, data: bytes) -> None:
        self._inner = io.BytesIO(data)

    def read(self, size: int = -1) -> bytes:
        return self._inner.read(min(size, 1))


# --- what every blob store does -------------------------------------------------------------------------------------------------


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=count_examples(30))
@given(contents=st.lists(st.binary(max_size=300), max_size=20))
def test_blob_store_with_any_contents_returns_them(blobs: BlobStore, contents: list[bytes]) -> None:
    refs = [put(blobs, data) for data in contents]
    assert [blobs.read(ref) for ref in refs] == contents
    blobs.sync()
    assert [blobs.read(ref) for ref in refs] == contents
    assert [blobs.size(ref) for ref in refs] == [len(data) for data in contents]


def test_put_with_longer_stream_takes_only_its_size(blobs: BlobStore) -> None:
    stream = io.BytesIO(b"abcdef")
    refs = [blobs.put(stream, 4), blobs.put(stream, 2)]
    assert [blobs.read(ref) for ref in refs] == [b"abcd", b"ef"]


@pytest.mark.parametrize("size_bytes", [10, 1000])
def test_put_with_shorter_stream_refuses_and_goes_on(blobs: BlobStore, size_bytes: int) -> None:
    before = put(blobs, b"before")
    with pytest.raises(Corrupt):
        blobs.put(io.BytesIO(b"short"), size_bytes)
    after = put(blobs, b"after")
    assert (blobs.read(before), blobs.read(after)) == (b"before", b"after")


@pytest.mark.parametrize(
    "ref",
    ["", "p", "../../etc/passwd", "f/../../etc/passwd/10", "p/feeder-1-0123456789abcdef/0/5", "f/feeder-1-0123456789abcdef/5", "m/9", "\0"],
)
def test_read_with_foreign_reference_is_corrupt(blobs: BlobStore, ref: str) -> None:
    put(blobs, b"something")
    with pytest.raises(Corrupt):
        blobs.read(BlobRef(ref))


def test_path_with_blob_leads_to_its_bytes_or_nowhere(blobs: BlobStore) -> None:
    for data in (b"s" * 10, b"l" * 2_000_000):
        ref = put(blobs, data)
        path = blobs.path(ref)
        assert path is None or Path(path).read_bytes() == data


def test_blob_store_with_threads_mixes_nothing_up(blobs: BlobStore) -> None:
    faults: list[str] = []

    def work(mark: int) -> None:
        stored = {}
        for number in range(60):
            data = f"{mark}:{number};".encode() * (1 + number % 30)
            stored[put(blobs, data)] = data
            if number % 20 == 0:
                blobs.sync()
        faults.extend(ref for ref, data in stored.items() if blobs.read(ref) != data)

    threads = [threading.Thread(target=work, args=(mark,)) for mark in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


# --- what a folder adds ---------------------------------------------------------------------------------------------------------


def test_packed_with_contents_of_both_sizes_keeps_them_apart(tmp_path: Path) -> None:
    store = PackedBlobs(tmp_path, role="Feeder 1", limits=SMALL)
    small, large = put(store, b"s" * 64), put(store, b"l" * 65)
    store.sync()
    assert store.path(small) is None
    assert store.path(large) == str(tmp_path / "files" / large.split("/")[1])
    assert small.startswith(f"p/feeder1-{os.getpid()}-")
    assert large.startswith(f"f/feeder1-{os.getpid()}-")
    assert max(len(small), len(large)) < 80
    store.close()


def test_packed_with_full_pack_begins_a_new_one(tmp_path: Path) -> None:
    store = PackedBlobs(tmp_path, limits=SMALL)
    refs = [put(store, bytes([number]) * 60) for number in range(10)]
    assert [pack.size_bytes for pack in store.list_objects()].count(240) == 2
    assert len(store.list_objects()) == 3
    assert [store.read(ref)[0] for ref in refs] == list(range(10))
    store.close()


def test_packed_with_small_reads_of_the_stream_puts_all(tmp_path: Path) -> None:
    store = PackedBlobs(tmp_path, limits=SMALL)
    for data in (b"ab" * 20, b"cd" * 200):
        stream: BinaryIO = Dribble(data)  # type: ignore[assignment]
        assert store.read(store.put(stream, len(data))) == data
    store.close()


def test_packed_with_other_process_reads_what_it_wrote(tmp_path: Path) -> None:
    writer, reader = PackedBlobs(tmp_path), PackedBlobs(tmp_path)
    first = put(writer, b"first")
    assert reader.read(first) == b"first"
    assert reader.read(put(writer, b"second")) == b"second"
    assert put(reader, b"own").split("/")[1] != first.split("/")[1]
    writer.close()
    reader.close()


def test_packed_with_more_packs_than_open_files_reads_all(tmp_path: Path) -> None:
    store = PackedBlobs(tmp_path, limits=PackLimits(small_bytes=64, pack_bytes=1))
    refs = [put(store, str(number).encode()) for number in range(70)]
    store.sync()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(2):
        assert [store.read(ref) for ref in refs] == [str(number).encode() for number in range(70)]
    assert len(os.listdir("/proc/self/fd")) - before <= 32
    store.close()


def test_packed_with_many_large_blobs_keeps_few_files_open(tmp_path: Path) -> None:
    store = PackedBlobs(tmp_path, limits=PackLimits(small_bytes=1))
    before = len(os.listdir("/proc/self/fd"))
    refs = [put(store, b"large") for _ in range(200)]
    assert len(os.listdir("/proc/self/fd")) - before <= 65
    assert {store.read(ref) for ref in refs} == {b"large"}
    store.close()
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.parametrize("size_bytes", [50, 500])
def test_read_with_bytes_missing_is_corrupt(tmp_path: Path, size_bytes: int) -> None:
    store = PackedBlobs(tmp_path, limits=SMALL)
    ref = put(store, b"x" * size_bytes)
    store.close()
    path = next(tmp_path.glob("*/*-*-*"))
    os.truncate(path, size_bytes - 1)
    with pytest.raises(Corrupt, match="cut off"):
        PackedBlobs(tmp_path).read(ref)
    path.unlink()
    with pytest.raises(Corrupt, match="failed reading"):
        PackedBlobs(tmp_path).read(ref)


def test_read_with_forged_length_allocates_nothing(tmp_path: Path) -> None:
    store = PackedBlobs(tmp_path)
    ref = put(store, b"x")
    with pytest.raises(Corrupt):
        store.read(BlobRef(ref[:-1] + "9999999999"))
    store.close()


def test_read_with_link_in_the_folder_does_not_follow_it(tmp_path: Path) -> None:
    store = PackedBlobs(tmp_path / "blobs")
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "blobs/files/any-1-0123456789abcdef").symlink_to(tmp_path / "secret")
    with pytest.raises(Corrupt):
        store.read(BlobRef("f/any-1-0123456789abcdef/6"))
    store.close()


@pytest.mark.parametrize("size_bytes", [600_000, 2_000_000])
def test_put_with_full_disk_takes_back_and_goes_on(tmp_path: Path, size_bytes: int) -> None:
    store = PackedBlobs(tmp_path)
    stored = put(store, b"held")
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, old[1]))
    try:
        with pytest.raises(DiskFull):
            put(store, b"x" * size_bytes)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)
    assert [(each.size_bytes, each.is_pack) for each in store.list_objects()] == [(4, True)]
    after = put(store, b"x" * size_bytes)
    store.sync()
    assert (store.read(stored), len(store.read(after))) == (b"held", size_bytes)
    store.close()


def test_sync_that_fails_refuses_writes_from_then_on(tmp_path: Path) -> None:
    store = PackedBlobs(tmp_path)
    stored = put(store, b"held")
    (tmp_path / "packs").rename(tmp_path / "gone")
    with pytest.raises(Broken, match="making blobs durable"):
        store.sync()
    (tmp_path / "gone").rename(tmp_path / "packs")
    for act in (store.sync, lambda: put(store, b"more")):
        with pytest.raises(Broken, match="making blobs durable"):
            act()
    assert store.read(stored) == b"held"
    store.close()


KILLED = """
import io, os, sys
from pathlib import Path
from feedmill.adapters.blobs.packed import PackedBlobs, PackLimits
store = PackedBlobs(Path(sys.argv[1]), limits=PackLimits(small_bytes=5000))
for number in range(100_000):
    data = str(number).encode() * (1 + number * 7 % 1500)
    ref = store.put(io.BytesIO(data), len(data))
    if number % 10 == 9:
        store.sync()
        print(ref, number, flush=True)
"""


def test_packed_after_kill_reads_everything_that_was_synced(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(30)]
    process.kill()
    lines += process.stdout.read().splitlines(keepends=True)
    process.stdout.close()
    process.wait()
    store = PackedBlobs(tmp_path)
    for ref, number in (line.split() for line in lines if line.endswith("\n")):
        assert store.read(BlobRef(ref)) == number.encode() * (1 + int(number) * 7 % 1500)
    assert not any(file.is_in_use for file in store.list_objects())
    store.close()


# --- upkeep ---------------------------------------------------------------------------------------------------------------------


def test_upkeep_with_pack_and_file_lists_and_removes_them(tmp_path: Path) -> None:
    store = PackedBlobs(tmp_path, limits=SMALL)
    small, large = put(store, b"s" * 10), put(store, b"l" * 100)
    (tmp_path / "packs" / "stray.txt").write_text("not ours")
    pack, file = store.list_objects()
    assert [(each.size_bytes, each.is_in_use, each.is_pack) for each in (pack, file)] == [(10, True, True), (100, True, False)]
    assert 0 <= pack.age_seconds < 60
    with pytest.raises(Conflict):
        store.remove_object(pack.name)
    store.sync()
    store.remove(large)
    store.remove(large)
    store.remove(small)
    assert store.read(small) == b"s" * 10
    store.close()

    other = PackedBlobs(tmp_path)
    assert other.read(small) == b"s" * 10
    other.remove_object(pack.name)
    other.remove_object(pack.name)
    assert other.list_objects() == []
    for ref in (small, large):
        with pytest.raises(Corrupt):
            other.read(ref)


def test_remove_object_removes_a_file(tmp_path: Path) -> None:
    store = PackedBlobs(tmp_path, limits=SMALL)
    large = put(store, b"l" * 100)
    store.sync()
    (file,) = store.list_objects()
    store.close()
    other = PackedBlobs(tmp_path, limits=SMALL)
    other.remove_object(file.name)
    assert other.list_objects() == []
    with pytest.raises(Corrupt):
        other.read(large)


def test_remove_object_with_foreign_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("text")
    store = PackedBlobs(tmp_path / "blobs")
    with pytest.raises(Corrupt):
        store.remove_object("../../precious")
    assert (tmp_path / "precious").exists()
