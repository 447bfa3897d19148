"""Accepts feeds: a feed is acknowledged only after its bytes and then its row are stored.

1. The bytes go into a file under a temporary name (``create_file``), however they arrive.
2. ``accept`` makes the file and its folder entry durable, then adds the feed's row in a separate transaction, then wakes the feeder.
3. The sender gets an answer only after ``accept`` has returned the feed's id.

A crash or an interruption between the steps leaves a file without a row, which upkeep removes; a row without its file cannot occur.
"""

import time
from dataclasses import dataclass
from typing import BinaryIO, Final

from feedmill.core.documents.submission import Submission
from feedmill.model.errors import BadRequest, NotFound
from feedmill.model.feed import Feed, FeedKind, NewFeed
from feedmill.model.topic import Topic
from feedmill.ports import Clock, FeedFile, FeedFiles, Notifier, Store

_COPY_BYTES: Final = 1_048_576
_WAIT_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """Accepts every feed; every method blocks on the disk. Errors of all: Busy, DiskFull, with nothing stored."""

    store: Store
    files: FeedFiles
    notifier: Notifier
    clock: Clock

    def create_file(self) -> FeedFile:
        """Opens a file to receive a feed into; pass it to ``accept`` or discard it."""
        return self.files.create()

    def accept(self, file: FeedFile, submission: Submission, *, client: str) -> int:
        """Stores a feed durably after all its bytes were written, and returns its id. The file is discarded if this fails.

        An interruption while the row is added leaves the file, because the row may be committed already.
        """
        # The order is the promise: first the bytes, then the row, then "Success".
        try:
            size_bytes = file.commit()
        except BaseException:
            file.discard()
            raise
        try:
            feed_id = self._add_feed(submission, client, file=file.name, size_bytes=size_bytes)
        except Exception:
            file.discard()
            raise
        # After the row is committed, or the feeder could look too early.
        # If the notification is lost, the feeder looks again at intervals.
        self.notifier.notify(Topic.FEEDS)
        return feed_id

    def receive_feed(self, stream: BinaryIO, submission: Submission, *, client: str) -> int:
        """Stores a feed that is read from a stream, and returns its id. Errors: also BadRequest for no bytes at all."""
        file = self.create_file()
        is_empty = True
        try:
            while piece := stream.read(_COPY_BYTES):
                is_empty = False
                file.write(piece)
            if is_empty:
                raise BadRequest("the feed is empty; send its XML")
        except BaseException:
            file.discard()
            raise
        return self.accept(file, submission, client=client)

    def accept_bare(self, submission: Submission, *, client: str) -> int:
        """Stores a submission that came without bytes and needs none, and returns its id."""
        feed_id = self._add_feed(submission, client, file="", size_bytes=0)
        self.notifier.notify(Topic.FEEDS)
        return feed_id

    def resend(self, feed: Feed, *, client: str) -> int:
        """Accepts the bytes of an earlier feed again, as a new feed of the same source and kind, and returns its id.

        Errors: also NotFound if its bytes are no longer stored, BadRequest for a command, which has no bytes.
        """
        if not feed.file:
            raise BadRequest(f"feed {feed.id} is a command without content, which cannot be sent again")
        with self.files.open(feed.file) as stream:
            return self.receive_feed(stream, Submission(datasource=feed.datasource, kind=feed.kind, format=feed.format), client=client)

    def request_removal(self, datasource: str, *, destroy: bool, client: str) -> int:
        """Queues the deletion of a data source behind its earlier feeds, and returns its id. Errors: also NotFound."""
        with self.store.reading() as unit:
            if all(source.name != datasource for source in unit.feeds.sources.list()):
                raise NotFound(f"there is no data source {datasource[:80]!a}")
        kind = FeedKind.DESTROY_SOURCE if destroy else FeedKind.DELETE_SOURCE
        return self.accept_bare(Submission(datasource=datasource, kind=kind), client=client)

    def remove_and_wait(self, datasource: str, *, destroy: bool, client: str) -> None:
        """Deletes a data source and returns when its documents are gone, from searches too. Errors: also NotFound."""
        feed_id = self.request_removal(datasource, destroy=destroy, client=client)
        while self.find_removed(feed_id) is None:
            time.sleep(_WAIT_SECONDS)

    def find_removed(self, feed_id: int) -> Feed | None:
        """Returns a finished deletion, None while searches may still find what it deletes. Errors: also NotFound after its row is gone."""
        with self.store.reading() as unit:
            feed = unit.feeds.reader.get(feed_id)
        return feed if feed.state.is_final and feed.searchable_at is not None else None

    def _add_feed(self, submission: Submission, client: str, *, file: str, size_bytes: int) -> int:
        feed = NewFeed(
            datasource=submission.datasource,
            kind=submission.kind,
            format=submission.format if file else "",
            file=file,
            size_bytes=size_bytes,
            received_at=self.clock(),
            client=client,
        )
        with self.store.writing() as unit:
            return unit.feeds.queue.add(feed)
