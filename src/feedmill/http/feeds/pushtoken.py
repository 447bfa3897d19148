"""The token check of the feed port. It follows the check of the address and precedes all reading of the body.

1. A token comes as ``Authorization: Bearer``, or as the password of ``Authorization: Basic`` with any user name, because old clients can
   put a password into a URL.
2. With ``gate.require_token`` every route requires a token of scope ``push``, except those that declare another ``Sender``.
3. Without the setting, a token that is sent still counts: a wrong one is refused, a right one limits the request to its data
   sources. The password of Basic counts as a token only if it begins like one.
4. Earlier wrong tokens never cause the refusal of a right one. Failures limit the entries in the audit log and nothing else.

A refusal has status 401 and the text that old clients expect.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Final

import structlog
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from feedmill.http.common.answers import STRANGERS, UNAUTHORIZED, Body, drop, send_early
from feedmill.http.common.problems import Problem, find_problem, send_problem
from feedmill.http.common.requirements import Sender, find_requirement
from feedmill.http.feeds.gateconfig import CurrentConfig
from feedmill.http.signin.requestauthenticator import BASIC_CHALLENGE, BEARER_CHALLENGE, read_basic
from feedmill.model.audit import AuditKind, Detail
from feedmill.model.errors import FeedmillError
from feedmill.services.auditing import Auditing
from feedmill.services.signin.accounts import TOKEN_PREFIX
from feedmill.services.signin.pushcheck import UNLIMITED, PushRight
from feedmill.services.signin.throttle import Throttle

FindRight = Callable[[str], PushRight | None]
"""Returns what a token permits, None for a wrong one. Errors: Busy."""

_RIGHT: Final = "feedmill.push_right"
_WITHOUT_TOKEN: Final = (Sender.ANYONE, Sender.TRUSTED_ADDRESS)
_LIMITED: Final = (Sender.PUSH_TOKEN, Sender.PROFILE_ADDRESS)
"""Routes of these limit a token for some data sources to these."""
_REFUSED: Final = (Problem.UNAUTHORIZED.status, Problem.FORBIDDEN.status)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PushTokens:
    """The check's dependencies. ``throttle`` limits how many refusals are logged."""

    find: FindRight
    auditing: Auditing
    throttle: Throttle


@dataclass(frozen=True, slots=True)
class _Presented:
    """A secret in a request. ``is_token``: it can only be a token; its text is "" if it is unreadable."""

    text: str
    is_token: bool
    challenge: str


def find_right(scope: Scope) -> PushRight:
    """Returns what a request may do, as the check found it."""
    right: PushRight = scope[_RIGHT]
    return right


class PushTokenCheck:
    """ASGI middleware that passes requests with a right token; without ``tokens`` no token is right."""

    def __init__(self, app: ASGIApp, *, config: CurrentConfig, workers: Executor, tokens: PushTokens | None = None) -> None:
        self._app = app
        self._config = config
        self._workers = workers
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = Body(receive)
        try:
            right = await self._find_right(scope)
        except FeedmillError as exc:
            log.error("token_not_checked", reason=str(exc))
            await _answer_trouble(scope, body, send, exc)
            return
        if right is None:
            await _refuse(scope, body, send)
        elif right.is_limited and find_requirement(scope).sender not in (*_WITHOUT_TOKEN, *_LIMITED):
            await send_problem(body, send, Problem.FORBIDDEN, "this needs a token for all data sources", STRANGERS)
            await self._run_in_workers(self._report_refusal, scope, "the token is for some data sources alone", right.label)
        else:
            scope[_RIGHT] = right
            await self._serve(scope, receive, send, right)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, right: PushRight) -> None:
        """Passes a request on. A refusal because of the token's data sources goes to the audit log."""
        status = 0

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        await self._app(scope, receive, send_noted if right.is_limited else send)
        if status in _REFUSED:
            await self._run_in_workers(self._report_refusal, scope, "the token is for other data sources", right.label)

    async def _find_right(self, scope: Scope) -> PushRight | None:
        """Returns what a request may do; None for nothing."""
        if find_requirement(scope).sender in _WITHOUT_TOKEN:
            return UNLIMITED
        presented = _read_presented(scope)
        is_required = self._config().require_token
        if not is_required and (presented is None or not presented.is_token):
            return UNLIMITED
        right = await self._run_in_workers(self._check_token, presented.text) if presented is not None and presented.text else None
        if right is None and presented is not None:
            await self._run_in_workers(self._report_refusal, scope, "the token is unknown, has expired or is of another scope")
        elif right is None:
            await self._run_in_workers(self._report_refusal, scope, "there is no token")
        return right

    def _check_token(self, text: str) -> PushRight | None:
        return self._tokens.find(text) if self._tokens is not None else None

    def _report_refusal(self, scope: Scope, reason: str, actor: str = "") -> None:
        """Writes a refusal to the audit log; of many refusals only the first ones, and a note that there are more."""
        if self._tokens is None:
            return
        address = scope["client"][0] if scope.get("client") else ""
        passage = self._tokens.throttle.begin("push", address)
        if not passage.wait_seconds or passage.is_first:
            details: dict[str, Detail] = {"method": scope["method"], "path": scope["path"], "reason": reason}
            self._tokens.auditing.log_event(AuditKind.PUSH_REFUSED, actor=actor, address=address, details=details)

    async def _run_in_workers(self, act: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._workers, act, *arguments)


def _read_presented(scope: Scope) -> _Presented | None:
    """Returns the secret of a request; None if the header is missing or its scheme carries no secret."""
    lines = Headers(scope=scope).getlist("authorization")
    # Two headers could mean two senders. Neither counts.
    if len(lines) > 1:
        return _Presented("", True, BASIC_CHALLENGE)
    scheme, _, given = lines[0].strip().partition(" ") if lines else ("", "", "")
    if scheme.lower() == "bearer":
        return _Presented(given.strip(), True, f'{BEARER_CHALLENGE}, error="invalid_token"')
    if scheme.lower() != "basic":
        return None
    pair = read_basic(given.strip())
    password = pair[1] if pair is not None else ""
    return _Presented(password, password.startswith(TOKEN_PREFIX), BASIC_CHALLENGE)


async def _refuse(scope: Scope, body: Body, send: Send) -> None:
    presented = _read_presented(scope)
    challenge = presented.challenge if presented is not None else BASIC_CHALLENGE
    headers = ((b"www-authenticate", challenge.encode("ascii")),)
    if scope["path"].startswith("/api/"):
        text = f"{UNAUTHORIZED}: send a token of scope push that is good, as Bearer or as the password of Basic"
        await send_problem(body, send, Problem.UNAUTHORIZED, text, STRANGERS, headers)
    else:
        await send_early(body, send, Problem.UNAUTHORIZED.status, UNAUTHORIZED, STRANGERS, headers=headers)


async def _answer_trouble(scope: Scope, body: Body, send: Send, exc: FeedmillError) -> None:
    if scope["path"].startswith("/api/"):
        await send_problem(body, send, find_problem(exc), "tokens cannot be checked now; try again later", STRANGERS)
    else:
        await drop(scope, body, send)
