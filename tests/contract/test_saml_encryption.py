"""Assertions that a provider of SAML encrypts: what opens them, and what an attacker who can encrypt too gets."""

import base64
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from lxml import etree

from feedmill.adapters.identity.saml.encryption import decrypt_element
from feedmill.adapters.identity.saml.keys import ServerKey, make_key, read_key
from feedmill.adapters.identity.saml.metadata import ASSERTION, NAMES
from feedmill.model.errors import BadRequest, Denied
from tests.contract.samlencrypting import CBC_128, CBC_256, GCM, GCM_128, OAEP_SHA256, RSA_15, encrypt_element
from tests.contract.samlharness import arrive, open_with, our_key, redirect_to_provider
from tests.contract.samlserver import SamlServer
from tests.contract.signinharness import SignInHarness, users
from tests.fakes import ManualClock


@cache
def other_key() -> ServerKey:
    return read_key(make_key(ManualClock().now))


@pytest.fixture
def provider() -> SamlServer:
    return SamlServer(now=ManualClock(), encrypts={})


def reason(harness: SignInHarness) -> str:
    """Returns why the last sign-in was refused, as the audit log has it."""
    return str(list(harness.signing.auditing.iter_entries())[-1].event.details["reason"])


@pytest.mark.parametrize(
    ("signs", "given"),
    [
        ("assertion", {}),
        ("assertion", {"by": GCM_128, "key_by": OAEP_SHA256}),
        ("assertion", {"aside": True}),
        ("response", {"by": GCM}),
        ("response", {"by": CBC_128}),
        ("response", {"by": CBC_256, "key_by": OAEP_SHA256, "aside": True}),
    ],
    ids=["gcm256", "gcm128-sha256", "key-aside", "signed-gcm", "signed-cbc128", "signed-cbc256"],
)
def test_encrypted_assertion_signs_in_the_user_it_names(tmp_path: Path, provider: SamlServer, signs: str, given: dict[str, object]) -> None:
    harness = open_with(tmp_path, provider)
    provider.signs, provider.encrypts = signs, given
    browser = harness.browser()
    assert arrive(browser, provider.respond(redirect_to_provider(browser))) == 303
    assert users(harness, browser) == [("ad", "corp.example.com", "ann")]
    harness.search.store.close()


@pytest.mark.parametrize(
    ("signs", "given", "why"),
    [
        ("nothing", {}, "no signature"),
        ("assertion", {"by": CBC_256}, "AES-CBC"),
        ("assertion", {"key_by": RSA_15}, "RSA-OAEP"),
        ("response", {"key_by": RSA_15}, "RSA-OAEP"),
        ("assertion", {"by": "http://www.w3.org/2001/04/xmlenc#tripledes-cbc"}, "AES-GCM"),
    ],
    ids=["unsigned", "cbc-unsigned", "rsa15", "signed-rsa15", "tripledes"],
)
def test_encryption_that_proves_nothing_or_leaks_signs_no_user_in(
    tmp_path: Path, provider: SamlServer, signs: str, given: dict[str, object], why: str
) -> None:
    harness = open_with(tmp_path, provider)
    provider.signs, provider.encrypts = signs, given
    browser = harness.browser()
    assert arrive(browser, provider.respond(redirect_to_provider(browser))) == 403
    assert why in reason(harness)
    assert users(harness, browser) == []
    harness.search.store.close()


def test_assertion_encrypted_for_another_server_is_refused_and_says_what_to_do(tmp_path: Path, provider: SamlServer) -> None:
    harness = open_with(tmp_path, provider)
    provider.server_certificate = other_key().certificate
    browser = harness.browser()
    assert arrive(browser, provider.respond(redirect_to_provider(browser))) == 403
    assert "our metadata" in reason(harness)
    harness.search.store.close()


def _hidden(response: etree._Element) -> etree._Element:
    found = response.find("a:EncryptedAssertion", NAMES)
    assert found is not None
    return found


def _switch_generation(response: etree._Element) -> None:
    value = _hidden(response).find("e:EncryptedData/e:CipherData/e:CipherValue", NAMES)
    assert value is not None
    raw = bytearray(base64.b64decode(value.text or ""))
    raw[40] ^= 1
    value.text = base64.b64encode(raw).decode()


def _cut(response: etree._Element) -> None:
    value = _hidden(response).find("e:EncryptedData/e:CipherData/e:CipherValue", NAMES)
    assert value is not None
    value.text = "AAAA"


def _no_base64(response: etree._Element) -> None:
    value = _hidden(response).find("e:EncryptedData/e:CipherData/e:CipherValue", NAMES)
    assert value is not None
    value.text = "?"


def _no_key(response: etree._Element) -> None:
    data = _hidden(response)[0]
    data.remove(data.findall("d:KeyInfo", NAMES)[0])


def _no_data(response: etree._Element) -> None:
    hidden = _hidden(response)
    hidden.remove(hidden[0])


def _twice(response: etree._Element) -> None:
    response.append(etree.fromstring(etree.tostring(_hidden(response))))


def _forged(response: etree._Element) -> None:
    text = f'<a:Assertion xmlns:a="{ASSERTION}" ID="_forged"/>'.encode()
    hidden = _hidden(response)
    hidden[:] = [etree.fromstring(encrypt_element(text, our_key().certificate))]


@pytest.mark.parametrize("signs", ["assertion", "response"])
@pytest.mark.parametrize(
    "edit", [_switch_generation, _cut, _no_base64, _no_key, _no_data, _twice, _forged], ids=lambda edit: edit.__name__.strip("_")
)
def test_encrypted_assertion_that_was_changed_signs_no_user_in(
    tmp_path: Path, provider: SamlServer, signs: str, edit: Callable[[etree._Element], None]
) -> None:
    harness = open_with(tmp_path, provider)
    provider.signs = signs
    browser = harness.browser()
    assert arrive(browser, provider.respond(redirect_to_provider(browser), edit)) == 403
    assert users(harness, browser) == []
    harness.search.store.close()


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"no element",
        b"<x/><y/>",
        b"</opened><opened>",
        b"<a:x/>",
        b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>',
        b"<x>&e;</x>",
        b"\xff\xfe<x/>",
        b"<x>" * 2_000,
    ],
    ids=["nothing", "text", "two", "outside", "prefix", "entity", "unknown-entity", "bytes", "deep"],
)
def test_what_was_encrypted_and_is_not_one_element_is_refused(text: bytes) -> None:
    holder = etree.fromstring(f"<holder>{encrypt_element(text, our_key().certificate)}</holder>")
    with pytest.raises(Denied):
        decrypt_element(holder, our_key().private, is_signed=False)


def test_what_was_encrypted_knows_the_prefixes_of_where_it_stood() -> None:
    inner = encrypt_element(b"<a:x><y/></a:x>", our_key().certificate)
    holder = etree.fromstring(f'<holder xmlns="urn:d&amp;e" xmlns:a="urn:a">{inner}</holder>')
    opened = decrypt_element(holder, our_key().private, is_signed=False)
    assert (opened.tag, opened[0].tag) == ("{urn:a}x", "{urn:d&e}y")


def test_metadata_contain_the_certificate_to_encrypt_for_and_where_to_log_out(tmp_path: Path, provider: SamlServer) -> None:
    harness = open_with(tmp_path, provider)
    about = etree.fromstring(harness.browser().get("/signin/saml/corp/metadata").body)
    shown = {key.get("use"): key.findtext(".//d:X509Certificate", "", NAMES) for key in about.iterfind(".//m:KeyDescriptor", NAMES)}
    assert shown["encryption"] == shown["signing"] == "".join(our_key().certificate.split("\n")[1:-2])
    methods = [method.get("Algorithm") for method in about.iterfind(".//m:EncryptionMethod", NAMES)]
    assert methods[0] == GCM
    assert not any("cbc" in str(method) or "rsa-1_5" in str(method) for method in methods)
    places = {place.get("Binding", "")[-13:]: place.get("Location") for place in about.iterfind(".//m:SingleLogoutService", NAMES)}
    assert set(places.values()) == {"http://search.example.com/signin/saml/corp/slo"}
    assert set(places) == {"HTTP-Redirect", "ngs:HTTP-POST"}
    harness.search.store.close()


def test_own_key_is_refused_unless_it_serves() -> None:
    good = make_key(ManualClock().now)
    assert read_key(good).certificate in good
    bare_key = good.partition("-----BEGIN CERT")[0]
    for text in ("", "no pem", bare_key, other_key().certificate, bare_key + other_key().certificate):
        with pytest.raises(BadRequest):
            read_key(text)
