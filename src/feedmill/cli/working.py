"""Does in this process what a server's roles would do, for commands that run without one."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager

from feedmill.bootstrap import House
from feedmill.model.feed import Feed
from feedmill.services.feeds.feeder import FeederLane
from feedmill.services.feeds.intake import FEEDERS

_IDLE_SECONDS = 0.02


@contextmanager
def workers(house: House) -> Iterator[Callable[[], bool]]:
    """Gives what takes one turn of feeder, extractor and indexer and says whether there was anything to do.

    The caller holds the data folder, so that leases of a server that died are nobody's.
    """
    with house.store.writing() as unit:
        for owner in FEEDERS:
            unit.feeds.release(owner)
    feeder = house.feeder(FeederLane(owner=FEEDERS[0]))
    with ExitStack() as stack:
        extracting = house.extracting()
        indexing = stack.enter_context(closing(house.indexing()))

        def _turn() -> bool:
            turns = [feeder.turn(), extracting.turn(), indexing.turn()]
            if not any(turns):
                house.bell.wait(_IDLE_SECONDS)
            return any(turns)

        yield _turn


def work_until(house: House, is_done: Callable[[], bool]) -> None:
    """Works until something is done."""
    with workers(house) as turn:
        while not is_done():
            turn()


def get_feed(house: House, feed_id: int) -> Feed:
    """Gives a feed as it is now. Errors: NotFound."""
    with house.store.reading() as unit:
        return unit.feeds.get(feed_id)
