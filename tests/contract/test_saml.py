"""Signing in by SAML: what a provider's signed word opens, and what an attacker makes of it."""

import base64
import copy
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from lxml import etree
from signxml.algorithms import DigestAlgorithm, SignatureMethod

from feedmill.adapters.identity.saml.keys import make_key
from feedmill.adapters.identity.saml.metadata import ASSERTION, NAMES, SIGNATURE, read_metadata
from feedmill.model.errors import BadRequest
from feedmill.model.userrole import UserRole
from tests.builders.requests import PASSWORD
from tests.contract.samlharness import FROM_ELSEWHERE, arrive, open_with, post, redirect_to_provider
from tests.contract.samlserver import ENTITY, SamlServer, certify, make_private_key
from tests.contract.signinharness import SignInHarness, users
from tests.fakes import ManualClock


@pytest.fixture
def provider() -> SamlServer:
    return SamlServer(now=ManualClock())


@pytest.fixture
def harness(provider: SamlServer, tmp_path: Path) -> Iterator[SignInHarness]:
    opened = open_with(tmp_path, provider)
    yield opened
    opened.search.store.close()


@pytest.mark.parametrize("signs", ["assertion", "response"])
def test_saml_lets_in_the_user_with_groups_and_role_and_leads_back(harness: SignInHarness, provider: SamlServer, signs: str) -> None:
    provider.signs = signs
    browser = harness.browser()
    assert "Sign in with Corp" in browser.get("/signin").text
    status, onward = post(browser, provider.respond(redirect_to_provider(browser)))
    assert status == 303
    answer = browser.get(onward)
    assert (answer.status, answer.headers["location"]) == (303, "/search")
    assert users(harness, browser) == [("ad", "corp.example.com", "ann")]
    identity = harness.seen[-1].identity
    assert [(group.domain, group.name, group.namespace) for group in identity.groups] == [("", "staff", "ad"), ("CORP", "eng", "ad")]
    assert harness.seen[-1].role is UserRole.MANAGER
    assert harness.events()[-1] == ("signin.accepted", r"corp.example.com\ann (ad)")


def test_saml_request_and_metadata_say_who_asks_and_where_to_answer(harness: SignInHarness, provider: SamlServer) -> None:
    first, second = (provider.read_request(redirect_to_provider(harness.browser())) for _ in range(2))
    assert first.get("ID") != second.get("ID")
    assert first.get("AssertionConsumerServiceURL") == "http://search.example.com/signin/saml/corp/acs"
    assert first.findtext("a:Issuer", "", NAMES) == "http://search.example.com/signin/saml/corp/metadata"
    answer = harness.browser().get("/signin/saml/corp/metadata")
    about = etree.fromstring(answer.body)
    assert about.get("entityID") == first.findtext("a:Issuer", "", NAMES)
    service = about.find(".//m:AssertionConsumerService", NAMES)
    assert service is not None
    assert service.get("Location") == first.get("AssertionConsumerServiceURL")


def test_saml_takes_the_user_of_an_attribute_and_adds_to_a_session(provider: SamlServer, tmp_path: Path) -> None:
    harness = open_with(tmp_path, provider, user_attribute="login", groups_attribute="urn:oid:groups", domain="CORP")
    harness.signing.accounts.add("ann", PASSWORD)
    browser = harness.browser()
    browser.sign_in("ann")
    assert arrive(browser, provider.respond(redirect_to_provider(browser))) == 303
    assert users(harness, browser) == [("Default", "", "ann"), ("ad", "CORP", "a.smith")]
    assert [(group.domain, group.name) for group in harness.seen[-1].identity.groups] == [("CORP", "staff"), ("CORP", "eng")]


def test_saml_attribute_without_a_value_names_no_user(provider: SamlServer, tmp_path: Path) -> None:
    harness = open_with(tmp_path, provider, user_attribute="groups")
    provider.groups = ()
    browser = harness.browser()
    assert arrive(browser, provider.respond(redirect_to_provider(browser))) == 403
    assert users(harness, browser) == []


WRONG: dict[str, dict[str, object]] = {
    "nothing signed": {"signs": "nothing"},
    "other issuer": {"issuer": "https://evil.example"},
    "other audience": {"audience": "https://other.example"},
    "other recipient": {"recipient": "https://other.example/acs"},
    "another request": {"answers": "_another"},
    "over": {"lasting": timedelta(minutes=-2)},
    "not a success": {"status": "urn:oasis:names:tc:SAML:2.0:status:Responder"},
    "no name": {"name": " "},
    "old signature": {"algorithm": SignatureMethod.RSA_SHA1},
    "old digest": {"digest": DigestAlgorithm.SHA1},
}


@pytest.mark.parametrize("given", list(WRONG.values()), ids=list(WRONG))
def test_saml_response_that_is_invalid_signs_no_user_in(harness: SignInHarness, provider: SamlServer, given: dict[str, object]) -> None:
    for name, value in given.items():
        setattr(provider, name, value)
    browser = harness.browser()
    assert arrive(browser, provider.respond(redirect_to_provider(browser))) == 403
    assert users(harness, browser) == []
    assert harness.events()[-1][0] == "signin.failed"


def test_saml_response_signed_by_another_key_signs_no_user_in(harness: SignInHarness, provider: SamlServer) -> None:
    forger = SamlServer(now=provider.now, key=make_private_key())
    for certificate in (forger.certificate, provider.certificate, certify(forger.key, name="idp")):
        forger.certificate = certificate
        browser = harness.browser()
        assert arrive(browser, forger.respond(redirect_to_provider(browser))) == 403


def _name(element: etree._Element, name: str) -> None:
    found = element.find(".//a:NameID", NAMES)
    assert found is not None
    found.text = name


def _assertion_of(response: etree._Element) -> etree._Element:
    found = response.find("a:Assertion", NAMES)
    assert found is not None
    return found


def _forged_of(response: etree._Element) -> etree._Element:
    forged = copy.deepcopy(_assertion_of(response))
    forged.set("ID", "_forged")
    _name(forged, "root")
    for signature in forged.findall(f"{{{SIGNATURE}}}Signature"):
        forged.remove(signature)
    return forged


def _change(response: etree._Element) -> None:
    _name(response, "root")


def _put_before(response: etree._Element) -> None:
    response.insert(2, _forged_of(response))


def _put_behind(response: etree._Element) -> None:
    response.append(_forged_of(response))


def _wrap(response: etree._Element) -> None:
    genuine, forged = _assertion_of(response), _forged_of(response)
    response.remove(genuine)
    forged.append(genuine)
    response.append(forged)


def _wrap_in_signature(response: etree._Element) -> None:
    genuine, forged = _assertion_of(response), _forged_of(response)
    signature = genuine.find(f"{{{SIGNATURE}}}Signature")
    assert signature is not None
    response.remove(genuine)
    genuine.remove(signature)
    holder = etree.SubElement(signature, f"{{{SIGNATURE}}}Object")
    holder.append(genuine)
    forged.insert(1, signature)
    response.append(forged)


def _wrap_elsewhere(response: etree._Element) -> None:
    genuine, forged = _assertion_of(response), _forged_of(response)
    response.remove(genuine)
    holder = etree.SubElement(response, "{urn:oasis:names:tc:SAML:2.0:protocol}Extensions")
    holder.append(genuine)
    response.append(forged)


def _same_id(response: etree._Element) -> None:
    forged = _forged_of(response)
    forged.set("ID", _assertion_of(response).get("ID", ""))
    response.insert(0, forged)


def _drop_signature(response: etree._Element) -> None:
    assertion = _assertion_of(response)
    for signature in assertion.findall(f"{{{SIGNATURE}}}Signature"):
        assertion.remove(signature)


def _rename(response: etree._Element) -> None:
    _assertion_of(response).tag = f"{{{ASSERTION}}}EncryptedAssertion"


@pytest.mark.parametrize(
    "edit",
    [_change, _put_before, _put_behind, _wrap, _wrap_in_signature, _wrap_elsewhere, _same_id, _drop_signature, _rename],
    ids=lambda edit: edit.__name__.strip("_"),
)
def test_saml_response_that_was_rebuilt_signs_no_user_in(
    harness: SignInHarness, provider: SamlServer, edit: Callable[[etree._Element], None]
) -> None:
    browser = harness.browser()
    assert arrive(browser, provider.respond(redirect_to_provider(browser), edit)) == 403
    assert users(harness, browser) == []


def test_saml_name_with_a_comment_in_it_is_never_its_beginning(harness: SignInHarness, provider: SamlServer) -> None:
    provider.name = "root<!-- -->.example"
    browser = harness.browser()
    status = arrive(browser, provider.respond(redirect_to_provider(browser)))
    assert users(harness, browser) == ([("ad", "", "root.example")] if status == 303 else [])


def test_saml_assertion_counts_once_and_for_the_browser_that_began(harness: SignInHarness, provider: SamlServer) -> None:
    attacker, victim = harness.browser(), harness.browser()
    stolen = provider.respond(redirect_to_provider(attacker))
    redirect_to_provider(victim)
    assert arrive(victim, stolen) == 403
    assert users(harness, victim) == []
    assert arrive(attacker, stolen) == 403
    status, onward = post(attacker, provider.respond(redirect_to_provider(attacker)))
    assert status == 303
    saved = dict(attacker.cookies)
    assert attacker.get(onward).headers["location"] == "/search"
    attacker.cookies = saved
    assert attacker.get(onward).status == 403


def test_saml_session_ends_here_when_the_provider_says(harness: SignInHarness, provider: SamlServer) -> None:
    provider.session_lasting = timedelta(minutes=20)
    harness.signing.accounts.add("ann", PASSWORD)
    browser = harness.browser()
    browser.sign_in("ann")
    assert arrive(browser, provider.respond(redirect_to_provider(browser))) == 303
    harness.clock.turn(minutes=19)
    assert [namespace for namespace, _, _ in users(harness, browser)] == ["Default", "ad"]
    harness.clock.turn(minutes=1)
    assert [namespace for namespace, _, _ in users(harness, browser)] == ["Default"]


def test_saml_one_time_code_ends_in_time(harness: SignInHarness, provider: SamlServer) -> None:
    browser = harness.browser()
    _, onward = post(browser, provider.respond(redirect_to_provider(browser)))
    harness.clock.turn(seconds=61)
    assert browser.get(onward).status == 403


@pytest.mark.parametrize(
    "encoded",
    [
        "",
        "!!!",
        base64.b64encode(b"no xml").decode(),
        base64.b64encode(b"<x/>").decode(),
        base64.b64encode(b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>').decode(),
        base64.b64encode(b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><x>&b;</x>').decode(),
        base64.b64encode(b'<Response xmlns="urn:oasis:names:tc:SAML:2.0:protocol"/>').decode(),
        "A" * 3_000_000,
        "\u00fc",
    ],
    ids=["nothing", "no base64", "no xml", "other", "entity", "bomb", "empty", "long", "sign"],
)
def test_saml_form_that_holds_no_response_is_refused(harness: SignInHarness, encoded: str) -> None:
    assert post(harness.browser(), encoded)[0] == 403


def test_saml_form_is_the_only_one_taken_from_elsewhere(harness: SignInHarness) -> None:
    browser = harness.browser()
    assert browser.post("/signin/saml/corp/acs/x", {}, **FROM_ELSEWHERE).status == 403
    assert browser.post("/signin", {}, **FROM_ELSEWHERE).status == 403
    assert browser.post("/signin/saml/nobody/acs", {}, **FROM_ELSEWHERE).status == 404


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b"IDPSSODescriptor", b"SPSSODescriptor", "describe 0 identity providers"),
        (b"HTTP-Redirect", b"HTTP-POST", "no address for signing on"),
        (b'use="signing"', b'use="encryption"', "no certificate that signs"),
        (b"<X509Certificate>", b"<X509Certificate>AA", "cannot be read"),
        (b"<EntityDescriptor", b"<EntityDescriptor ", "describe"),
        (b"</EntityDescriptor>", b"", "no XML"),
        (b"entityID=", b"ID=", "entityID is missing"),
    ],
    ids=["no provider", "no redirect", "no key", "bad key", "blank", "cut", "no name"],
)
def test_saml_metadata_that_do_not_serve_are_refused(provider: SamlServer, old: bytes, new: bytes, reason: str) -> None:
    data = provider.metadata().replace(old, new)
    if reason == "describe":
        assert read_metadata(data).entity_id == ENTITY
        return
    with pytest.raises(BadRequest, match=reason):
        read_metadata(data)


@pytest.mark.parametrize(
    ("part", "instead"),
    [
        # the algorithm of the key, RSA, for an unknown one; the exponent of the key for no number
        (bytes.fromhex("06092a864886f70d010101"), bytes.fromhex("06092a864886f70d01017f")),
        (bytes.fromhex("0203010001"), bytes.fromhex("0403010001")),
        # version 3, for one that there is not
        (bytes.fromhex("a003020102"), bytes.fromhex("a003020119")),
    ],
    ids=["algorithm", "exponent", "version"],
)
def test_metadata_with_an_unusable_certificate_is_refused(provider: SamlServer, part: bytes, instead: bytes) -> None:
    read = x509.load_pem_x509_certificate(make_key(datetime(2026, 1, 1, tzinfo=UTC)).encode())
    whole = read.public_bytes(serialization.Encoding.DER)
    assert part in whole
    body = base64.b64encode(whole.replace(part, instead)).decode()
    given = re.sub(rb"(<X509Certificate>)[^<]*", rb"\g<1>" + body.encode(), provider.metadata())
    with pytest.raises(BadRequest, match="certificate of the metadata cannot be read"):
        read_metadata(given)
