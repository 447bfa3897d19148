"""Applies stylesheets in processes of their own. A stylesheet that never ends, or that grows without bounds, costs only its page.

A few processes serve all front ends, and the stylesheets of database sources. Each starts when it is first needed, and again after it
ended.
"""

import queue
import signal
import struct
import subprocess
import sys
import weakref
from contextlib import suppress
from typing import Final

from feedmill.adapters.sandbox.environment import bare_environment
from feedmill.adapters.xslt.stylesheets import compile_stylesheet, read_output
from feedmill.adapters.xslt.worker import ANSWER, PAGE, REFUSAL, REQUEST
from feedmill.model.errors import BadRequest, Busy, Corrupt
from feedmill.ports.stylesheets import StylesheetOutput
from feedmill.runtime.roles import STYLESHEETS

WAIT_SECONDS: Final = 2.0
MAX_SECONDS: Final = 10


class ProcessTransformer:
    """Implements ``ports.stylesheets.StylesheetTransformer``. Units: ``max_seconds`` is the time limit of a page."""

    def __init__(self, at_once: int = STYLESHEETS.most, *, max_seconds: int = MAX_SECONDS) -> None:
        self._max_seconds = max_seconds
        # the worker that was used last is used first, so no more run than are needed
        self._free: queue.LifoQueue[_Worker | None] = queue.LifoQueue()
        for _ in range(at_once):
            self._free.put(None)

    def check_stylesheet(self, stylesheet: bytes) -> None:
        """Compiles a stylesheet. Errors: Corrupt, also for one that imports or includes another."""
        compile_stylesheet(stylesheet)

    def read_output(self, stylesheet: bytes) -> StylesheetOutput:
        """Returns what a stylesheet says of its page. Errors: Corrupt if it is not XML."""
        return read_output(stylesheet)

    def transform(self, stylesheet: bytes, xml: bytes, custom: bytes = b"") -> bytes:
        """Returns the page. Errors: Corrupt if the stylesheet fails; BadRequest for ``custom``; Busy if all processes are in use.

        Shape: ``custom`` becomes the element CUSTOM of the XML; it is not parsed yet.
        """
        try:
            worker = self._free.get(timeout=WAIT_SECONDS)
        except queue.Empty as exc:
            raise Busy("stylesheets are at work on other pages; try again") from exc
        try:
            if worker is None or not worker.is_alive:
                worker = _start(self._max_seconds)
            return worker.transform(stylesheet, xml, custom)
        finally:
            self._free.put(worker)


def _start(max_seconds: int) -> "_Worker":
    try:
        return _Worker(max_seconds)
    except OSError as exc:
        raise Busy(f"no process can be started for the stylesheet: {exc.strerror}; try again") from exc


class _Worker:
    def __init__(self, max_seconds: int) -> None:
        command = [sys.executable, "-m", "feedmill.adapters.xslt.worker", str(max_seconds)]
        self._max_seconds = max_seconds
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=bare_environment())
        weakref.finalize(self, _end_process, self._process)

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def transform(self, stylesheet: bytes, xml: bytes, custom: bytes) -> bytes:
        """Returns the page. Errors: Corrupt; BadRequest for ``custom``."""
        source, sink = self._process.stdout, self._process.stdin
        assert source is not None
        assert sink is not None
        try:
            sink.write(REQUEST.pack(len(stylesheet), len(xml), len(custom)) + stylesheet + xml + custom)
            sink.flush()
            kind, is_last, size = ANSWER.unpack(source.read(ANSWER.size))
            body = source.read(size)
        except (OSError, struct.error) as exc:
            raise Corrupt(self._report_end()) from exc
        if len(body) < size:
            raise Corrupt(self._report_end())
        if is_last:
            self._process.wait()
        if kind == PAGE:
            return body
        raise (BadRequest if kind == REFUSAL else Corrupt)(body.decode("utf-8", "replace"))

    def _report_end(self) -> str:
        """Returns why the process ended."""
        status = self._process.wait()
        if status == -signal.SIGALRM:
            return f"it took longer than {self._max_seconds} seconds"
        return f"its process ended by itself ({status}); it may need more memory than stylesheets may have"


def _end_process(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            assert pipe is not None
            pipe.close()
    process.wait()
