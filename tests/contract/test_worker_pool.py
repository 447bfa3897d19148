"""When the workers of extraction are looked at again."""

import itertools
import os
import socket
import time

from feedmill.adapters.extract.pool.forkclient import ForkClient
from feedmill.adapters.extract.pool.frames import AnswerReader
from feedmill.adapters.extract.pool.workerhandle import Job, WorkerHandle
from feedmill.adapters.extract.pool.workerpool import WorkerPool
from feedmill.model.extraction import ExtractionLimits, Task


def test_worker_that_has_not_begun_is_not_looked_at_all_the_time() -> None:
    limits = ExtractionLimits(seconds=30)
    pool = WorkerPool(False, 1, 30.0, 0, limits, ForkClient(limits), itertools.count(1))
    ours, theirs = socket.socketpair()
    handle = WorkerHandle(1, os.dup(ours.fileno()), os.dup(ours.fileno()), ours, AnswerReader(1_000))
    pool.handles[1] = handle
    now = time.monotonic()
    assert pool.next_deadline() is None

    handle.held.extend(Job(Task(key=key, url="http://docs.test/", mimetype=None)) for key in (1, 2))
    handle.busy_since = now - 1.0
    deadline = pool.next_deadline()
    assert deadline is not None
    assert deadline > now + 10.0

    handle.ready = True
    slow = pool.next_deadline()
    assert slow is not None
    assert slow < now, "the second document does not wait for a slow one"
    handle.held.pop()
    only = pool.next_deadline()
    assert only is not None
    assert now + 20.0 < only < now + 30.0
    handle.close()
    theirs.close()
