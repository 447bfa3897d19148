"""How much memory a JSON stream of any size takes, and how fast it is received and applied: NDJSON and one array.

The bodies are made while they are sent: documents of 10 KB, and some of 25 MB in base64. Prints for each size and form the MB a second
until the receipt, until the feed is applied, and the peak memory of the processes that read it.

``python -m bench.jsonstream 100 1000`` sends these sizes in megabytes.
"""

import http.client
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.figures import MEGABYTE, peak_megabytes
from tests import programs
from tests.appliance import Appliance, running
from tests.builders.jsonbodies import LARGE_BYTES, PAGE_BYTES, iter_array, iter_documents, iter_lines

SIZES_MEGABYTES = (100, 1_000)
LARGE = 2
FEEDERS = ("feeder", "feeder-quick")
_SECONDS = 1_800
_FORMS: dict[str, tuple[str, Callable[[Iterator[Iterator[bytes]]], Iterator[bytes]]]] = {
    "lines": ("application/x-ndjson", iter_lines),
    "array": ("application/json", iter_array),
}


def main(*sizes: int) -> None:
    """Prints rates and peaks."""
    for name, (content_type, iter_form) in _FORMS.items():
        for megabytes in sizes or SIZES_MEGABYTES:
            with (
                TemporaryDirectory(prefix="feedmill-json-") as folder,
                running(Path(folder) / "data", start=programs.start_executable) as appliance,
            ):
                measure(appliance, f"{name}, {megabytes} MB", content_type, iter_form(iter_sized(megabytes)))


def iter_sized(megabytes: int) -> Iterator[Iterator[bytes]]:
    """Yields documents that make about so many megabytes."""
    large_megabytes = LARGE * LARGE_BYTES * 4 // 3 // MEGABYTE
    return iter_documents("bench", (megabytes - large_megabytes) * MEGABYTE // PAGE_BYTES, LARGE)


def measure(appliance: Appliance, title: str, content_type: str, body: Iterator[bytes]) -> None:
    """Sends one stream and waits until it is applied."""
    sent = 0

    def count() -> Iterator[bytes]:
        nonlocal sent
        for piece in body:
            sent += len(piece)
            yield piece

    began = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", appliance.gate, timeout=_SECONDS)
    connection.request("POST", "/api/v1/documents?datasource=bench", count(), {"Content-Type": content_type}, encode_chunked=True)
    answer = connection.getresponse()
    receipt = json.loads(answer.read())
    connection.close()
    assert answer.status == 202, receipt
    received = time.monotonic() - began
    # before it is asked for the receipt again and again, which maps the store
    peaks = read_peaks(appliance, "gate")
    ended = appliance.wait(receipt["id"], seconds=_SECONDS, searchable=False)
    applied = time.monotonic() - began - received
    assert (ended["state"], ended["errors"]) == ("completed", 0), ended
    peaks |= read_peaks(appliance, *FEEDERS)
    megabytes = sent / MEGABYTE
    print(f"  {title}: received at {megabytes / received:.0f} MB/s, applied at {megabytes / applied:.0f} MB/s; ", end="")
    print("peak memory in MB: " + ", ".join(f"{role} {peak:.0f}" for role, peak in sorted(peaks.items())), flush=True)


def read_peaks(appliance: Appliance, *roles: str) -> dict[str, float]:
    """Returns the most megabytes that a process of each role ever had, those of the store that it maps included."""
    return {role: max(peak_megabytes(pid) for pid in pids) for role, pids in appliance.role_pids().items() if role in roles}


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
