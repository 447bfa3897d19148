"""The ports of background work: the extractor, the notifier, the item in flight and the feed files."""

from collections.abc import Iterator
from typing import BinaryIO, Protocol

from feedmill.model.extraction import Answer, Task
from feedmill.model.topic import Topic


class Extractor(Protocol):
    """Extracts text from documents in other processes, so that a hostile document harms no other document."""

    def submit(self, task: Task, *, quick: bool) -> None:
        """Submits a task. ``quick`` uses the workers that are reserved for small work, with a short time limit."""

    def collect(self, timeout_seconds: float) -> list[Answer]:
        """Returns finished tasks, and waits up to the time for the first. Every submitted task is returned exactly once.

        Errors: Busy while nothing can be extracted; submitted tasks wait.
        """

    def capacity(self, *, quick: bool) -> int:
        """Returns how many more tasks can be submitted now without a backlog."""

    def close(self) -> None:
        """Stops the workers."""


class Notifier(Protocol):
    """Wakes another process when there is work. A notification can be lost, so waiting processes also look at intervals."""

    def notify(self, topic: Topic) -> None:
        """Wakes the roles that subscribe to a topic."""

    def wait(self, timeout_seconds: float) -> None:
        """Waits for a notification or the end of the time."""


class InFlight(Protocol):
    """The item that a process works on. If the process is killed, its successor finds the item here.

    Example::

        in_flight.begin("extract:7")
        in_flight.end()
    """

    def find_left(self) -> str | None:
        """Returns the key of the item that the previous process had in flight when it ended, or None."""

    def begin(self, key: str) -> None:
        """Stores an item as in flight, replacing the previous one. Shape: a short text; costs about a microsecond."""

    def end(self) -> None:
        """Clears the item in flight."""


class FeedFiles(Protocol):
    """The folder of feeds as they were received."""

    def create(self) -> "FeedFile":
        """Opens a new file for a feed. Errors: DiskFull."""

    def open(self, name: str) -> BinaryIO:
        """Opens a received file. Errors: NotFound."""

    def remove(self, name: str) -> None:
        """Removes a file. A file that does not exist is no error."""

    def list(self) -> Iterator[tuple[str, int, float]]:
        """Lists names, sizes in bytes and times of last change (seconds since the epoch).

        The name of a file that is still being received ends in ``.part``.
        """


class FeedFile(Protocol):
    """A file that is being received. Errors: DiskFull from each write."""

    name: str

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Appends bytes."""

    def commit(self) -> int:
        """Makes bytes and folder entry durable, closes the file and returns the size in bytes."""

    def discard(self) -> None:
        """Closes and removes the file, even if it was committed. Does not raise."""
