"""Builds the provider of the search config in force: the settings of the file, merged with those of the admin API."""

from feedmill.bootstrap.context import AppContext
from feedmill.services.searchconfigprovider import SearchConfigProvider
from feedmill.settings.serving import merge_stored, serving_of


def build_search_config_provider(context: AppContext) -> SearchConfigProvider:
    """Builds the provider of the search config."""
    return SearchConfigProvider(lambda stored: serving_of(merge_stored(context.settings, stored)))
