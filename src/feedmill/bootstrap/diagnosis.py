"""Builds the service that says why searches find a URL or do not."""

from feedmill.bootstrap.access import build_explaining
from feedmill.bootstrap.context import AppContext
from feedmill.bootstrap.feeds import build_admission
from feedmill.services.diagnosis import Diagnosing
from feedmill.services.searching.searchservices import SearchServices


def build_diagnosing(context: AppContext) -> Diagnosing:
    """Builds the service. The engine is loaded when a question is about a query."""

    def open_search() -> SearchServices:
        from feedmill.bootstrap.search import build_search_services

        return build_search_services(context)

    return Diagnosing(context.store, build_admission(context.settings).rules, build_explaining(context), open_search)
