"""The checks of the admin port: the peer is on this machine, the request proves who sends it, and the sender's role is sufficient.

The route says which role is sufficient (``Requirement``). Only the pages know the user of a session: a JSON resource needs the header
``Authorization``, which no page of another site can make a browser send. The audit log records every refused request, every request that
changes something, and every request for a decision, with the status of its response.
"""

import hmac
from typing import Final

import structlog
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from feedmill.core.signin.accounts import write_user
from feedmill.core.urls.networks import LOOPBACK
from feedmill.http.common.currentuser import CurrentUser, SignInMethod, set_current_user
from feedmill.http.common.problems import Problem, find_problem, make_answer
from feedmill.http.common.requirements import SAFE_METHODS, Requirement, Sender, find_requirement
from feedmill.http.signin.check import answer_refusal
from feedmill.http.signin.requestauthenticator import Refusal, RequestAuthenticator
from feedmill.http.signin.threads import run_slowly
from feedmill.model.audit import AuditKind, Detail
from feedmill.model.errors import FeedmillError
from feedmill.model.userrole import UserRole
from feedmill.services.auditing import Auditing

AUDITED: Final = "feedmill.audited"
"""The key in a request's scope for the details that a handler adds to the audit log."""

VIEW_OR_ADMINISTER: Final = Requirement(sender=Sender.ROLE, read_role=UserRole.VIEWER, write_role=UserRole.ADMINISTRATOR)
VIEW_OR_MANAGE: Final = Requirement(sender=Sender.ROLE, read_role=UserRole.VIEWER, write_role=UserRole.MANAGER)
DECIDE: Final = Requirement(sender=Sender.ROLE, read_role=UserRole.VIEWER, write_role=UserRole.VIEWER, is_decision=True)
"""The requirement of access decisions: they change nothing, but the audit log records them."""

SENDERS: Final = frozenset({Sender.ANYONE, Sender.USER, Sender.ROLE})
"""The senders for which ``AdminLock`` checks."""

log = structlog.get_logger(__name__)


class AdminLock:
    """ASGI middleware of the admin port. Without ``authenticator`` only the token is valid; an empty token never is."""

    def __init__(
        self, app: ASGIApp, *, token: str, authenticator: RequestAuthenticator | None = None, auditing: Auditing | None = None
    ) -> None:
        self._app = app
        self._token = token.encode()
        self._authenticator = authenticator
        self._auditing = auditing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # uses the path of the scope, by which routes are found; a request's URL also contains the header Host
        request = Request(scope)
        if request.client is None or not LOOPBACK.covers(request.client.host):
            await make_answer(Problem.FORBIDDEN, "the admin port answers this machine alone")(scope, receive, send)
        elif (requirement := find_requirement(scope)).sender is Sender.ANYONE:
            await self._app(scope, receive, send)
        elif requirement.sender is Sender.USER:
            await self._serve_page(request, receive, send)
        else:
            await self._serve(request, requirement, receive, send)

    async def _serve_page(self, request: Request, receive: Receive, send: Send) -> None:
        found = await self._find_visitor(request)
        if isinstance(found, Refusal):
            await self._refuse(request, "", answer_refusal(found, is_json=False), receive, send)
            return
        set_current_user(request.scope, found)
        await self._app(request.scope, receive, send)

    async def _find_visitor(self, request: Request) -> CurrentUser | Refusal:
        if "authorization" in request.headers or self._authenticator is None:
            return await self._find_user(request)
        try:
            return await run_slowly(self._authenticator.find_by_session, request.scope)
        except FeedmillError as exc:
            return _refuse_for_failure(exc)

    async def _serve(self, request: Request, requirement: Requirement, receive: Receive, send: Send) -> None:
        found = await self._find_user(request)
        if isinstance(found, Refusal):
            await self._refuse(request, "", answer_refusal(found, is_json=True), receive, send)
            return
        needed = requirement.role_for(request.method)
        if found.role is None or not found.role.may_act_as(needed):
            refusal = make_answer(Problem.FORBIDDEN, f"this needs the role {needed.value}")
            await self._refuse(request, name_of(found), refusal, receive, send)
            return
        set_current_user(request.scope, found)
        if request.method in SAFE_METHODS and not requirement.is_decision:
            await self._app(request.scope, receive, send)
        else:
            kind = AuditKind.DECISION_REQUESTED if requirement.is_decision else AuditKind.ADMINISTERED
            await self._serve_audited(request, kind, name_of(found), receive, send)

    async def _find_user(self, request: Request) -> CurrentUser | Refusal:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._token and hmac.compare_digest(given.strip().encode(), self._token):
            return CurrentUser(role=UserRole.ADMINISTRATOR, method=SignInMethod.TOKEN, label="admin.token")
        if self._authenticator is not None:
            try:
                found = await run_slowly(self._authenticator.find_by_header, request.scope)
            except FeedmillError as exc:
                return _refuse_for_failure(exc)
            if found is not None:
                return found
        challenge = {"www-authenticate": 'Bearer realm="feedmill"'}
        text = "send the token of admin.token: 'Authorization: Bearer TOKEN'"
        if self._authenticator is not None:
            text += ", a token of 'feedmill tokens', or a user's name and password"
        return Refusal(status=Problem.UNAUTHORIZED.status, text=text, headers=challenge)

    async def _refuse(self, request: Request, actor: str, refusal: ASGIApp, receive: Receive, send: Send) -> None:
        await self._report(AuditKind.ADMINISTRATION_REFUSED, request, actor, 403 if actor else 401)
        await refusal(request.scope, receive, send)

    async def _serve_audited(self, request: Request, kind: AuditKind, actor: str, receive: Receive, send: Send) -> None:
        status = 500

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(request.scope, receive, send_noted)
        finally:
            await self._report(kind, request, actor, status)

    async def _report(self, kind: AuditKind, request: Request, actor: str, status: int) -> None:
        if self._auditing is None:
            return
        details: dict[str, Detail] = {"method": request.method, "path": request.scope["path"], "status": status}
        if request.url.query:
            details["query"] = request.url.query
        details |= request.scope.get(AUDITED, {})
        address = request.client.host if request.client is not None else ""
        auditing = self._auditing
        await run_in_threadpool(lambda: auditing.log_event(kind, actor=actor, address=address, details=details))


def _refuse_for_failure(exc: FeedmillError) -> Refusal:
    # the reason names the store, and the sender is not authenticated yet
    log.error("sign_in_failed", reason=str(exc))
    return Refusal(status=find_problem(exc).status, text="signing in is not possible now; try again later")


def name_of(current_user: CurrentUser) -> str:
    """Returns the user's name for the audit log."""
    return current_user.label or ", ".join(write_user(user) for user in current_user.identity.users) or "an anonymous user"
