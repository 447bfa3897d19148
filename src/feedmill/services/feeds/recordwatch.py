"""Records that end the process that works on them.

The feeder notes the record and its step in a place that outlives the process (``ports.InFlight``). A feeder that finds a note of its
predecessor suspects that record: the feed waits until this process has worked on others for a while, and then the record is applied alone.
A record that ends its process a second time is refused, and the rest of the feed continues.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from feedmill.model.errors import Busy
from feedmill.ports import InFlight
from feedmill.services.isolation.attempts import Attempts, key_of
from feedmill.services.isolation.documentwatch import DocumentWatch
from feedmill.services.isolation.noinflight import NoInFlight

WATCHED: Final = "feed"
READING: Final = "read"
SWEEPING: Final = "sweep"
MAX_INTERRUPTIONS: Final = 2
MAX_READINGS: Final = 10
"""How often the reading of a feed may end the process. Reading takes long, so an administrator's kill is more likely to hit it."""


class FeedDeferred(Busy):
    """The next record of a feed ended the process; it waits while other feeds are processed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caution:
    """How a feeder notes its records."""

    attempts: Attempts
    notes: InFlight


def watch_documents(step: str, caution: Caution | None) -> DocumentWatch:
    """Returns the watch for stored documents in a step of this process."""
    return DocumentWatch(step) if caution is None else DocumentWatch(step, caution.attempts, caution.notes)


@dataclass(slots=True)
class RecordWatch:
    """The records of one feed. Units: ``number`` counts the feed's changes from 1.

    ``refused``: reasons by number; ``left``: reasons by URL of what must not be removed.
    """

    feed_id: int
    caution: Caution | None
    refused: dict[int, str] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    _notes: InFlight = field(default_factory=NoInFlight)
    _suspects: dict[int, str] = field(default_factory=dict)
    _keys: list[str] = field(default_factory=list)
    _most: int | None = None
    _reading: str | None = None
    _is_unreadable: bool = False
    _numbers: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.caution is None:
            return
        self._notes = self.caution.notes
        # With the blank, so that feed 1 does not take the items of feed 12.
        own = f"{self.feed_id} "
        for item in self.caution.attempts.list_items(WATCHED):
            if item.startswith(own):
                self._suspect(key_of(WATCHED, item), item.removeprefix(own))

    def _suspect(self, key: str, what: str) -> None:
        assert self.caution is not None
        self._keys.append(key)
        is_hopeless = self.caution.attempts.count(key) >= MAX_INTERRUPTIONS
        place, _, step = what.partition(" ")
        first, plus, count = place.partition("+")
        if place == SWEEPING and is_hopeless:
            self.left[step] = _report(SWEEPING)
        elif place == READING:
            self._is_unreadable = self.caution.attempts.count(key) >= MAX_READINGS
            self._reading = key
        elif plus and int(count) > 1:
            # the whole slice ended the process: the next ones are smaller, down to one record
            self._most = min(self._most or int(count), max(int(count) // 2, 1))
        elif first.isdigit() and is_hopeless:
            self.refused[int(first)] = _report(step)
        elif first.isdigit():
            self._suspects[int(first)] = key

    def find_limit(self, applied: int, limit: int) -> int:
        """Returns how many changes the next slice may have: a suspected record is applied alone. Errors: FeedDeferred while it waits."""
        if self._keys and self.caution is not None and not self.caution.attempts.may_risk(is_idle=True):
            # other records of the feed may be like the one that ended the process
            raise FeedDeferred(f"a record of feed {self.feed_id} ended the process; it waits until other feeds were worked on")
        allowed = limit if self._most is None else min(limit, self._most)
        following = min((number for number in self._suspects if number > applied), default=None)
        if following is None or self.caution is None:
            return allowed
        # The slice ends before the suspected record, which then is the next slice alone.
        if following > applied + 1:
            return min(allowed, following - applied - 1)
        return 1

    def work(self, *, is_reading: bool, work: Callable[[], None], give_up: Callable[[str], None]) -> None:
        """Calls ``work``, then notes that no record is in progress. Calls ``give_up`` with the reason instead if reading the feed has ended
        the process too often.

        Shape: ``is_reading`` if ``work`` reads the feed. Errors: FeedDeferred while the feed waits; those of the call.
        """
        try:
            if is_reading and self._is_unreadable:
                give_up(f"step {READING} failed: the process ended while it read this feed")
                return
            if is_reading:
                self._check_reading()
            work()
        finally:
            self._notes.end()

    def _check_reading(self) -> None:
        if self._reading is not None and self.caution is not None and not self.caution.attempts.is_due(self._reading):
            raise FeedDeferred(f"the reading of feed {self.feed_id} ended the process; it waits until other feeds were worked on")

    def begin(self, number: int, step: str, url: str | None = None) -> None:
        """Notes that a record enters a step."""
        if url is not None:
            self._numbers[url] = number
        self._note(f"{number} {step}")

    def begin_url(self, step: str, url: str) -> None:
        """Notes that the record of a URL enters a step."""
        self._note(f"{self._numbers.get(url, 0)} {step}")

    def begin_many(self, first: int, count: int, step: str) -> None:
        """Notes that a slice enters a step."""
        self._note(f"{first}+{count} {step}")

    def begin_reading(self) -> None:
        """Notes that reading of the feed continues."""
        self._note(READING)

    def begin_removal(self, url: str) -> None:
        """Notes the removal of what the feed did not name."""
        self._note(f"{SWEEPING} {url}")

    def clear(self) -> None:
        """Removes the interruptions of a feed that is over."""
        if self.caution is not None and self._keys:
            self.caution.attempts.clear(self._keys)
            self._keys = []

    def _note(self, what: str) -> None:
        self._notes.begin(key_of(WATCHED, f"{self.feed_id} {what}"))


def _report(step: str) -> str:
    return f"step {step} failed: the process ended {MAX_INTERRUPTIONS} times while it worked on this item"
