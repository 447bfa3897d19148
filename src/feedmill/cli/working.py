"""Does the work of a server's roles in this process, for commands that run without a server."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING

from feedmill.model.feed import Feed

if TYPE_CHECKING:
    from feedmill.bootstrap.context import AppContext

_IDLE_SECONDS = 0.02


@contextmanager
def workers(context: "AppContext") -> Iterator[Callable[[], bool]]:
    """Returns a function that runs feeder, extractor and indexer once and returns whether there was work.

    The caller holds the lock of the data folder, so leases of a dead server do not count.
    """
    # the engine and the extractors take a second to load, and with a server most commands do not need them
    from feedmill.bootstrap.feeds import build_feeder
    from feedmill.bootstrap.index import build_extracting, build_indexing
    from feedmill.runtime.roles import FEEDER, QUICK_FEEDER
    from feedmill.services.feeds.feeder import FeederLane

    with context.store.writing() as unit:
        for role in (FEEDER, QUICK_FEEDER):
            unit.feeds.queue.release(role.name)
    feeder = build_feeder(context, FeederLane(owner=FEEDER.name))
    with ExitStack() as stack:
        extracting = build_extracting(context)
        indexing = stack.enter_context(closing(build_indexing(context)))

        def _turn() -> bool:
            turns = [feeder.turn(), extracting.turn(), indexing.turn()]
            if not any(turns):
                context.notifier.wait(_IDLE_SECONDS)
            return any(turns)

        yield _turn


def work_until(context: "AppContext", is_done: Callable[[], bool]) -> None:
    """Works until ``is_done`` returns True."""
    with workers(context) as turn:
        while not is_done():
            turn()


def get_feed(context: "AppContext", feed_id: int) -> Feed:
    """Returns a feed as it is now. Errors: NotFound."""
    with context.store.reading() as unit:
        return unit.feeds.reader.get(feed_id)
