import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from feedmill.adapters.notifier import SocketNotifier
from feedmill.model.topic import Topic
from feedmill.ports import Notifier

RUNG, SOON = 120.0, 60.0
"""How long to wait for a notification that comes, and what is less than that whatever a busy machine does. Units: seconds."""

LONG = "feeder" * 50


SUBSCRIBERS = {Topic.FEEDS: ("feeder", "feeder-quick"), Topic.INDEXING: ("indexer",), Topic.EXTRACTION: ("nobody", LONG)}


def make_notifier(folder: Path, role: str | None) -> SocketNotifier:
    return SocketNotifier(folder, role, lambda topic: SUBSCRIBERS.get(topic, ()))


def seconds_of(notifier: Notifier, timeout_seconds: float) -> float:
    start = time.monotonic()
    notifier.wait(timeout_seconds)
    return time.monotonic() - start


def test_wait_with_notification_from_thread_ends_soon(tmp_path: Path) -> None:
    waiter, ringer = make_notifier(tmp_path, "feeder"), make_notifier(tmp_path, None)
    rung_at: list[float] = []

    def notify() -> None:
        time.sleep(0.1)
        rung_at.append(time.monotonic())
        ringer.notify(Topic.FEEDS)

    thread = threading.Thread(target=notify)
    thread.start()
    waiter.wait(RUNG)
    woken_at = time.monotonic()
    thread.join()
    assert woken_at - rung_at[0] < SOON


RINGER = """
import sys, time
from pathlib import Path
from feedmill.adapters.notifier import SocketNotifier
from feedmill.model.topic import Topic
notifier = SocketNotifier(Path(sys.argv[1]), "web", lambda topic: ("feeder",))
sys.stdin.readline()
notifier.notify(Topic.FEEDS)
print(time.monotonic(), flush=True)
"""


def test_wait_with_notification_from_process_ends_soon(tmp_path: Path) -> None:
    waiter = make_notifier(tmp_path, "feeder")
    with subprocess.Popen(
        [sys.executable, "-c", RINGER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        waiter.wait(RUNG)
        woken_at = time.monotonic()
        assert woken_at - float(process.stdout.readline()) < SOON


def test_wait_without_notification_ends_at_its_time(tmp_path: Path) -> None:
    assert 0.05 <= seconds_of(make_notifier(tmp_path, "feeder"), 0.05) < SOON
    assert 0.05 <= seconds_of(make_notifier(tmp_path, None), 0.05) < SOON


def test_wait_with_earlier_rings_takes_them_as_one(tmp_path: Path) -> None:
    waiter, ringer = make_notifier(tmp_path, "feeder"), make_notifier(tmp_path, None)
    for _ in range(3):
        ringer.notify(Topic.FEEDS)
    assert seconds_of(waiter, RUNG) < SOON
    assert seconds_of(waiter, 0.05) >= 0.05


def test_notification_without_listener_or_with_full_queue_neither_fails_nor_blocks(tmp_path: Path) -> None:
    ringer = make_notifier(tmp_path, None)
    start = time.monotonic()
    ringer.notify(Topic.EXTRACTION)
    waiter = make_notifier(tmp_path, "feeder")
    for _ in range(5000):
        ringer.notify(Topic.FEEDS)
    assert time.monotonic() - start < SOON
    assert seconds_of(waiter, RUNG) < SOON


def test_wait_with_notification_for_other_role_or_folder_sleeps_on(tmp_path: Path) -> None:
    waiter = make_notifier(tmp_path, "feeder")
    make_notifier(tmp_path, None).notify(Topic.INDEXING)
    make_notifier(tmp_path / "other", None).notify(Topic.FEEDS)
    assert seconds_of(waiter, 0.05) >= 0.05


def test_notifier_with_long_or_indirect_folder_finds_the_same_address(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 50)
    folder.mkdir()
    (tmp_path / "link").symlink_to(folder)
    waiter = make_notifier(folder, LONG)
    make_notifier(tmp_path / "link" / ".." / folder.name, None).notify(Topic.EXTRACTION)
    assert seconds_of(waiter, RUNG) < SOON


def test_notifier_with_address_held_by_another_waits_plainly_until_it_is_free(tmp_path: Path) -> None:
    first, second, ringer = make_notifier(tmp_path, "feeder"), make_notifier(tmp_path, "feeder"), make_notifier(tmp_path, None)
    ringer.notify(Topic.FEEDS)
    assert 0.05 <= seconds_of(second, 0.05) < SOON
    first.close()
    second.wait(0)
    ringer.notify(Topic.FEEDS)
    assert seconds_of(second, RUNG) < SOON


def test_notifier_after_close_does_no_harm(tmp_path: Path) -> None:
    notifier = make_notifier(tmp_path, "feeder")
    notifier.close()
    notifier.close()
    notifier.notify(Topic.FEEDS)
    assert seconds_of(notifier, 0.01) < SOON


def test_notification_of_oneself_in_signal_handler_ends_the_wait(tmp_path: Path) -> None:
    notifier = make_notifier(tmp_path, "feeder")
    before = signal.signal(signal.SIGUSR1, lambda _number, _frame: notifier.notify(Topic.FEEDS))
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        assert seconds_of(notifier, RUNG) < SOON
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)


def test_wake_in_signal_handler_ends_the_wait_of_this_process_alone(tmp_path: Path) -> None:
    notifier, other = make_notifier(tmp_path, "feeder"), make_notifier(tmp_path, "feeder-quick")
    before = signal.signal(signal.SIGUSR1, lambda _number, _frame: notifier.wake())
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        assert seconds_of(notifier, RUNG) < SOON
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)
    assert seconds_of(other, 0.05) >= 0.05


def test_notification_wakes_every_subscriber_of_its_topic(tmp_path: Path) -> None:
    waiters = [make_notifier(tmp_path, role) for role in SUBSCRIBERS[Topic.FEEDS]]
    make_notifier(tmp_path, None).notify(Topic.FEEDS)
    assert all(seconds_of(waiter, RUNG) < SOON for waiter in waiters)


STRANGER = """
import socket, os, sys
os.setuid(65534)
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"!", bytes.fromhex(sys.argv[1]))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_wait_with_notification_of_another_user_sleeps_on(tmp_path: Path) -> None:
    notifier = make_notifier(tmp_path, "feeder")
    subprocess.run([sys.executable, "-S", "-W", "ignore", "-c", STRANGER, notifier._address("feeder").hex()], check=True)
    assert seconds_of(notifier, 0.05) >= 0.05
