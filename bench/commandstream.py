"""What reading the listing of a command line adaptor costs: its rate against reading the same bytes, and its peak memory.

A million ids are listed three ways: as a list of ids, as single ids, and with commands for each. The reference in the same run reads the
same file in pieces of the same size. Memory is that of a process of its own, less that of the same process for an empty listing.

``python -m bench.commandstream 10000000`` lists ten million.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.figures import MEGABYTE, peak_megabytes
from feedmill.wire.commandstream.lister import ListerReader
from feedmill.wire.commandstream.render import render_listing
from feedmill.wire.commandstream.schema import ListedDocument

IDS = 1_000_000
PIECE_BYTES = 262_144


def main(ids: int = IDS) -> None:
    """Prints rates, ratios and peaks."""
    with TemporaryDirectory() as folder:
        empty = Path(folder) / "empty"
        empty.write_bytes(b"".join(render_listing([])))
        _, baseline = measure_reading(empty)
        for name, pieces in listings(ids).items():
            path = Path(folder) / "listing"
            with path.open("wb") as file:
                file.writelines(pieces)
            megabytes = path.stat().st_size / MEGABYTE
            bare = measure_bare(path)
            seconds, peak = measure_reading(path)
            print(f"  {ids:,} ids {name}: {megabytes:.0f} MB in {seconds:.2f} s, {megabytes / seconds:.1f} MB/s, ", end="")
            print(f"{seconds / bare:.0f} times reading the bytes; {peak - baseline:.1f} MB more memory than for an empty listing")


def listings(ids: int) -> dict[str, Iterator[bytes]]:
    """Returns the bytes of listings with so many ids."""
    names = [f"/home/repository/docs/file{number:07}" for number in range(ids)]
    id_list = chain([b"GSA Adaptor Data Version 1 [\0]\0id-list\0"], (f"{name}\0".encode() for name in names))
    commands = (ListedDocument(name, last_modified=number, lock=True) for number, name in enumerate(names))
    return {
        "in a list": id_list,
        "one by one": render_listing(map(ListedDocument, names)),
        "with two commands each": render_listing(commands),
    }


def measure_bare(path: Path) -> float:
    """Returns the seconds of processor time that reading the bytes takes."""
    began = time.process_time()
    for _ in iter_pieces(path):
        pass
    return time.process_time() - began


def measure_reading(path: Path) -> tuple[float, float]:
    """Returns the seconds of processor time that reading a listing takes in a process of its own, and the megabytes of its peak."""
    command = [sys.executable, "-m", "bench.commandstream", "--read", str(path)]
    seconds, peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(seconds), float(peak)


def print_reading(path: Path) -> None:
    """Prints the seconds of processor time and the peak megabytes of this process."""
    reader = ListerReader()
    began = time.process_time()
    for _ in chain(chain.from_iterable(map(reader.feed, iter_pieces(path))), reader.close()):
        pass
    print(time.process_time() - began, peak_megabytes(os.getpid()))


def iter_pieces(path: Path) -> Iterator[bytes]:
    """Yields the bytes of a file in pieces."""
    with path.open("rb") as file:
        yield from iter(lambda: file.read(PIECE_BYTES), b"")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--read"]:
        print_reading(Path(sys.argv[2]))
    else:
        main(*(int(word) for word in sys.argv[1:]))
