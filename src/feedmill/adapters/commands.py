"""Runs programs of the operator, each in a process group of its own.

Rules:

1. There is no shell. A program gets no open file but its standard input, output and errors, and no variable whose name begins with
   ``FEEDMILL_``, because those may hold secrets of the server.
2. When the time is over, the output too long or the reader refuses it, the whole group is killed. A process that leaves the group, and
   holds the output open after the program has ended, is not waited for.
3. The program dies with the thread that started it, thus also when the server is killed.
4. What it writes to its standard errors goes to the log, up to a limit.
"""

import ctypes
import os
import selectors
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Final

import structlog

from feedmill.model.errors import UpstreamFailure
from feedmill.ports.commands import CommandLine

PIECE_BYTES: Final = 262_144
ERROR_BYTES: Final = 16_384
"""How much of the standard errors of a program is held: the beginning."""
QUOTED_CHARACTERS: Final = 300
POLL_SECONDS: Final = 0.1
GRACE_SECONDS: Final = 1.0
"""How long the output of a program is still read after it has ended, if another process holds it open."""
_PR_SET_PDEATHSIG: Final = 1  # <linux/prctl.h>
# looked up here, because a child of a process with threads must not wait for the lock of the loader
_PRCTL = ctypes.CDLL(None).prctl

log = structlog.get_logger(__name__)


class ProcessCommands:
    """Implements ``ports.Commands``; ``folder`` is for the files of ``rewrite``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._running: set[int] = set()
        self._is_stopped = False

    def run(self, line: CommandLine, take: Callable[[bytes], object], *, standard_input: bytes = b"") -> None:
        """Runs a program to its end."""
        with self._started(line, has_input=bool(standard_input)) as process:
            exchange = _Exchange(process, line, take, standard_input)
            try:
                exchange.work()
            finally:
                # what take raises must not leave the group behind
                _kill_group(process)
                process.wait()
                errors = exchange.errors.decode("utf-8", "replace").strip()
                if errors:
                    log.warning("command_errors", command=line.label, text=errors)
        if process.returncode != 0:
            raise UpstreamFailure(_describe_end(line, process.returncode, errors))

    def rewrite(self, line: CommandLine, files: Sequence[bytes]) -> list[bytes]:
        """Runs a program that rewrites files."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            paths = [Path(folder) / str(number) for number in range(len(files))]
            for path, content in zip(paths, files, strict=True):
                path.write_bytes(content)
            arguments = (*line.arguments, *(str(path.absolute()) for path in paths))
            self.run(replace(line, arguments=arguments), lambda _: None)
            return [_read_back(line, path) for path in paths]

    def stop(self) -> None:
        """Ends all programs."""
        with self._lock:
            self._is_stopped = True
            for group in self._running:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, signal.SIGKILL)

    @contextmanager
    def _started(self, line: CommandLine, *, has_input: bool) -> Iterator["subprocess.Popen[bytes]"]:
        process = _start(line, has_input=has_input)
        with self._lock:
            self._running.add(process.pid)
            is_stopped = self._is_stopped
        try:
            if is_stopped:
                _kill_group(process)
            yield process
        finally:
            with self._lock:
                self._running.discard(process.pid)
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()


class _Exchange:
    """Writes the input of a program and reads its output at the same time. ``errors`` is what it wrote to its standard errors."""

    def __init__(self, process: "subprocess.Popen[bytes]", line: CommandLine, take: Callable[[bytes], object], given: bytes) -> None:
        self._process = process
        self._line = line
        self._take = take
        self._given = memoryview(given)
        self._read_bytes = 0
        self.errors = bytearray()

    def work(self) -> None:
        """Reads until the output ends. Errors: UpstreamFailure; those of ``take``."""
        end = time.monotonic() + self._line.seconds
        process, grace_ends = self._process, 0.0
        with selectors.DefaultSelector() as selector:
            for pipe, events, work in (
                (process.stdout, selectors.EVENT_READ, self._read_output),
                (process.stderr, selectors.EVENT_READ, self._read_errors),
                (process.stdin, selectors.EVENT_WRITE, self._write_input),
            ):
                if pipe is not None:
                    os.set_blocking(pipe.fileno(), False)
                    selector.register(pipe, events, work)
            while selector.get_map():
                now = time.monotonic()
                if now >= end:
                    raise UpstreamFailure(f"the {self._line.label} did not end within {self._line.seconds:g} s")
                if process.poll() is not None:
                    grace_ends = grace_ends or now + GRACE_SECONDS
                    if now >= grace_ends:
                        return
                for key, _ in selector.select(min(POLL_SECONDS, end - now)):
                    if not key.data(key.fileobj):
                        selector.unregister(key.fileobj)
                        key.fileobj.close()  # type: ignore[union-attr]  # pipes are registered, no numbers
            self._wait(end)

    def _wait(self, end: float) -> None:
        """Waits for a program that has closed its output."""
        try:
            self._process.wait(max(end - time.monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            raise UpstreamFailure(f"the {self._line.label} did not end within {self._line.seconds:g} s") from None

    def _read_output(self, pipe: IO[bytes]) -> bool:
        data = os.read(pipe.fileno(), PIECE_BYTES)
        self._read_bytes += len(data)
        if self._read_bytes > self._line.max_bytes:
            raise UpstreamFailure(f"the {self._line.label} printed more than {self._line.max_bytes} bytes{_advise(self._line)}")
        if data:
            self._take(data)
        return bool(data)

    def _read_errors(self, pipe: IO[bytes]) -> bool:
        data = os.read(pipe.fileno(), PIECE_BYTES)
        self.errors += data[: ERROR_BYTES - len(self.errors)]
        return bool(data)

    def _write_input(self, pipe: IO[bytes]) -> bool:
        try:
            written = os.write(pipe.fileno(), self._given[:65_536])
        except BrokenPipeError:
            # a program need not read its input
            return False
        self._given = self._given[written:]
        return bool(self._given)


def _start(line: CommandLine, *, has_input: bool) -> "subprocess.Popen[bytes]":
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FEEDMILL_")}
    parent = os.getpid()
    try:
        return subprocess.Popen(
            line.arguments,
            stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=line.folder,
            env=environment | dict(line.variables),
            start_new_session=True,
            preexec_fn=lambda: _die_with(parent),
        )
    except (OSError, ValueError, subprocess.SubprocessError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
        raise UpstreamFailure(f"the {line.label} cannot be started: '{line.arguments[0]}' in {line.folder}: {reason}") from exc


def _die_with(parent: int) -> None:
    _PRCTL(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    # the group may have other processes although the program itself has ended
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _describe_end(line: CommandLine, status: int, errors: str) -> str:
    end = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    quoted = " ".join(errors.split())[:QUOTED_CHARACTERS]
    return f"the {line.label} {end}{': ' + quoted if quoted else ''}"


def _advise(line: CommandLine) -> str:
    return f", see {line.limit}" if line.limit else ""


def _read_back(line: CommandLine, path: Path) -> bytes:
    try:
        if path.stat().st_size > line.max_bytes:
            raise UpstreamFailure(f"the {line.label} wrote more than {line.max_bytes} bytes{_advise(line)}")
        return path.read_bytes()
    except OSError as exc:
        raise UpstreamFailure(f"the {line.label} left no file that can be read: {exc.strerror}") from exc
