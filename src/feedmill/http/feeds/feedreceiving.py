"""Writes one feed to the disk as it arrives. It sends no response: ``pushing`` does, once the feed is stored.

- The event loop gathers pieces. A feed that fits into one batch takes a single call of a worker thread: create, write, sync, record.
- Of a larger feed a worker thread writes the first batch, into a new file. The event loop writes the following batches itself:
  a write into the page cache takes less time than a call of a thread.
- A slow write shows that the disk is the bottleneck. From then on worker threads write, one batch while the next is
  gathered, so that no other request waits. At most these two batches are in memory: ``add`` waits.
"""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Final, Self

from feedmill.core.documents.submission import Submission
from feedmill.ports import FeedFile
from feedmill.services.feeds.intake import Intake

BATCH_BYTES: Final = 1_048_576
BATCH_PIECES: Final = 256
"""Small pieces are written together; a batch of more would cost more memory than its bytes."""

SLOW_WRITE_SECONDS: Final = 0.01
"""A write that takes longer did not go into the page cache alone."""

_JOIN_BELOW_BYTES: Final = 16_384


class FeedReceiver:
    """Receives one feed, and ends with ``store_feed`` or ``store_bare_feed``. Leaving its context by an exception discards the feed.

    A cancellation during that clean-up does not take the place of the exception.
    """

    def __init__(self, intake: Intake, workers: Executor) -> None:
        self._intake = intake
        self._workers = workers
        self._pieces: list[bytes] = []
        self._gathered_bytes = 0
        self._file: FeedFile | None = None
        self._writing: asyncio.Future[None] | None = None
        self._is_direct = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None) -> None:
        if exc is not None:
            with suppress(asyncio.CancelledError):
                await self._discard()

    async def add(self, piece: bytes) -> None:
        """Appends bytes. Errors: those of writing these or earlier ones."""
        if self._is_direct:
            self._write_directly(piece)
            return
        self._pieces.append(piece)
        self._gathered_bytes += len(piece)
        if self._gathered_bytes >= BATCH_BYTES or len(self._pieces) >= BATCH_PIECES:
            is_first = self._writing is None
            await self._wait()
            batch, self._pieces, self._gathered_bytes = self._pieces, [], 0
            self._writing = asyncio.get_running_loop().run_in_executor(self._workers, self._write, batch)
            # The file exists after this batch, and the event loop can write to it.
            if is_first:
                await self._wait()
                self._is_direct = True

    async def store_feed(self, submission: Submission, client: str) -> int:
        """Stores the feed durably and returns its id."""
        await self._wait()
        return await asyncio.get_running_loop().run_in_executor(self._workers, self._accept, self._pieces, submission, client)

    async def store_bare_feed(self, submission: Submission, client: str) -> int:
        """Stores a submission that has no bytes, and returns its id."""
        accept = partial(self._intake.accept_bare, submission, client=client)
        return await asyncio.get_running_loop().run_in_executor(self._workers, accept)

    async def _discard(self) -> None:
        with suppress(Exception):
            await self._wait()
        if self._file is not None:
            await asyncio.get_running_loop().run_in_executor(self._workers, self._file.discard)

    async def _wait(self) -> None:
        """Waits for the batch that is being written. Cancelling the wait does not cancel the write."""
        if self._writing is not None:
            # The thread cannot be stopped, and the file must not be closed while it writes.
            await asyncio.shield(self._writing)

    def _write_directly(self, piece: bytes) -> None:
        assert self._file is not None
        start = time.perf_counter()
        self._file.write(piece)
        self._is_direct = time.perf_counter() - start < SLOW_WRITE_SECONDS

    def _write(self, batch: Sequence[bytes]) -> None:
        """Writes in a worker thread, the first time into a new file."""
        if self._file is None:
            self._file = self._intake.create_file()
        size_bytes = sum(map(len, batch))
        if len(batch) > 1 and size_bytes < _JOIN_BELOW_BYTES * len(batch):
            batch = [b"".join(batch)]
        for piece in batch:
            self._file.write(piece)

    def _accept(self, batch: Sequence[bytes], submission: Submission, client: str) -> int:
        self._write(batch)
        file = self._file
        assert file is not None
        return self._intake.accept(file, submission, client=client)
