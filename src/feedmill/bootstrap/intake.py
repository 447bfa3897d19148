"""Builds the service that accepts feeds."""

from feedmill.bootstrap.context import AppContext, utc_now
from feedmill.services.feeds.intake import Intake


def build_intake(context: AppContext) -> Intake:
    """Builds the intake of feeds, used by the feed port and by commands."""
    return Intake(store=context.store, files=context.files, notifier=context.notifier, clock=utc_now)
