"""How many searches a second the search port answers, over 1, 8 and 32 connections, with one web process and with one a core.

Every query has two words and is new to every cache. Each connection sends its next query when it has the response to the last one. The
clients share one event loop in a process of its own, so that they take little of the processor.

There are two references, which each round measures anew beside the two servers, since other work on the machine changes with time. One is
the number of cores divided by the processor time of a search over one connection to one process: what the cores would allow if a search
took no more time while the others are busy, and if there were no clients. The other is what as many servers of one process answer
together, each with its own documents and its part of the connections, so that they share nothing but the machine.

The columns are medians of the rounds: searches a second, median and 99th percentile of the time of one, processor time of one, how many
cores the web processes and the clients used, and the shares of both references. On a machine with other work compare the processor times.

    python -m bench.throughput [DOCUMENTS [ROUNDS]]
"""

import asyncio
import math
import os
import random
import shutil
import statistics
import sys
import time
import urllib.parse
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
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
SIDE_BY_SIDE: Final = 0
"""Instead of a number of processes: as many servers of one process as there are cores."""
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


@dataclass(slots=True)
class Round:
    """What one round measured, by the number of processes (or `SIDE_BY_SIDE`) and of connections."""

    turns: dict[tuple[int, int], Measured] = field(default_factory=dict)

    @property
    def reference(self) -> float:
        """Processor time of a search over one connection to one process."""
        return self.turns[1, CONNECTIONS[0]].cpu

    def find_shares(self, turn: tuple[int, int], cores: int) -> tuple[float, float]:
        """Returns the shares that a turn has of both references; the second is NaN where servers side by side were not measured."""
        processes, connections = turn
        rate, beside = self.turns[turn].rate, self.turns.get((SIDE_BY_SIDE, connections))
        return rate * self.reference / cores, rate / beside.rate if beside and processes == cores else math.nan


def main(documents: int = DOCUMENTS, rounds: int = ROUNDS, folder: str = "") -> None:
    """Prints the figures of both servers."""
    cores = len(os.sched_getaffinity(0))
    with TemporaryDirectory() as made:
        data = Path(folder or made) / "data"
        if not data.exists():
            fill(data, documents)
        copies = [data, *(Path(made) / f"copy{n}" for n in range(1, cores))]
        for copy in copies[1:]:
            shutil.copytree(data, copy)
        measured = [measure_round(copies) for _ in range(rounds)]
    allowed = statistics.median(cores / each.reference for each in measured)
    print(f"  {documents:,} documents; {cores} cores allow {allowed:,.0f} searches a second")
    for processes in (1, cores):
        for connections in CONNECTIONS:
            report(f"{processes} of one server, {connections} connections", measured, (processes, connections), cores)
    for connections in CONNECTIONS[1:]:
        report(f"{cores} of a server each, {connections} connections", measured, (SIDE_BY_SIDE, connections), cores)


def measure_round(copies: Sequence[Path]) -> Round:
    """Measures one process, one a core, and as many servers of one process over a copy of the documents each."""
    round_ = Round()
    for processes in (1, len(copies)):
        with start(copies[0], processes) as appliance:
            for connections in CONNECTIONS:
                round_.turns[processes, connections] = measure([appliance], connections, SECONDS)
            print_memory(appliance)
    with ExitStack() as stack:
        servers = [stack.enter_context(start(copy, 1)) for copy in copies]
        for connections in CONNECTIONS[1:]:
            round_.turns[SIDE_BY_SIDE, connections] = measure(servers, connections, SECONDS)
    return round_


@contextmanager
def start(data: Path, processes: int) -> Iterator[Appliance]:
    """Starts a server that has answered searches for a second."""
    with running(data, SETTINGS, {"FEEDMILL_SEARCH_PROCESSES": str(processes)}) as appliance:
        measure([appliance], CONNECTIONS[0], 1.0)
        yield appliance


def fill(data: Path, documents: int) -> None:
    """Feeds pages of 7 KB, and waits until all are searchable."""
    with running(data) as appliance:
        appliance.wait(appliance.push(b"".join(Corpus().feed(documents)), "bench", "full"), seconds=600, pause_seconds=0.5)


def list_questions() -> list[str]:
    """Returns queries of two words that stand side by side in pages."""
    corpus = Corpus(5)
    return [corpus.text(2) for _ in range(QUESTIONS)]


def measure(servers: Sequence[Appliance], connections: int, seconds: float) -> Measured:
    """Sends queries for some seconds, to all servers at once over equal parts of the connections."""
    web = [pid for each in servers for pid in each.role_pids()["web"]]
    with ProcessPoolExecutor(len(servers), mp_context=get_context("spawn")) as clients:
        for each in [clients.submit(time.sleep, 0.1) for _ in servers]:
            each.result()  # their interpreters have started
        before, began = worked(web), time.monotonic()
        asked = [
            clients.submit(run_clients, each.search_port, connections // len(servers), seconds, random.randrange(1 << 40))
            for each in servers
        ]
        answers = [each.result() for each in asked]
        took, cpu = time.monotonic() - began, worked(web) - before
    return Measured(
        seconds=[each for times, _ in answers for each in times],
        took=took,
        cpu_seconds=cpu,
        client_cpu_seconds=sum(client for _, client in answers),
    )


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


def report(name: str, rounds: Sequence[Round], turn: tuple[int, int], cores: int) -> None:
    """Prints the medians of the rounds."""
    measured = [each.turns[turn] for each in rounds]
    first, second = (statistics.median(shares) for shares in zip(*(each.find_shares(turn, cores) for each in rounds), strict=True))
    times = [seconds for each in measured for seconds in each.seconds]
    rate, cpu, used, clients = (
        statistics.median(figures)
        for figures in zip(*((each.rate, each.cpu, each.cores, each.client_cores) for each in measured), strict=True)
    )
    beside = "" if math.isnan(second) else f", {second:.2f} of servers side by side"
    print(
        f"  {name:<35} {rate:5.0f} a second, p50 {statistics.median(times) * 1000:6.1f} ms, p99 {percentile(times, 99) * 1000:6.1f} ms, "
        f"CPU {cpu * 1000:5.2f} ms, {used:.2f} cores and {clients:.2f} of the clients, {first:.2f} of what cores allow{beside}"
    )


if __name__ == "__main__":
    words = dict(enumerate(sys.argv[1:]))
    main(int(words.get(0, DOCUMENTS)), int(words.get(1, ROUNDS)), words.get(2, ""))
