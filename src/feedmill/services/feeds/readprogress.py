"""Progress of a feed while it is read: a scan of a gigabyte stores nothing for a long time, although it advances."""

import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, cast

import structlog

from feedmill.model.errors import FeedmillError
from feedmill.ports import Store

NOTED_EVERY_SECONDS = 5.0

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class ReadProgress:
    """How much of a feed was read, over all readings of one run; stored now and then. Units: bytes."""

    store: Store
    feed_id: int
    read_bytes: int = 0
    noted_at: float = -1.0

    def watch(self, open_stream: Callable[[], BinaryIO]) -> BinaryIO:
        """Wraps a stream so that its reading counts."""
        return cast("BinaryIO", _WatchedStream(open_stream(), self._add_bytes))

    def _add_bytes(self, size_bytes: int) -> None:
        self.read_bytes += size_bytes
        now = time.monotonic()
        # A feed that is read within a few seconds needs no transaction for its progress.
        if self.noted_at < 0:
            self.noted_at = now
        elif now - self.noted_at >= NOTED_EVERY_SECONDS:
            self.noted_at = now
            self._note()

    def _note(self) -> None:
        try:
            with self.store.writing() as unit:
                unit.feeds.queue.note_progress(self.feed_id, self.read_bytes)
        except FeedmillError as error:
            # the reading itself needs no store; the next step that needs it reports the failure
            log.warning("progress_not_noted", feed=self.feed_id, reason=str(error))


class _WatchedStream(io.RawIOBase):
    """A stream that reports how much was read."""

    def __init__(self, stream: BinaryIO, add: Callable[[int], None]) -> None:
        self._stream = stream
        self._add = add

    def read(self, size: int = -1) -> bytes:
        """Reads from the stream."""
        piece = self._stream.read(size)
        self._add(len(piece))
        return piece

    def close(self) -> None:
        """Closes the stream."""
        self._stream.close()
        super().close()
