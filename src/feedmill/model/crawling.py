"""Crawling: the entry of a URL in the crawl queue, its fetches, and the state that the administrator sees.

Source: specifications of the appliance, "Crawl Diagnostics" (the codes and their words), "Crawl Schedule".
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, IntEnum


class CrawlGroup(Enum):
    """The columns of the appliance's crawl diagnostics, and the URLs that were not fetched yet."""

    WAITING = "waiting"
    CRAWLED = "crawled"
    ERROR = "retrieval error"
    EXCLUDED = "excluded"


class CrawlState(IntEnum):
    """The state of a URL by the appliance's code; 0 is a URL that was not fetched yet."""

    WAITING = 0
    CRAWLED = 1
    CRAWLED_FROM_CACHE = 2
    NOT_IN_URLS_TO_CRAWL = 3
    IN_URLS_NOT_TO_CRAWL = 4
    OFF_DOMAIN_REDIRECT = 5
    LONG_REDIRECT_CHAIN = 6
    REDIRECT_WITHOUT_LOCATION = 7
    INFINITE_URL_SPACE = 8
    UNHANDLED_PROTOCOL = 9
    URL_TOO_LONG = 10
    NOT_FOUND = 11
    HTTP_CLIENT_ERROR = 12
    ROBOTS_NOINDEX = 13
    HTTP_0_ERROR = 14
    PERMANENT_DNS_FAILURE = 15
    EMPTY_DOCUMENT = 16
    IMAGE_CONVERSION_FAILED = 17
    REJECTED_BY_REWRITE_RULES = 18
    UNKNOWN_EXTENSION = 19
    DISALLOWED_BY_META_TAG = 20
    AUTHENTICATION_FAILED = 22
    DISALLOWED_BY_ROBOTS_TXT = 24
    CONVERSION_ERROR = 25
    HTTP_SERVER_ERROR = 32
    ROBOTS_TXT_UNREACHABLE = 33
    TEMPORARY_DNS_FAILURE = 35
    CONNECTION_FAILED = 36
    CONNECTION_TIMED_OUT = 37
    CONNECTION_CLOSED = 38
    CONNECTION_REFUSED = 40
    CONNECTION_RESET = 41
    NO_ROUTE_TO_HOST = 43
    OTHER_ERROR = 50

    @property
    def group(self) -> CrawlGroup:
        """The column in which the state is counted."""
        if self is CrawlState.WAITING:
            return CrawlGroup.WAITING
        if self in (CrawlState.CRAWLED, CrawlState.CRAWLED_FROM_CACHE):
            return CrawlGroup.CRAWLED
        return CrawlGroup.EXCLUDED if self in _EXCLUDED else CrawlGroup.ERROR

    @property
    def words(self) -> str:
        """The state in words."""
        return _WORDS[self]


_EXCLUDED = frozenset(map(CrawlState, (3, 4, 5, 6, 8, 9, 10, 13, 18, 19, 20, 24)))

_WORDS = {
    CrawlState.WAITING: "waits for its first crawl",
    CrawlState.CRAWLED: "crawled from the remote server",
    CrawlState.CRAWLED_FROM_CACHE: "crawled, unchanged since the last crawl",
    CrawlState.NOT_IN_URLS_TO_CRAWL: "not in the URLs to crawl",
    CrawlState.IN_URLS_NOT_TO_CRAWL: "in the URLs not to crawl",
    CrawlState.OFF_DOMAIN_REDIRECT: "redirects to a URL outside the URLs to crawl",
    CrawlState.LONG_REDIRECT_CHAIN: "long redirect chain",
    CrawlState.REDIRECT_WITHOUT_LOCATION: "redirect without Location",
    CrawlState.INFINITE_URL_SPACE: "infinite URL space",
    CrawlState.UNHANDLED_PROTOCOL: "unhandled protocol",
    CrawlState.URL_TOO_LONG: "URL too long",
    CrawlState.NOT_FOUND: "not found",
    CrawlState.HTTP_CLIENT_ERROR: "HTTP client error",
    CrawlState.ROBOTS_NOINDEX: "noindex by a robots header",
    CrawlState.HTTP_0_ERROR: "no valid HTTP response",
    CrawlState.PERMANENT_DNS_FAILURE: "permanent DNS failure",
    CrawlState.EMPTY_DOCUMENT: "empty document",
    CrawlState.IMAGE_CONVERSION_FAILED: "image conversion failed",
    CrawlState.REJECTED_BY_REWRITE_RULES: "rejected by rewrite rules",
    CrawlState.UNKNOWN_EXTENSION: "unknown extension",
    CrawlState.DISALLOWED_BY_META_TAG: "disallowed by a meta tag",
    CrawlState.AUTHENTICATION_FAILED: "authentication failed",
    CrawlState.DISALLOWED_BY_ROBOTS_TXT: "disallowed by robots.txt",
    CrawlState.CONVERSION_ERROR: "conversion error",
    CrawlState.HTTP_SERVER_ERROR: "HTTP server error",
    CrawlState.ROBOTS_TXT_UNREACHABLE: "robots.txt unreachable",
    CrawlState.TEMPORARY_DNS_FAILURE: "temporary DNS failure",
    CrawlState.CONNECTION_FAILED: "connection failed",
    CrawlState.CONNECTION_TIMED_OUT: "connection timed out",
    CrawlState.CONNECTION_CLOSED: "connection closed",
    CrawlState.CONNECTION_REFUSED: "connection refused",
    CrawlState.CONNECTION_RESET: "connection reset",
    CrawlState.NO_ROUTE_TO_HOST: "no route to the host",
    CrawlState.OTHER_ERROR: "other error",
}


class CrawlUrgency(IntEnum):
    """Which waiting URLs are fetched first; a lower value is more urgent."""

    IMMEDIATE = 0
    """A feed named it with crawl-immediately, or an administrator requested it."""
    NEW = 1
    """It was never fetched, or a web feed named it again."""
    SCHEDULED = 2
    """It is due again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlMention:
    """Something that names a URL for the crawler.

    - ``url`` as it was fed or found; it is the identity of the document.
    - ``referrer`` is the URL of the page or sitemap that links to it, "" for a feed, a start URL or an administrator.
    - ``is_request``: a feed or an administrator asks for it, so a known URL is due at once like a new one, and its interval begins again.
      A link or a sitemap only makes an unknown URL known.
    - ``pagerank`` is that of the record (68 to 100), None if there is none.
    - ``changed_at`` is a hint (``lastmod`` of a sitemap): a URL that was fetched before it is due at once.
    """

    url: str
    referrer: str = ""
    is_request: bool = False
    is_immediate: bool = False
    is_once: bool = False
    pagerank: int | None = None
    depth: int = 0
    changed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRecord:
    """One fetch in the history of a URL. Units: bytes of the body as received; seconds of the whole fetch.

    ``redirected_to`` is the URL to which it redirected and under which the page is crawled, "" for none.
    """

    at: datetime
    state: CrawlState
    http_status: int = 0
    size_bytes: int = 0
    seconds: float = 0.0
    reason: str = ""
    redirected_to: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlEntry:
    """The entry of a URL in the crawl queue; there is one for each URL.

    - ``site`` is scheme, host and port (``https://example.com:8443``), the key of host load and robots.txt.
    - ``due_at`` is None if the URL is not to be fetched again: crawled once, excluded, or removed.
    - ``interval_seconds`` is the present interval of its schedule, 0 until it is known.
    - ``etag`` and ``modified`` are the validators of the last complete fetch, as the server wrote them.
    - ``checksum`` is the digest of the last body, b"" if there is none. ``changed_at`` is when it last differed.
    - ``failures`` counts failed fetches since the last one that did not fail. The retries count from ``failed_at``, the time of
      the first of them, moved by as much as retries came late.
    - ``lease_owner`` fetches it until ``lease_expires_at``; "" = no process does.
    - ``history`` holds the last ten fetches, oldest first.
    - ``referrer`` is the first page that links to it.
    - ``duplicate_of`` is the URL under which the same page is a document, "" if this one is no duplicate.
    """

    url: str
    site: str
    urgency: CrawlUrgency = CrawlUrgency.NEW
    pagerank: int | None = None
    depth: int = 0
    is_once: bool = False
    referrer: str = ""
    state: CrawlState = CrawlState.WAITING
    added_at: datetime
    due_at: datetime | None = None
    interval_seconds: int = 0
    etag: str = ""
    modified: str = ""
    checksum: bytes = b""
    changed_at: datetime | None = None
    crawled_at: datetime | None = None
    failures: int = 0
    failed_at: datetime | None = None
    lease_owner: str = ""
    lease_expires_at: datetime | None = None
    history: tuple[FetchRecord, ...] = field(default=())
    duplicate_of: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSite:
    """What the crawler remembers of a site, so that it holds over restarts and on all machines.

    - ``free_at`` is the time before which no request may be sent (crawl delay, a host load below 1); None = at once.
    - ``retry_at`` is the time before which only immediate URLs are fetched, because the server fails; None = at once. ``failures`` counts
      the failed requests since the last answer, ``failed_at`` is the time of the first of them, and ``reason`` says why the last failed.
    - ``robots`` is its robots.txt, b"" if there is none, fetched at ``robots_at``. ``robots_state`` says how that fetch ended.
    - ``sitemaps`` are still to be read.
    """

    site: str
    free_at: datetime | None = None
    retry_at: datetime | None = None
    failures: int = 0
    failed_at: datetime | None = None
    reason: str = ""
    robots: bytes = field(default=b"", repr=False)
    robots_state: CrawlState = CrawlState.WAITING
    robots_at: datetime | None = None
    sitemaps: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """What the crawler asks a fetcher for: a URL as it was fed, with the validators of the last fetch ("" = none).

    ``max_bytes`` bounds the body after all codings are undone; ``seconds`` the whole fetch with its redirects.
    ``needed_for`` is the page for which a file of its site is fetched (robots.txt, a sitemap), "" for a document. The file may use what
    the settings allow for the page (a private address, credentials); what it redirects to may not, but needs no follow pattern.
    ``pause_seconds`` is the pause before a further request of the same fetch, which a redirect or a closed
    connection makes necessary. ``allows`` returns whether robots.txt permits a URL to which it redirects, as far as that is known.
    ``headers`` are sent besides the fetcher's own, which they do not replace.
    ``ends_at`` returns whether the fetch ends at a redirect to a URL, which is crawled as its own entry; the page has no body then. A
    response that sets cookies which are kept does not end it, since it may lead back.
    ``enter`` waits until a request to a URL of another site, to which it redirects, is within the host load of that site, as is each
    further one, and raises Busy if that takes too long. The time limit does not count the wait.
    ``reserve`` waits until there is memory for a body of so many bytes; a small body is read without it. The first call counts for the
    whole fetch. The time limit does not count the wait. It raises Busy if the wait is too long.
    """

    url: str
    needed_for: str = ""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    etag: str = ""
    modified: str = ""
    max_bytes: int
    seconds: float
    pause_seconds: float = 0.0
    allows: Callable[[str], bool] | None = field(default=None, repr=False, compare=False)
    ends_at: Callable[[str], bool] | None = field(default=None, repr=False, compare=False)
    enter: Callable[[str], Awaitable[None]] | None = field(default=None, repr=False, compare=False)
    reserve: Callable[[int], Awaitable[None]] | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPage:
    """The result of a fetch.

    - ``state`` says how it ended: CRAWLED (with a body), CRAWLED_FROM_CACHE (304, or 204 with ``X-Gsa-Skip-Updating-Content``), or why not.
    - ``http_status`` is 0 if there was no response.
    - ``url`` is the URL of the response, after all redirects; ``is_permanent`` if all redirects were permanent.
    - ``headers`` in order; names in lower case, repeated names as often as they came.
    - ``is_cut``: the body is longer than ``max_bytes``. Of a text, ``body`` is the beginning; of anything else it is empty.
    - ``etag`` and ``modified`` are the validators for the next request, as the server wrote them, "" if there are none. They are empty
      after a redirect: a validator belongs to one URL, and the redirect may lead elsewhere next time.
    - ``used_access``: the request carried credentials of the settings, so the document is not public unless a rule makes it so.
    - ``reason`` is a sentence for the administrator if there is no document, or about how the document came about.
    - ``retry_after_seconds`` is what the server requested, None if it did not.
    """

    state: CrawlState
    url: str
    http_status: int = 0
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    body: bytes = field(default=b"", repr=False)
    is_cut: bool = False
    etag: str = ""
    modified: str = ""
    is_permanent: bool = False
    used_access: bool = False
    make_public: bool = False
    seconds: float = 0.0
    reason: str = ""
    retry_after_seconds: int | None = None
