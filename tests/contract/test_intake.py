"""Accepting feeds into a real store and folder: what an interruption at the worst moment leaves behind."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest

from feedmill.adapters.feedfiles import FolderFeedFiles
from feedmill.core.documents.submission import Submission
from feedmill.model.feed import FeedKind
from feedmill.ports import Store, UnitOfWork
from feedmill.services.feeds.intake import Intake
from tests.fakes import SilentNotifier
from tests.migratedstore import open_migrated


class InterruptedStore:
    """A store in which Ctrl-C arrives just before or just after each commit."""

    def __init__(self, store: Store, *, is_committed: bool) -> None:
        self._store = store
        self._is_committed = is_committed

    def reading(self) -> AbstractContextManager[UnitOfWork]:
        """Reads as the store does."""
        return self._store.reading()

    @contextmanager
    def writing(self) -> Iterator[UnitOfWork]:
        """Writes as the store does, and interrupts."""
        with self._store.writing() as unit:
            yield unit
            if not self._is_committed:
                raise KeyboardInterrupt
        raise KeyboardInterrupt

    def close(self) -> None:
        """Closes the store."""
        self._store.close()


@pytest.mark.parametrize("is_committed", [True, False])
def test_interruption_leaves_no_feed_without_its_bytes(tmp_path: Path, is_committed: bool) -> None:
    files = FolderFeedFiles(tmp_path / "feeds")
    with closing(open_migrated(tmp_path / "store.sqlite")) as store:
        intake = Intake(
            store=InterruptedStore(store, is_committed=is_committed),
            files=files,
            notifier=SilentNotifier(),
            clock=lambda: datetime.now(UTC),
        )
        with pytest.raises(KeyboardInterrupt):
            intake.receive_feed(BytesIO(b"<gsafeed/>"), Submission(datasource="hr", kind=FeedKind.FULL), client="command line")
        with store.reading() as unit:
            feeds = unit.feeds.reader.list_newest(None, 10)
        assert len(feeds) == is_committed
        for feed in feeds:
            with files.open(feed.file) as stream:
                assert stream.read() == b"<gsafeed/>"
