"""What identity providers, authorization servers and servers of embeddings answer.

SAML is read twice: as it comes, and signed once it was changed.
"""

import base64
import zlib
from datetime import UTC, datetime
from functools import cache

from cryptography.hazmat.primitives.asymmetric import ec
from lxml import etree
from signxml.algorithms import CanonicalizationMethod, DigestAlgorithm, SignatureConstructionMethod, SignatureMethod
from signxml.signer import XMLSigner

from feedmill.adapters.embeddings import read_answer
from feedmill.adapters.identity.saml.keys import make_key, read_key
from feedmill.adapters.identity.saml.metadata import IdentityProvider, LogoutEndpoint, read_metadata
from feedmill.adapters.identity.saml.provider import SamlIdentityProvider, SamlOptions
from feedmill.model.errors import BadRequest, Denied, UpstreamFailure
from feedmill.ports.signin import LogoutMessage
from feedmill.wire.connectorauthorization.parse import parse_answers
from feedmill.wire.samlauthorization.parse import parse_statements
from feedmill.wire.seedlist.usertokens import parse_user_tokens
from tests.fuzz.target import Target

_NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
_ACS, _SLO, _IDP = (
    "http://search.example.com/signin/saml/corp/acs",
    "http://search.example.com/signin/saml/corp/slo",
    "https://idp.example.com/",
)
_SAML = 'xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"'
_RESPONSE = f"""<samlp:Response {_SAML} ID="_r1" Version="2.0" IssueInstant="2026-03-01T12:00:00Z" Destination="{_ACS}" InResponseTo="_q1">
<saml:Issuer>{_IDP}</saml:Issuer><samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>
<saml:Assertion ID="_a1" Version="2.0" IssueInstant="2026-03-01T12:00:00Z"><saml:Issuer>{_IDP}</saml:Issuer><saml:Subject>
<saml:NameID>ann</saml:NameID><saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData
 NotOnOrAfter="2026-03-01T12:05:00Z" Recipient="{_ACS}" InResponseTo="_q1"/></saml:SubjectConfirmation></saml:Subject>
<saml:Conditions NotBefore="2026-03-01T11:59:00Z" NotOnOrAfter="2026-03-01T12:05:00Z"><saml:AudienceRestriction>
<saml:Audience>{_ACS.removesuffix("/acs")}/metadata</saml:Audience></saml:AudienceRestriction></saml:Conditions>
<saml:AuthnStatement AuthnInstant="2026-03-01T12:00:00Z" SessionIndex="_s1"/><saml:AttributeStatement><saml:Attribute Name="groups">
<saml:AttributeValue>staff</saml:AttributeValue></saml:Attribute></saml:AttributeStatement></saml:Assertion></samlp:Response>""".encode()
_LOGOUT = f"""<samlp:LogoutRequest {_SAML} ID="_l1" Version="2.0" IssueInstant="2026-03-01T12:00:00Z" Destination="{_SLO}"
 NotOnOrAfter="2026-03-01T12:05:00Z"><saml:Issuer>{_IDP}</saml:Issuer><saml:NameID>ann</saml:NameID>
<samlp:SessionIndex>_s1</samlp:SessionIndex></samlp:LogoutRequest>""".encode()
_METADATA = b"""<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://idp.example.com/"><IDPSSODescriptor
 protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"><KeyDescriptor use="signing"><KeyInfo
 xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>%s</X509Certificate></X509Data></KeyInfo></KeyDescriptor>
<SingleLogoutService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example.com/slo"/>
<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.example.com/sso"/>
</IDPSSODescriptor></EntityDescriptor>"""
_DECISION = f"""<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body><samlp:Response {_SAML} ID="_1"
 Version="2.0" IssueInstant="2026-03-01T12:00:00Z"><samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/>
</samlp:Status><saml:Assertion ID="_2" Version="2.0" IssueInstant="2026-03-01T12:00:00Z"><saml:Issuer>x</saml:Issuer><saml:Subject>
<saml:NameID>ann</saml:NameID></saml:Subject><saml:AuthzDecisionStatement Resource="http://a.example.com/1" Decision="Permit"><saml:Action
 Namespace="urn:oasis:names:tc:SAML:1.0:action:ghpp">GET</saml:Action></saml:AuthzDecisionStatement></saml:Assertion></samlp:Response>
</soap:Body></soap:Envelope>""".encode()
_CONNECTOR = b"""<?xml version="1.0"?><CmResponse><AuthorizationResponse><Answer><Resource>googleconnector://c.localhost/doc?docid=1</Resource>
<Decision>Permit</Decision></Answer></AuthorizationResponse><StatusId>0</StatusId></CmResponse>"""
_CERTIFICATE = (
    b"MIIBCDCBr6ADAgECAgEBMAoGCCqGSM49BAMCMA4xDDAKBgNVBAMMA2lkcDAeFw0yNjAxMDEwMDAwMDBaFw0zNTEyMzAwMDAwMDBa"
    b"MA4xDDAKBgNVBAMMA2lkcDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABD7Xoo7GSO3OXVt+JS9rKq+7RINRFKJLPKqPcQ9kmTvC"
    b"VxGjTNySKQgLY58Jl3/rfKkezOFkm/6orYXHKyBq3n4wCgYIKoZIzj0EAwIDSAAwRQIhAIhmCuBqtrfLw6fun3S9jLXmPQdqHA5a"
    b"pYjWHsR8A8ujAiBVqNKZQKOoKMrepchWjeSj3fnlm6Fuw1CPkkyD+4791w=="
)
"""Of the key below, so that every run has the same inputs."""

_WORDS = tuple(
    b"""<saml:Assertion> </saml:Assertion> <saml:NameID> ID="_a1" <!DOCTYPE <!ENTITY <!-- --> <![CDATA[ ]]> &#0; NotOnOrAfter=""
    <ds:Signature xmlns:ds="http://www.w3.org/2000/09/xmldsig#" <saml:EncryptedAssertion/> Decision="Permit" <Answer> </Answer>
    9999-12-31T23:59:59Z 0000-00-00""".split()
)


@cache
def _key() -> tuple[ec.EllipticCurvePrivateKey, str]:
    """Returns a provider's key, which is no secret, and its certificate."""
    pem = f"-----BEGIN CERTIFICATE-----\n{_CERTIFICATE.decode()}\n-----END CERTIFICATE-----\n"
    return ec.derive_private_key(12345678901234567890, ec.SECP256R1()), pem


@cache
def _provider() -> SamlIdentityProvider:
    binding = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
    logout = (LogoutEndpoint(binding=binding, url=_IDP + "slo", answer_url=""),)
    idp = IdentityProvider(entity_id=_IDP, sign_on_url=_IDP + "sso", certificates=(_key()[1],), logout=logout)
    options = SamlOptions(name="corp", label="", namespace="Default", provider=idp, key=read_key(make_key(_NOW)))
    return SamlIdentityProvider(options, lambda: _NOW)


def _sign(data: bytes, tag: str) -> bytes:
    """Returns XML with the first element of a tag signed; as it is where that cannot be."""
    key, certificate = _key()
    try:
        root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))
        element = root if root.tag.endswith(tag) else next(each for each in root.iter() if str(each.tag).endswith(tag))
        signer = XMLSigner(
            method=SignatureConstructionMethod.enveloped,
            signature_algorithm=SignatureMethod.ECDSA_SHA256,
            digest_algorithm=DigestAlgorithm.SHA256,
            c14n_algorithm=CanonicalizationMethod.EXCLUSIVE_XML_CANONICALIZATION_1_0,
        )
        signed = signer.sign(element, key=key, cert=certificate, reference_uri=element.get("ID"), id_attribute="ID")
    except Exception:  # noqa: BLE001 - the signer of this test may fail at whatever it likes, the server must not
        return data
    parent = element.getparent()
    if parent is None:
        return etree.tostring(signed)
    parent.replace(element, signed)
    return etree.tostring(root)


def read_response(data: bytes) -> int:
    """Reads a response as it comes."""
    return len(repr(_provider().read_assertion(base64.b64encode(data).decode(), _ACS)))


def read_signed_response(data: bytes) -> int:
    """Reads a response whose assertion was signed after it was changed."""
    return read_response(_sign(data, "Assertion"))


def read_logout(data: bytes) -> int:
    """Reads a logout request in all ways that one can come."""
    authenticator = _provider().logout
    assert authenticator is not None
    packed = base64.b64encode(zlib.compress(data)[2:-4]).decode()
    messages = (
        LogoutMessage(encoded=base64.b64encode(_sign(data, "LogoutRequest")).decode()),
        LogoutMessage(encoded=data.decode("latin-1")),
        LogoutMessage(query=f"SAMLRequest={packed.replace('+', '%2B')}&SigAlg=x&Signature=y"),
        LogoutMessage(query=data.decode("latin-1")),
    )
    size = 0
    for message in messages:
        try:
            size += len(repr(authenticator.read_logout_request(message, _SLO)))
        except Denied as exc:
            size += len(str(exc))
        try:
            authenticator.confirm(message, _SLO)
        except Denied as exc:
            size += len(str(exc))
    return size


TARGETS = (
    Target(name="saml", run=read_response, seeds=(_RESPONSE,), errors=(Denied,), words=_WORDS),
    Target(name="saml_signed", run=read_signed_response, seeds=(_RESPONSE,), errors=(Denied,), words=_WORDS, inputs_in_suite=60),
    Target(name="saml_logout", run=read_logout, seeds=(_LOGOUT,), words=_WORDS, inputs_in_suite=60),
    Target(
        name="saml_metadata",
        run=lambda data: len(repr(read_metadata(data))),
        seeds=(_METADATA % _CERTIFICATE,),
        errors=(BadRequest,),
        words=_WORDS,
    ),
    Target(
        name="saml_authorization",
        run=lambda data: len(repr(parse_statements(data))),
        seeds=(_DECISION,),
        errors=(UpstreamFailure,),
        words=_WORDS,
    ),
    Target(
        name="embeddings",
        run=lambda data: read_answer(data, 2).size,
        seeds=(
            b'{"object": "list", "data": [{"index": 1, "embedding": [0.5, -1e-3]}, {"index": 0, "embedding": [1, 2]}], "model": "m"}',
            b'{"data": [{"embedding": [1]}, {"embedding": [2]}]}',
        ),
        errors=(ValueError,),
        words=(
            b"NaN",
            b"Infinity",
            b"1e999",
            b"null",
            b"true",
            b"[[",
            b"]",
            b'"index": ',
            b'"embedding": ',
            b"9" * 5_000,
            b"{}",
            b"[" * 2_000,
        ),
    ),
    Target(
        name="user_tokens",
        run=lambda data: sum(map(len, parse_user_tokens(data))),
        seeds=(b"<?xml version='1.0'?><groupsforuser><token>uid=ann,o=org</token><token>a&amp;b</token></groupsforuser>",),
        errors=(UpstreamFailure,),
        words=(b"<token>", b"</token>", b"<w:acl>", b"<!DOCTYPE x>", b"<html", b"&amp;"),
    ),
    Target(
        name="connector_authorization",
        run=lambda data: len(repr(parse_answers(data))),
        seeds=(_CONNECTOR,),
        errors=(UpstreamFailure,),
        words=_WORDS,
    ),
)
