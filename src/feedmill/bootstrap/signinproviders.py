"""Makes the sign-in providers that the settings name.

A provider's package may be an extra, and takes long to load, so its adapter is imported only where the settings want it.
"""

from importlib.util import find_spec
from pathlib import Path

from feedmill.core.access.userroles import RoleRules
from feedmill.model.errors import BadRequest, BadSettings
from feedmill.ports import Clock, Store
from feedmill.ports.signin import Directory, OpenIdProvider, SamlProvider
from feedmill.services.keyvalues import SAML_KEY
from feedmill.services.signin.signing import ensure_secret
from feedmill.settings.secrets import read_secret
from feedmill.settings.signin import LdapProvider, OidcSettings, Provider, SamlSettings, SignIn


def make_directories(settings: SignIn) -> tuple[Directory, ...]:
    """Makes the directories. Errors: BadSettings where the extra is not installed."""
    if settings.ldap:
        _need("ldap3", "signin.ldap")
    return tuple(_make_ldap(provider) for provider in settings.ldap)


def make_openid(settings: SignIn, clock: Clock) -> tuple[OpenIdProvider, ...]:
    """Makes the providers of OpenID Connect."""
    return tuple(_make_openid(provider, clock) for provider in settings.oidc)


def _make_openid(provider: OidcSettings, clock: Clock) -> OpenIdProvider:
    from feedmill.adapters.identity.oidc.provider import OidcOptions, OidcProvider

    return OidcProvider(
        OidcOptions(
            name=provider.name,
            label=provider.label,
            namespace=provider.namespace,
            domain=provider.domain,
            issuer=provider.issuer,
            client_id=provider.client_id,
            client_secret=read_secret(provider.client_secret, provider.client_secret_file),
            scopes=provider.scopes,
            user_claim=provider.user_claim,
            groups_claim=provider.groups_claim,
            ca_file=provider.ca_file,
            timeout_seconds=provider.timeout_seconds,
            single_logout=provider.single_logout,
            roles=_rules_of(provider),
        ),
        clock,
    )


def make_saml(settings: SignIn, clock: Clock, store: Store) -> tuple[SamlProvider, ...]:
    """Makes the providers of SAML. Errors: BadSettings where the extra is not installed, or a file cannot be read."""
    if settings.saml:
        _need("signxml", "signin.saml")
    return tuple(_make_saml(provider, clock, store) for provider in settings.saml)


def _make_saml(provider: SamlSettings, clock: Clock, store: Store) -> SamlProvider:
    from feedmill.adapters.identity.saml.keys import make_key, read_key, read_key_files
    from feedmill.adapters.identity.saml.metadata import read_metadata
    from feedmill.adapters.identity.saml.provider import SamlIdentityProvider, SamlOptions

    try:
        about = read_metadata(Path(provider.metadata_file).read_bytes())
        if provider.certificate:
            key = read_key_files(Path(provider.certificate), Path(provider.key))
        else:
            key = read_key(ensure_secret(store, SAML_KEY, lambda: make_key(clock())))
    except (OSError, BadRequest) as exc:
        raise BadSettings([f"signin.saml: '{provider.metadata_file}': {exc}"]) from exc
    options = SamlOptions(
        name=provider.name,
        label=provider.label,
        namespace=provider.namespace,
        domain=provider.domain,
        provider=about,
        entity_id=provider.entity_id,
        user_attribute=provider.user_attribute,
        groups_attribute=provider.groups_attribute,
        single_logout=provider.single_logout,
        key=key,
        roles=_rules_of(provider),
    )
    return SamlIdentityProvider(options, clock)


def _make_ldap(provider: LdapProvider) -> Directory:
    from feedmill.adapters.identity.ldap.directory import LdapDirectory, LdapOptions

    return LdapDirectory(
        LdapOptions(
            name=provider.name,
            namespace=provider.namespace,
            domain=provider.domain,
            urls=provider.urls,
            start_tls=provider.start_tls,
            ca_file=provider.ca_file,
            bind_dn=provider.bind_dn,
            password=read_secret(provider.password, provider.password_file),
            user_base=provider.user_base,
            user_filter=provider.user_filter,
            name_attribute=provider.name_attribute,
            group_base=provider.group_base,
            group_filter=provider.group_filter,
            group_attribute=provider.group_attribute,
            nested=provider.nested_groups,
            timeout_seconds=provider.timeout_seconds,
            roles=_rules_of(provider),
        )
    )


def _rules_of(provider: Provider) -> RoleRules:
    return RoleRules(administrators=provider.administrators, managers=provider.managers, viewers=provider.viewers)


def _need(package: str, section: str) -> None:
    if find_spec(package) is None:
        raise BadSettings([f"{section} needs the package {package}: install feedmill[signin]"])
