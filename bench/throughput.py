"""How many searches a second the search port answers, over 1, 8 and 32 connections, with one web process and with one a core.

Every query has two words and is new to every cache. Each connection sends its next query when it has the response to the last one. The
clients share one event loop in a process of its own, so that they take little of the processor.

The reference is what the cores allow: their number, divided by the processor time of a search over one connection to one process. Each
round measures it anew beside the two servers, which take turns over the same documents, since other work on the machine changes with time.
The columns are medians of the rounds: searches a second, median and 99th percentile of the time of one, processor time of one, the share of
the reference of the same round, how many cores the web processes and the client used, and the share of what the cores allow that the client
leaves. On a machine with other work compare the processor times.

    python -m bench.throughput [DOCUMENTS [ROUNDS]]
"""

import asyncio
import os
import random
import statistics
import sys
import time
import urllib.parse
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import uvloop

from bench.figures import percentile
from bench.queries import worked
from tests.appliance import Appliance, running
from tests.corpus import Corpus

DOCUMENTS = 10_000
ROUNDS = 5
CONNECTIONS: Final = (1, 8, 32)
SECONDS: Final = 5.0
QUESTIONS: Final = 2_000
SETTINGS = "[search]\nsearches_per_client = 64\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one turn measured: the time of each search, of all, and the processor time of the web processes and of the client."""

    seconds: Sequence[float]
    took: float
    cpu_seconds: float
    client_cpu_seconds: float

    @property
    def rate(self) -> float:
        """Searches a second."""
        return len(self.seconds) / self.took

    @property
    def cpu(self) -> float:
        """Seconds of processor time a search."""
        return self.cpu_seconds / len(self.seconds)

    @property
    def cores(self) -> float:
        """Cores that the web processes used."""
        return self.cpu_seconds / self.took

    @property
    def client_cores(self) -> float:
        """Cores that the client used."""
        return self.client_cpu_seconds / self.took


def main(documents: int = DOCUMENTS, rounds: int = ROUNDS, folder: str = "") -> None:
    """Prints the figures of both servers."""
    cores = len(os.sched_getaffinity(0))
    with TemporaryDirectory() as made:
        data = Path(folder or made) / "data"
        if not data.exists():
            fill(data, documents)
        turns: dict[tuple[int, int], list[Measured]] = defaultdict(list)
        for _ in range(rounds):
            for processes in (1, cores):
                with running(data, SETTINGS, {"FEEDMILL_SEARCH_PROCESSES": str(processes)}) as appliance:
                    measure(appliance, CONNECTIONS[0], 1.0)
                    for connections in CONNECTIONS:
                        turns[processes, connections].append(measure(appliance, connections, SECONDS))
                    print_memory(appliance)
    references = [each.cpu for each in turns[1, CONNECTIONS[0]]]
    print(f"  {documents:,} documents; {cores} cores allow {cores / statistics.median(references):,.0f} searches a second")
    for (processes, connections), measured in turns.items():
        report(f"{processes} process{'es' if processes > 1 else ''}, {connections} connections", measured, references, cores)


def fill(data: Path, documents: int) -> None:
    """Feeds pages of 7 KB, and waits until all are searchable."""
    with running(data) as appliance:
        appliance.wait(appliance.push(b"".join(Corpus().feed(documents)), "bench", "full"), seconds=600, pause_seconds=0.5)


def list_questions() -> list[str]:
    """Returns queries of two words that stand side by side in pages."""
    corpus = Corpus(5)
    return [corpus.text(2) for _ in range(QUESTIONS)]


def measure(appliance: Appliance, connections: int, seconds: float) -> Measured:
    """Sends queries for some seconds."""
    web = appliance.role_pids()["web"]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as client:
        client.submit(os.getpid).result()  # its interpreter has started
        before, began = worked(web), time.monotonic()
        times, client_cpu = client.submit(run_clients, appliance.search_port, connections, seconds, random.randrange(1 << 40)).result()
        return Measured(seconds=times, took=time.monotonic() - began, cpu_seconds=worked(web) - before, client_cpu_seconds=client_cpu)


def run_clients(port: int, connections: int, seconds: float, seed: int) -> tuple[list[float], float]:
    """Runs the clients of one turn, and returns the times of their searches and the processor time that the clients took."""
    before = time.process_time()
    return uvloop.run(_run_clients(port, connections, seconds, seed)), time.process_time() - before


async def _run_clients(port: int, connections: int, seconds: float, seed: int) -> list[float]:
    random_, questions = random.Random(seed), list_questions()
    random_.shuffle(questions)
    # a word of its own, which no document has, keeps each query out of the caches
    texts = (f"{questions[n % QUESTIONS]} -zz{seed}x{n}" for n in range(1 << 40))
    until = time.monotonic() + seconds
    times = await asyncio.gather(*(_work(port, texts, until) for _ in range(connections)))
    return [each for own in times for each in own]


async def _work(port: int, texts: Iterator[str], until: float) -> list[float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    times = []
    while time.monotonic() < until:
        began = time.perf_counter()
        path = "/api/v1/search?" + urllib.parse.urlencode({"q": next(texts)})
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        await reader.readexactly(_find_length(head))
        times.append(time.perf_counter() - began)
    writer.close()
    return times


def _find_length(head: bytes) -> int:
    return next(int(line.partition(b":")[2]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))


def print_memory(appliance: Appliance) -> None:
    """Prints the memory of the web processes: of each its own, and of all together with what they share."""
    own, proportional = [], 0.0
    for pid in appliance.role_pids()["web"]:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        kilobytes = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in rollup.splitlines()[1:])}
        own.append((kilobytes["Private_Clean"] + kilobytes["Private_Dirty"]) / 1000)
        proportional += kilobytes["Pss"] / 1000
    listed = ", ".join(f"{each:.0f}" for each in own)
    print(f"    web: {len(own)} processes, {listed} MB of their own, {proportional:.0f} MB in all", flush=True)


def report(name: str, measured: Sequence[Measured], references: Sequence[float], cores: int) -> None:
    """Prints the medians of the rounds, each beside the reference of its round."""
    shares = [each.rate * reference / cores for each, reference in zip(measured, references, strict=True)]
    left = [share * cores / (cores - each.client_cores) for share, each in zip(shares, measured, strict=True)]
    times = [seconds for each in measured for seconds in each.seconds]

    def median(of: Callable[[Measured], float]) -> float:
        return statistics.median(of(each) for each in measured)

    print(
        f"  {name:<28} {median(lambda each: each.rate):5.0f} a second, p50 {statistics.median(times) * 1000:6.1f} ms, "
        f"p99 {percentile(times, 99) * 1000:6.1f} ms, CPU {median(lambda each: each.cpu) * 1000:5.2f} ms, "
        f"{statistics.median(shares):4.2f} of the reference, {median(lambda each: each.cores):.2f} cores and "
        f"{median(lambda each: each.client_cores):.2f} of the client, {statistics.median(left):4.2f} of what it leaves"
    )


if __name__ == "__main__":
    words = dict(enumerate(sys.argv[1:]))
    main(int(words.get(0, DOCUMENTS)), int(words.get(1, ROUNDS)), words.get(2, ""))
