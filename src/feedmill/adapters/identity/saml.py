"""Proves users by an identity provider of SAML 2.0: the web browser profile, request by redirect, response by posted form.

Rules:

1. Only what a signature covers is read: the element that the verifier gives back, which it parsed from the signed bytes, never the one
   of the same name in what was posted. Either the response is signed, or its one assertion. Keys are those of the metadata, not those of
   the message.
2. The assertion is from this provider, for this server (audience, recipient), within its time, and answers a request; which one, and that
   it comes once, is for the caller to hold it against.
3. No DTD, no entity, nothing from the network. Encrypted assertions are refused, since this server publishes no key for them.
Source: SAML 2.0 Profiles, 4.1; SAML 2.0 Core, 2 and 5; "On Breaking SAML: Be Whoever You Want to Be" (USENIX Security 2012).
"""

import base64
import binascii
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from lxml import etree
from signxml.algorithms import DigestAlgorithm, SignatureMethod
from signxml.exceptions import SignXMLException
from signxml.verifier import SignatureConfiguration, XMLVerifier

from feedmill.adapters.identity.claims import read_groups, read_user
from feedmill.adapters.identity.samlmetadata import (
    ASSERTION,
    NAMES,
    POST,
    PROTOCOL,
    IdentityProvider,
    parse_xml,
    write_metadata,
)
from feedmill.core.dates import parse_iso
from feedmill.core.roles import RoleRules
from feedmill.model.errors import BadRequest, Denied
from feedmill.model.signin import Credential
from feedmill.ports.signin import Assertion

MAX_RESPONSE_BYTES = 2_000_000
LEEWAY = timedelta(seconds=60)
LONGEST = timedelta(hours=1)
_SUCCESS = "urn:oasis:names:tc:SAML:2.0:status:Success"
_BEARER = "urn:oasis:names:tc:SAML:2.0:cm:bearer"
_SIGNATURES = frozenset(
    {
        SignatureMethod.RSA_SHA256,
        SignatureMethod.RSA_SHA384,
        SignatureMethod.RSA_SHA512,
        SignatureMethod.SHA256_RSA_MGF1,
        SignatureMethod.SHA384_RSA_MGF1,
        SignatureMethod.SHA512_RSA_MGF1,
        SignatureMethod.ECDSA_SHA256,
        SignatureMethod.ECDSA_SHA384,
        SignatureMethod.ECDSA_SHA512,
    }
)
_DIGESTS = frozenset({DigestAlgorithm.SHA256, DigestAlgorithm.SHA384, DigestAlgorithm.SHA512})


@dataclass(frozen=True, slots=True, kw_only=True)
class SamlOptions:
    """How one provider is spoken to, and which attributes are user and groups; ``user_attribute`` "" is the subject's NameID."""

    name: str
    label: str
    namespace: str
    provider: IdentityProvider
    entity_id: str = ""
    user_attribute: str = ""
    groups_attribute: str = "groups"
    domain: str = ""
    roles: RoleRules = field(default_factory=RoleRules)


class SamlIdentityProvider:
    """Fills ``ports.signin.SamlProvider``. May be used from several threads."""

    def __init__(self, options: SamlOptions, clock: Callable[[], datetime]) -> None:
        self._options = options
        self._clock = clock

    @property
    def name(self) -> str:
        """What the settings call it."""
        return self._options.name

    @property
    def label(self) -> str:
        """What people call it."""
        return self._options.label or self._options.name

    @property
    def namespace(self) -> str:
        """The namespace of its users and groups."""
        return self._options.namespace

    def begin(self, back_url: str, request_id: str) -> str:
        """Gives the address at the provider to send a browser to. Source: SAML 2.0 Bindings, 3.4."""
        place = self._options.provider.sign_on_url
        given = {
            "ID": request_id,
            "Version": "2.0",
            "IssueInstant": self._clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "Destination": place,
            "ProtocolBinding": POST,
            "AssertionConsumerServiceURL": back_url,
        }
        root = etree.Element(f"{{{PROTOCOL}}}AuthnRequest", given, nsmap={"samlp": PROTOCOL, "saml": ASSERTION})
        etree.SubElement(root, f"{{{ASSERTION}}}Issuer").text = self._entity_id(back_url)
        deflate = zlib.compressobj(wbits=-15)
        packed = deflate.compress(etree.tostring(root)) + deflate.flush()
        return f"{place}{'&' if '?' in place else '?'}{urlencode({'SAMLRequest': base64.b64encode(packed).decode()})}"

    def describe(self, back_url: str) -> bytes:
        """Gives the metadata of this server."""
        return write_metadata(self._entity_id(back_url), back_url)

    def read(self, encoded: str, back_url: str) -> Assertion:
        """Reads a posted response. Errors: Denied."""
        try:
            response = parse_xml(base64.b64decode(encoded, validate=False)) if len(encoded) <= MAX_RESPONSE_BYTES else None
        except (binascii.Error, ValueError, BadRequest) as exc:
            raise Denied(f"the response cannot be read: {exc}") from exc
        if response is None or response.tag != f"{{{PROTOCOL}}}Response":
            raise Denied("what was posted is no response of a provider, or a very long one")
        self._check_response(response, back_url)
        assertion = self._verify(response)
        return self._read_assertion(assertion, back_url)

    def _entity_id(self, back_url: str) -> str:
        return self._options.entity_id or back_url.removesuffix("/acs") + "/metadata"

    def _check_response(self, response: etree._Element, back_url: str) -> None:
        status = response.find("p:Status/p:StatusCode", NAMES)
        if status is None or status.get("Value") != _SUCCESS:
            told = response.findtext("p:Status/p:StatusMessage", "", NAMES) or (status.get("Value", "") if status is not None else "")
            raise Denied(f"the provider says: {told[:300]}")
        if response.get("Destination", back_url) != back_url:
            raise Denied(f"the response is for {response.get('Destination', '')[:300]!a}")
        if response.find(".//a:EncryptedAssertion", NAMES) is not None:
            raise Denied("the assertion is encrypted; let the provider sign it only")
        if len(response.findall(".//a:Assertion", NAMES)) != 1:
            raise Denied("the response does not hold one assertion")

    def _verify(self, response: etree._Element) -> etree._Element:
        """Gives the assertion out of what is signed."""
        is_whole = response.find("d:Signature", NAMES) is not None
        config = SignatureConfiguration(
            location="./" if is_whole else f"./{{{ASSERTION}}}Assertion/",
            expect_references=1,
            signature_methods=_SIGNATURES,
            digest_algorithms=_DIGESTS,
            ignore_ambiguous_key_info=True,
            verification_time=self._clock(),
        )
        reason: Exception | None = None
        for certificate in self._options.provider.certificates:
            try:
                verified = XMLVerifier().verify(
                    etree.tostring(response), x509_cert=certificate, id_attribute="ID", expect_config=config, parser=_parser()
                )
            except (SignXMLException, etree.LxmlError, ValueError, TypeError) as exc:
                reason = exc
                continue
            signed = verified.signed_xml if not isinstance(verified, list) else None
            return _find_assertion(signed, is_whole=is_whole)
        raise Denied(f"no signature of the provider: {str(reason)[:300]}") from reason

    def _read_assertion(self, assertion: etree._Element, back_url: str) -> Assertion:
        issuer = _text(assertion.find("a:Issuer", NAMES))
        if issuer != self._options.provider.entity_id:
            raise Denied(f"the assertion is from {issuer[:200]!a}")
        now = self._clock()
        answers, until = _confirm(assertion, back_url, now)
        _check_conditions(assertion, self._entity_id(back_url), now)
        told = _read_attributes(assertion)
        wanted = self._options.user_attribute
        named = told.get(wanted, [""])[0] if wanted else _text(assertion.find("a:Subject/a:NameID", NAMES))
        user = read_user(named, self._options)
        if user is None:
            raise Denied(f"the provider tells no user: {wanted or 'NameID'} is missing")
        groups = read_groups(told, self._options.groups_attribute, self._options)
        role = self._options.roles.find(group.name for group in groups)
        number = assertion.get("ID", "")
        if not number:
            raise Denied("the assertion has no ID")
        credential = Credential(provider=f"saml:{self.name}", user=user, groups=groups, role=role)
        return Assertion(id=f"{issuer} {number}", answers=answers, credential=credential, until=until)


def _parser() -> etree.XMLParser:
    return etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)


def _find_assertion(signed: etree._Element | None, *, is_whole: bool) -> etree._Element:
    if signed is not None and not is_whole and signed.tag == f"{{{ASSERTION}}}Assertion":
        return signed
    if signed is not None and is_whole and signed.tag == f"{{{PROTOCOL}}}Response":
        found = signed.findall("a:Assertion", NAMES)
        if len(found) == 1:
            return found[0]
    raise Denied("what is signed is no assertion")


def _confirm(assertion: etree._Element, back_url: str, now: datetime) -> tuple[str, datetime]:
    """Gives the request that a bearer's confirmation answers, and until when it holds."""
    for confirmation in assertion.findall("a:Subject/a:SubjectConfirmation", NAMES):
        data = confirmation.find("a:SubjectConfirmationData", NAMES)
        if confirmation.get("Method") != _BEARER or data is None or data.get("Recipient") != back_url:
            continue
        until = _time(data.get("NotOnOrAfter"))
        if until is not None and now < until + LEEWAY and data.get("NotBefore") is None and data.get("InResponseTo"):
            return data.get("InResponseTo", ""), min(until + LEEWAY, now + LONGEST)
    raise Denied("no confirmation of the assertion is for this server, now, and for a request of it")


def _check_conditions(assertion: etree._Element, entity_id: str, now: datetime) -> None:
    conditions = assertion.find("a:Conditions", NAMES)
    if conditions is None:
        raise Denied("the assertion has no conditions, so it may be for anybody")
    before, until = _time(conditions.get("NotBefore")), _time(conditions.get("NotOnOrAfter"))
    if (before is not None and now < before - LEEWAY) or (until is not None and now >= until + LEEWAY):
        raise Denied("the assertion is not for now; do the clocks of both machines agree")
    restrictions = conditions.findall("a:AudienceRestriction", NAMES)
    if not restrictions:
        raise Denied("the assertion names no audience")
    for restriction in restrictions:
        if entity_id not in [_text(audience) for audience in restriction.findall("a:Audience", NAMES)]:
            raise Denied(f"the assertion is not for {entity_id}")


def _read_attributes(assertion: etree._Element) -> dict[str, list[str]]:
    told: dict[str, list[str]] = {}
    for attribute in assertion.findall("a:AttributeStatement/a:Attribute", NAMES):
        values = [_text(value) for value in attribute.findall("a:AttributeValue", NAMES)]
        for name in dict.fromkeys((attribute.get("Name"), attribute.get("FriendlyName"))):
            if name:
                told.setdefault(name, []).extend(values)
    return told


def _text(element: etree._Element | None) -> str:
    """Gives all the text of an element: a comment within it must not cut it short."""
    return "".join(str(part) for part in element.itertext()).strip() if element is not None else ""


def _time(text: str | None) -> datetime | None:
    if text is None:
        return None
    moment = parse_iso(text)
    if moment is None:
        raise Denied(f"the assertion holds a time that is none: {text[:50]!a}")
    return moment
