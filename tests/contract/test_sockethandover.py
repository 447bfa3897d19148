"""Processes pass sockets on through pipes. Here threads play the predecessors; closing its end is what the kernel does at a death."""

import os
import threading
import time
from collections.abc import Iterator

import pytest

from feedmill.runtime import sockethandover
from feedmill.runtime.sockethandover import HandoverPipes, Predecessor, SocketHandover
from tests.waiting import PATIENCE_SECONDS


class Earlier:
    """A process that accepts connections, with the ends that it and the supervisor hold."""

    def __init__(self) -> None:
        self.pipes = HandoverPipes()
        self.handover = self.pipes.make_handover(())
        self.predecessor = self.pipes.make_predecessor(7)

    def drain_on_request(self) -> threading.Thread:
        """Answers the request in a thread."""

        def work() -> None:
            assert self.handover.drain_reader is not None
            os.read(self.handover.drain_reader, 1)
            self.handover.report_drained()

        thread = threading.Thread(target=work)
        thread.start()
        return thread


@pytest.fixture
def earlier() -> Iterator[Earlier]:
    process = Earlier()
    yield process
    process.pipes.close()


def take_over_within(predecessors: list[Predecessor], seconds: float) -> bool:
    start = time.monotonic()
    SocketHandover(predecessors=predecessors).take_over()
    return time.monotonic() - start < seconds


def test_first_process_of_a_role_begins_at_once() -> None:
    assert not SocketHandover().is_successor
    assert take_over_within([], PATIENCE_SECONDS)


def test_successor_begins_when_the_predecessor_accepts_no_more(earlier: Earlier) -> None:
    thread = earlier.drain_on_request()
    SocketHandover(predecessors=[earlier.predecessor]).take_over()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()
    earlier.pipes.close_ends_of_process()


def test_successor_begins_when_the_predecessor_dies(earlier: Earlier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockethandover, "PATIENCE_SECONDS", 600.0)
    timer = threading.Timer(0.1, earlier.pipes.close_ends_of_process)
    timer.start()
    assert take_over_within([earlier.predecessor], 600.0)
    timer.join()


def test_successor_begins_when_the_predecessor_is_dead_already(earlier: Earlier) -> None:
    earlier.pipes.close_ends_of_process()
    assert take_over_within([earlier.predecessor], sockethandover.PATIENCE_SECONDS)


def test_second_successor_begins_at_once_when_the_first_died_after_its_request(earlier: Earlier) -> None:
    thread = earlier.drain_on_request()
    earlier.predecessor.request_drain()
    thread.join(PATIENCE_SECONDS)
    assert take_over_within([earlier.predecessor], sockethandover.PATIENCE_SECONDS)
    earlier.pipes.close_ends_of_process()


def test_successor_waits_for_every_predecessor(earlier: Earlier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockethandover, "PATIENCE_SECONDS", 0.2)
    other = Earlier()
    earlier.pipes.close_ends_of_process()
    assert not take_over_within([earlier.predecessor, other.predecessor], 0.2)
    other.pipes.close_ends_of_process()
    other.pipes.close()


def test_successor_begins_in_time_beside_a_predecessor_that_does_not_react(earlier: Earlier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockethandover, "PATIENCE_SECONDS", 0.1)
    assert take_over_within([earlier.predecessor], PATIENCE_SECONDS)
    earlier.pipes.close_ends_of_process()


def test_process_whose_successor_waits_already_ends_without_accepting(earlier: Earlier) -> None:
    earlier.predecessor.request_drain()
    with pytest.raises(SystemExit) as ended:
        earlier.handover.take_over()
    assert ended.value.code == 0
    earlier.pipes.close_ends_of_process()


def test_requests_that_are_never_read_do_not_block(earlier: Earlier) -> None:
    for _ in range(100_000):
        earlier.predecessor.request_drain()
    earlier.pipes.close_ends_of_process()


def test_process_inherits_its_own_ends_and_those_of_its_predecessors(earlier: Earlier) -> None:
    pipes = HandoverPipes()
    inherited = pipes.make_handover([earlier.predecessor]).list_descriptors()
    assert {earlier.predecessor.drain_writer, earlier.predecessor.drained_reader} < set(inherited)
    assert len(set(inherited)) == 4
    assert SocketHandover().list_descriptors() == []
    for each in (pipes, earlier.pipes):
        each.close_ends_of_process()
    pipes.close()
