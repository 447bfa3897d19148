"""The page on which users sign in and out.

GET, POST /signin                         the form: a name and a password for each namespace with passwords
GET, POST /security-manager/samlauthn     the same form, at the path of the old appliance
GET, POST /signout                        ends the session

Signing in for one namespace preserves the session's users of the others, so one person may be several users: one a namespace.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from feedmill.core.signin.accounts import write_user
from feedmill.core.signin.sessiondigests import digest_of_user
from feedmill.http.common.cachecontrol import NO_STORE
from feedmill.http.common.currentuser import SignInMethod, find_current_user
from feedmill.http.common.requirements import USER, DeclaredRoute
from feedmill.http.pages.rendering import Pages, add_parameters
from feedmill.http.signin.cookies import SESSION, Cookies
from feedmill.http.signin.forms import Fields, FormGuard, find_field, is_browser, read_form, read_target
from feedmill.http.signin.notices import Notices
from feedmill.http.signin.requestauthenticator import RequestAuthenticator
from feedmill.http.signin.signout import ProviderLogouts
from feedmill.http.signin.threads import run_slowly
from feedmill.model.audit import AuditKind
from feedmill.model.errors import Busy
from feedmill.model.messages import counted, message
from feedmill.model.signin import Credential
from feedmill.services.auditing import Auditing
from feedmill.services.signin.passwordcheck import Attempt, PasswordCheck

PAGE = "/signin"
OLD_PAGE = "/security-manager/samlauthn"
SIGN_OUT = "/signout"
TARGET_FIELD = "to"
EVERYWHERE_FIELD = "everywhere"
_LISTS = ("/", "/search")
_COPY = "/cache"
_WRONG = message("The name or the password is wrong.")
_NOTHING = message("Please fill in your name and password.")
_NO_NAME = message("Please fill in your user name.")
_NO_PASSWORD = message("Please fill in your password.")
_FIELDS: Mapping[str, tuple[str, ...]] = {_NO_NAME: ("name",), _NO_PASSWORD: ("password",)}
"""The fields to which a problem belongs, where it is not both."""
_STRANGE = message("This form has expired. Please send it again.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Another way to sign in, as the page offers it."""

    label: str
    href: str
    namespace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceForm:
    """One namespace on the form. ``user`` is the session's user of the namespace, ``problem`` the reason of a failed attempt.

    Shape: ``invalid`` are the fields to which the problem belongs, of ``name`` and ``password``.
    """

    namespace: str
    user: str = ""
    name: str = ""
    problem: str = ""
    invalid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTools:
    """The page's dependencies; ``choices`` are the addresses that lead to other providers, each without its target.

    ``offers_search``: the port has a search page, which needs no sign-in.
    """

    authenticator: RequestAuthenticator
    check: PasswordCheck
    guard: FormGuard
    notices: Notices
    auditing: Auditing
    pages: Pages
    provider_logouts: ProviderLogouts
    choices: tuple[Choice, ...] = ()
    offers_search: bool = True


@dataclass(frozen=True, slots=True)
class _Attempt:
    verified: list[Credential]
    problems: dict[str, str]
    names: dict[str, str]
    status: int


class SignInPage:
    """Shows and receives the forms."""

    def __init__(self, tools: PageTools) -> None:
        self._tools = tools

    def routes(self) -> list[DeclaredRoute]:
        return [
            DeclaredRoute(PAGE, self.show_form, methods=["GET"], requires=USER),
            DeclaredRoute(PAGE, self.receive_form, methods=["POST"], requires=USER),
            DeclaredRoute(OLD_PAGE, self.show_form, methods=["GET"], requires=USER),
            DeclaredRoute(OLD_PAGE, self.receive_form, methods=["POST"], requires=USER),
            DeclaredRoute(SIGN_OUT, self.ask_sign_out, methods=["GET"], requires=USER),
            DeclaredRoute(SIGN_OUT, self.sign_out, methods=["POST"], requires=USER),
        ]

    def show_form(self, request: Request) -> Response:
        return self._render(request, read_target(request.query_params.get(TARGET_FIELD, "/")), _Attempt([], {}, {}, 200))

    async def receive_form(self, request: Request) -> Response:
        """Receives the form, and checks each name that has a password."""
        fields = await read_form(request)
        return await run_slowly(self._process_form, request, fields)

    def ask_sign_out(self, request: Request) -> Response:
        """Shows the form for signing out."""
        is_signed_in = find_current_user(request).is_signed_in
        code = self._tools.guard.code_of_session(request.scope) if is_signed_in else ""
        target = read_target_of_sign_out(request.query_params.get(TARGET_FIELD, ""))
        values = {"code": code, "target": target, "is_signed_in": is_signed_in, "offers_search": self._tools.offers_search}
        return self._tools.pages.respond(request, "signout.html", 200, NO_STORE, **values)

    async def sign_out(self, request: Request) -> Response:
        """Ends the session."""
        fields = await read_form(request)
        return await run_slowly(self._sign_out, request, fields)

    def admit(self, request: Request, verified: Sequence[Credential], target: str) -> Response:
        """Begins a new session that takes over the credentials of the old one, and redirects to the requested page."""
        response = RedirectResponse(target, status_code=303, headers=NO_STORE)
        self._put_session(request, response, verified)
        return response

    def _put_session(self, request: Request, response: Response, verified: Sequence[Credential]) -> None:
        cookies = self._cookies
        text = self._tools.authenticator.sessions.begin(cookies.read(request.scope, SESSION), verified)
        cookies.put(response, request.scope, SESSION, text)
        self._tools.notices.forget(request, response)

    @property
    def _cookies(self) -> Cookies:
        return self._tools.authenticator.cookies

    def _process_form(self, request: Request, fields: Fields) -> Response:
        target = read_target(find_field(fields, TARGET_FIELD) or request.query_params.get(TARGET_FIELD, "/"))
        # Programs written for the appliance post without having read the form, so they have no code from it. Browsers need one there too.
        is_program = request.url.path == OLD_PAGE and not is_browser(request.scope)
        if not is_program and not self._tools.guard.is_ours(request.scope, fields):
            return self._render(request, target, _Attempt([], {"": _STRANGE}, {}, 403))
        tried = self._try(request, fields)
        if tried.verified and not tried.problems:
            return self.admit(request, tried.verified, target)
        response = self._render(request, target, tried)
        # The names that were right count, so that only the others have to be sent again.
        if tried.verified:
            self._put_session(request, response, tried.verified)
        return response

    def _try(self, request: Request, fields: Fields) -> _Attempt:
        client = self._tools.authenticator.clients.find_client(request.scope)
        tried = _Attempt([], {}, {}, 403)
        status, namespaces = 403, self._tools.check.list_namespaces()
        for namespace in namespaces:
            name, password = find_field(fields, f"u{namespace}"), find_field(fields, f"pw{namespace}")
            if not name and not password:
                continue
            tried.names[namespace] = name[:200]
            if not name or not password:
                tried.problems[namespace] = _NO_PASSWORD if name else _NO_NAME
                continue
            attempt = Attempt(name=name, password=password, namespace=namespace, address=client.address, is_shared=client.is_shared)
            try:
                outcome = self._tools.check.check_attempt(attempt)
            except Busy:
                tried.problems[namespace] = message("The directory does not answer now. Please try again later.")
                status = 503
                continue
            tried.verified.extend(outcome.credentials)
            if outcome.wait_seconds:
                tried.problems[namespace] = _ask_to_wait(outcome.wait_seconds)
                status = 429
            elif not outcome.credentials:
                tried.problems[namespace] = _WRONG
        if not tried.names:
            tried.problems[namespaces[0] if len(namespaces) == 1 else ""] = _NOTHING
        return _Attempt(tried.verified, tried.problems, tried.names, status)

    def _render(self, request: Request, target: str, tried: _Attempt) -> Response:
        code, text = self._tools.guard.begin(request.scope)
        repeated = self._tools.pages.find_repeated(request)
        response = self._tools.pages.respond(
            request,
            "signin.html",
            tried.status,
            NO_STORE,
            action=add_parameters(request.url.path, repeated),
            code=code,
            target=target,
            namespace_forms=self._list_namespace_forms(request, tried),
            choices=[(choice, f"{choice.href}?{write_target(target, repeated)}") for choice in self._tools.choices],
            problem=tried.problems.get("", ""),
            offers_search=self._tools.offers_search,
            notice=self._tools.notices.find(request) if not tried.problems else None,
            results=read_list(target),
        )
        self._tools.guard.put_cookie(response, request.scope, text)
        self._tools.notices.forget(request, response)
        return response

    def _list_namespace_forms(self, request: Request, tried: _Attempt) -> list[NamespaceForm]:
        users = {user.namespace: user for user in find_current_user(request).identity.users}
        users |= {credential.user.namespace: credential.user for credential in tried.verified}
        return [
            NamespaceForm(
                namespace=namespace,
                user=write_user(users[namespace]) if namespace in users else "",
                name=tried.names.get(namespace, ""),
                problem=tried.problems.get(namespace, ""),
                invalid=_FIELDS.get(tried.problems[namespace], ("name", "password")) if namespace in tried.problems else (),
            )
            for namespace in self._tools.check.list_namespaces()
        ]

    def _sign_out(self, request: Request, fields: Fields) -> Response:
        current_user = find_current_user(request)
        target = read_target_of_sign_out(find_field(fields, TARGET_FIELD))
        # a session that ended meanwhile needs no code to end: the form was sent from another tab, or after a long time
        if current_user.is_signed_in and not self._tools.guard.is_ours(request.scope, fields):
            return self.ask_sign_out(request)
        text = self._cookies.read(request.scope, SESSION)
        session = self._tools.authenticator.sessions.find(text) if text else None
        is_everywhere = bool(find_field(fields, EVERYWHERE_FIELD)) and current_user.method is SignInMethod.SESSION
        if is_everywhere:
            self._tools.authenticator.sessions.withdraw(digest_of_user(user) for user in current_user.identity.users)
        if text:
            self._tools.authenticator.sessions.end(text)
        if current_user.method is SignInMethod.SESSION:
            actor = ", ".join(write_user(user) for user in current_user.identity.users)
            address = self._tools.authenticator.clients.find_client(request.scope).address
            self._tools.auditing.log_event(AuditKind.SIGNED_OUT, actor=actor, address=address, details={"everywhere": is_everywhere})
        # comes last, because a provider may take time to return its logout address
        logouts = self._tools.provider_logouts.find_logouts(request, session.credentials) if session is not None else []
        back = target or add_parameters("/", self._tools.pages.find_repeated(request))
        response: Response = RedirectResponse(back, status_code=303, headers=NO_STORE)
        if logouts:
            response = self._tools.provider_logouts.render(request, logouts)
        # The browser's cache may hold results that only this user may see.
        response.headers["Clear-Site-Data"] = '"cache"'
        self._cookies.drop(response, request.scope, SESSION)
        self._tools.notices.remember_sign_out(request, response)
        return response


def write_target(target: str, repeated: Mapping[str, str]) -> str:
    """Returns the query of an address that leads to signing in, and from there to ``target``."""
    return urlencode({TARGET_FIELD: target, **repeated}, safe="/", quote_via=quote)


def read_target_of_sign_out(text: str) -> str:
    """Returns the list of results to show after signing out, without what only a signed-in user may ask for; "" for any other text."""
    return read_list(text) if urlsplit(read_target(text)).path in _LISTS else ""


def read_list(text: str) -> str:
    """Returns the list of results that a page shows, or from which it was opened, as anybody may see it; "" for a page without one."""
    parts = urlsplit(read_target(text))
    path, dropped = ("/", ("access", "url")) if parts.path == _COPY else (parts.path, ("access",))
    pairs = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] not in dropped]
    return f"{path}?{urlencode(pairs)}" if path in _LISTS and pairs else ""


def _ask_to_wait(seconds: float) -> str:
    return counted(
        "Too many wrong passwords. Please wait one minute.",
        "Too many wrong passwords. Please wait %(count)s minutes.",
        int(seconds // 60) + 1,
    )
