"""A small provider of OpenID Connect on real HTTP, whose answers a test can spoil."""

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey
from joserfc.jws import JWSRegistry

from tests.threadedserver import serve_in_thread

CLIENT = "feedmill"
SECRET = "the client's secret: %+"


@cache
def first_key() -> RSAKey:
    """Returns the key of the provider in all tests of this process: a new one takes 0.2 s of CPU time."""
    return RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})


@dataclass(slots=True)
class OpenIdServer:
    """The provider's state; ``claims`` are put over those that it would give."""

    issuer: str = ""
    now_seconds: int = 0
    key: Any = field(default_factory=first_key)
    shown: Any = field(default_factory=first_key)
    algorithm: str = "RS256"
    claims: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    requested_paths: list[str] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    refuses: str = ""
    published: list[dict[str, Any]] = field(default_factory=list)
    """The keys that are shown, in place of the one that signs."""
    raws: dict[str, Callable[[BufferedIOBase], object]] = field(default_factory=dict)
    """What is done by path, in place of an answer, with the stream to the client."""
    write: Callable[[dict[str, Any]], str] | None = None
    """Writes tokens in place of signing them."""
    more_header: dict[str, Any] = field(default_factory=dict)

    def authorize(self, address: str) -> str:
        """Does what the provider's page does once a user has signed in there; returns where the browser is sent."""
        query = dict(parse_qsl(urlsplit(address).query))
        assert query["client_id"] == CLIENT
        assert query["response_type"] == "code"
        assert query["code_challenge_method"] == "S256"
        code = f"code-{len(self.codes)}"
        self.codes[code] = query
        self.states.append(query["state"])
        return query["redirect_uri"] + "?" + urlencode({"code": code, "state": query["state"], "iss": self.issuer})

    def answer(self, path: str, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        self.requested_paths.append(path)
        if path == "/.well-known/openid-configuration":
            return 200, {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize?tenant=1",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/keys",
                "userinfo_endpoint": f"{self.issuer}/userinfo",
                "end_session_endpoint": f"{self.issuer}/logout?tenant=1",
            } | self.about
        if path == "/keys" and self.published:
            return 200, {"keys": self.published}
        if path == "/keys":
            return 200, {"keys": [self.shown.as_dict(private=False), {"kty": "oct", "k": "AAAA", "kid": "secret"}]}
        if path == "/userinfo":
            return (200, self.userinfo) if authorization == "Bearer access" else (401, {})
        return self._redeem(form, authorization) if path == "/token" and not self.refuses else (400, {"error": self.refuses or "unknown"})

    def _redeem(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        name, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        begun = self.codes.pop(form.get("code", ""), None)
        challenge = base64.urlsafe_b64encode(sha256(form.get("code_verifier", "").encode()).digest()).rstrip(b"=").decode()
        if begun is None or (unquote(name), unquote(secret)) != (CLIENT, SECRET) or challenge != begun["code_challenge"]:
            return 400, {"error": "invalid_grant"}
        if form["redirect_uri"] != begun["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": "0815",
            "sid": f"session of {begun['state']}",
            "exp": self.now_seconds + 300,
            "iat": self.now_seconds,
            "nonce": begun["nonce"],
            "preferred_username": "ann@corp.example.com",
            "groups": ["/staff", "CORP\\eng"],
        } | self.claims
        token = self.sign({name: value for name, value in claims.items() if value is not None})
        return 200, {"access_token": "access", "token_type": "Bearer", "id_token": token}

    def logout_token(self, **given: Any) -> str:
        """Returns the provider's logout token; a claim that is None is left out."""
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "iat": self.now_seconds,
            "exp": self.now_seconds + 120,
            "jti": "first",
            "sub": "0815",
            "events": {"http://schemas.openid.net/event/backchannel-logout": {}},
        } | given
        return self.sign({name: value for name, value in claims.items() if value is not None})

    def sign(self, claims: dict[str, Any]) -> str:
        if self.write is not None:
            return self.write(claims)
        if self.algorithm == "none":
            parts = [json.dumps({"alg": "none"}).encode(), json.dumps(claims).encode(), b""]
            return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)
        header = {"alg": self.algorithm, **({"kid": self.key.kid} if self.key.kid else {}), **self.more_header}
        registry = JWSRegistry(algorithms=[self.algorithm], strict_check_header=False)
        registry.max_header_length, registry.max_payload_length = 16_384, 4_000_000
        return jwt.encode(header, claims, self.key, registry=registry)


def new_key(kind: str = "RSA") -> Any:
    return RSAKey.generate_key(2048, {"kid": "second", "use": "sig"}) if kind == "RSA" else ECKey.generate_key("P-256", {"kid": "third"})


@contextmanager
def running_openid(now_seconds: int) -> Iterator[OpenIdServer]:
    """Runs a provider for a block."""
    state = OpenIdServer(now_seconds=now_seconds)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            self._answer(dict(parse_qsl(body)))

        def _answer(self, form: dict[str, str]) -> None:
            path = urlsplit(self.path).path
            if path in state.raws:
                state.requested_paths.append(path)
                state.raws[path](self.wfile)
                return
            status, answer = state.answer(path, form, self.headers.get("authorization", ""))
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_given: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.issuer = f"http://127.0.0.1:{server.server_address[1]}"
    with serve_in_thread(server):
        yield state
