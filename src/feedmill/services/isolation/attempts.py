"""Items that ended the process that worked on them.

A process notes the item that it works on outside of its own memory (``ports.InFlight``), which costs a microsecond. When it is killed
or crashes there, the next process of its kind finds the note and counts an interruption for the item in the store. An item that was
interrupted is suspected: its caller has another process work on it, or works on it after everything else, and sets it aside after
``MAX_INTERRUPTIONS``.
An administrator's kill hits an innocent item too; one finished attempt clears it.
"""

import faulthandler
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import structlog

from feedmill.ports import Clock, InFlight, Store
from feedmill.services.isolation.noinflight import NoInFlight

MAX_INTERRUPTIONS = 2
OTHERS_FIRST_SECONDS = 0.5
"""How long a process works on other items only before it tries a suspected one, so that a suspected item costs others one restart."""
LONGEST_SECONDS = 12.0
"""After this time it tries a suspected item even if others still wait."""

_DOCUMENT = "document:"

log = structlog.get_logger(__name__)


def key_of(step: str, item: str) -> str:
    """Returns the key of an item in a step."""
    return f"{step} {item}"


def key_of_document(step: str, document_id: int) -> str:
    """Returns the key of a document in a step."""
    return key_of(step, f"{_DOCUMENT}{document_id}")


class _Noted:
    """A block in which an item is in flight. Not a generator, which takes three times as long, several times for each document."""

    __slots__ = ("_in_flight", "_key")

    def __init__(self, in_flight: InFlight, key: str) -> None:
        self._in_flight = in_flight
        self._key = key

    def __enter__(self) -> None:
        self._in_flight.begin(self._key)

    def __exit__(self, *_: object) -> None:
        self._in_flight.end()


class Attempts:
    """The interruptions of one role's items. Counts the note of the previous process when it is created.

    Shape: keys are short texts, ``STEP ITEM``. Errors of all methods but ``count``: Busy, DiskFull, Corrupt.
    """

    def __init__(self, store: Store, in_flight: InFlight, clock: Clock) -> None:
        self._store = store
        self._in_flight = in_flight
        self._clock = clock
        self._begun_at_seconds = time.monotonic()
        with store.reading() as unit:
            self._counts = unit.processing.interruptions.list_counts()
        left = in_flight.find_left()
        if left is not None:
            with store.writing() as unit:
                self._counts[left] = unit.processing.interruptions.add(left, self._clock())
            log.warning("work_interrupted", item=left, interruptions=self._counts[left])
            # After the count is stored: if this process ends before, the next one counts the same note.
            in_flight.end()

    def on(self, key: str) -> _Noted:
        """Notes an item as in flight for a block; an exception is no interruption."""
        return _Noted(self._in_flight, key)

    @contextmanager
    def bounded(self, seconds: float) -> Iterator[None]:
        """Ends the process if a block takes longer: the item in flight is then counted as interrupted.

        A thread of the interpreter does this that needs no lock of it, so that code in C is ended as well.
        """
        if isinstance(self._in_flight, NoInFlight):
            yield
            return
        faulthandler.dump_traceback_later(seconds, exit=True)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()

    @property
    def has_any(self) -> bool:
        """Whether any item ended the process. Most processes never learn of one, and need no keys of items to ask for their counts."""
        return bool(self._counts)

    def count(self, key: str) -> int:
        """Returns how often work on an item ended the process."""
        return self._counts.get(key, 0)

    def list_items(self, step: str) -> list[str]:
        """Lists the items of a step that ended the process."""
        return [key.removeprefix(f"{step} ") for key in self._counts if key.startswith(f"{step} ")]

    def find_feeds(self, *steps: str) -> frozenset[int]:
        """Finds the feeds of documents that ended the process in some of the steps: other documents of these feeds may do the same."""
        items = (item for step in steps for item in self.list_items(step) if item.startswith(_DOCUMENT))
        ids = [int(item.removeprefix(_DOCUMENT)) for item in items]
        if not ids:
            return frozenset()
        with self._store.reading() as unit:
            tasks = unit.processing.index_tasks.find_many(ids).values()
        return frozenset(task.feed_id for task in tasks if task.feed_id is not None)

    def is_hopeless(self, key: str) -> bool:
        """Returns whether an item is to be set aside."""
        return self.count(key) >= MAX_INTERRUPTIONS

    def is_due(self, key: str) -> bool:
        """Returns whether an item may be worked on now: a suspected one waits while others are worked on."""
        return not self.count(key) or self.may_risk(is_idle=True)

    def may_risk(self, *, is_idle: bool) -> bool:
        """Returns whether the process has worked on others for long enough to be put at risk."""
        return time.monotonic() - self._begun_at_seconds >= (OTHERS_FIRST_SECONDS if is_idle else LONGEST_SECONDS)

    def clear(self, keys: Iterable[str]) -> None:
        """Forgets the interruptions of items that are finished or set aside."""
        counted = [key for key in keys if key in self._counts] if self.has_any else []
        if counted:
            with self._store.writing() as unit:
                unit.processing.interruptions.remove(counted)
            for key in counted:
                del self._counts[key]

    def clear_steps(self, *steps: str) -> None:
        """Forgets the interruptions of all items of some steps."""
        self.clear([key_of(step, item) for step in steps for item in self.list_items(step)])


def read_interruptions(step: str, count: int) -> str:
    """Returns the reason of an item that is set aside for ending its process."""
    return f"step {step} failed: the process ended {count} times while it worked on this item"
