"""Signing in on the search port: the check before every request, the page's routes, and the redirect to the page."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from feedmill.core.signin.accounts import write_user
from feedmill.http.common.cachecontrol import NO_STORE
from feedmill.http.common.currentuser import SignInMethod, find_current_user
from feedmill.http.common.requirements import DeclaredRoute
from feedmill.http.pages.rendering import Pages
from feedmill.http.signin.forms import FormGuard, read_target
from feedmill.http.signin.notices import Notices
from feedmill.http.signin.page import OLD_PAGE, PAGE, SIGN_OUT, write_target
from feedmill.http.signin.requestauthenticator import RequestAuthenticator
from feedmill.services.signin.passwordcheck import PasswordCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAccount:
    """The account on a page.

    Shape: ``code`` is "" if there is no session to end; ``href`` leads to the sign-in page, ``leave`` to the page to sign out. Both lead
    back to ``target``, the page itself.
    """

    name: str = ""
    code: str = ""
    href: str = ""
    leave: str = ""
    target: str = "/"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInSite:
    """Signing in on the search port.

    ``has_choices``: at least one provider signs users in without a password here. ``public_url`` is the address for browsers behind any
    proxy, "" to use the request's.
    """

    authenticator: RequestAuthenticator
    check: PasswordCheck
    guard: FormGuard
    notices: Notices
    pages: Pages
    routes: tuple[DeclaredRoute, ...]
    has_choices: bool = False
    public_url: str = ""

    def is_offered(self) -> bool:
        """Returns whether users can sign in."""
        return self.has_choices or bool(self.check.list_namespaces())

    def find_account(self, request: Request) -> ShownAccount | None:
        """Returns the account to show on the search page; None if sign-in is not configured."""
        current_user = find_current_user(request)
        target = read_target(request.url.path + (f"?{request.url.query}" if request.url.query else ""))
        query = write_target(target, self.pages.find_repeated(request))
        href = f"{PAGE}?{query}"
        if current_user.is_signed_in:
            name = ", ".join(write_user(user) for user in current_user.identity.users) or current_user.label
            if current_user.method is not SignInMethod.SESSION:
                return ShownAccount(name=name, target=target)
            code = self.guard.code_of_session(request.scope)
            return ShownAccount(name=name, code=code, href=href, leave=f"{SIGN_OUT}?{query}", target=target)
        return ShownAccount(href=href, target=target) if self.is_offered() else None

    def demand(self, request: Request, target: str, *, is_page: bool) -> Response | None:
        """Redirects to sign-in if the user is not signed in and sign-in is configured; otherwise returns None, and the search may go on."""
        if find_current_user(request).is_signed_in or not self.is_offered():
            return None
        if is_page:
            return RedirectResponse(f"{OLD_PAGE}?{write_target(read_target(target), self.pages.find_repeated(request))}", status_code=302)
        refusal = self.authenticator.refuse("this search is for people who are signed in; access=p finds public documents")
        return PlainTextResponse(refusal.text + "\n", refusal.status, headers={**refusal.headers, **NO_STORE})
