"""Does in this process what a server's roles would do, for commands that run without one."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager

from feedmill.bootstrap.context import AppContext
from feedmill.model.feed import Feed
from feedmill.runtime.roles import FEEDER, QUICK_FEEDER
from feedmill.services.feeds.feeder import FeederLane

_IDLE_SECONDS = 0.02


@contextmanager
def workers(context: AppContext) -> Iterator[Callable[[], bool]]:
    """Returns what takes one turn of feeder, extractor and indexer and says whether there was anything to do.

    The caller holds the data folder, so that leases of a server that died are nobody's.
    """
    # the engine and the extractors take a second to load, and most commands have a server that does the work
    from feedmill.bootstrap.feeds import build_feeder
    from feedmill.bootstrap.index import build_extracting, build_indexing

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


def work_until(context: AppContext, is_done: Callable[[], bool]) -> None:
    """Works until something is done."""
    with workers(context) as turn:
        while not is_done():
            turn()


def get_feed(context: AppContext, feed_id: int) -> Feed:
    """Returns a feed as it is now. Errors: NotFound."""
    with context.store.reading() as unit:
        return unit.feeds.reader.get(feed_id)
