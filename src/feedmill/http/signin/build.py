"""Builds the sign-in of the ports."""

from dataclasses import dataclass, field, replace

from feedmill.core.urls.networks import Networks
from feedmill.http.common.clientaddress import Clients
from feedmill.http.common.proxyheaders import ProxyTrust
from feedmill.http.common.stricttransport import is_https
from feedmill.http.pages.rendering import Pages
from feedmill.http.signin.cookies import Cookies
from feedmill.http.signin.flows import Flows
from feedmill.http.signin.forms import FormGuard
from feedmill.http.signin.notices import Notices
from feedmill.http.signin.openid import OpenIdRoutes
from feedmill.http.signin.openidlogout import OpenIdLogoutRoutes
from feedmill.http.signin.page import PAGE, Choice, PageTools, SignInPage
from feedmill.http.signin.providersignin import ProviderSignIn
from feedmill.http.signin.requestauthenticator import RequestAuthenticator
from feedmill.http.signin.saml import SamlRoutes
from feedmill.http.signin.samllogout import SamlLogoutRoutes
from feedmill.http.signin.signout import ProviderLogouts
from feedmill.http.signin.site import SignInSite
from feedmill.ports.signin import OpenIdProvider, SamlProvider
from feedmill.services.signin.signing import SignInServices
from feedmill.services.signin.throttle import Throttle, ThrottleLimits

LOGGED = ThrottleLimits(by_both=20, by_address=50, by_name=2_000)
"""The number of refused responses of providers that are logged in a window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInOptions:
    """How users may sign in."""

    proxy: ProxyTrust
    key: bytes
    admin_token: str
    client_proxies: Networks = field(default_factory=Networks)
    client_header: str = "X-Forwarded-For"
    takes_basic: bool = True
    secure_cookies: bool = False
    public_url: str = ""
    openid: tuple[OpenIdProvider, ...] = ()
    saml: tuple[SamlProvider, ...] = ()
    pages: Pages = field(default_factory=Pages)


def build_signin(signing: SignInServices, options: SignInOptions) -> SignInSite:
    """Returns the sign-in of the search port."""
    choices = (
        *(Choice(label=each.label, href=f"{PAGE}/oidc/{each.name}", namespace=each.namespace) for each in options.openid),
        *(Choice(label=each.label, href=f"{PAGE}/saml/{each.name}", namespace=each.namespace) for each in options.saml),
    )
    tools = replace(build_page_tools(signing, options), choices=choices)
    pages, authenticator, provider_logouts = tools.pages, tools.authenticator, tools.provider_logouts
    page = SignInPage(tools)
    provider_sign_in = ProviderSignIn(
        flows=Flows(options.key, authenticator.cookies, signing.clock),
        admit=page.admit,
        auditing=signing.auditing,
        pages=pages,
        clients=authenticator.clients,
        throttle=Throttle(LOGGED, lambda: signing.clock().timestamp()),
        public_url=options.public_url,
    )
    routes = (
        *page.routes(),
        *OpenIdRoutes(options.openid, provider_sign_in).routes(),
        *OpenIdLogoutRoutes(options.openid, provider_sign_in, signing.sessions, signing.one_time_codes, provider_logouts).routes(),
        *SamlRoutes(options.saml, provider_sign_in, signing.one_time_codes).routes(),
        *SamlLogoutRoutes(options.saml, provider_sign_in, signing.sessions, signing.one_time_codes, provider_logouts).routes(),
    )
    return SignInSite(
        authenticator=authenticator,
        check=signing.check,
        guard=tools.guard,
        notices=tools.notices,
        pages=pages,
        routes=routes,
        has_choices=bool(choices),
        public_url=options.public_url,
    )


def build_page_tools(signing: SignInServices, options: SignInOptions) -> PageTools:
    """Returns the dependencies of a sign-in page for the users with a password."""
    cookies = Cookies(always_secure=options.secure_cookies or is_https(options.public_url))
    authenticator = RequestAuthenticator(
        proxy=options.proxy,
        clients=Clients(proxies=options.client_proxies, header=options.client_header, shared=options.proxy.trusted),
        cookies=cookies,
        passwords=signing.password_check_cache,
        sessions=signing.sessions,
        tokens=signing.token_check,
        admin_token=options.admin_token,
        takes_basic=options.takes_basic,
    )
    return PageTools(
        authenticator=authenticator,
        check=signing.check,
        guard=FormGuard(options.key, cookies),
        notices=Notices(cookies),
        auditing=signing.auditing,
        pages=options.pages,
        provider_logouts=ProviderLogouts(options.pages),
    )
