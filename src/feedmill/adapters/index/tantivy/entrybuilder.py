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
"""The time limit of a build. On a quiet machine a million characters take one and a half seconds."""


class ProcessEntryBuilder:
    """Implements ``ports.EntryBuilder``. ``command`` runs the process; the folder and the number of this process are appended to it."""

    def __init__(self, folder: Path, command: Sequence[str], least_seconds: float = LEAST_SECONDS) -> None:
        self._folder = folder
        self._command = tuple(command)
        self._least_seconds = least_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._ends_at = 0.0
        self._seconds = 0.0

    def start(self, documents: Sequence[IndexDocument]) -> None:
        """Starts a process that builds the entries of some documents."""
        with translated("starting to build entries"):
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir(parents=True, mode=0o700)
            with (self._folder / DOCUMENTS).open("wb") as file:
                pickle.dump(list(documents), file, pickle.HIGHEST_PROTOCOL)
            command = [*self._command, str(self._folder), str(os.getpid())]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        characters = sum(len(document.body) for document in documents)
        self._seconds = self._least_seconds + characters / CHARACTERS_A_SECOND
        self._ends_at = time.monotonic() + self._seconds

    def find_outcome(self) -> BuildOutcome | None:
        """Returns the result of the process, once."""
        if self._process is None:
            return None
        code = self._process.poll()
        if code is None:
            if time.monotonic() < self._ends_at:
                return None
            self._end()
            return self._interrupted(f"it took longer than {self._seconds:.0f} seconds")
        self._process = None
        if code == 0:
            return BuildOutcome(payload=self._folder / INDEX, build_failures=self._read_build_failures())
        how = signal.Signals(-code).name if code < 0 else f"code {code}"
        return self._interrupted(f"the process that prepared it ended with {how}")

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
