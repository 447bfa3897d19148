"""The process that workers are forked from.

It loads once what is slow to load (parsers, the language model: more than a second and 150 MB) and then only forks: a fresh worker
is ready in milliseconds, and all workers share that memory. It never sees a document, so nothing hostile reaches it.

Commands come over a socket that keeps message borders, answers go back the same way:

    spawn ID NICENESS  with the ends of two pipes and a socket  ->  started ID PID
    kill ID
                                                                ->  ended ID STATUS  when a worker has ended

It ends when the socket is closed or its parent is gone; its workers end with it.
"""

import gc
import json
import os
import selectors
import signal
import socket
import sys
from dataclasses import fields

from feedmill.adapters.extract.preload import preload
from feedmill.adapters.extract.worker import work
from feedmill.adapters.sandbox.confinement import harden
from feedmill.model.extraction import ExtractionLimits

_LOOK_SECONDS = 1.0
_MESSAGE_BYTES = 4_096


class ForkServer:
    """Forks workers on command and tells when they end."""

    def __init__(self, control: socket.socket, limits: ExtractionLimits) -> None:
        self._control = control
        self._limits = limits
        self._pids: dict[int, int] = {}
        self._parent = os.getppid()
        self._wakeup, self._alarm = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._selector = selectors.DefaultSelector()

    def run(self) -> None:
        """Serves until the pool is gone."""
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._alarm, warn_on_full_buffer=False)
        self._selector.register(self._control, selectors.EVENT_READ)
        self._selector.register(self._wakeup, selectors.EVENT_READ)
        wanted = True
        while wanted and os.getppid() == self._parent:
            for key, _ in self._selector.select(_LOOK_SECONDS):
                if key.fileobj is self._control:
                    wanted = self._obey()
                else:
                    os.read(self._wakeup, 4_096)
            self._reap()
        for pid in self._pids.values():
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def _obey(self) -> bool:
        try:
            message, descriptors, _, _ = socket.recv_fds(self._control, _MESSAGE_BYTES, 3)
        except ConnectionError:
            return False
        words = message.decode("ascii").split()
        if not words:
            return False
        number = int(words[1])
        if words[0] == "spawn":
            self._spawn(number, int(words[2]), descriptors)
        elif number in self._pids:
            os.kill(self._pids[number], signal.SIGKILL)
        return True

    def _spawn(self, number: int, niceness: int, descriptors: list[int]) -> None:
        own = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._become_worker(niceness, descriptors, own)
        for descriptor in descriptors:
            os.close(descriptor)
        self._pids[number] = pid
        self._tell(f"started {number} {pid}")

    def _become_worker(self, niceness: int, descriptors: list[int], parent: int) -> None:
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._selector.close()
            for descriptor in (self._control.detach(), self._wakeup, self._alarm):
                os.close(descriptor)
            work(descriptors[0], descriptors[1], socket.socket(fileno=descriptors[2]), self._limits, niceness, parent)
            status = 0
        finally:
            os._exit(status)

    def _reap(self) -> None:
        for number, pid in list(self._pids.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del self._pids[number]
                self._tell(f"ended {number} {os.waitstatus_to_exitcode(status)}")

    def _tell(self, message: str) -> None:
        # a pool that is gone is noticed at the next command
        try:
            self._control.send(message.encode("ascii"))
        except OSError:
            os._exit(0)


def main(arguments: list[str]) -> None:
    """Runs the process. Shape: title, number of the control socket, limits as JSON."""
    _, descriptor, limits = arguments
    known = {field.name for field in fields(ExtractionLimits)}
    parsed = {name: value for name, value in json.loads(limits).items() if name in known}
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    harden()
    preload()
    gc.collect()
    gc.freeze()
    ForkServer(socket.socket(fileno=int(descriptor)), ExtractionLimits(**parsed)).run()


if __name__ == "__main__":
    main(sys.argv[1:])
