"""Builds what fetches URLs, from the settings of the crawler."""

from collections.abc import Callable

from feedmill.adapters.crawling.fetcher import HttpFetcher
from feedmill.adapters.crawling.options import (
    AccessRule,
    AccessScheme,
    FetchOptions,
    FormLogin,
    HeaderRule,
    ProxyRule,
    ShareRule,
    TokenGrant,
)
from feedmill.core.urls.targets import parse_target
from feedmill.model.authorization import Trust
from feedmill.ports.clock import Clock
from feedmill.ports.crawling import Fetcher
from feedmill.settings.crawling import Crawl, CrawlAccess, CrawlProxy
from feedmill.settings.secrets import read_secret


def make_fetcher(crawl: Crawl, *, follows: Callable[[str], bool], clock: Clock) -> Fetcher:
    """Returns the fetcher. ``follows`` says whether a URL is among those to crawl. Errors: BadRequest for a secret that is missing."""
    return HttpFetcher(make_fetch_options(crawl, follows=follows, clock=clock))


def make_fetch_options(crawl: Crawl, *, follows: Callable[[str], bool], clock: Clock) -> FetchOptions:
    """Returns the options of the fetcher. Errors: BadRequest for a secret that is missing."""
    return FetchOptions(
        user_agent=crawl.user_agent_header,
        allow_private=crawl.allow_private,
        follows=follows,
        headers=tuple(HeaderRule(pattern=each.pattern, headers=((each.name, read_secret(each.value)),)) for each in crawl.headers),
        proxies=tuple(map(_make_proxy, crawl.proxies)),
        access=tuple(_make_access(each, crawl.ca_file) for each in crawl.access),
        cookies=crawl.cookies,
        shares=tuple(ShareRule(prefix=each.prefix, folder=each.folder, is_public=each.make_public) for each in crawl.shares),
        trust=Trust(ca=crawl.ca_file),
        max_redirects=crawl.max_redirects,
        clock=clock,
    )


def _make_proxy(proxy: CrawlProxy) -> ProxyRule:
    if not proxy.url:
        return ProxyRule(pattern=proxy.pattern)
    target = parse_target(proxy.url)
    password = read_secret(proxy.password, proxy.password_file) if proxy.user else ""
    return ProxyRule(pattern=proxy.pattern, host=target.host, port=target.port, user=proxy.user, password=password)


def _make_access(access: CrawlAccess, ca_file: str) -> AccessRule:
    schemes = tuple(each for each in AccessScheme if access.method in ("auto", each.value))
    return AccessRule(
        pattern=access.pattern,
        user=access.user,
        password=read_secret(access.password, access.password_file) if access.user else "",
        domain=access.domain,
        schemes=schemes,
        trust=Trust(ca=ca_file, certificate=access.certificate, key=access.key) if access.method == "certificate" else None,
        token=read_secret(access.token, access.token_file) if access.method == "bearer" and not access.token_url else "",
        grant=_make_grant(access) if access.method == "bearer" and access.token_url else None,
        form=_make_form(access) if access.method == "form" else None,
        make_public=access.make_public,
    )


def _make_grant(access: CrawlAccess) -> TokenGrant:
    return TokenGrant(
        token_url=access.token_url,
        client_id=access.client_id,
        client_secret=read_secret(access.client_secret, access.client_secret_file),
        scope=access.token_scope,
    )


def _make_form(access: CrawlAccess) -> FormLogin:
    return FormLogin(
        login_url=access.login_url,
        login_pattern=access.login_pattern,
        action=access.form_action,
        user_field=access.user_field,
        password_field=access.password_field,
        fields=tuple((each.name, each.value) for each in access.fields),
        session_seconds=float(access.session_seconds),
    )
