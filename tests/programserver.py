"""The process that forks programs of Feedmill: they begin with all code loaded, for which a new interpreter takes two seconds of CPU time.

Its argument is the descriptor of a socket that preserves message borders. A request is one message: a ``Request`` as JSON, with four
descriptors. The first three become standard input, output and error of the program. The fourth is a socket of the same kind,
for two messages:

    PID      when the program has started
    STATUS   when it has ended, as waitpid(2) reports it

The program is reaped once the client writes to that socket or closes it. Until then no other process gets its number.

All programs end with this process, and this process ends with its client.
"""

import gc
import json
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from importlib import import_module
from typing import cast

from setproctitle import setproctitle

import feedmill.cli
import feedmill.runtime
import feedmill_client
from feedmill.adapters.extract.pool import forkserver
from feedmill.cli.main import main
from feedmill.services.isolation import faultpoints
from tests import forkedpopen
from tests.programs import MESSAGE_BYTES, Request


class ProgramServer:
    """Forks programs on request, and reports their ends."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        #: The sockets of the programs that are not reaped; None for a program whose client is gone.
        self._clients: dict[int, socket.socket | None] = {}
        self._reported: set[int] = set()
        self._selector = selectors.DefaultSelector()
        self._wakeup, self._alarm = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def serve(self) -> None:
        """Serves until the client is gone. Returns in each program that it forks."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._alarm, warn_on_full_buffer=False)
        self._selector.register(self._wakeup, selectors.EVENT_READ)
        self._selector.register(self._control, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._control:
                    message, descriptors, _, _ = socket.recv_fds(self._control, MESSAGE_BYTES, 4)
                    if not message:
                        self._end()
                    if self._fork(descriptors):
                        self._become(cast(Request, json.loads(message)), descriptors)
                        return
                elif key.fileobj == self._wakeup:
                    os.read(self._wakeup, 4_096)
                    self._report_ends()
                else:
                    self._release(key.data)

    def _fork(self, descriptors: list[int]) -> bool:
        """Forks, and returns whether this is the new process."""
        pid = os.fork()
        if pid == 0:
            return True
        *standard, status = descriptors
        for descriptor in standard:
            os.close(descriptor)
        client = self._clients[pid] = socket.socket(fileno=status)
        self._selector.register(client, selectors.EVENT_READ, pid)
        _report(client, pid)
        return False

    def _become(self, request: Request, descriptors: list[int]) -> None:
        """Sets the state of this process to that of a new interpreter that was started with the request."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self._selector.close()
        self._control.close()
        for client in self._clients.values():
            if client is not None:
                client.close()
        for number in range(3):
            os.dup2(descriptors[number], number)
        for descriptor in (*descriptors, self._wakeup, self._alarm):
            os.close(descriptor)
        os.environ.clear()
        os.environ.update(request["environment"])
        time.tzset()
        os.chdir(request["folder"])
        os.umask(request["umask"])
        if request["user"] is not None:
            os.setgroups([])
            os.setgid(request["user"])
            os.setuid(request["user"])
        sys.argv = ["feedmill", *request["arguments"]]
        setproctitle(" ".join(sys.argv))

    def _report_ends(self) -> None:
        for pid, client in list(self._clients.items()):
            if client is None:
                self._reap(pid)
            elif pid not in self._reported and (ended := os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
                self._reported.add(pid)
                was_killed = ended.si_code in (os.CLD_KILLED, os.CLD_DUMPED)
                _report(client, ended.si_status if was_killed else ended.si_status << 8)

    def _release(self, pid: int) -> None:
        client = self._clients[pid]
        assert client is not None
        self._selector.unregister(client)
        client.close()
        self._clients[pid] = None
        self._reap(pid)

    def _reap(self, pid: int) -> None:
        ended, _ = os.waitpid(pid, os.WNOHANG)
        if ended:
            del self._clients[pid]
            self._reported.discard(pid)

    def _end(self) -> None:
        for pid in self._clients:
            os.kill(pid, signal.SIGKILL)
        sys.exit()


def _report(client: socket.socket, number: int) -> None:
    with suppress(OSError):  # the client is gone
        client.send(str(number).encode("ascii"))


def _load() -> None:
    """Loads all that a command or a server loads, also within its functions, and what its extractor loads in a process of its own."""
    for package in (feedmill.cli, feedmill.runtime, feedmill_client):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    forkserver.preload()
    # so that the extractor forks its server too
    subprocess.Popen = forkedpopen.Popen  # type: ignore[misc]
    # a command finds no module in the folder in which it is started
    sys.path.remove("")
    # live objects stay in memory that all programs share
    gc.collect()
    gc.freeze()
    # finds the memory for titles by means of the environment, and so before a program changes that
    setproctitle("feedmill programs")


def run() -> None:
    """Runs the process, and each program that it forks."""
    _load()
    ProgramServer(socket.socket(fileno=int(sys.argv[1]))).serve()
    # faults were read when the module was loaded, before this program had its environment
    with faultpoints.injected(os.environ.get(faultpoints.VARIABLE, "")):
        main()
