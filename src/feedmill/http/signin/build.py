"""Puts signing in together for the ports."""

from dataclasses import dataclass

from feedmill.http.pages import make_templates
from feedmill.http.proxyheaders import ProxyTrust
from feedmill.http.signin.cookies import Cookies
from feedmill.http.signin.desk import Desk
from feedmill.http.signin.forms import FormGuard
from feedmill.http.signin.page import PageTools, SignInPage
from feedmill.http.signin.site import SignInSite
from feedmill.services.signing import Signing


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInOptions:
    """How people may sign in."""

    proxy: ProxyTrust
    key: bytes
    admin_token: str
    takes_basic: bool = True
    secure_cookies: bool = False


def build_signin(signing: Signing, options: SignInOptions) -> SignInSite:
    """Gives signing in for the search port."""
    cookies = Cookies(always_secure=options.secure_cookies)
    guard = FormGuard(options.key, cookies)
    desk = Desk(
        proxy=options.proxy,
        cookies=cookies,
        passwords=signing.proved,
        sessions=signing.sessions,
        tokens=signing.token_check,
        admin_token=options.admin_token,
        takes_basic=options.takes_basic,
    )
    tools = PageTools(desk=desk, check=signing.check, guard=guard, auditing=signing.auditing, templates=make_templates())
    page = SignInPage(tools)
    return SignInSite(desk=desk, check=signing.check, guard=guard, routes=tuple(page.routes()))
