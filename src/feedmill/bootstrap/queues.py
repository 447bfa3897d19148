"""Builds the service that finds queues in which nothing moves."""

from collections.abc import Callable
from datetime import datetime

from feedmill.bootstrap.context import AppContext, utc_now
from feedmill.model.queue import QueueName
from feedmill.services.queues import QueueWatch


def build_queue_watch(context: AppContext, started_at: Callable[[], datetime | None]) -> QueueWatch:
    """Builds the watch over all queues; ``started_at`` returns the time since which their roles could have worked."""
    return QueueWatch(
        store=context.store,
        clock=utc_now,
        stuck_seconds=context.settings.limits.stuck_seconds,
        started_at=started_at,
        unused=frozenset() if context.settings.semantic.is_on else frozenset({QueueName.EMBED}),
    )
