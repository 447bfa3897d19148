"""One worker: reads tasks from a pipe, one at a time, and writes an answer for each.

It lives in a process that has no other work, forked by ``forkserver``. Before its first task it gives up what it does not need: files,
sockets, other processes, privileges (``adapters/sandbox``), memory beyond a limit. It then has open what it needs: the two pipes, a
socket over which documents arrive that are files, and the kernel's count of its memory. A crash costs the one document that it works on.
It retires after a number of documents, or when its memory has grown, because libraries written in C leak and fragment.
"""

import contextlib
import ctypes
import gc
import os
import resource
import signal
import socket
from typing import BinaryIO

from feedmill.adapters.extract.extract import extract
from feedmill.adapters.extract.pool.filepassing import FileReceiver
from feedmill.adapters.extract.pool.frames import RETIRING, pack_answer, read_task
from feedmill.adapters.sandbox.confinement import confine
from feedmill.adapters.sandbox.seccomp import EXTRACTING
from feedmill.model.extraction import ExtractionLimits

MAX_DOCUMENTS = 5_000
MAX_GROWTH_BYTES = 300_000_000
MAX_DESCRIPTORS = 64
MAX_TASKS_OF_USER = 4_096
"""The limit of the user's threads and processes together: readers of old formats start threads, and no other limit counts these."""
_LOOK_EVERY = 64
_LARGE_BYTES = 1_000_000
_PR_SET_PDEATHSIG = 1
_PAGE = resource.getpagesize()


def work(
    tasks_fd: int, answers_fd: int, files: socket.socket, limits: ExtractionLimits, niceness: int, parent: int, *, sandboxed: bool = True
) -> None:
    """Works until the pipe of tasks is closed or it is time to retire. Shape: the descriptors belong to the worker alone."""
    die_with_parent()
    # The parent may have ended before the call above took effect.
    if os.getppid() != parent:
        return
    _prepare(niceness)
    # Opened now, since the sandbox permits no opening later.
    memory = os.open("/proc/self/statm", os.O_RDONLY)
    # the reader of the answers may be gone
    with os.fdopen(tasks_fd, "rb", buffering=1 << 18) as tasks, contextlib.suppress(BrokenPipeError):
        if sandboxed:
            confine(EXTRACTING, bounds_of(limits.memory_bytes))
        _serve(tasks, answers_fd, FileReceiver(files), limits, memory)


def _serve(tasks: BinaryIO, answers_fd: int, files: FileReceiver, limits: ExtractionLimits, memory: int) -> None:
    # documents leave little garbage in cycles; with Python's defaults the collector would run several times a page
    gc.set_threshold(50_000, 20, 20)
    # Only growth counts: what the worker shares with the fork server is part of its resident memory too.
    baseline = _resident_bytes(memory)
    done = 0
    while (task := read_task(tasks)) is not None:
        is_large = task.path is not None or len(task.data or b"") > _LARGE_BYTES
        _write_all(answers_fd, pack_answer(extract(task, limits, files.receive)))
        done += 1
        if done >= MAX_DOCUMENTS or ((is_large or done % _LOOK_EVERY == 0) and _resident_bytes(memory) - baseline > MAX_GROWTH_BYTES):
            _write_all(answers_fd, RETIRING)
            return


def bounds_of(memory_bytes: int) -> dict[int, int]:
    """Returns a worker's limits in the kernel: memory, descriptors, threads, no core files, no files written."""
    return {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_AS: memory_bytes,
        resource.RLIMIT_NOFILE: MAX_DESCRIPTORS,
        resource.RLIMIT_NPROC: MAX_TASKS_OF_USER,
    }


def _prepare(niceness: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # libraries in C write long messages there
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    os.close(nothing)
    if niceness:
        os.nice(niceness)


def die_with_parent() -> None:
    """Makes the kernel kill this process when its parent ends, however it ends."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _resident_bytes(memory: int) -> int:
    return int(os.pread(memory, 200, 0).split()[1]) * _PAGE
