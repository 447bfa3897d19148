"""The entry points of the roles that work behind the ports. Each works until SIGTERM and may be killed at any time."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from feedmill.bootstrap.context import AppContext
from feedmill.bootstrap.crawling import build_crawler
from feedmill.bootstrap.feeds import build_admission_sweep, build_feeder, build_policy_acl_sweep, build_upkeep
from feedmill.bootstrap.index import build_extracting, build_indexing
from feedmill.bootstrap.pulling import build_puller
from feedmill.bootstrap.semantic import build_embedding_work
from feedmill.model.queue import QUICK_FEED_BYTES
from feedmill.runtime.roles import FEEDER, QUICK_FEEDER, Ports
from feedmill.services.feeds.feeder import FeederLane

IDLE_SECONDS = 5.0
"""How long a role that has nothing to do sleeps, at most."""


def run_feeder(context: AppContext, _ports: Ports) -> None:
    """Applies large feeds, and does the work that takes long."""
    with _until_sigterm(context) as is_stopped:
        feeder = build_feeder(context, FeederLane(owner=FEEDER.name, min_bytes=QUICK_FEED_BYTES))
        feeder.work(is_stopped, other_steps=(build_admission_sweep(context).step, build_upkeep(context).step))


def run_quick_feeder(context: AppContext, _ports: Ports) -> None:
    """Applies small feeds, and moves documents between the classes of policy ACLs."""
    with _until_sigterm(context) as is_stopped:
        feeder = build_feeder(context, FeederLane(owner=QUICK_FEEDER.name, max_bytes=QUICK_FEED_BYTES))
        feeder.work(is_stopped, other_steps=(build_policy_acl_sweep(context).step,))


def run_puller(context: AppContext, _ports: Ports) -> None:
    """Runs the pull sources."""
    with _until_sigterm(context) as is_stopped:
        build_puller(context).work(is_stopped)


def run_crawler(context: AppContext, _ports: Ports) -> None:
    """Fetches URLs, unless the settings turn the crawler off."""
    with _until_sigterm(context) as is_stopped:
        if context.settings.crawl.enabled:
            build_crawler(context).work(is_stopped)
        while not is_stopped():
            context.notifier.wait(IDLE_SECONDS)


def run_extractor(context: AppContext, _ports: Ports) -> None:
    """Extracts the texts of documents."""
    with _until_sigterm(context) as is_stopped:
        build_extracting(context, in_role=True).work(is_stopped)


def run_indexer(context: AppContext, _ports: Ports) -> None:
    """Writes the index."""
    with _until_sigterm(context) as is_stopped:
        build_indexing(context).work(is_stopped)


def run_embedder(context: AppContext, _ports: Ports) -> None:
    """Embeds documents for semantic search."""
    with _until_sigterm(context) as is_stopped:
        build_embedding_work(context).work(is_stopped)


@contextmanager
def _until_sigterm(context: AppContext) -> Iterator[Callable[[], bool]]:
    """Returns a function that returns whether SIGTERM came. The signal also ends a wait of the notifier."""
    is_stopped = False

    def _stop(_number: int, _frame: object) -> None:
        # no lock, such as that of an event: a second signal could come while this holds it
        nonlocal is_stopped
        is_stopped = True
        context.notifier.wake()

    earlier = signal.signal(signal.SIGTERM, _stop)
    try:
        yield lambda: is_stopped
    finally:
        signal.signal(signal.SIGTERM, earlier)
