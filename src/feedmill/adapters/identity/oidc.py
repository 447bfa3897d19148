"""Proves users by a provider of OpenID Connect: the authorization code flow with PKCE, state and nonce.

What the provider says of itself (its addresses and keys) is read from its discovery document, kept for an hour, and must be of the issuer
that the settings name. An ID token counts when it is signed with one of the provider's keys by an asymmetric algorithm, is from this
issuer, for this client, for this browser's attempt (``nonce``), and not over.
Source: OpenID Connect Core 1.0, 3.1; OpenID Connect Discovery 1.0; RFC 7636; RFC 9700.
"""

import base64
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlencode

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from feedmill.adapters.identity.addresses import with_query
from feedmill.adapters.identity.claims import read_groups, read_user
from feedmill.adapters.identity.jsonhttp import JsonClient, check_url
from feedmill.core.roles import RoleRules
from feedmill.model.errors import BadRequest, Busy, Denied
from feedmill.model.signin import Credential, ProviderSession
from feedmill.ports.signin import Departure, LogoutAsked

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
KEPT_SECONDS = 3_600.0
KEYS_AGAIN_SECONDS = 60.0
LEEWAY_SECONDS = 60
LOGOUT_SECONDS = 300
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
MAX_KEPT_TOKEN = 6_000
"""Longer ID tokens are not kept to be told at the end: addresses would grow too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcOptions:
    """How one provider is spoken to, and which claims are user and groups."""

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


@dataclass(frozen=True, slots=True)
class _Known:
    about: Mapping[str, Any]
    keys: KeySet
    at_seconds: float


class OidcProvider:
    """Fills ``ports.signin.OpenIdProvider``. May be used from several threads."""

    def __init__(self, options: OidcOptions, clock: Callable[[], datetime]) -> None:
        self.name, self.label, self.namespace = options.name, options.label or options.name, options.namespace
        self._options = options
        self._clock = clock
        self._client = JsonClient(ca_file=options.ca_file, timeout_seconds=options.timeout_seconds)
        self._known: _Known | None = None
        self._lock = threading.Lock()

    def begin(self, back_url: str, *, state: str, nonce: str, verifier: str) -> str:
        """Gives the address at the provider to send a browser to. Errors: Busy."""
        about = self._learn().about
        challenge = base64.urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        asked = {
            "response_type": "code",
            "client_id": self._options.client_id,
            "redirect_uri": back_url,
            "scope": " ".join(dict.fromkeys(("openid", *self._options.scopes))),
            "state": state,
            "nonce": nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        address = _address(about, "authorization_endpoint")
        return with_query(address, urlencode(asked))

    def finish(self, back_url: str, *, code: str, issuer: str, nonce: str, verifier: str) -> Credential:
        """Gives the credential that a code stands for; ``issuer`` is "" where the provider did not name itself. Errors: Denied, Busy."""
        if issuer and issuer != self._options.issuer:
            raise Denied("the answer is from another provider")
        known = self._learn()
        tokens = self._redeem(known.about, back_url, code, verifier)
        id_token = tokens.get("id_token")
        if not isinstance(id_token, str):
            raise Denied("the provider gives no ID token")
        claims = self._read_token(id_token, nonce)
        groups = read_groups(claims, self._options.groups_claim, self._options)
        if self._options.groups_claim not in claims:
            groups = read_groups(self._ask_userinfo(known.about, tokens, claims), self._options.groups_claim, self._options)
        user = read_user(claims.get(self._options.user_claim), self._options)
        if user is None:
            raise Denied(f"the provider tells no user: the claim {self._options.user_claim} is missing")
        role = self._options.roles.find(group.name for group in groups)
        session = ProviderSession(name=str(claims["sub"]), index=str(claims.get("sid") or ""), details=id_token[:MAX_KEPT_TOKEN])
        return Credential(provider=f"oidc:{self.name}", user=user, groups=groups, role=role, session=session)

    @property
    def single_logout(self) -> bool:
        """Whether both sides tell each other that somebody leaves."""
        return self._options.single_logout

    def leave(self, session: ProviderSession, left_url: str) -> Departure | None:
        """Gives how a browser tells the provider that somebody leaves. Source: RP-Initiated Logout 1.0, 2."""
        about = self._learn().about
        if not isinstance(about.get("end_session_endpoint"), str):
            return None
        asked = {"client_id": self._options.client_id, "post_logout_redirect_uri": left_url}
        if session.details and len(session.details) < MAX_KEPT_TOKEN:
            asked["id_token_hint"] = session.details
        address = _address(about, "end_session_endpoint")
        return Departure(url=with_query(address, urlencode(asked)))

    def read_logout(self, text: str) -> LogoutAsked:
        """Reads a logout token. Source: Back-Channel Logout 1.0, 2.4 and 2.6."""
        registry = jwt.JWTClaimsRegistry(
            now=lambda: int(self._clock().timestamp()),
            leeway=LEEWAY_SECONDS,
            iss={"essential": True, "value": self._options.issuer},
            aud={"essential": True, "value": self._options.client_id},
            iat={"essential": True},
            jti={"essential": True},
            events={"essential": True},
        )
        claims = self._read_signed(text, registry, "logout token")
        events, begun = claims["events"], claims["iat"]
        if "nonce" in claims or not isinstance(events, dict) or LOGOUT_EVENT not in events:
            raise Denied("the logout token is refused: it is another token")
        now = self._clock()
        if not isinstance(begun, int | float) or abs(now.timestamp() - begun) > LOGOUT_SECONDS:
            raise Denied("the logout token is refused: it is not of now")
        name, index = claims.get("sub"), claims.get("sid")
        if not isinstance(name or "", str) or not isinstance(index or "", str) or not (name or index):
            raise Denied("the logout token is refused: it names nobody")
        until = now + timedelta(seconds=2 * LOGOUT_SECONDS)
        return LogoutAsked(id=str(claims["jti"])[:1_000], name=name or "", indexes=(index,) if index else (), until=until)

    def _redeem(self, about: Mapping[str, Any], back_url: str, code: str, verifier: str) -> dict[str, Any]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": back_url,
            "code_verifier": verifier,
            "client_id": self._options.client_id,
        }
        headers = {}
        methods = about.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        secret = self._options.client_secret
        if secret and "client_secret_basic" in methods:
            pair = f"{quote(self._options.client_id, safe='')}:{quote(secret, safe='')}"
            headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
        elif secret:
            form["client_secret"] = secret
        return self._client.post(_address(about, "token_endpoint"), form, headers)

    def _read_token(self, text: str, nonce: str) -> Mapping[str, Any]:
        claims = self._read_signed(text, self._registry(nonce), "ID token")
        audience = claims.get("aud")
        party = claims.get("azp")
        is_shared = isinstance(audience, list) and len(audience) > 1
        if (is_shared or party is not None) and party != self._options.client_id:
            raise Denied("the ID token is for another client")
        return claims

    def _read_signed(self, text: str, registry: jwt.JWTClaimsRegistry, kind: str) -> Mapping[str, Any]:
        """Gives the claims of a token that the provider signed and that holds."""
        try:
            claims = self._decode(text, self._learn().keys)
        except (JoseError, ValueError):
            # the provider may have new keys
            try:
                claims = self._decode(text, self._learn(is_doubted=True).keys)
            except (JoseError, ValueError) as exc:
                raise Denied(f"the {kind} is refused: {exc}") from exc
        try:
            registry.validate(dict(claims))
        except JoseError as exc:
            raise Denied(f"the {kind} is refused: {exc}") from exc
        return claims

    def _decode(self, text: str, keys: KeySet) -> Mapping[str, Any]:
        claims = jwt.decode(text, keys, algorithms=list(ALGORITHMS)).claims
        if not isinstance(claims, dict):
            raise ValueError("it holds no claims")
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

    def _ask_userinfo(self, about: Mapping[str, Any], tokens: Mapping[str, Any], claims: Mapping[str, Any]) -> Mapping[str, Any]:
        access = tokens.get("access_token")
        if not isinstance(about.get("userinfo_endpoint"), str) or not isinstance(access, str):
            return {}
        told = self._client.get(_address(about, "userinfo_endpoint"), {"Authorization": f"Bearer {access}"})
        if told.get("sub") != claims["sub"]:
            raise Denied("the provider tells of another user than the ID token")
        return told

    def _learn(self, *, is_doubted: bool = False) -> _Known:
        with self._lock:
            now = self._clock().timestamp()
            known = self._known
            kept_seconds = KEYS_AGAIN_SECONDS if is_doubted else KEPT_SECONDS
            if known is not None and 0 <= now - known.at_seconds < kept_seconds:
                return known
            about = self._client.get(self._options.issuer.rstrip("/") + "/.well-known/openid-configuration")
            if about.get("issuer") != self._options.issuer:
                raise Busy(f"the provider calls itself {str(about.get('issuer'))[:200]!a}, not {self._options.issuer!a}")
            self._known = _Known(about, self._read_keys(about), now)
            return self._known

    def _read_keys(self, about: Mapping[str, Any]) -> KeySet:
        told = self._client.get(_address(about, "jwks_uri"))
        try:
            keys = [key for key in told["keys"] if isinstance(key, dict) and key.get("use", "sig") == "sig" and key.get("kty") != "oct"]
            return KeySet.import_key_set({"keys": keys})
        except (JoseError, KeyError, TypeError, ValueError) as exc:
            raise Busy(f"the provider's keys cannot be read: {exc}") from exc


def _address(about: Mapping[str, Any], name: str) -> str:
    try:
        return check_url(str(about.get(name)))
    except BadRequest as exc:
        raise Busy(f"the provider names no {name} to use: {exc}") from exc
