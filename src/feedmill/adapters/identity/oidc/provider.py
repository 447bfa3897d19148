"""Authenticates users by an OpenID Connect provider: the authorization code flow with PKCE, state and nonce.

The provider's addresses and keys are read from its discovery document, cached for an hour, and must be of the issuer in the settings.
An ID token is valid if it is signed with one of the provider's keys by an asymmetric algorithm, is from this issuer, for this client,
for this browser's attempt (``nonce``), and not expired.
Source: OpenID Connect Core 1.0, 3.1; OpenID Connect Discovery 1.0; RFC 7636; RFC 9700.
"""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlencode

from joserfc import jwt
from joserfc.errors import JoseError

from feedmill.adapters.identity.addresses import with_query
from feedmill.adapters.identity.claims import read_groups, read_user
from feedmill.adapters.identity.jsonhttp import JsonClient
from feedmill.adapters.identity.oidc.discovery import Discovery, ProviderMetadata
from feedmill.core.access.userroles import RoleRules
from feedmill.model.errors import Denied
from feedmill.model.signin import Credential, ProviderSession
from feedmill.ports.signin import LogoutRequest, ProviderRedirect

LEEWAY_SECONDS = 60
LOGOUT_SECONDS = 300
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
MAX_STORED_TOKEN = 6_000
"""Longer ID tokens are not stored for the logout request, because the address would grow too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcOptions:
    """The options of one provider, and which claims hold the user and the groups."""

    name: str
    label: str
    namespace: str
    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    user_claim: str = "preferred_username"
    groups_claim: str = "groups"
    domain: str = ""
    ca_file: str = ""
    timeout_seconds: float = 5.0
    single_logout: bool = True
    roles: RoleRules = field(default_factory=RoleRules)


class OidcProvider:
    """Implements ``ports.signin.OpenIdProvider``. Several threads may use it."""

    def __init__(self, options: OidcOptions, clock: Callable[[], datetime]) -> None:
        self.name, self.label, self.namespace = options.name, options.label or options.name, options.namespace
        self.qualified_name = f"oidc:{options.name}"
        self._options = options
        self._clock = clock
        self._client = JsonClient(ca_file=options.ca_file, timeout_seconds=options.timeout_seconds)
        self._discovery = Discovery(options.issuer, self._client, clock)

    def begin(self, back_url: str, *, state: str, nonce: str, verifier: str) -> str:
        """Returns the provider's address to which the browser is redirected. Errors: Busy."""
        known = self._discovery.learn()
        # RFC 7636, 4.2: base64 for URLs, without padding.
        challenge = base64.urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        parameters = {
            "response_type": "code",
            "client_id": self._options.client_id,
            "redirect_uri": back_url,
            "scope": " ".join(dict.fromkeys(("openid", *self._options.scopes))),
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return with_query(known.address("authorization_endpoint"), urlencode(parameters))

    def finish(self, back_url: str, *, code: str, issuer: str, nonce: str, verifier: str) -> Credential:
        """Exchanges a code for a credential. ``issuer`` is "" if the provider did not name itself. Errors: Denied, Busy."""
        known = self._discovery.learn()
        names_itself = known.about.get("authorization_response_iss_parameter_supported") is True
        # Against mix-up: another provider must not have its code redeemed here (RFC 9207).
        if (issuer or names_itself) and issuer != self._options.issuer:
            raise Denied("the answer is from another provider")
        tokens = self._redeem(known, back_url, code, verifier)
        id_token = tokens.get("id_token")
        if not isinstance(id_token, str):
            raise Denied("the provider sends no ID token")
        claims = self._read_token(id_token, nonce)
        answered = self._complete(known, tokens, claims)
        groups = read_groups(answered, self._options.groups_claim, self._options)
        user = read_user(answered.get(self._options.user_claim), self._options)
        if user is None:
            raise Denied(f"the provider names no user: the claim {self._options.user_claim} is missing")
        role = self._options.roles.find_role(groups)
        session = ProviderSession(name=str(claims["sub"]), index=str(claims.get("sid") or ""), details=id_token[:MAX_STORED_TOKEN])
        return Credential(provider=self.qualified_name, user=user, groups=groups, role=role, session=session)

    @property
    def single_logout(self) -> bool:
        """Returns whether each side notifies the other when a user signs out."""
        return self._options.single_logout

    def build_logout(self, session: ProviderSession, left_url: str) -> ProviderRedirect | None:
        """Returns the redirect that notifies the provider that the user signs out. Source: RP-Initiated Logout 1.0, 2."""
        known = self._discovery.learn()
        if not known.has("end_session_endpoint"):
            return None
        parameters = {"client_id": self._options.client_id, "post_logout_redirect_uri": left_url}
        if session.details and len(session.details) < MAX_STORED_TOKEN:
            parameters["id_token_hint"] = session.details
        return ProviderRedirect(url=with_query(known.address("end_session_endpoint"), urlencode(parameters)))

    def read_logout(self, text: str) -> LogoutRequest:
        """Returns the content of a logout token. Source: Back-Channel Logout 1.0, 2.4 and 2.6."""
        registry = jwt.JWTClaimsRegistry(
            now=lambda: int(self._clock().timestamp()),
            leeway=LEEWAY_SECONDS,
            iss={"essential": True, "value": self._options.issuer},
            aud={"essential": True, "value": self._options.client_id},
            iat={"essential": True},
            jti={"essential": True},
            events={"essential": True},
        )
        claims = self._read_signed(text, registry, "logout token", is_of_strangers=True)
        events, begun = claims["events"], claims["iat"]
        if "nonce" in claims or not isinstance(events, dict) or LOGOUT_EVENT not in events:
            raise Denied("the logout token is refused: it is another token")
        now = self._clock()
        if not isinstance(begun, int | float) or abs(now.timestamp() - begun) > LOGOUT_SECONDS:
            raise Denied("the logout token is refused: it is not of now")
        name, index = claims.get("sub"), claims.get("sid")
        if not isinstance(name or "", str) or not isinstance(index or "", str) or not (name or index):
            raise Denied("the logout token is refused: it names no user")
        until = now + timedelta(seconds=2 * LOGOUT_SECONDS)
        return LogoutRequest(id=str(claims["jti"])[:1_000], name=name or "", indexes=(index,) if index else (), until=until)

    def _redeem(self, known: ProviderMetadata, back_url: str, code: str, verifier: str) -> dict[str, Any]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back_url,
            "code_verifier": verifier,
            "client_id": self._options.client_id,
        }
        headers = {}
        answered = known.about.get("token_endpoint_auth_methods_supported")
        methods = answered if isinstance(answered, list) and answered else ["client_secret_basic"]
        secret = self._options.client_secret
        if secret and "client_secret_basic" in methods:
            # Encoded before the pair is joined, as RFC 6749, 2.3.1 requires.
            pair = f"{quote(self._options.client_id, safe='')}:{quote(secret, safe='')}"
            headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        elif secret:
            form["client_secret"] = secret
        return self._client.post(known.address("token_endpoint"), form, headers)

    def _read_token(self, text: str, nonce: str) -> Mapping[str, Any]:
        claims = self._read_signed(text, self._registry(nonce), "ID token", is_of_strangers=False)
        audience = claims.get("aud")
        party = claims.get("azp")
        is_shared = isinstance(audience, list) and len(audience) > 1
        if (is_shared or party is not None) and party != self._options.client_id:
            raise Denied("the ID token is for another client")
        return claims

    def _read_signed(self, text: str, registry: jwt.JWTClaimsRegistry, kind: str, *, is_of_strangers: bool) -> Mapping[str, Any]:
        """Returns the claims of a valid token that the provider signed."""
        known = self._discovery.learn()
        try:
            claims = known.keys.decode(text)
        except ValueError:
            # the provider may have new keys
            known = self._discovery.learn_anew(known, is_of_strangers=is_of_strangers)
            try:
                claims = known.keys.decode(text)
            except ValueError as exc:
                raise Denied(f"the {kind} is refused: {exc}") from exc
        try:
            registry.validate(dict(claims))
        except JoseError as exc:
            raise Denied(f"the {kind} is refused: {exc}") from exc
        return claims

    def _registry(self, nonce: str) -> jwt.JWTClaimsRegistry:
        return jwt.JWTClaimsRegistry(
            now=lambda: int(self._clock().timestamp()),
            leeway=LEEWAY_SECONDS,
            iss={"essential": True, "value": self._options.issuer},
            aud={"essential": True, "value": self._options.client_id},
            sub={"essential": True},
            exp={"essential": True},
            iat={"essential": True},
            nonce={"essential": True, "value": nonce},
        )

    def _complete(self, known: ProviderMetadata, tokens: Mapping[str, Any], claims: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the claims of the ID token. If a wanted claim is missing, those of userinfo are added."""
        wanted = (self._options.user_claim, self._options.groups_claim)
        access = tokens.get("access_token")
        held = {name: value for name, value in claims.items() if value is not None}
        if all(name in held for name in wanted) or not known.has("userinfo_endpoint") or not isinstance(access, str):
            return held
        answered = self._client.get(known.address("userinfo_endpoint"), {"Authorization": f"Bearer {access}"})
        # OpenID Connect Core, 5.3.2: otherwise a token of another user could be put in place of this one's.
        if answered.get("sub") != claims["sub"]:
            raise Denied("the provider's userinfo names another user than the ID token")
        return {**answered, **held}
