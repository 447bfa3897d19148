"""The keys of a provider of OpenID Connect, and the check of its signatures.

A key of an unknown kind or shape is ignored, so that a provider may publish new kinds beside
those in use. Secrets (``oct``) and keys for encryption do not count. A token that names its key by ``kid`` is checked with all keys of
that name, any other with all.
Source: RFC 7517, 4.5 and 5; RFC 7515, 4.1.4; OpenID Connect Core 1.0, 10.1.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key
from joserfc.jws import JWSRegistry

from feedmill.adapters.identity.jsonhttp import MAX_BYTES

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
MAX_KEYS = 100


class _Registry(JWSRegistry):
    """Accepts tokens with many groups, and headers with a chain of certificates."""

    max_header_length = 16_384
    max_payload_length = MAX_BYTES


# other parameters of a header are ignored, except those that it calls critical (RFC 7515, 4)
_REGISTRY = _Registry(algorithms=list(ALGORITHMS), strict_check_header=False)


class TokenKeys:
    """The keys of one provider. Errors of all: ValueError."""

    def __init__(self, given: object) -> None:
        listed = given.get("keys") if isinstance(given, dict) else None
        if not isinstance(listed, list):
            raise ValueError("they are no list of keys")
        self._keys = [key for each in listed[:MAX_KEYS] if (key := _read_key(each)) is not None]
        if not self._keys:
            raise ValueError("there is none by which a token could be checked")

    def decode(self, text: str) -> Mapping[str, Any]:
        """Returns the claims of a token that one of the keys signed."""
        reason: Exception = ValueError("no key of the provider fits it")
        for key in self._find_keys(text):
            try:
                claims = jwt.decode(text, key, registry=_REGISTRY).claims
            except (JoseError, ValueError, RecursionError) as exc:
                reason = exc
                continue
            if not isinstance(claims, dict):
                raise ValueError("it holds no claims")
            return claims
        raise ValueError(str(reason)) from reason

    def _find_keys(self, text: str) -> Iterable[Key]:
        try:
            header = jws.extract_compact(text.encode(), registry=_REGISTRY).headers()
        except (JoseError, RecursionError) as exc:
            raise ValueError(str(exc)) from exc
        name = header.get("kid")
        return self._keys if name is None else [key for key in self._keys if key.get("kid") == name]


def _read_key(given: object) -> Key | None:
    # An ``oct`` key is a secret. If one were published and accepted, anyone could sign with it.
    if not isinstance(given, dict) or given.get("use", "sig") != "sig" or given.get("kty") == "oct":
        return None
    try:
        return JWKRegistry.import_key(given)
    except (JoseError, ValueError, TypeError, KeyError, AttributeError):
        return None
