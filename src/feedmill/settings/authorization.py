"""Settings of the servers that authorize documents that no ACL decides, and the limits of these requests."""

import re
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from feedmill.core.urls.targets import parse_target
from feedmill.model.authorization import AuthorizationRule, LateLimits, Mechanism, QueryForm, Trust
from feedmill.model.errors import BadRequest
from feedmill.model.identity import DEFAULT_NAMESPACE
from feedmill.model.policyacl import EarlyMechanism
from feedmill.settings.pulling import AdaptorSourceSettings, PullSourceSettings
from feedmill.settings.section import RulePattern, Section
from feedmill.settings.signin import HeaderName, Namespace

ISSUER = "http://google.com/enterprise/gsa/security-manager"
"""The issuer by which adaptors know an appliance by default."""

_ORIGIN_PATTERN = re.compile(r"\^?https?://[^/@\s]+/.*", re.IGNORECASE)


def _check_endpoint(text: str) -> str:
    if not text:
        return text
    try:
        parse_target(text)
    except BadRequest as exc:
        raise ValueError(f"'{text}' is no address for requests: {exc}") from exc
    return text


def _check_user_header(text: str) -> str:
    if text.lower() in ("host", "authorization", "connection", "content-length", "transfer-encoding", "range", "user-agent", "accept"):
        raise ValueError(f"'{text}' has another meaning in a request; take a name such as X-Forwarded-User")
    return text


class AuthorizationSettings(Section):
    """A rule that sends authorization requests for URL patterns. Units: seconds a request, documents a request, requests at once."""

    name: Annotated[str, Field(max_length=200)] = ""
    mechanism: Literal["saml", "connector", "head", "deny"]
    patterns: Annotated[tuple[RulePattern, ...], Field(min_length=1)]
    endpoint: Annotated[str, AfterValidator(_check_endpoint)] = ""
    protocol: Literal["single", "batch", "batch2"] = "batch"
    issuer: Annotated[str, Field(min_length=1, max_length=1_000)] = ISSUER
    credential: bool = True
    connector: Annotated[str, Field(max_length=200)] = ""
    namespace: Namespace = DEFAULT_NAMESPACE
    forward_password: bool = False
    user_header: Literal[""] | Annotated[HeaderName, AfterValidator(_check_user_header)] = ""
    method: Literal["HEAD", "GET"] = "HEAD"
    timeout_seconds: Annotated[float, Field(gt=0, le=60)] = 2.0
    batch: Annotated[int, Field(ge=1, le=1_000)] = 100
    parallel: Annotated[int, Field(ge=1, le=16)] = 4
    ca_file: str = ""
    certificate: str = ""
    key: str = ""
    allow_private: tuple[RulePattern, ...] = ()


class LateBindingSettings(Section):
    """Limits of late binding. Units: seconds and documents for one search; seconds and decisions in the cache."""

    seconds: Annotated[float, Field(gt=0, le=120)] = 5.0
    max_candidates: Annotated[int, Field(ge=1, le=1_000)] = 1_000
    cache_seconds: Annotated[float, Field(ge=0, le=86_400)] = 300.0
    cache_entries: Annotated[int, Field(ge=0, le=10_000_000)] = 100_000
    open_after_failures: Annotated[int, Field(ge=0, le=1_000)] = 5
    open_seconds: Annotated[float, Field(gt=0, le=3_600)] = 30.0


def names_servers(pattern: str) -> bool:
    """Returns whether a pattern begins with a scheme and a complete host, so that it matches no other host."""
    return _ORIGIN_PATTERN.fullmatch(pattern.strip()) is not None


MechanismName = Literal["per-url-acl", "cache", "policy", "saml", "connector", "head", "adaptor", "deny"]
ORDER: tuple[MechanismName, ...] = ("per-url-acl", "cache", "policy", "saml", "connector", "head", "adaptor", "deny")
"""The mechanisms, in the default order of the appliance, which knew adaptors only by ``saml``.

Source: googlegsa/secmgr, ``FlexAuthorizerImpl``.
"""


def _check_order(names: tuple[str, ...]) -> tuple[str, ...]:
    doubled = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if doubled is not None:
        raise ValueError(f"'{doubled}' stands in it twice")
    early = {each.value for each in EarlyMechanism}
    first_late = next((name for name in names if name not in early and name != "cache"), None)
    for name in names:
        if name in early and first_late is not None and names.index(name) > names.index(first_late):
            raise ValueError(f"'{name}' stands behind '{first_late}'; mechanisms that need no other server come first")
    return names


class MechanismSettings(Section):
    """The order of the mechanisms that decide about documents; a mechanism that is left out is not used."""

    order: Annotated[tuple[MechanismName, ...], AfterValidator(_check_order)] = ORDER
    confirm_permits: bool = False


def early_order(settings: MechanismSettings) -> tuple[EarlyMechanism, ...]:
    """Returns the mechanisms that decide without a request to another server, in order."""
    known = {each.value: each for each in EarlyMechanism}
    return tuple(known[name] for name in settings.order if name in known)


def rules_of(
    entries: tuple[AuthorizationSettings, ...],
    mechanisms: MechanismSettings | None = None,
    sources: Sequence[PullSourceSettings] = (),
) -> list[AuthorizationRule]:
    """Returns the rules of the settings, and those of adaptors, sorted by the order of mechanisms, then by their place in the list."""
    order: tuple[str, ...] = (mechanisms or MechanismSettings()).order
    rules = [_rule_of(place, entry) for place, entry in enumerate(entries, start=1)]
    rules += [rule for source in sources if isinstance(source, AdaptorSourceSettings) if (rule := _rule_of_adaptor(source)) is not None]
    return sorted((rule for rule in rules if rule.mechanism.value in order), key=lambda rule: order.index(rule.mechanism.value))


def _rule_of_adaptor(source: AdaptorSourceSettings) -> AuthorizationRule | None:
    """Returns the rule of an adaptor, None without an authorizer."""
    try:
        config = source.read_config()
    except BadRequest:
        # the file of properties has changed since it was checked; each run of the source fails with the reason
        return None
    if not config.authorizer:
        return None
    return AuthorizationRule(
        label=source.name,
        mechanism=Mechanism.ADAPTOR,
        patterns=config.authorizer_patterns or (f"^{source.url_base}",),
        namespace=config.authorizer_namespace,
        forwards_password=config.forwards_password,
        seconds=config.limits.authorizer_seconds,
    )


def _rule_of(place: int, entry: AuthorizationSettings) -> AuthorizationRule:
    return AuthorizationRule(
        label=entry.name or f"authorization {place}",
        mechanism=Mechanism(entry.mechanism),
        patterns=entry.patterns,
        endpoint=entry.endpoint,
        issuer=entry.issuer,
        namespace=entry.namespace,
        holds_credential=entry.credential,
        form=QueryForm(entry.protocol),
        forwards_password=entry.forward_password,
        user_header=entry.user_header,
        uses_get=entry.method == "GET",
        seconds=entry.timeout_seconds,
        batch=entry.batch,
        parallel=entry.parallel,
        trust=Trust(ca=entry.ca_file, certificate=entry.certificate, key=entry.key),
        allow_private=entry.allow_private,
        connector=entry.connector,
    )


def limits_of(settings: LateBindingSettings, mechanisms: MechanismSettings | None = None) -> LateLimits:
    """Returns the limits of the settings."""
    used = mechanisms or MechanismSettings()
    return LateLimits(
        seconds=settings.seconds,
        candidates=settings.max_candidates,
        cache_seconds=settings.cache_seconds if "cache" in used.order else 0.0,
        confirms=used.confirm_permits,
        cache_entries=settings.cache_entries,
        open_after_failures=settings.open_after_failures,
        open_seconds=settings.open_seconds,
    )
