"""The states of the appliance for what HTTP and the network say.

Source: "Crawl Diagnostics" of the appliance's manual.
"""

import re
from datetime import datetime
from typing import Final

from feedmill.adapters.http.errors import ExchangeFailure, FailureKind
from feedmill.core.text.dates import parse_date
from feedmill.model.crawling import CrawlState
from feedmill.model.errors import UpstreamFailure

MAX_RETRY_AFTER_SECONDS: Final = 7 * 86_400
WITH_DOCUMENT: Final = frozenset({200, 201, 203, 204})
REDIRECTS: Final = frozenset({300, 301, 302, 303, 307, 308})
PERMANENT_REDIRECTS: Final = frozenset({301, 308})

_SECONDS = re.compile(r"[0-9]{1,10}")

_BY_KIND: Final = {
    FailureKind.NAME_UNKNOWN: CrawlState.PERMANENT_DNS_FAILURE,
    FailureKind.NAME_UNRESOLVED: CrawlState.TEMPORARY_DNS_FAILURE,
    FailureKind.PRIVATE_ADDRESS: CrawlState.CONNECTION_FAILED,
    FailureKind.REFUSED: CrawlState.CONNECTION_REFUSED,
    FailureKind.RESET: CrawlState.CONNECTION_RESET,
    FailureKind.CLOSED: CrawlState.CONNECTION_CLOSED,
    FailureKind.TIMED_OUT: CrawlState.CONNECTION_TIMED_OUT,
    FailureKind.NO_ROUTE: CrawlState.NO_ROUTE_TO_HOST,
    FailureKind.TLS: CrawlState.CONNECTION_FAILED,
    FailureKind.NO_HTTP: CrawlState.HTTP_0_ERROR,
    FailureKind.TOO_LARGE: CrawlState.OTHER_ERROR,
    FailureKind.CODING: CrawlState.OTHER_ERROR,
    FailureKind.OTHER: CrawlState.CONNECTION_FAILED,
}


def state_of_failure(failure: UpstreamFailure) -> CrawlState:
    """Returns the state of a URL whose fetch failed without a response."""
    return _BY_KIND[failure.kind] if isinstance(failure, ExchangeFailure) else CrawlState.OTHER_ERROR


def state_of_status(status: int, *, was_conditional: bool) -> CrawlState:
    """Returns the state of a URL by the status of its response, which is no redirect."""
    if status in WITH_DOCUMENT:
        return CrawlState.CRAWLED
    if status == 304 and was_conditional:
        return CrawlState.CRAWLED_FROM_CACHE
    if status in (404, 410):
        return CrawlState.NOT_FOUND
    if status in (401, 407):
        return CrawlState.AUTHENTICATION_FAILED
    if 400 <= status < 500:
        return CrawlState.HTTP_CLIENT_ERROR
    return CrawlState.HTTP_SERVER_ERROR if 500 <= status < 600 else CrawlState.OTHER_ERROR


def read_retry_after(text: str, now: datetime) -> int | None:
    """Returns how many seconds a server wants to have without requests, at most a week; None if it does not. Source: RFC 9110, 10.2.3."""
    text = text.strip()
    if _SECONDS.fullmatch(text):
        return min(int(text), MAX_RETRY_AFTER_SECONDS)
    until = parse_date(text)
    return None if until is None else max(0, min(int((until - now).total_seconds()), MAX_RETRY_AFTER_SECONDS))
