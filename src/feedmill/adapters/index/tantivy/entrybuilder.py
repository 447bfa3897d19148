"""Builds index entries in a separate process and a separate index folder.

Shape: the folder holds ``documents`` (pickled, written here), ``index`` and ``outcome`` (written by the process), and the note of the
document that it works on. The process is ``feedmill.runtime.entrybuilding``; it ends when the process that started it ends.
"""

import os
import pickle
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from feedmill.adapters.index.tantivy.failures import translated
from feedmill.adapters.inflight import MappedInFlight
from feedmill.model.entrybuild import BuildFailure, BuildOutcome
from feedmill.model.search import IndexDocument

DOCUMENTS, INDEX, OUTCOME, IN_FLIGHT = "documents", "index", "outcome", "entry"
LEAST_SECONDS = 60.0
CHARACTERS_A_SECOND = 25_000
"""The limit of a build in CPU time. A million characters take one and a half seconds of it."""
WAITING_FACTOR = 60
"""How many times the limit a build may take in all: its process may get little of a busy machine, or wait for a slow disk."""


class ProcessEntryBuilder:
    """Implements ``ports.EntryBuilder``. ``command`` runs the process; the folder and the number of this process are appended to it."""

    def __init__(self, folder: Path, command: Sequence[str], least_seconds: float = LEAST_SECONDS) -> None:
        self._folder = folder
        self._command = tuple(command)
        self._least_seconds = least_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._begun_at = 0.0
        self._seconds = 0.0

    def start(self, documents: Sequence[IndexDocument]) -> None:
        """Starts a process that builds the entries of some documents."""
        with translated("starting to build entries"):
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir(parents=True, mode=0o700)
            with (self._folder / DOCUMENTS).open("wb") as file:
                pickle.dump(list(documents), file, pickle.HIGHEST_PROTOCOL)
            command = [*self._command, str(self._folder), str(os.getpid())]
            # in a group of its own: a terminal's Ctrl-C is for the process that the user runs, which ends this one
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, process_group=0)
        characters = sum(len(document.body) for document in documents)
        self._seconds = self._least_seconds + characters / CHARACTERS_A_SECOND
        self._begun_at = time.monotonic()

    def find_outcome(self) -> BuildOutcome | None:
        """Returns the result of the process, once."""
        if self._process is None:
            return None
        code = self._process.poll()
        if code is None:
            reason = self._find_excess(self._process.pid)
            if not reason:
                return None
            self._end()
            return self._interrupted(reason)
        self._process = None
        if code == 0:
            return BuildOutcome(payload=self._folder / INDEX, build_failures=self._read_build_failures())
        how = signal.Signals(-code).name if code < 0 else f"code {code}"
        return self._interrupted(f"the process that prepared it ended with {how}")

    def _find_excess(self, process: int) -> str:
        """Returns why a build takes too long, "" if it does not. On a machine that is too busy for it, its CPU time stands still."""
        if _read_cpu_seconds(process) > self._seconds:
            return f"it took longer than {self._seconds:.0f} seconds of CPU time"
        most_seconds = self._seconds * WAITING_FACTOR
        return f"it took longer than {most_seconds:.0f} seconds" if time.monotonic() - self._begun_at > most_seconds else ""

    def _read_build_failures(self) -> dict[int, BuildFailure]:
        with (self._folder / OUTCOME).open("rb") as file:
            build_failures: dict[int, BuildFailure] = pickle.load(file)  # noqa: S301 - written by our own process, in our own folder
        return build_failures

    def _interrupted(self, reason: str) -> BuildOutcome:
        left = MappedInFlight(self._folder, IN_FLIGHT).find_left() or ""
        return BuildOutcome(ended_on=int(left) if left.isdigit() else None, reason=reason)

    def cancel(self) -> None:
        """Ends the process if one runs."""
        self._end()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _end(self) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()
            self._process = None


def _read_cpu_seconds(process: int) -> float:
    """Returns the CPU time of a process, 0 if it has ended. Source: proc_pid_stat(5), fields 14 and 15."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            # the name of the process, in parentheses, may hold blanks and parentheses
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
