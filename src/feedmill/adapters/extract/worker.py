"""One worker: takes tasks from a pipe, one at a time, and writes an answer for each.

It lives in a process that has no other work, forked by ``forkserver``, with hard limits on memory and none of the server's files
open. Whatever happens to it costs the one document it works on. It retires after a number of documents, or when its memory has
grown, because libraries written in C leak and fragment.
"""

import contextlib
import ctypes
import gc
import os
import resource
import signal
from typing import BinaryIO

from feedmill.adapters.extract.extract import extract
from feedmill.adapters.extract.frames import RETIRING, pack_answer, read_task
from feedmill.model.extraction import ExtractionLimits

MAX_DOCUMENTS = 5_000
MAX_GROWTH_BYTES = 300_000_000
_LOOK_EVERY = 64
_LARGE_BYTES = 1_000_000
_PR_SET_PDEATHSIG = 1
_PAGE = resource.getpagesize()


def work(tasks_fd: int, answers_fd: int, limits: ExtractionLimits, niceness: int, parent: int) -> None:
    """Works until the pipe of tasks is closed or it is time to retire. Shape: the pipes' ends belong to the worker alone."""
    die_with_parent()
    if os.getppid() != parent:
        return
    confine(limits.memory_bytes, niceness)
    # whoever reads the answers may be gone
    with os.fdopen(tasks_fd, "rb", buffering=1 << 18) as tasks, contextlib.suppress(BrokenPipeError):
        _serve(tasks, answers_fd, limits)


def _serve(tasks: BinaryIO, answers_fd: int, limits: ExtractionLimits) -> None:
    # documents leave little garbage in cycles; Python's own numbers would have it looked for several times a page
    gc.set_threshold(50_000, 20, 20)
    baseline = _resident_bytes()
    done = 0
    while (task := read_task(tasks)) is not None:
        is_large = task.path is not None or len(task.data or b"") > _LARGE_BYTES
        _write_all(answers_fd, pack_answer(extract(task, limits)))
        done += 1
        if done >= MAX_DOCUMENTS or ((is_large or done % _LOOK_EVERY == 0) and _resident_bytes() - baseline > MAX_GROWTH_BYTES):
            _write_all(answers_fd, RETIRING)
            return


def confine(memory_bytes: int, niceness: int) -> None:
    """Puts the process under its limits: memory, no core files, no files written."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # libraries in C complain there at length
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    if niceness:
        os.nice(niceness)


def die_with_parent() -> None:
    """Asks the kernel to kill this process when its parent ends, however it ends."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _resident_bytes() -> int:
    with open("/proc/self/statm", "rb") as stream:
        return int(stream.read().split()[1]) * _PAGE
