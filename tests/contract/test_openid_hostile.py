"""Providers of OpenID Connect that answer slowly, oddly, or with what is none of theirs."""

import asyncio
import base64
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import pytest
from joserfc.jwk import ECKey, RSAKey

from feedmill.adapters.identity.jsonhttp import JsonClient
from feedmill.adapters.identity.oidc.keys import TokenKeys
from feedmill.http.signin.threads import AT_ONCE, run_for_provider, run_slowly
from feedmill.model.errors import Busy
from tests.contract.openidharness import arrive, open_with, redirect_to_provider
from tests.contract.openidserver import OpenIdServer, new_key, running_openid
from tests.contract.signinharness import SignInHarness, users
from tests.fakes import ManualClock
from tests.waiting import PATIENCE_SECONDS

DISCOVERY = "/.well-known/openid-configuration"
SLOW_SECONDS = 0.5


@pytest.fixture
def provider() -> Iterator[OpenIdServer]:
    with running_openid(int(ManualClock().seconds())) as server:
        yield server


@pytest.fixture
def harness(provider: OpenIdServer, tmp_path: Path) -> Iterator[SignInHarness]:
    opened = open_with(tmp_path, provider, timeout_seconds=PATIENCE_SECONDS)
    yield opened
    opened.search.store.close()


def sign_in(harness: SignInHarness, provider: OpenIdServer) -> int:
    browser = harness.browser()
    answer = browser.get("/signin/oidc/corp")
    return arrive(browser, provider.authorize(answer.headers["location"])) if answer.status == 302 else answer.status


def drip_head(stream: BufferedIOBase) -> None:
    drip(stream, b"HTTP/1.0 200 OK\r\nX-A: " + b"a" * 200)


def drip_body(stream: BufferedIOBase) -> None:
    stream.write(b"HTTP/1.0 200 OK\r\n\r\n")
    drip(stream, b'{"a": "' + b"a" * 200)


def drip(stream: BufferedIOBase, text: bytes) -> None:
    with suppress(OSError):
        for place in range(len(text)):
            stream.write(text[place : place + 1])
            stream.flush()
            time.sleep(SLOW_SECONDS)


def answer(text: bytes, status: bytes = b"200 OK", head: bytes = b"") -> Callable[[BufferedIOBase], object]:
    def write(stream: BufferedIOBase) -> None:
        with suppress(OSError):
            stream.write(b"HTTP/1.0 " + status + b"\r\n" + head + b"\r\n" + text)

    return write


TROUBLE: dict[str, Callable[[BufferedIOBase], object]] = {
    "head drips": drip_head,
    "body drips": drip_body,
    "huge": answer(b'{"a": "' + b"a" * 5_000_000 + b'"}'),
    "no JSON": answer(b"<html>sign in"),
    "no object": answer(b"[]"),
    "deep": answer(b"[" * 200_000),
    "number without end": answer(b'{"a": ' + b"1" * 10_000 + b"}"),
    "cut short": answer(b'{"keys"', head=b"content-length: 500\r\n"),
    "no HTTP": lambda stream: stream.write(b"SSH-2.0-x\r\n"),
    "nothing": lambda stream: None,
    "500": answer(b"oh", b"500 Oh"),
    "redirection": answer(b"", b"302 Found", b"location: http://127.0.0.1:1/\r\n"),
}


@pytest.mark.parametrize("trouble", list(TROUBLE.values()), ids=list(TROUBLE))
@pytest.mark.parametrize("path", [DISCOVERY, "/keys", "/token", "/userinfo"], ids=["discovery", "keys", "token", "userinfo"])
def test_openid_provider_that_fails_is_reported_in_time_and_signs_no_user_in(
    provider: OpenIdServer, tmp_path: Path, path: str, trouble: Callable[[BufferedIOBase], object]
) -> None:
    harness = open_with(tmp_path, provider, timeout_seconds=0.5 if trouble in (drip_head, drip_body) else PATIENCE_SECONDS)
    provider.claims["groups"] = None
    provider.raws[path] = trouble
    begun = time.monotonic()
    assert sign_in(harness, provider) == 503
    assert time.monotonic() - begun < 50
    assert harness.events()[-1][0] == "signin.failed"
    harness.search.store.close()


def test_openid_provider_that_says_nothing_is_waited_for_once_by_those_who_come_together(provider: OpenIdServer, tmp_path: Path) -> None:
    harness, silence = open_with(tmp_path, provider, timeout_seconds=3.0), threading.Event()
    provider.raws[DISCOVERY] = lambda _: silence.wait(PATIENCE_SECONDS)
    together = [threading.Thread(target=lambda: harness.browser().get("/signin/oidc/corp")) for _ in range(8)]
    for each in together:
        each.start()
    for each in together:
        each.join()
    silence.set()
    assert provider.requested_paths.count(DISCOVERY) == 1
    provider.raws.clear()
    harness.clock.turn(seconds=3)
    assert sign_in(harness, provider) == 303
    harness.search.store.close()


def test_connection_is_shut_when_the_time_for_all_of_it_is_over() -> None:
    with running_openid(0) as server:
        server.raws["/keys"] = drip_body
        begun = time.monotonic()
        with pytest.raises(Busy, match=r"more than 0\.3 seconds"):
            JsonClient(timeout_seconds=0.3).get(f"{server.issuer}/keys")
        assert time.monotonic() - begun < 50


def test_openid_keys_that_change_between_two_sign_ins_are_followed_at_once(harness: SignInHarness, provider: OpenIdServer) -> None:
    assert sign_in(harness, provider) == 303
    for number in range(3):
        provider.key = provider.shown = RSAKey.generate_key(2048, {"kid": f"turned {number}"})
        assert sign_in(harness, provider) == 303


def test_strangers_cause_few_requests_for_the_providers_keys(harness: SignInHarness, provider: OpenIdServer) -> None:
    browser = harness.browser()
    assert sign_in(harness, provider) == 303
    count_before = provider.requested_paths.count("/keys")
    for _ in range(5):
        assert browser.post("/signin/oidc/corp/logout", {"logout_token": "x.y.z"}).status == 400
    assert provider.requested_paths.count("/keys") <= count_before + 1


def test_keys_that_are_not_understood_do_no_harm_to_those_that_are(harness: SignInHarness, provider: OpenIdServer) -> None:
    own = provider.key.as_dict(private=False)
    provider.published = [
        {"kty": "AKP", "alg": "ML-DSA-65", "pub": "AAAA", "kid": "first"},
        {"kty": "RSA", "kid": "first"},
        {"kty": "RSA", "n": 5, "e": None, "kid": "first"},
        {"kty": "EC", "crv": "P-192", "x": "AAAA", "y": "AAAA", "kid": "first"},
        {"kty": ["RSA"], "kid": "first"},
        {"kty": "OKP", "crv": "X25519", "x": "AAAA", "kid": "first"},
        own | {"use": "enc"},
        own,
    ]
    assert sign_in(harness, provider) == 303


def test_several_keys_of_one_name_are_all_tried(harness: SignInHarness, provider: OpenIdServer) -> None:
    others = [RSAKey.generate_key(2048, {"kid": "first"}), ECKey.generate_key("P-256", {"kid": "first"})]
    provider.published = [key.as_dict(private=False) for key in (*others, provider.key)]
    assert sign_in(harness, provider) == 303
    provider.key = new_key()
    assert sign_in(harness, provider) == 403


def test_token_that_names_no_key_is_held_against_all(harness: SignInHarness, provider: OpenIdServer) -> None:
    unnamed = [RSAKey.generate_key(2048) for _ in range(2)]
    provider.published = [{"kty": "RSA", **key.as_dict(private=False), "kid": f"k{place}"} for place, key in enumerate(unnamed)]
    provider.key = unnamed[1]
    provider.more_header = {}
    assert sign_in(harness, provider) == 303


@pytest.mark.parametrize("document", [None, [], {}, {"keys": {}}, {"keys": []}, {"keys": ["x", 5, None]}], ids=str)
def test_keys_that_are_none_are_refused(document: object) -> None:
    with pytest.raises(ValueError, match=r"list of keys|there is none"):
        TokenKeys(document)


def part(held: object) -> str:
    raw = held if isinstance(held, bytes) else json.dumps(held).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def sign_by_secret(provider: OpenIdServer, claims: dict[str, Any]) -> str:
    """Signs with the public key as the secret, which a verifier that believes the header would take."""
    text = f"{part({'alg': 'HS256', 'kid': 'first'})}.{part(claims)}"
    signature = hmac.new(provider.key.as_pem(private=False), text.encode(), sha256).digest()
    return f"{text}.{part(signature)}"


HEADERS: dict[str, object] = {
    "algorithms": {"alg": ["RS256"], "kid": "first"},
    "number for a name": {"alg": "RS256", "kid": 1},
    "no name": {"alg": "RS256", "kid": None},
    "critical": {"alg": "RS256", "kid": "first", "crit": ["x"], "x": 1},
    "list": ["RS256"],
    "null": None,
    "deep": b"[" * 10_000,
    "long": {"alg": "RS256", "kid": "k" * 20_000},
    "no text": b"\xff\xfe",
    "key inside": {"alg": "RS256", "kid": "inside", "jwk": new_key().as_dict(private=False)},
    "key elsewhere": {"alg": "RS256", "kid": "elsewhere", "jku": "http://127.0.0.1:1/keys"},
}


@pytest.mark.parametrize("header", list(HEADERS.values()), ids=list(HEADERS))
def test_openid_token_with_an_odd_header_signs_no_user_in(harness: SignInHarness, provider: OpenIdServer, header: object) -> None:
    provider.write = lambda claims: f"{part(header)}.{part(claims)}.{part(b'x' * 256)}"
    assert sign_in(harness, provider) == 403


def test_openid_token_signed_by_the_public_key_signs_no_user_in(harness: SignInHarness, provider: OpenIdServer) -> None:
    provider.write = lambda claims: sign_by_secret(provider, claims)
    assert sign_in(harness, provider) == 403


def test_openid_token_whose_claims_are_too_deep_to_read_signs_no_user_in(harness: SignInHarness, provider: OpenIdServer) -> None:
    provider.claims["x"] = None
    deep = b'{"a":' * 100_000
    provider.write = lambda _: f"{part({'alg': 'RS256', 'kid': 'first'})}.{part(deep)}.{part(b'x' * 256)}"
    assert sign_in(harness, provider) == 403


def test_openid_header_may_hold_what_is_not_known(harness: SignInHarness, provider: OpenIdServer) -> None:
    provider.more_header = {"pi.atm": "abcd", "x5c": ["A" * 2_000]}
    assert sign_in(harness, provider) == 303


CLAIMS: dict[str, tuple[dict[str, Any], int]] = {
    "end as a text": ({"exp": "2030"}, 403),
    "end not a number": ({"exp": float("nan")}, 403),
    "begun in an hour": ({"iat": 3_600}, 403),
    "begun in half a minute": ({"iat": 30}, 303),
    "not yet": ({"nbf": 3_600}, 403),
    "over since half a minute": ({"exp": -30}, 303),
    "audience in a list in a list": ({"aud": [["feedmill"]]}, 403),
    "issuers": ({"iss": ["x"]}, 403),
    "subject a number": ({"sub": 5}, 403),
    "nonces": ({"nonce": ["x"]}, 403),
    "parties": ({"azp": ["feedmill"]}, 403),
    "groups an object": ({"groups": {"staff": True}}, 403),
    "groups objects": ({"groups": [{"name": "staff"}]}, 403),
    "groups in lists": ({"groups": [["staff"]]}, 403),
    "groups numbers": ({"groups": ["staff", 7]}, 403),
    "group with a line end": ({"groups": ["a\nb"]}, 403),
    "group too long": ({"groups": ["x" * 2_000]}, 403),
    "groups left out": ({"groups": None, "hasgroups": True}, 403),
    "blank groups": ({"groups": ["", " "]}, 303),
}


@pytest.mark.parametrize(("claims", "expected"), list(CLAIMS.values()), ids=list(CLAIMS))
def test_openid_claims_that_are_odd(harness: SignInHarness, provider: OpenIdServer, claims: dict[str, Any], expected: int) -> None:
    times = {name: provider.now_seconds + value for name, value in claims.items() if isinstance(value, int) and name != "sub"}
    provider.claims |= claims | {name: value for name, value in times.items() if name in ("exp", "iat", "nbf")}
    provider.userinfo = {"sub": "0815"}
    assert sign_in(harness, provider) == expected


def test_openid_takes_ten_thousand_groups_in_any_script(harness: SignInHarness, provider: OpenIdServer) -> None:
    spaced = "営業\u3000部"
    provider.claims["groups"] = [*(f"department of purchases number {number:06}" for number in range(10_000)), spaced, "no\u00a0break"]
    browser = harness.browser()
    assert arrive(browser, provider.authorize(redirect_to_provider(browser))) == 303
    browser.get("/?q=x")
    assert [group.name for group in harness.seen[-1].identity.groups[-2:]] == [spaced, "no\u00a0break"]
    assert len(harness.seen[-1].identity.groups) == 10_002


def test_openid_takes_the_user_from_userinfo_where_the_token_has_none(harness: SignInHarness, provider: OpenIdServer) -> None:
    provider.claims["preferred_username"] = None
    provider.userinfo = {"sub": "0815", "preferred_username": "ann", "groups": ["not these"]}
    browser = harness.browser()
    assert arrive(browser, provider.authorize(redirect_to_provider(browser))) == 303
    assert users(harness, browser) == [("ad", "", "ann")]
    assert [group.name for group in harness.seen[-1].identity.groups] == ["staff", "eng"]


def test_openid_provider_that_promises_to_name_itself_must(harness: SignInHarness, provider: OpenIdServer) -> None:
    provider.about["authorization_response_iss_parameter_supported"] = True
    browser = harness.browser()
    back = provider.authorize(redirect_to_provider(browser))
    assert arrive(browser, back.partition("&iss=")[0]) == 403
    assert sign_in(harness, provider) == 303


ABOUT: dict[str, tuple[dict[str, Any], int]] = {
    "methods a number": ({"token_endpoint_auth_methods_supported": 5}, 303),
    "methods a text": ({"token_endpoint_auth_methods_supported": "client_secret_post"}, 303),
    "no methods": ({"token_endpoint_auth_methods_supported": []}, 303),
    "no place for codes": ({"token_endpoint": None}, 503),
    "place for codes elsewhere": ({"token_endpoint": "http://198.51.100.1/token"}, 503),
    "file for keys": ({"jwks_uri": "file:///etc/passwd"}, 503),
    "place a list": ({"authorization_endpoint": ["https://id.example/"]}, 503),
    "place a script": ({"authorization_endpoint": "javascript:alert(1)"}, 503),
    "userinfo a number": ({"userinfo_endpoint": 5}, 303),
}


@pytest.mark.parametrize(("about", "expected"), list(ABOUT.values()), ids=list(ABOUT))
def test_openid_discovery_that_is_odd(harness: SignInHarness, provider: OpenIdServer, about: dict[str, Any], expected: int) -> None:
    provider.claims["groups"] = None
    provider.userinfo = {"sub": "0815"}
    provider.about = about
    assert sign_in(harness, provider) == expected


def test_slow_provider_blocks_no_sign_in_by_another_method() -> None:
    free = threading.Event()

    async def sign_in_beside() -> None:
        waiting = [asyncio.create_task(run_for_provider("oidc:slow", free.wait, PATIENCE_SECONDS)) for _ in range(3 * AT_ONCE)]
        await asyncio.sleep(0.1)
        await run_slowly(free.is_set)
        await run_for_provider("oidc:other", free.set)
        await asyncio.gather(*waiting)

    begun = time.monotonic()
    asyncio.run(sign_in_beside())
    assert time.monotonic() - begun < 100
