"""A server of a seedlist that fails in the middle, over real connections: the run goes on at the page, and a file costs its entry."""

import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from feedmill.bootstrap.pullsources import OPENERS, SourceTools
from feedmill.model.pulling import RunState
from feedmill.services.pulling import seedlists
from feedmill.services.pulling.setups import PullSetup
from feedmill.settings.pulling import SeedlistSourceSettings
from tests.contract.pullharness import NAME, PullHarness, counts_of
from tests.migratedstore import open_migrated
from tests.rawserver import Server, running
from tests.waiting import PATIENCE_SECONDS

PAGES = 9
Fault = Callable[["Pages", socket.socket, bytes], None]


def frame(body: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/atom+xml\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


class Pages:
    """Nine pages of two entries; the content of each entry is at ``/file/NUMBER``. ``faults`` has the paths that are answered otherwise."""

    def __init__(self) -> None:
        self.faults: dict[str, Fault] = {}
        self.requested: list[str] = []
        self.last_before_fault = ""

    def handle(self, peer: socket.socket, head: bytes) -> None:
        path = head.split()[1].decode()
        self.requested.append(path)
        if path == self.last_before_fault:
            set_limits(0.5)
        answer = frame(self.write(path))
        if path in self.faults:
            self.faults[path](self, peer, answer)
        else:
            peer.sendall(answer)

    def write(self, path: str) -> bytes:
        kind, _, number = path.strip("/").partition("/")
        if kind == "file":
            return f"words of {number}".encode()
        page = int(number)
        following = f'<link rel="next" href="/page/{page + 1}"/>' if page < PAGES else "<timestamp>t</timestamp>"
        entries = (f'<entry><id>{each}</id><content type="text/plain" src="/file/{each}"/></entry>' for each in (2 * page, 2 * page + 1))
        return f"<feed>{following}{''.join(entries)}</feed>".encode()


def set_limits(seconds: float) -> None:
    """Sets the time limits of all later requests; those of a busy machine may take long."""
    seedlists.PAGE_SECONDS = seedlists.CONTENT_SECONDS = seconds  # type: ignore[misc]


def reset(_pages: Pages, peer: socket.socket, answer: bytes) -> None:
    """Resets the connection in the middle of the answer."""
    peer.sendall(answer[: len(answer) - 5])
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()


def refuse(_pages: Pages, peer: socket.socket, _answer: bytes) -> None:
    """Resets the connection before the answer."""
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()


def cut(_pages: Pages, peer: socket.socket, answer: bytes) -> None:
    """Closes the connection in the middle of the answer."""
    peer.sendall(answer[: len(answer) - 5])


def hang(_pages: Pages, peer: socket.socket, answer: bytes) -> None:
    """Sends the beginning, and nothing more until the client has gone or the server ends."""
    set_limits(PATIENCE_SECONDS)
    peer.sendall(answer[: len(answer) - 5])
    peer.recv(1)


def spoil(_pages: Pages, peer: socket.socket, _answer: bytes) -> None:
    """Sends a page whose XML ends in the middle, in a complete answer."""
    peer.sendall(frame(b"<feed><entry><id>14</id></entry><entry><id>1"))


FAULTS = pytest.mark.parametrize("fault", [reset, refuse, cut, hang])


@pytest.fixture
def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PullHarness]:
    monkeypatch.setattr(seedlists, "PAGE_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(seedlists, "CONTENT_SECONDS", PATIENCE_SECONDS)
    store = open_migrated(tmp_path / "own.sqlite")
    yield PullHarness(store=store)
    store.close()


def open_list(harness: PullHarness, server: Server, folder: Path) -> PullHarness:
    """Has the puller read the list as the settings of a server would."""
    settings = SeedlistSourceSettings(name=NAME, kind="seedlist", url=server.url("/page/1"))
    tools = SourceTools(max_bytes=1_000_000, data=folder, open_spool=lambda: (folder / "spool").open("w+b"))
    harness.table = OPENERS["seedlist"](settings, tools)  # type: ignore[assignment]
    assert isinstance(harness.setup, PullSetup)
    return harness


@pytest.mark.parametrize("fault", [reset, refuse, cut, hang, spoil])
def test_run_goes_on_at_page_seven_of_nine(harness: PullHarness, tmp_path: Path, fault: Fault) -> None:
    pages = Pages()
    with running(pages.handle) as server:
        open_list(harness, server, tmp_path)
        pages.faults["/page/7"] = fault
        pages.last_before_fault = "/file/13" if fault is hang else ""
        failed = harness.run()
        assert (failed.state, counts_of(failed)) == (RunState.FAILED, (12, 0, 0, 0, 1)), failed.log
        assert harness.state().since == ""
        pages.faults.clear()
        pages.requested.clear()
        done = harness.run()
    assert [path for path in pages.requested if path.startswith("/page")] == ["/page/7", "/page/8", "/page/9"]
    assert (done.state, counts_of(done)) == (RunState.COMPLETED, (6, 0, 0, 0, 0)), done.log
    assert len(harness.live()) == 18
    assert harness.state().since == "t"


@FAULTS
def test_file_that_ends_in_the_middle_costs_its_entry(harness: PullHarness, tmp_path: Path, fault: Fault) -> None:
    pages = Pages()
    with running(pages.handle) as server:
        open_list(harness, server, tmp_path)
        harness.run()
        pages.faults["/file/15"] = fault
        pages.last_before_fault = "/page/7" if fault is hang else ""
        with harness.store.writing() as unit:
            stored = unit.feeds.pulling.items.find_many(NAME, [url for url in harness.live() if url.endswith(("/15", "/16"))])
            unit.feeds.pulling.items.remove_many(NAME, list(stored))
        run = harness.run(is_full=True)
        assert (run.state, run.counts.errors, run.counts.deleted) == (RunState.COMPLETED_WITH_ERRORS, 1, 0), run.log
        assert "/file/15" in run.log[0]
        assert len(harness.live()) == 18
        pages.faults.clear()
        assert harness.run(is_full=True).counts.errors == 0
    assert harness.texts()["15"] == "words of 15"
