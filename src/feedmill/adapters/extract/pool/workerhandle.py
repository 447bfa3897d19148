"""One worker as the pool sees it: two pipes, a socket for files, its tasks in order, and the start time of the first."""

import contextlib
import os
import socket
import time
from collections import deque
from dataclasses import dataclass, field

from feedmill.adapters.extract.pool.filepassing import send_file
from feedmill.adapters.extract.pool.frames import AnswerReader, pack_task
from feedmill.model.extraction import Answer, Task

_READ_BYTES = 1 << 20
MAX_HELD = 128
MAX_FILES = 16
"""How many open files may be in transit to a worker. They count against the user's limit of open files."""
_MAX_UNWRITTEN_BYTES = 1 << 20


@dataclass(slots=True)
class Job:
    """A submitted task. ``crashes`` counts workers that it ended, ``kills`` those that were killed from outside meanwhile."""

    task: Task
    crashes: int = 0
    kills: int = 0

    @property
    def size_bytes(self) -> int:
        """Returns how many bytes it holds in memory."""
        return len(self.task.data) if self.task.data is not None else 0


@dataclass(slots=True)
class WorkerHandle:
    """A worker. ``ready`` once it was forked; ``closing`` takes no more tasks and is ended after the answer it is busy with."""

    number: int
    tasks_fd: int
    answers_fd: int
    files: socket.socket
    reader: AnswerReader
    held: deque[Job] = field(default_factory=deque)
    ready: bool = False
    closing: bool = False
    retiring: bool = False
    answered: int = 0
    busy_since: float = 0.0
    _unwritten: deque[memoryview] = field(default_factory=deque)
    _unwritten_bytes: int = 0
    #: how many of the held tasks are files; counting them for each new task took longer than the rest of it
    _files_held: int = 0

    @property
    def has_capacity(self) -> bool:
        """Returns whether another task may be sent to it."""
        is_leaving = self.closing or self.retiring
        is_full = len(self.held) >= MAX_HELD or self._unwritten_bytes >= _MAX_UNWRITTEN_BYTES
        return not is_leaving and not is_full and self._files_held < MAX_FILES

    @property
    def wants_to_write(self) -> bool:
        """Returns whether its pipe was full."""
        return bool(self._unwritten)

    def give(self, job: Job) -> None:
        """Sends a job to the worker."""
        if not self.held:
            self.busy_since = time.monotonic()
        self.held.append(job)
        if job.task.path is not None:
            self._files_held += 1
            # a worker that is gone is noticed when its answers are read
            with contextlib.suppress(OSError):
                send_file(self.files, job.task.path)
        message = pack_task(job.task)
        self._unwritten.append(memoryview(message))
        self._unwritten_bytes += len(message)

    def write(self) -> None:
        """Writes as much as the pipe takes. Errors: OSError when the worker is gone."""
        while self._unwritten:
            view = self._unwritten[0]
            try:
                written = os.write(self.tasks_fd, view)
            except BlockingIOError:
                return
            # A pipe may take a part of a message; the rest waits at the head of the queue.
            self._unwritten_bytes -= written
            if written < len(view):
                self._unwritten[0] = view[written:]
                return
            self._unwritten.popleft()

    def read_answers(self) -> tuple[list[Answer], bool]:
        """Reads the answers so far, and whether the worker is gone. Errors: BadFrame."""
        answers: list[Answer] = []
        while True:
            try:
                data = os.read(self.answers_fd, _READ_BYTES)
            except BlockingIOError:
                return answers, False
            except OSError:
                data = b""
            if not data:
                return answers, True
            for answer in self.reader.feed(data):
                if answer is None:
                    self.retiring = True
                else:
                    answers.append(answer)

    def take_answered(self, key: int) -> Job | None:
        """Removes and returns the first job if it is the answered one."""
        # A worker answers in order. Another key means that it cannot be trusted any more.
        if not self.held or self.held[0].task.key != key:
            return None
        self.busy_since = time.monotonic()
        self.answered += 1
        job = self.held.popleft()
        self._files_held -= job.task.path is not None
        return job

    def close(self) -> None:
        """Closes the pipes and the socket."""
        os.close(self.tasks_fd)
        os.close(self.answers_fd)
        self.files.close()
