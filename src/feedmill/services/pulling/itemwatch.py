"""Items of a pull source that ended the process that worked on them.

A run notes what it works on outside of its own memory (``ports.InFlight``): an item, a page that it reads, or a batch that it retrieves.
The next process finds the note of each source that was in work when the process ended.

Rules:

1. An item that ended the process ``MAX_INTERRUPTIONS`` times is set aside for the rest of the run: it is in error, and its document stays.
2. After a batch ended the process, documents are retrieved one by one until ``CAREFUL_ITEMS`` of them did not end it.
3. If reading a page ended the process, the run itself is counted as interrupted (``PullRun.restarts``).
4. A run in which more than ``MAX_SET_ASIDE`` items were set aside fails. The next run tries all items again.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Final

from feedmill.core.urls.digests import digest_of_url
from feedmill.ports import Clock, InFlight, Store
from feedmill.services.isolation.attempts import Attempts, key_of, read_interruptions

CAREFUL_ITEMS: Final = 100
MAX_SET_ASIDE: Final = 20
_MAX_KEY_CHARACTERS: Final = 900
_PAGE: Final = "page"
_BATCH: Final = "batch"


class ItemWatch:
    """The items of one source. Only the thread that runs the source may use it, and the puller between its runs.

    Creating it counts what the previous process left. Errors: those of the store.
    """

    def __init__(self, source: str, store: Store, in_flight: InFlight, clock: Clock) -> None:
        self._step = f"pull {source}"
        self._notes = in_flight
        left = in_flight.find_left()
        self._has_ended_in_item = left is not None and left != self._key(_PAGE)
        self._attempts = Attempts(store, in_flight, clock)
        self._is_in_batch = False
        self._careful = CAREFUL_ITEMS if self._attempts.count(self._key(_BATCH)) else 0

    def take_end_in_item(self) -> bool:
        """Returns whether the previous process ended in an item or in a batch of this source, the first time that it is called."""
        found, self._has_ended_in_item = self._has_ended_in_item, False
        return found

    @property
    def is_careful(self) -> bool:
        """Whether documents are to be retrieved one by one."""
        return self._careful > 0 or any(self._attempts.count(key) and not self._attempts.is_hopeless(key) for key in self._list_item_keys())

    @property
    def is_exhausted(self) -> bool:
        """Whether too many items were set aside."""
        return sum(map(self._attempts.is_hopeless, self._list_item_keys())) > MAX_SET_ASIDE

    def find_refusal(self, url: str) -> str:
        """Returns why an item is set aside, "" if it is not."""
        key = self._key_of(url)
        return read_interruptions(self._step, self._attempts.count(key)) if self._attempts.is_hopeless(key) else ""

    @contextmanager
    def on(self, url: str) -> Iterator[None]:
        """Notes an item as in flight for a block."""
        with nullcontext() if self._is_in_batch else self._attempts.on(self._key_of(url)):
            yield
        self._careful = max(self._careful - 1, 0)

    @contextmanager
    def on_page(self) -> Iterator[None]:
        """Notes for a block that a page of the source is read."""
        with self._attempts.on(self._key(_PAGE)):
            yield

    @contextmanager
    def on_batch(self) -> Iterator[None]:
        """Notes for a block that documents are retrieved, several at once. No item of the block is noted."""
        self._is_in_batch = True
        try:
            with self._attempts.on(self._key(_BATCH)):
                yield
        finally:
            self._is_in_batch = False

    def begin(self, url: str) -> None:
        """Notes an item as in flight, in place of another."""
        if not self._is_in_batch:
            self._notes.begin(self._key_of(url))

    def end(self) -> None:
        """Notes that no item is in flight."""
        if not self._is_in_batch:
            self._notes.end()

    def clear(self, urls: Iterable[str]) -> None:
        """Forgets the interruptions of items that were worked on to the end. Those that are set aside stay."""
        if self._attempts.list_items(self._step):
            self._attempts.clear(key for key in map(self._key_of, urls) if not self._attempts.is_hopeless(key))

    def clear_all(self) -> None:
        """Forgets all interruptions, at the end of a run."""
        self._attempts.clear_steps(self._step)

    def _list_item_keys(self) -> list[str]:
        return [self._key(item) for item in self._attempts.list_items(self._step) if item not in (_PAGE, _BATCH)]

    def _key_of(self, url: str) -> str:
        """Returns the key of a URL, which has a limited length."""
        return self._key(url if url.isascii() and len(url) <= _MAX_KEY_CHARACTERS else digest_of_url(url).hex())

    def _key(self, item: str) -> str:
        return key_of(self._step, item)
