"""Builds the provider of the serving settings that are in force: those of the file, merged with those of the admin API."""

from feedmill.bootstrap.context import AppContext
from feedmill.services.servingdesk import ServingDesk
from feedmill.settings.serving import merge_kept, serving_of


def build_desk(context: AppContext) -> ServingDesk:
    """Builds the provider of the serving settings."""
    return ServingDesk(lambda kept: serving_of(merge_kept(context.settings, kept)))
