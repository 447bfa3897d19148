"""The process that forks the workers.

It loads once what is slow to load (parsers, the language model: more than a second and 150 MB) and then only forks: a fresh worker
is ready in milliseconds, and all workers share that memory. It never sees a document, so no hostile input reaches it.

Commands arrive over a socket that preserves message borders. Responses use the same socket:

    spawn ID NICENESS  with the ends of two pipes and a socket  ->  started ID PID
    kill ID
                                                                ->  ended ID STATUS  when a worker has ended

    end 0              the client needs this process no longer

It ends when the socket is closed or its parent is gone; its workers end with it. With a listening socket it survives a client
that is killed: it ends the workers, and serves the client's successor, which need not wait for the loading again. It then ends with
the process that starts those clients, or if no successor connects for a while. Only processes that were started by that one are served.
"""

import codecs
import encodings
import gc
import importlib
import json
import os
import pkgutil
import select
import selectors
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import fields

from feedmill.adapters.extract import charset, language
from feedmill.adapters.extract.extract import extract
from feedmill.adapters.extract.pool.worker import work
from feedmill.adapters.extract.readers import pdf
from feedmill.adapters.extract.sniff import MAIL
from feedmill.adapters.peercredentials import peer_of
from feedmill.adapters.sandbox.confinement import harden
from feedmill.model.extraction import ExtractionLimits, Task

_LOOK_SECONDS = 1.0
_SUCCESSOR_SECONDS = 15.0
_MESSAGE_BYTES = 4_096
_UNSANDBOXED = "unsandboxed"
_MAIL_HEAD = b"Subject: =?utf-8?q?a?=\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n"
_SAMPLES = (
    ("text/html", b"<title>a</title><p>" + bytes(range(128, 256)) * 4),
    (MAIL, _MAIL_HEAD + b"--x\r\nContent-Type: text/plain\r\n\r\na\r\n--x--\r\n"),
    ("text/markdown", b"# a\n\n|b|\n|-|\n|c|\n"),
)


class ForkServer:
    """Forks workers on command and reports when they end. ``clients``: a listening socket, and the process that starts the clients."""

    def __init__(
        self, control: socket.socket, limits: ExtractionLimits, clients: tuple[socket.socket, int] | None = None, *, sandboxed: bool = True
    ) -> None:
        self._control = control
        self._limits = limits
        self._sandboxed = sandboxed
        self._clients = clients
        self._pids: dict[int, int] = {}
        self._is_over = False
        self._parent = os.getppid()
        self._starter = -1
        self._wakeup, self._alarm = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._selector = selectors.DefaultSelector()

    def run(self) -> None:
        """Serves until its client is gone, and then successors of that client if it has a listening socket."""
        # By default SIGCHLD has no effect. With a handler, the end of a worker writes a byte to the wake-up descriptor,
        # which ends ``select`` below.
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._alarm, warn_on_full_buffer=False)
        self._selector.register(self._wakeup, selectors.EVENT_READ)
        if self._clients is not None:
            # the starter is alive: the client, which is its child, has just checked that
            self._starter = os.pidfd_open(self._clients[1])
            self._selector.register(self._starter, selectors.EVENT_READ)
        self._serve()
        while self._clients is not None and not self._is_over and self._find_successor(*self._clients):
            self._serve()

    def _serve(self) -> None:
        """Serves one client until it is gone, or sends ``end``."""
        self._selector.register(self._control, selectors.EVENT_READ)
        wanted = True
        # Without a listening socket this process ends with its parent: an orphan has another parent id.
        while wanted and not self._is_over and (self._clients is not None or os.getppid() == self._parent):
            for key, _ in self._selector.select(_LOOK_SECONDS):
                if key.fileobj is self._control:
                    wanted = self._obey()
                # the process that starts the clients has ended
                elif key.fileobj == self._starter:
                    self._is_over = True
                else:
                    os.read(self._wakeup, 4_096)
            self._reap()
        # No client reads reports any more. The workers belong to this client, so they end before the next one is served.
        self._selector.unregister(self._control)
        self._control.close()
        for pid in self._pids.values():
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        self._pids.clear()

    def _find_successor(self, listener: socket.socket, starter: int) -> bool:
        """Waits a while for the next client. Returns whether one came."""
        end = time.monotonic() + _SUCCESSOR_SECONDS
        while (left := end - time.monotonic()) > 0:
            ready, _, _ = select.select([listener.fileno(), self._starter], [], [], left)
            if self._starter in ready:
                return False
            if ready:
                control, _ = listener.accept()
                if _is_trusted(control, starter):
                    self._control = control
                    self._report(f"serving 0 {os.getpid()}")
                    return True
                control.close()
        return False

    def _obey(self) -> bool:
        try:
            message, descriptors, _, _ = socket.recv_fds(self._control, _MESSAGE_BYTES, 3)
        except ConnectionError:
            return False
        words = message.decode("ascii").split()
        if not words:
            return False
        number = int(words[1])
        if words[0] == "end":
            self._is_over = True
        elif words[0] == "spawn":
            self._spawn(number, int(words[2]), descriptors)
        elif number in self._pids:
            os.kill(self._pids[number], signal.SIGKILL)
        return True

    def _spawn(self, number: int, niceness: int, descriptors: list[int]) -> None:
        own = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._become_worker(niceness, descriptors, own)
        # the worker has its own copies of the descriptors; with these open, the client would not see the worker's end
        for descriptor in descriptors:
            os.close(descriptor)
        self._pids[number] = pid
        self._report(f"started {number} {pid}")

    def _become_worker(self, niceness: int, descriptors: list[int], parent: int) -> None:
        status = 1
        try:
            # Undo the parent's signal handling before its descriptors are closed.
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            # Close everything that belongs to the fork server: a worker could otherwise send commands in its name.
            self._selector.close()
            for descriptor in (self._control.detach(), self._wakeup, self._alarm):
                os.close(descriptor)
            if self._clients is not None:
                self._clients[0].close()
                os.close(self._starter)
            files = socket.socket(fileno=descriptors[2])
            work(descriptors[0], descriptors[1], files, self._limits, niceness, parent, sandboxed=self._sandboxed)
            status = 0
        finally:
            # Exit without clean-up: buffers and exit handlers belong to the parent, and no code of its frames may run here.
            os._exit(status)

    def _reap(self) -> None:
        for number, pid in list(self._pids.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del self._pids[number]
                self._report(f"ended {number} {os.waitstatus_to_exitcode(status)}")

    def _report(self, message: str) -> None:
        # a closed socket is noticed at the next command
        with suppress(OSError):
            self._control.send(message.encode("ascii"))


def _is_trusted(client: socket.socket, starter: int) -> bool:
    """Returns whether a client belongs to this user and was started by that process. This excludes workers."""
    # the kernel recorded both when the client connected
    pid, user = peer_of(client)
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            # The name of the process, in parentheses, may hold blanks and parentheses. Behind it come the state and the parent's id.
            parent = int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return False
    return user == os.geteuid() and parent == starter


def main(arguments: list[str]) -> None:
    """Runs the process.

    Shape: title, number of the control socket, limits as JSON. A process that outlives its client has two more: the number of a listening
    socket, and that of the process that starts clients. Otherwise a third may be ``unsandboxed``, for benchmarks.
    """
    _, descriptor, limits, *clients = arguments
    known = {field.name for field in fields(ExtractionLimits)}
    parsed = {name: value for name, value in json.loads(limits).items() if name in known}
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    harden()
    preload()
    # Move all objects out of the collector's reach: a collection in a worker would write to their pages, and so copy them.
    gc.collect()
    gc.freeze()
    sandboxed = clients != [_UNSANDBOXED]
    listening = (socket.socket(fileno=int(clients[0])), int(clients[1])) if clients and sandboxed else None
    ForkServer(socket.socket(fileno=int(descriptor)), ExtractionLimits(**parsed), listening, sandboxed=sandboxed).run()


def preload() -> None:
    """Loads, before workers are forked, everything that their readers would load at first use: a worker may open no file.

    A reader must work without anything else. Fonts are such a case: the PDF library would list those of the system at the first page
    and uses its own instead, which are the same on every machine.
    """
    _load_codecs()
    charset.warm_up()
    language.load_model()
    pdf.warm_up()
    with suppress(ImportError):  # documents of its formats then have a reason that names the missing package
        importlib.import_module("xberg")
    for mimetype, data in _SAMPLES:
        extract(Task(key=0, url="http://localhost/a", mimetype=mimetype, data=data), ExtractionLimits())


def _load_codecs() -> None:
    for module in pkgutil.iter_modules(encodings.__path__):
        # some exist on other systems only
        with suppress(LookupError, ImportError):
            codecs.lookup(module.name)


if __name__ == "__main__":
    main(sys.argv[1:])
    # the interpreter's own end would take longer than the client waits: it frees each object of parsers and models
    os._exit(0)
