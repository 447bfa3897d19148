"""What the sandbox of the extraction's workers costs: the same documents through the same pool, with the sandbox and without.

Documents are made here: pages, mail, plain text, Word and PDF files, and pages of some megabytes, each kind by itself. The two pools
take turns, since a machine's speed is not the same all the time, and the middle of the rounds' ratios is printed. What counts is the CPU
time of the workers, beside the documents a second. The start of a worker is the time until a fresh one has answered its first document,
less the time of a second document; the fork server runs by then.

    python -m bench.sandbox [ROUNDS]
"""

import os
import signal
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from feedmill.adapters.extract.pool.extractor import ExtractorPool
from feedmill.model.extraction import ExtractionLimits, Task
from tests.corpus import Corpus
from tests.officefiles import make_docx, make_pdf, paragraph

ROUNDS = 7
STARTS = 15
MOST_PERCENT = 10.0
_PATIENCE_SECONDS = 600.0


def main(rounds: int = ROUNDS) -> None:
    """Prints the figures of each kind, and those of the start."""
    print(f"  {'documents':<14} {'with, docs/s':>12} {'without':>12} {'CPU, with/without':>18} {'wall':>6}")
    ratios = [compare(name, tasks, rounds) for name, tasks in make_documents().items()]
    within = "yes" if max(ratios) <= 1 + MOST_PERCENT / 100 else "no"
    print(f"  at most {MOST_PERCENT:g} % more CPU time for any kind: {within}")
    with_it, without = statistics.median(list_starts(sandboxed=True)), statistics.median(list_starts(sandboxed=False))
    print(f"  start of a worker: {with_it * 1_000:.1f} ms with the sandbox, {without * 1_000:.1f} ms without")


def make_documents() -> dict[str, list[Task]]:
    """Makes the documents by kind."""
    corpus = Corpus()
    pages = [corpus.page(number).encode() for number in range(400)]
    texts = [corpus.text(800) for _ in range(100)]
    kinds: dict[str, tuple[str, list[bytes]]] = {
        "html": ("text/html", pages),
        "plain": ("text/plain", [text.encode() for text in texts * 4]),
        "mail": (
            "message/rfc822",
            [f"Subject: a\r\nFrom: a@example.com\r\nTo: b@example.com\r\n\r\n{text}\r\n".encode() for text in texts * 2],
        ),
        "docx": ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", [_word(text) for text in texts]),
        "pdf": ("application/pdf", [make_pdf([corpus.text(12) for _ in range(20)], "a title") for _ in range(100)]),
        "html, 3 MB": ("text/html", [b"<title>large</title>" + b"".join(pages)] * 4),
        "plain, 3 MB": ("text/plain", ["\n".join(texts * 6).encode()] * 4),
    }
    return {
        name: [Task(key=key, url=f"http://h/{key}", mimetype=mimetype, data=data) for key, data in enumerate(contents)]
        for name, (mimetype, contents) in kinds.items()
    }


def _word(text: str) -> bytes:
    words = text.split()
    return make_docx("".join(paragraph(" ".join(words[start : start + 40])) for start in range(0, len(words), 40)))


def compare(name: str, tasks: Sequence[Task], rounds: int) -> float:
    """Prints the figures of one kind; returns the ratio of CPU time."""
    with closing(MeasuredPool(sandboxed=True)) as confined, closing(MeasuredPool(sandboxed=False)) as free:
        measured: list[tuple[tuple[float, float], tuple[float, float]]] = []
        for turn in range(rounds + 1):
            if turn % 2:
                without = free.run(tasks)
                measured.append((confined.run(tasks), without))
            else:
                measured.append((confined.run(tasks), free.run(tasks)))
    # the first time a worker loads what it reads that kind with
    del measured[0]
    wall, wall_free = (statistics.median(pair[place][0] for pair in measured) for place in (0, 1))
    wall_ratio = statistics.median(pair[0][0] / pair[1][0] for pair in measured)
    ratio = statistics.median(pair[0][1] / pair[1][1] for pair in measured)
    print(f"  {name:<14} {len(tasks) / wall:>12,.1f} {len(tasks) / wall_free:>12,.1f} {ratio:>18.3f} {wall_ratio:>6.3f}", flush=True)
    return ratio


def list_starts(*, sandboxed: bool) -> list[float]:
    """Returns how long fresh workers took to start. Units: seconds."""
    task = Task(key=0, url="http://h/0", mimetype="text/plain", data=b"a word")
    found = []
    with closing(MeasuredPool(sandboxed=sandboxed)) as pool:
        pool.run([task])
        for _ in range(STARTS):
            pool.end_worker()
            first, _ = pool.run([task])
            second, _ = pool.run([task])
            found.append(first - second)
    return found


class MeasuredPool:
    """A pool of one worker, and what the kernel reports of that worker."""

    def __init__(self, *, sandboxed: bool) -> None:
        before = _children(os.getpid())
        self._pool = ExtractorPool(ExtractionLimits(), 1, 0, sandboxed=sandboxed)
        [self._fork_server] = _children(os.getpid()) - before

    def run(self, tasks: Sequence[Task]) -> tuple[float, float]:
        """Extracts all documents. Units: seconds of wall time, and of CPU time of the worker. Errors: RuntimeError."""
        spent_before, began, answered = self._spent(), time.monotonic(), 0
        for task in tasks:
            self._pool.submit(task, quick=False)
        while answered < len(tasks):
            answers = self._pool.collect(1.0)
            answered += len(answers)
            if reason := next((answer.reason for answer in answers if answer.reason), None):
                raise RuntimeError(reason)
            if time.monotonic() - began > _PATIENCE_SECONDS:
                raise RuntimeError("the worker returns no answers")
        return time.monotonic() - began, self._spent() - spent_before

    def _spent(self) -> float:
        """Returns the CPU time of the worker and of those before it, which retired. Units: seconds."""
        retired = Path(f"/proc/{self._fork_server}/stat").read_text().rpartition(")")[2].split()[13:15]
        running = [int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in _children(self._fork_server)]
        return sum(running) / 1e9 + sum(map(int, retired)) / os.sysconf("SC_CLK_TCK")

    def end_worker(self) -> None:
        """Ends the worker, and returns when the pool knows it."""
        for pid in _children(self._fork_server):
            os.kill(pid, signal.SIGKILL)
        while _children(self._fork_server):
            time.sleep(0.001)
        self._pool.collect(0.0)

    def close(self) -> None:
        """Ends the pool."""
        self._pool.close()


def _children(pid: int) -> set[int]:
    return {int(word) for path in Path(f"/proc/{pid}/task").glob("*/children") for word in path.read_text().split()}


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
