"""The client for a seedlist behind a login form: signs in, keeps the cookies, and signs in again when the session is over.

- The session belongs to the host of the seedlist. Other hosts get plain requests, unless the login leads there.
- Redirects are followed, never from https to http. Each hop is a request of its own, with the cookies that its server has set.
- An address that ends with ``j_security_check`` is that of the login itself: name and password are sent there without reading a form, as
  programs sign in to WebSphere.

Source: Jakarta Servlet, "Form Based Authentication"; WebSphere Application Server, "Single sign-on" (LTPA cookies).
"""

import asyncio
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import urlencode

from feedmill.adapters.crawling.challenges import AccessRejected
from feedmill.adapters.crawling.forms import MAX_PAGE_BYTES, PageForm
from feedmill.adapters.crawling.options import AccessRule, FetchOptions, FormLogin
from feedmill.adapters.crawling.sessions import FormSession
from feedmill.adapters.crawling.transport import Sending, Transport
from feedmill.adapters.http.client import ClientOptions, FetchedResponse, find_redirect, unpack
from feedmill.adapters.http.errors import ExchangeFailure, FailureKind
from feedmill.core.urls.targets import Target, parse_target
from feedmill.model.errors import UpstreamFailure
from feedmill.ports.http import HttpResponse

SECURITY_CHECK: Final = "/j_security_check"
PASSWORD_FIELD: Final = "j_password"  # noqa: S105 - the name of a field
PAUSE_SECONDS: Final = 60.0
_AGENT: Final = "Feedmill"


class FormClient:
    """Fetches URLs of one host within a session. Several threads may use it; it sends one request at a time."""

    def __init__(self, user: str, password: str, form: FormLogin, options: ClientOptions) -> None:
        self._options = options
        self._transport = Transport(FetchOptions(trust=options.trust, lookup=options.lookup))
        rule = AccessRule(pattern="/", user=user, password=password, form=form)
        self._session = _Session(rule, form, self._transport, 0)
        self._runner = asyncio.Runner(loop_factory=asyncio.SelectorEventLoop)
        self._lock = threading.Lock()

    def fetch(self, url: str, *, headers: Mapping[str, str], max_bytes: int, seconds: float) -> FetchedResponse:
        """Returns the response for a URL. Errors: BadRequest for a URL that is none; UpstreamFailure."""
        with self._lock:
            return self._runner.run(self._fetch(parse_target(url), dict(headers), max_bytes, time.monotonic() + seconds))

    def close(self) -> None:
        """Closes all connections."""
        with self._lock:
            self._transport.close()
            self._runner.close()

    async def _fetch(self, target: Target, headers: dict[str, str], max_bytes: int, deadline: float) -> FetchedResponse:
        sending = Sending(target=target, headers={"User-Agent": _AGENT, **headers}, max_bytes=max_bytes, deadline=deadline)
        reached, response = await self._session.fetch(sending, self._options)
        return FetchedResponse(url=reached.url, response=_unpack(response, max_bytes))


class _Session(FormSession):
    """A session at WebSphere, or at any server with a form.

    Whether a response asks to sign in is known where its redirects end, because the address of the login page need not be in the settings.
    """

    async def fetch(self, sending: Sending, options: ClientOptions) -> tuple[Target, HttpResponse]:
        """Returns where the redirects of a request end, and the response there. Errors: UpstreamFailure."""
        logins = await self._sign_in(sending, after=-1)
        for is_last in (False, True):
            target, response = await self._walk(sending, options)
            if not self._asks_to_sign_in(target, response):
                return target, response
            if not is_last:
                await self._sign_in(sending, after=logins)
        # A password that is wrong must not lock the account.
        self._paused_until = time.monotonic() + PAUSE_SECONDS
        raise AccessRejected("it asks to sign in although the server has just signed in; check user and password")

    async def _walk(self, sending: Sending, options: ClientOptions) -> tuple[Target, HttpResponse]:
        target = sending.target
        for _ in range(options.max_redirects + 1):
            response = await self._exchange(replace(sending, target=target, is_chosen=options.allows_private(target)))
            following = None if self._asks_to_sign_in(target, response) else find_redirect(target, response)
            if following is None:
                return target, response
            target = following
        raise UpstreamFailure(f"it redirects more than {options.max_redirects} times")

    def _is_login_form(self, page: Target, form: PageForm) -> bool:
        return PASSWORD_FIELD in form.kinds or super()._is_login_form(page, form)

    async def _log_in(self, sending: Sending) -> None:
        if not self._login.path.partition("?")[0].endswith(SECURITY_CHECK):
            await super()._log_in(sending)
            return
        fields = {
            self._form.user_field or "j_username": self._rule.user,
            self._form.password_field or PASSWORD_FIELD: self._rule.password,
            **dict(self._form.fields),
        }
        login = Sending(
            target=self._login,
            method="POST",
            headers={"Content-Type": "application/x-www-form-urlencoded", "User-Agent": _AGENT, "Accept": "*/*"},
            body=urlencode(fields).encode(),
            max_bytes=MAX_PAGE_BYTES,
            deadline=sending.deadline,
            is_chosen=True,
        )
        # The page to which it leads says nothing: the request that follows shows whether the session counts.
        response = await self._exchange(login)
        if response.status >= 400:
            raise AccessRejected(f"the login is not accepted (status {response.status})")
        if not self._jar.make_header(self._login):
            raise AccessRejected("the login sets no cookie; check user and password")


def _unpack(response: HttpResponse, max_bytes: int) -> HttpResponse:
    unpacked = unpack(response, max_bytes)
    # A transport returns the beginning of a body that is too long, where the client of whole URLs raises.
    if unpacked.is_cut:
        raise ExchangeFailure(f"its answer has more than {max_bytes} bytes", FailureKind.TOO_LARGE)
    return unpacked
