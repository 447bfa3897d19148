"""Fetches URLs for the crawler.

- A URL is requested percent-encoded as UTF-8. Of an address like ``ftp://`` the state says that nothing fetches it.
- Redirects of GET are followed, also to another server, up to a number and within the time of the whole fetch. Private addresses,
  credentials, headers, cookies and the proxy are decided again for each URL on the way. After a redirect from https to http no credentials
  are sent.
- A redirect to a URL that is crawled as its own entry ends the fetch.
- A redirect to another site waits for the host load of that site.
- A redirect to the same server is followed after the pause that the request asks for.
- A validator belongs to one URL: it is sent only with the first request, and none is returned after a redirect.
- A body that is not complete is a failure, never a document.
Source: RFC 9110, 13.1 (conditional requests), 15.4 (redirects).
"""

import asyncio
import time
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urljoin

from feedmill.adapters.crawling.challenges import AccessRejected
from feedmill.adapters.crawling.cookies import CookieJar
from feedmill.adapters.crawling.options import AccessRule, FetchOptions
from feedmill.adapters.crawling.outcomes import (
    PERMANENT_REDIRECTS,
    REDIRECTS,
    read_retry_after,
    state_of_failure,
    state_of_status,
)
from feedmill.adapters.crawling.rules import UrlRules
from feedmill.adapters.crawling.sessions import make_session
from feedmill.adapters.crawling.shares import ShareFetcher
from feedmill.adapters.crawling.smb.shares import SmbShareFetcher
from feedmill.adapters.crawling.transport import CUT_TYPES, Headers, Sending, Transport
from feedmill.adapters.http.codings import ACCEPTED, Decoded, decode
from feedmill.adapters.http.connection import SMALL_BYTES
from feedmill.core.urls.patterns import PatternSet
from feedmill.core.urls.targets import Target, parse_target
from feedmill.core.urls.validation import MAX_URL_CHARACTERS
from feedmill.model.crawling import CrawlState, FetchedPage, FetchRequest
from feedmill.model.errors import BadRequest, UpstreamFailure
from feedmill.ports.http import HttpResponse

MAX_PAUSE_SECONDS: Final = 300.0
"""The longest pause before a redirect is followed, so that the lease of its URL still holds."""
_SMALL_DECODED_BYTES: Final = 1_048_576
"""A body that is larger without its codings is decoded in a thread, so that the event loop goes on, and needs memory that is reserved."""


class HttpFetcher:
    """Implements ``ports.crawling.Fetcher``. It belongs to the event loop that first uses it."""

    def __init__(self, options: FetchOptions | None = None) -> None:
        self._options = options or FetchOptions()
        self._transport = Transport(self._options)
        self._headers = UrlRules(self._options.headers)
        self._access = UrlRules(self._options.access)
        self._sessions = {
            id(rule): make_session(rule, self._transport, number) for number, rule in enumerate(self._options.access, start=1)
        }
        self._keeps_cookies = PatternSet(self._options.cookies)
        self._jar = CookieJar()
        self._shares = ShareFetcher(self._options.shares)
        self._smb_shares = SmbShareFetcher(self._options.smb_shares)

    async def fetch(self, request: FetchRequest) -> FetchedPage:
        """Fetches a URL. Every failure is a ``FetchedPage`` with its state. Errors: Busy if there is no memory for its body."""
        begun = time.monotonic()
        if request.url[:5].lower() == "file:":
            return replace(await self._shares.fetch(request), seconds=time.monotonic() - begun)
        if request.url[:4].lower() == "smb:":
            return replace(await self._smb_shares.fetch(request), seconds=time.monotonic() - begun)
        fetch = _Fetch(request=request, deadline=begun + request.seconds)
        try:
            page = await self._fetch(fetch)
        except BadRequest as exc:
            page = FetchedPage(state=_state_of_url(request.url), url=request.url, reason=str(exc))
        except AccessRejected as exc:
            page = FetchedPage(state=CrawlState.AUTHENTICATION_FAILED, url=fetch.url, used_access=True, reason=str(exc))
        except UpstreamFailure as exc:
            page = FetchedPage(state=state_of_failure(exc), url=fetch.url, reason=str(exc))
        return replace(page, seconds=time.monotonic() - begun)

    async def close(self) -> None:
        """Closes all connections."""
        self._transport.close()
        self._smb_shares.close()

    async def _fetch(self, fetch: "_Fetch") -> FetchedPage:
        if len(fetch.request.url) > MAX_URL_CHARACTERS:
            raise BadRequest(f"the url is longer than {MAX_URL_CHARACTERS} characters")
        target = parse_target(fetch.request.url)
        while True:
            response = await self._request(fetch, target)
            if response.status not in REDIRECTS or (response.status == 300 and not response.find_header("location")):
                return await self._make_page(fetch, response)
            following = self._find_redirect(fetch, target, response)
            if isinstance(following, FetchedPage):
                return following
            fetch.follow(following, response.status)
            is_same = (following.is_tls, following.host, following.port) == (target.is_tls, target.host, target.port)
            if is_same and not fetch.has_entered:
                await fetch.pause()
            else:
                await fetch.enter()
                # the rules of the other site may be known only now
                if not fetch.is_allowed(following):
                    return self._disallow(fetch, response, following)
            target = following

    async def _request(self, fetch: "_Fetch", target: Target) -> HttpResponse:
        request = fetch.request
        keeps_cookies = self._keeps_cookies.match_url(target.url).passes
        headers = self._make_headers(fetch, target)
        if keeps_cookies and (cookie := self._jar.make_header(target)):
            headers["Cookie"] = cookie
        sending = Sending(
            target=target,
            headers=headers,
            max_bytes=request.max_bytes,
            deadline=fetch.deadline,
            opened_for=fetch.find_page(target),
            pause_seconds=request.pause_seconds,
            reserve=request.reserve,
        )
        rule = self._find_access(fetch, sending)
        if rule is None:
            response = await self._transport.send(sending)
        else:
            response, used_access = await self._sessions[id(rule)].send(sending)
            fetch.note_access(rule, used_access=used_access)
        if keeps_cookies:
            self._jar.store(target, response)
        return response

    def _find_access(self, fetch: "_Fetch", sending: Sending) -> AccessRule | None:
        """Returns the rule with the credentials for a request."""
        if fetch.has_left_tls:
            return None
        rule = self._access.find(sending.target.url)
        return self._access.find(sending.opened_for) if rule is None and sending.opened_for else rule

    def _make_headers(self, fetch: "_Fetch", target: Target) -> Headers:
        headers = {"Accept": "*/*", **dict(fetch.request.headers), "User-Agent": self._options.user_agent, "Accept-Encoding": ACCEPTED}
        for rule in self._headers.list_all(target.url):
            headers.update(rule.headers)
        if not fetch.passed:
            headers |= {"If-None-Match": fetch.request.etag} if fetch.request.etag else {}
            headers |= {"If-Modified-Since": fetch.request.modified} if fetch.request.modified else {}
        return headers

    def _find_redirect(self, fetch: "_Fetch", target: Target, response: HttpResponse) -> Target | FetchedPage:
        """Returns where a redirect leads, or the result if it is not followed."""
        location = _read_location(response)
        if not location:
            return self._end(fetch, response, CrawlState.REDIRECT_WITHOUT_LOCATION, "it redirects and does not say where")
        if len(fetch.passed) >= self._options.max_redirects:
            return self._end(fetch, response, CrawlState.LONG_REDIRECT_CHAIN, f"it redirects more than {self._options.max_redirects} times")
        try:
            url = urljoin(target.url, location)
            following = parse_target(url)
        except (BadRequest, ValueError):
            is_other = ":" in location and not location.lower().startswith("http")
            state = CrawlState.OFF_DOMAIN_REDIRECT if is_other else CrawlState.OTHER_ERROR
            return self._end(fetch, response, state, "it redirects to what is no address of http or https")
        # With cookies, the same URL may answer otherwise the second time.
        sets_cookies = bool(response.find_header("set-cookie"))
        if following.url in (target.url, *fetch.passed) and not sets_cookies:
            return self._end(fetch, response, CrawlState.LONG_REDIRECT_CHAIN, "it redirects in a circle")
        if not fetch.request.needed_for and not self._options.follows(following.url):
            return self._end(
                fetch, response, CrawlState.OFF_DOMAIN_REDIRECT, f"it redirects to {following.url}, which is not among the URLs to crawl"
            )
        if not fetch.is_allowed(following):
            return self._disallow(fetch, response, following)
        keeps_cookies = sets_cookies and self._keeps_cookies.match_url(target.url).passes
        if fetch.request.ends_at is not None and not keeps_cookies and fetch.request.ends_at(following.url):
            fetch.follow(following, response.status)
            return self._end(fetch, response, CrawlState.CRAWLED, "")
        return following

    def _disallow(self, fetch: "_Fetch", response: HttpResponse, following: Target) -> FetchedPage:
        reason = f"it redirects to {following.url}, which robots.txt of its site disallows"
        return self._end(fetch, response, CrawlState.DISALLOWED_BY_ROBOTS_TXT, reason)

    async def _make_page(self, fetch: "_Fetch", response: HttpResponse) -> FetchedPage:
        request = fetch.request
        was_conditional = bool(request.etag or request.modified) and not fetch.passed
        state = state_of_status(response.status, was_conditional=was_conditional)
        if state is not CrawlState.CRAWLED:
            return self._end(fetch, response, state, f"it answers {response.status}" if state is not CrawlState.CRAWLED_FROM_CACHE else "")
        if response.status == 204 and response.find_header("x-gsa-skip-updating-content").strip().lower() == "true":
            return self._end(fetch, response, CrawlState.CRAWLED_FROM_CACHE, "")
        decoded = await _decode(response, request)
        return replace(self._end(fetch, response, state, ""), body=decoded.body, is_cut=decoded.is_cut)

    def _end(self, fetch: "_Fetch", response: HttpResponse, state: CrawlState, reason: str) -> FetchedPage:
        return FetchedPage(
            state=state,
            url=fetch.url,
            http_status=response.status,
            headers=tuple((name, value.decode("latin-1")) for name, value in response.headers),
            etag="" if fetch.passed else response.find_header("etag"),
            modified="" if fetch.passed else response.find_header("last-modified"),
            used_access=fetch.used_access,
            make_public=fetch.used_access and fetch.make_public,
            is_permanent=bool(fetch.passed) and fetch.is_permanent,
            reason=reason,
            retry_after_seconds=read_retry_after(response.find_header("retry-after"), self._options.clock()),
        )


@dataclass(slots=True, kw_only=True)
class _Fetch:
    """A fetch in progress. ``passed`` are the URLs that redirected; ``has_entered``: one was on another site."""

    request: FetchRequest
    deadline: float
    passed: list[str] = field(default_factory=list)
    url: str = ""
    is_permanent: bool = True
    has_left_tls: bool = False
    has_entered: bool = False
    used_access: bool = False
    make_public: bool = True

    def __post_init__(self) -> None:
        self.url = self.request.url

    def follow(self, following: Target, status: int) -> None:
        """Notes a redirect."""
        self.passed.append(parse_target(self.url).url)
        self.is_permanent = self.is_permanent and status in PERMANENT_REDIRECTS
        self.has_left_tls = self.has_left_tls or (self.url.lower().startswith("https:") and not following.is_tls)
        self.url = following.url

    async def pause(self) -> None:
        """Waits before the next request to the server. The time limit of the fetch does not count the wait."""
        seconds = min(self.request.pause_seconds, MAX_PAUSE_SECONDS)
        if seconds > 0:
            await asyncio.sleep(seconds)
            self.deadline += seconds

    async def enter(self) -> None:
        """Waits until the host load of another site permits the request. The time limit of the fetch does not count the wait."""
        if self.request.enter is not None:
            begun, self.has_entered = time.monotonic(), True
            await self.request.enter(self.url)
            self.deadline += time.monotonic() - begun

    def is_allowed(self, target: Target) -> bool:
        """Returns whether robots.txt permits a request, as far as it is known."""
        return self.request.allows is None or self.request.allows(target.url)

    def note_access(self, rule: AccessRule, *, used_access: bool) -> None:
        """Notes that credentials were sent; a document is made public only if all rules that were used say so."""
        if used_access:
            self.used_access = True
            self.make_public = self.make_public and rule.make_public

    def find_page(self, target: Target) -> str:
        """Returns the page whose permissions hold for a file of its site, "" for none."""
        page = self.request.needed_for
        if not page or self.passed:
            return ""
        try:
            site = parse_target(page)
        except BadRequest:
            return ""
        return site.url if (site.is_tls, site.host, site.port) == (target.is_tls, target.host, target.port) else ""


def _state_of_url(url: str) -> CrawlState:
    if len(url) > MAX_URL_CHARACTERS:
        return CrawlState.URL_TOO_LONG
    return CrawlState.OTHER_ERROR if url.lower().startswith(("http://", "https://")) else CrawlState.UNHANDLED_PROTOCOL


def _read_location(response: HttpResponse) -> str:
    """Returns where a redirect leads. Many servers write letters beyond ASCII as UTF-8, and not percent-encoded."""
    text = response.find_header("location").strip()
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return text


async def _decode(response: HttpResponse, request: FetchRequest) -> Decoded:
    """Returns the body without its codings; a longer one is cut or dropped. Errors: ExchangeFailure, Busy."""
    decoded = await _undo_codings(response, request)
    is_cut = decoded.is_cut or response.is_cut
    if is_cut and not response.find_header("content-type").strip().lower().startswith(CUT_TYPES):
        return Decoded(b"", True)
    return Decoded(decoded.body, is_cut)


async def _undo_codings(response: HttpResponse, request: FetchRequest) -> Decoded:
    body, coding = response.body, response.find_header("content-encoding")
    if not coding or not body:
        return decode(body, "", request.max_bytes)
    if len(body) <= SMALL_BYTES and not response.is_cut:
        # nearly all pages end here; of the others there is more, which needs memory first
        decoded = decode(body, coding, min(request.max_bytes, _SMALL_DECODED_BYTES))
        if not decoded.is_cut or request.max_bytes <= _SMALL_DECODED_BYTES:
            return decoded
        if request.reserve is not None:
            await request.reserve(request.max_bytes)
    return await asyncio.to_thread(decode, body, coding, request.max_bytes, is_cut=response.is_cut)
