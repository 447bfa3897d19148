"""Sends requests with the credentials of an access rule.

A session belongs to one rule. It sends a request of the crawler with credentials where the server requires them, and says whether they were
used, so that documents behind them do not become public.
"""

import asyncio
import base64
import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple, Protocol
from urllib.parse import quote, urlencode, urljoin

from feedmill.adapters.crawling.challenges import AccessRejected, PasswordAuthentication, ServerMemory
from feedmill.adapters.crawling.cookies import CookieJar
from feedmill.adapters.crawling.forms import MAX_PAGE_BYTES, PageForm, find_forms
from feedmill.adapters.crawling.kerberos import Tickets, make_principal
from feedmill.adapters.crawling.options import AccessRule, FormLogin, TokenGrant
from feedmill.adapters.crawling.outcomes import REDIRECTS
from feedmill.adapters.crawling.transport import Headers, Sending, Transport
from feedmill.core.urls.patterns import parse_pattern
from feedmill.core.urls.targets import Target, parse_target
from feedmill.model.errors import BadRequest, UpstreamFailure
from feedmill.ports.http import HttpResponse

_MAX_REDIRECTS: Final = 10
_MAX_ASSERTIONS: Final = 3
_FIRST_PAUSE_SECONDS: Final = 60.0
_MAX_PAUSE_SECONDS: Final = 3_600.0
_MAX_SERVERS: Final = 10_000
_TOKEN_SECONDS: Final = 300.0
_ASSERTIONS: Final = ("SAMLResponse", "wresult", "id_token")
"""The fields by which a provider of single sign-on sends a user back; a script of the page submits the form."""


class Sent(NamedTuple):
    """A response, and whether credentials were sent for it."""

    response: HttpResponse
    used_access: bool


class Session(Protocol):
    """Sends requests with the credentials of one rule."""

    async def send(self, sending: Sending) -> Sent:
        """Sends a request. Errors: UpstreamFailure."""


def make_session(rule: AccessRule, transport: Transport, number: int) -> Session:
    """Returns the session of a rule; ``number`` is its place, which separates its connections from those of others."""
    if rule.form is not None:
        return FormSession(rule, rule.form, transport, number)
    if rule.token or rule.grant is not None:
        return BearerSession(rule, transport, number)
    return PasswordSession(rule, transport, number)


class PasswordSession:
    """Authenticates by a password (Basic, Digest, NTLM, Negotiate), by a client certificate, or by both."""

    def __init__(self, rule: AccessRule, transport: Transport, number: int) -> None:
        self._rule = rule
        self._transport = transport
        self._number = number
        self._servers: dict[tuple[bool, str, int], ServerMemory] = {}
        self._tickets = Tickets(make_principal(rule.user, rule.domain), rule.password, rule.keytab) if rule.user else None

    async def send(self, sending: Sending) -> Sent:
        """Sends a request. Errors: UpstreamFailure."""
        target = sending.target
        sending = replace(sending, holder=self._number, trust=self._rule.trust)
        has_certificate = target.is_tls and self._rule.trust is not None and bool(self._rule.trust.certificate)
        if not self._rule.user and not self._rule.password:
            return Sent(await self._transport.send(sending), has_certificate)
        if len(self._servers) > _MAX_SERVERS:
            self._servers.clear()
        memory = self._servers.setdefault((target.is_tls, target.host, target.port), ServerMemory())
        authentication = PasswordAuthentication(
            self._rule, target, sending.method, memory, tickets=self._tickets, deadline=sending.deadline
        )
        response = await self._transport.send(sending, authentication)
        return Sent(response, authentication.is_used or has_certificate)


class BearerSession:
    """Sends a bearer token, which it fetches with client credentials if the rule has no fixed one. Source: RFC 6750, RFC 6749, 4.4."""

    def __init__(self, rule: AccessRule, transport: Transport, number: int) -> None:
        self._rule = rule
        self._transport = transport
        self._number = number
        self._token, self._expires_at, self._paused_until = rule.token, 0.0, 0.0
        self._lock = asyncio.Lock()

    async def send(self, sending: Sending) -> Sent:
        """Sends a request, with a new token if the present one is refused. Errors: UpstreamFailure."""
        sending = replace(sending, holder=self._number, trust=self._rule.trust)
        token = await self._get_token(sending, refused="")
        response = await self._transport.send(_with(sending, {"Authorization": f"Bearer {token}"}))
        if response.status == 401 and self._rule.grant is not None:
            token = await self._get_token(sending, refused=token)
            response = await self._transport.send(_with(sending, {"Authorization": f"Bearer {token}"}))
        return Sent(response, True)

    async def _get_token(self, sending: Sending, *, refused: str) -> str:
        grant = self._rule.grant
        if grant is None:
            return self._token
        async with self._lock:
            if not self._token or self._token == refused or self._expires_at <= time.monotonic():
                if self._paused_until > time.monotonic():
                    raise AccessRejected("the authorization server returned no token; the next request is sent in a minute")
                try:
                    self._token, seconds = await self._fetch_token(grant, sending)
                except UpstreamFailure:
                    self._paused_until = time.monotonic() + _FIRST_PAUSE_SECONDS
                    raise
                self._expires_at = time.monotonic() + seconds
            return self._token

    async def _fetch_token(self, grant: TokenGrant, sending: Sending) -> tuple[str, float]:
        pair = f"{quote(grant.client_id, safe='')}:{quote(grant.client_secret, safe='')}"
        body = {"grant_type": "client_credentials"} | ({"scope": grant.scope} if grant.scope else {})
        response = await self._transport.send(
            Sending(
                target=parse_target(grant.token_url),
                method="POST",
                headers={
                    "Authorization": "Basic " + base64.b64encode(pair.encode()).decode(),
                    "Content-Type": "application/x-www-form-urlencoded",
                    "Accept": "application/json",
                },
                body=urlencode(body).encode(),
                max_bytes=MAX_PAGE_BYTES,
                deadline=sending.deadline,
                # the administrator has named this very server
                is_chosen=True,
                holder=self._number,
            )
        )
        try:
            answer = json.loads(response.body) if response.status == 200 else {}
            token, seconds = answer.get("access_token"), float(answer.get("expires_in", _TOKEN_SECONDS))
        except (ValueError, TypeError, AttributeError, RecursionError) as exc:
            raise AccessRejected("the authorization server sends no token that can be read") from exc
        if not isinstance(token, str) or not token.isascii() or not token.isprintable() or not token:
            raise AccessRejected(f"the authorization server returned no token, but status {response.status}")
        # renewed before it expires, so that it does not expire on the way to the server
        return token, max(seconds - 30.0, 1.0)


class FormSession:
    """Signs in by a form and stores the cookies of the session. It signs in again when the session is over.

    The password goes only to the host of the page that has the form, and that must be the host of ``login_url`` or one that
    ``login_pattern`` matches. A redirect does not take it to another host.
    """

    def __init__(self, rule: AccessRule, form: FormLogin, transport: Transport, number: int) -> None:
        self._rule = rule
        self._form = form
        self._transport = transport
        self._number = number
        self._jar = CookieJar()
        self._lock = asyncio.Lock()
        self._logins = 0
        self._signed_in_at: float | None = None
        self._paused_until, self._pause_seconds = 0.0, _FIRST_PAUSE_SECONDS
        self._login = parse_target(form.login_url)
        pattern = parse_pattern(form.login_pattern) if form.login_pattern else None
        self._matches: Callable[[str], bool] = pattern.matches if pattern is not None else lambda _url: False

    async def send(self, sending: Sending) -> Sent:
        """Sends a request within a session. Errors: UpstreamFailure."""
        sending = replace(sending, holder=self._number, trust=self._rule.trust)
        logins = await self._sign_in(sending, after=-1)
        response = await self._exchange(sending)
        if self._asks_to_sign_in(sending.target, response):
            await self._sign_in(sending, after=logins)
            response = await self._exchange(sending)
            if self._asks_to_sign_in(sending.target, response):
                raise AccessRejected("it asks to sign in although the crawler has just signed in")
        return Sent(response, True)

    def _asks_to_sign_in(self, target: Target, response: HttpResponse) -> bool:
        if response.status == 401:
            return True
        if response.status in REDIRECTS:
            try:
                return self._is_login(parse_target(urljoin(target.url, response.find_header("location"))))
            except (BadRequest, ValueError):
                return False
        if (
            response.status == 200
            and response.find_header("content-type").lower().startswith("text/html")
            and b"<form" in response.body[:MAX_PAGE_BYTES]
        ):
            return any(self._is_login_form(target, form) for form in find_forms(response.body))
        return False

    def _is_login(self, target: Target) -> bool:
        return self._matches(target.url) or _page_of(target) == _page_of(self._login)

    def _is_login_form(self, page: Target, form: PageForm) -> bool:
        """Whether a form is that of the login, on whatever page it is."""
        try:
            action = parse_target(urljoin(page.url, form.action))
        except (BadRequest, ValueError):
            return False
        has_password = (self._form.password_field or form.find_field("password")) in form.kinds
        return has_password and (self._is_login(action) or (bool(self._form.action) and action.url == self._form.action))

    async def _exchange(self, sending: Sending) -> HttpResponse:
        cookie = self._jar.make_header(sending.target)
        # The body is looked at, so it comes without a coding.
        headers = {"Accept-Encoding": "identity"} | ({"Cookie": cookie} if cookie else {})
        response = await self._transport.send(_with(sending, headers))
        self._jar.store(sending.target, response)
        return response

    async def _sign_in(self, sending: Sending, *, after: int) -> int:
        """Signs in unless another request has done so since login number ``after``. Returns the number of the login."""
        async with self._lock:
            now = time.monotonic()
            is_over = self._signed_in_at is None or now - self._signed_in_at > self._form.session_seconds
            # another request has signed in while this one waited for the lock
            if not is_over and self._logins != after:
                return self._logins
            if self._paused_until > now:
                raise AccessRejected("signing in failed; it is tried again in some minutes")
            try:
                self._jar.clear()
                self._signed_in_at = None
                await self._log_in(sending)
            except UpstreamFailure:
                # A password that is wrong must not lock the account.
                self._paused_until = time.monotonic() + self._pause_seconds
                self._pause_seconds = min(self._pause_seconds * 2, _MAX_PAUSE_SECONDS)
                raise
            self._signed_in_at, self._pause_seconds = time.monotonic(), _FIRST_PAUSE_SECONDS
            self._logins += 1
            return self._logins

    async def _log_in(self, sending: Sending) -> None:
        page, response = await self._follow(sending, self._login, "GET", b"")
        form = next((each for each in find_forms(response.body) if self._has_fields(each)), None)
        if form is None:
            raise AccessRejected(f"the login page has no form with the fields of the settings (status {response.status})")
        if page.host != self._login.host and not self._matches(page.url):
            raise AccessRejected(f"the login leads to {page.host}, which neither login_url nor login_pattern names")
        # the password: only to the host of the page with the form, unless the settings name the action
        page, response = await self._submit(sending, page, form, self._fill(form), same_host=True, action=self._form.action)
        # single sign-on: pages with a form that a browser submits by a script, which takes an assertion to the next server
        for _ in range(_MAX_ASSERTIONS):
            assertion = next((each for each in find_forms(response.body) if each.is_post and set(_ASSERTIONS) & set(each.fields)), None)
            if assertion is None or response.status != 200:
                break
            page, response = await self._submit(sending, page, assertion, assertion.fields, same_host=False)
        # a server that rejects a password often shows the form again, with status 200
        is_again = any(self._has_fields(each) and self._is_login_form(page, each) for each in find_forms(response.body))
        if response.status >= 400 or (self._is_login(page) and any(map(self._has_fields, find_forms(response.body)))) or is_again:
            raise AccessRejected(f"the login is not accepted (status {response.status})")

    def _has_fields(self, form: PageForm) -> bool:
        return (self._form.password_field in form.kinds) if self._form.password_field else bool(form.find_field("password"))

    def _fill(self, form: PageForm) -> dict[str, str]:
        user = self._form.user_field or form.find_field("text", "email")
        password = self._form.password_field or form.find_field("password")
        return form.fields | ({user: self._rule.user} if user else {}) | {password: self._rule.password} | dict(self._form.fields)

    async def _submit(
        self, sending: Sending, page: Target, form: PageForm, fields: dict[str, str], *, same_host: bool, action: str = ""
    ) -> tuple[Target, HttpResponse]:
        try:
            target = parse_target(action or urljoin(page.url, form.action))
        except (BadRequest, ValueError) as exc:
            raise AccessRejected("the login form is sent to what is no address") from exc
        if same_host and not action and target.host != page.host:
            raise AccessRejected(f"the login form is sent to another host, {target.host}; form_action of the settings can name it")
        if (page.is_tls and not target.is_tls) or (not form.is_post and not action):
            raise AccessRejected("the login form would send the password without protection")
        return await self._follow(sending, target, "POST", urlencode(fields).encode())

    async def _follow(self, sending: Sending, target: Target, method: str, body: bytes) -> tuple[Target, HttpResponse]:
        """Sends a request of the login and follows its redirects. Returns where they end."""
        for _ in range(_MAX_REDIRECTS):
            headers = {"Content-Type": "application/x-www-form-urlencoded"} if body else {}
            chosen = (target.is_tls, target.host, target.port) == (self._login.is_tls, self._login.host, self._login.port)
            response = await self._exchange(
                replace(
                    sending,
                    target=target,
                    method=method,
                    headers={"User-Agent": sending.headers.get("User-Agent", ""), "Accept": "*/*"} | headers,
                    body=body,
                    max_bytes=MAX_PAGE_BYTES,
                    opened_for="",
                    is_chosen=chosen,
                )
            )
            location = response.find_header("location")
            if response.status not in REDIRECTS or not location:
                return target, response
            try:
                following = parse_target(urljoin(target.url, location))
            except (BadRequest, ValueError) as exc:
                raise AccessRejected("the login redirects to what is no address") from exc
            # RFC 9110, 15.4.8 and 15.4.9: these redirects repeat the method and the body, which may hold the password
            if response.status in (307, 308) and body:
                if (following.is_tls, following.host, following.port) != (target.is_tls, target.host, target.port):
                    raise AccessRejected("the login would send the password to another host")
            else:
                method, body = "GET", b""
            target = following
        raise AccessRejected(f"the login redirects more than {_MAX_REDIRECTS} times")


def _page_of(target: Target) -> tuple[bool, str, int, str]:
    return target.is_tls, target.host, target.port, target.path.partition("?")[0]


def _with(sending: Sending, headers: Headers) -> Sending:
    return replace(sending, headers=sending.headers | headers)
