"""What the roles work with besides the store: the extractor, the bell, the item in flight, the folder of feeds."""

from collections.abc import Iterator
from typing import BinaryIO, Protocol

from feedmill.model.extraction import Answer, Task


class Extractor(Protocol):
    """Turns documents' bytes into text, out of process; a hostile document costs itself alone."""

    def submit(self, task: Task, *, quick: bool) -> None:
        """Hands a task over; ``quick`` uses the workers kept free for small work, with a short time limit."""

    def collect(self, timeout_seconds: float) -> list[Answer]:
        """Returns what is done, waiting up to the time for the first. Every task submitted is answered exactly once.

        Errors: Busy while nothing can be extracted; what was submitted waits.
        """

    def capacity(self, *, quick: bool) -> int:
        """Returns how many more tasks may be submitted now without piling up."""

    def close(self) -> None:
        """Ends the workers."""


class Notifier(Protocol):
    """Wakes another process when there is something to do; a ring may be lost, so who waits also looks by himself now and then."""

    def notify(self, role: str) -> None:
        """Wakes a role."""

    def wait(self, timeout_seconds: float) -> None:
        """Waits until rung or the time is over."""


class InFlight(Protocol):
    """The item that a process works on, noted where the next process of its kind finds it when this one is killed."""

    def find_left(self) -> str | None:
        """Returns the key that a predecessor had in flight when it ended, None when it had none."""

    def begin(self, key: str) -> None:
        """Notes an item as in flight, in place of the one before. Shape: a short text; costs about a microsecond."""

    def end(self) -> None:
        """Notes that nothing is in flight."""


class FeedFiles(Protocol):
    """The folder of feeds as they were received."""

    def create(self) -> "FeedFile":
        """Opens a new file to receive into. Errors: DiskFull."""

    def open(self, name: str) -> BinaryIO:
        """Opens a received file. Errors: NotFound."""

    def remove(self, name: str) -> None:
        """Removes a file; none of that name is no error."""

    def list(self) -> Iterator[tuple[str, int, float]]:
        """Lists names, sizes in bytes and times of last change (seconds since the epoch).

        A file that is still being received has a name that ends in ``.part``.
        """


class FeedFile(Protocol):
    """A file that is being received. Errors: DiskFull from each write."""

    name: str

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Appends bytes."""

    def commit(self) -> int:
        """Makes bytes and folder entry durable, closes, and gives the size in bytes."""

    def discard(self) -> None:
        """Closes and removes the file, a committed one too; does not raise."""
