"""Builds the options of the crawler's fetcher from the settings: identity, credentials, proxies, headers and shares."""

from urllib.parse import urlsplit

from feedmill.adapters.crawling.options import (
    AccessRule,
    AccessScheme,
    FetchOptions,
    FormLogin,
    HeaderRule,
    ProxyRule,
    ShareRule,
    SmbShareRule,
    TokenGrant,
)
from feedmill.bootstrap.context import utc_now
from feedmill.core.urls.patterns import PatternSet
from feedmill.model.authorization import Trust
from feedmill.settings import Settings
from feedmill.settings.crawling import Crawl, CrawlAccess, CrawlProxy, SmbShareSettings
from feedmill.settings.secrets import read_secret

_DEFAULT_PROXY_PORT = 3128


def build_fetch_options(settings: Settings) -> FetchOptions:
    """Builds the options of the fetcher. Errors: BadRequest if a secret is missing."""
    crawl, admitted = settings.crawl, PatternSet(settings.urls.follow, settings.urls.do_not_follow)
    return FetchOptions(
        user_agent=crawl.user_agent_header,
        allow_private=crawl.allow_private,
        follows=lambda url: admitted.match_url(url).passes,
        headers=tuple(HeaderRule(pattern=rule.pattern, headers=((rule.name, read_secret(rule.value)),)) for rule in crawl.headers),
        proxies=tuple(_build_proxy(rule) for rule in crawl.proxies),
        access=build_access_rules(crawl),
        cookies=crawl.cookies,
        shares=tuple(ShareRule(prefix=share.prefix, folder=share.folder, is_public=share.make_public) for share in crawl.shares),
        smb_shares=tuple(_build_smb_share(share) for share in crawl.smb_shares),
        trust=Trust(ca=crawl.ca_file),
        max_redirects=crawl.max_redirects,
        clock=utc_now,
    )


def build_access_rules(crawl: Crawl) -> tuple[AccessRule, ...]:
    """Builds the credentials of the crawler. Errors: as above."""
    return tuple(_build_access(rule, crawl.ca_file) for rule in crawl.access)


def _build_access(rule: CrawlAccess, ca_file: str) -> AccessRule:
    trust = Trust(ca=ca_file, certificate=rule.certificate, key=rule.key or rule.certificate) if rule.method == "certificate" else None
    return AccessRule(
        pattern=rule.pattern,
        user=rule.user,
        password=read_secret(rule.password, rule.password_file) if rule.user else "",
        domain=rule.domain,
        keytab=rule.keytab,
        schemes=_list_schemes(rule),
        trust=trust,
        token=read_secret(rule.token, rule.token_file),
        grant=_build_grant(rule),
        form=_build_form(rule),
        make_public=rule.make_public,
    )


def _list_schemes(rule: CrawlAccess) -> tuple[AccessScheme, ...]:
    """Returns the schemes that may answer a challenge: all for ``auto``, none for methods that send no password to the server itself."""
    if rule.method == "auto":
        return tuple(AccessScheme)
    return tuple(scheme for scheme in AccessScheme if scheme.value == rule.method)


def _build_grant(rule: CrawlAccess) -> TokenGrant | None:
    if not rule.token_url:
        return None
    secret = read_secret(rule.client_secret, rule.client_secret_file)
    return TokenGrant(token_url=rule.token_url, client_id=rule.client_id, client_secret=secret, scope=rule.token_scope)


def _build_form(rule: CrawlAccess) -> FormLogin | None:
    if rule.method != "form":
        return None
    return FormLogin(
        login_url=rule.login_url,
        login_pattern=rule.login_pattern,
        action=rule.form_action,
        user_field=rule.user_field,
        password_field=rule.password_field,
        fields=tuple((field.name, field.value) for field in rule.fields),
        session_seconds=float(rule.session_seconds),
    )


def _build_smb_share(share: SmbShareSettings) -> SmbShareRule:
    host, port, name = share.place
    return SmbShareRule(
        prefix=share.prefix,
        host=host,
        port=port,
        share=name,
        user=f"{share.domain}\\{share.user}" if share.domain else share.user,
        password=read_secret(share.password, share.password_file),
        is_public=share.make_public,
        reads_share_acl=share.share_acl,
        everyone=share.everyone,
        namespace=share.namespace,
    )


def _build_proxy(rule: CrawlProxy) -> ProxyRule:
    parts = urlsplit(rule.url)
    return ProxyRule(
        pattern=rule.pattern,
        host=parts.hostname or "",
        port=parts.port or _DEFAULT_PROXY_PORT,
        user=rule.user,
        password=read_secret(rule.password, rule.password_file) if rule.user else "",
    )
