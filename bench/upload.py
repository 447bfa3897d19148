"""What accepting a large feed costs: its rate against ``dd conv=fsync``, the peak memory of each process, search meanwhile."""

import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.figures import MEGABYTE, peak_megabytes, percentile
from tests.appliance import Appliance, running
from tests.builders.feedxml import make_feed, make_record

SIZES_MEGABYTES = (100, 1_000)
SEARCHES = 300


def main(largest_megabytes: int = SIZES_MEGABYTES[-1]) -> None:
    """Prints rates, ratios and peaks."""
    for megabytes in (min(SIZES_MEGABYTES[0], largest_megabytes), largest_megabytes):
        with TemporaryDirectory() as folder:
            disk = write_with_dd(Path(folder), megabytes)
            with running(Path(folder) / "data") as appliance:
                measure(appliance, megabytes, disk)


def measure(appliance: Appliance, megabytes: int, disk: float) -> None:
    """Uploads once, searching all the while."""
    appliance.feed(make_feed(*(make_record(f"http://a.example.com/{n}", f"<p>searchable words {n}</p>") for n in range(500))))
    before = search_times(appliance, threading.Event(), SEARCHES)
    done = threading.Event()
    during: list[float] = []
    searching = threading.Thread(target=lambda: during.extend(search_times(appliance, done, 1_000_000)))
    searching.start()
    rate = upload(appliance.gate, megabytes)
    done.set()
    searching.join()
    peaks = {role: max(peak_megabytes(pid) for pid in pids) for role, pids in appliance.role_pids().items()}
    print(f"  {megabytes} MB accepted at {rate:.0f} MB/s, dd conv=fsync {disk:.0f} MB/s: ratio {rate / disk:.2f} (aim 0.4)")
    print(f"  peak memory in MB: {', '.join(f'{role} {peak:.0f}' for role, peak in sorted(peaks.items()))}")
    if during:
        quiet, busy = percentile(before, 99), percentile(during, 99)
        print(f"  search p99: {quiet * 1000:.1f} ms before, {busy * 1000:.1f} ms during: ratio {busy / quiet:.2f}")


def write_with_dd(folder: Path, megabytes: int) -> float:
    """Returns the MB a second at which the disk takes the same amount."""
    began = time.monotonic()
    command = ["dd", "if=/dev/zero", f"of={folder / 'dd'}", "bs=1000000", f"count={megabytes}", "conv=fsync", "status=none"]
    subprocess.run(command, check=True)
    seconds = time.monotonic() - began
    (folder / "dd").unlink()
    return megabytes / seconds


def upload(port: int, megabytes: int) -> float:
    """Sends a feed of so many megabytes in one part and returns the MB a second until Success."""
    piece = b"<record url='http://b.example.com/x' mimetype='text/plain'><content>" + b"lorem ipsum " * 80_000 + b"</content></record>\n"
    head = (
        b'--<<\r\nContent-Disposition: form-data; name="datasource"\r\n\r\nlarge\r\n--<<\r\nContent-Disposition: form-data; name="feedtype"'
    )
    head += b'\r\n\r\nincremental\r\n--<<\r\nContent-Disposition: form-data; name="data"\r\n\r\n<gsafeed><header/><group>'
    tail = b"</group></gsafeed>\r\n--<<--\r\n"
    count = max(1, megabytes * MEGABYTE // len(piece))
    length = len(head) + count * len(piece) + len(tail)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        began = time.monotonic()
        connection.sendall(
            b"POST /xmlfeed HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=<<\r\nContent-Length: %d\r\n\r\n" % length
        )
        connection.sendall(head)
        for _ in range(count):
            connection.sendall(piece)
        connection.sendall(tail)
        answer = b""
        while not answer.endswith(b"Success"):
            received = connection.recv(65_536)
            assert received, answer
            answer += received
        return length / MEGABYTE / (time.monotonic() - began)


def search_times(appliance: Appliance, done: threading.Event, limit: int) -> list[float]:
    """Returns the seconds of searches, one after the other, until done or enough."""
    seconds: list[float] = []
    while not done.is_set() and len(seconds) < limit:
        began = time.monotonic()
        appliance.search("searchable words")
        seconds.append(time.monotonic() - began)
        time.sleep(0.002)
    return seconds


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
