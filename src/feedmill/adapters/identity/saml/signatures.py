"""Signatures of SAML: verifies those of a provider, with the keys of its metadata alone, and signs this server's requests.

There are two kinds: within the XML (posted messages), and over the query of an address (messages by redirect). A certificate of the
metadata stands for the key in it, as long as the metadata contains it; its own date of expiry does not count.
Source: SAML 2.0 Core, 5.4; SAML 2.0 Bindings, 3.4.4.1; SAML 2.0 Metadata Interoperability Profile, 2.5 and 2.6.1.
"""

import base64
import binascii
import zlib
from collections.abc import Sequence
from datetime import datetime
from typing import TypeAlias
from urllib.parse import quote, unquote_plus

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from lxml import etree
from signxml.algorithms import CanonicalizationMethod, DigestAlgorithm, SignatureConstructionMethod, SignatureMethod
from signxml.exceptions import SignXMLException
from signxml.signer import XMLSigner
from signxml.verifier import SignatureConfiguration, XMLVerifier

from feedmill.adapters.identity.saml.keys import ServerKey
from feedmill.model.errors import Denied

MAX_MESSAGE_BYTES = 200_000
_MORE = "http://www.w3.org/2001/04/xmldsig-more#"
_Hashes: TypeAlias = dict[str, type[hashes.SHA256 | hashes.SHA384 | hashes.SHA512]]
_RSA: _Hashes = {
    f"{_MORE}rsa-sha256": hashes.SHA256,
    f"{_MORE}rsa-sha384": hashes.SHA384,
    f"{_MORE}rsa-sha512": hashes.SHA512,
}
_EC: _Hashes = {
    f"{_MORE}ecdsa-sha256": hashes.SHA256,
    f"{_MORE}ecdsa-sha384": hashes.SHA384,
    f"{_MORE}ecdsa-sha512": hashes.SHA512,
}
_OURS = f"{_MORE}rsa-sha256"
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


def verify_element(element: etree._Element, certificates: Sequence[str], location: str = "./") -> etree._Element:
    """Returns the element that a signature within it covers, parsed again from the signed bytes. Errors: Denied."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    reason: Exception | None = None
    for certificate in certificates:
        known = x509.load_pem_x509_certificate(certificate.encode())
        # The time of verification is the end of the certificate's validity, so that its date of expiry does not count.
        config = _configure(location, known.not_valid_after_utc)
        try:
            verified = XMLVerifier().verify(
                etree.tostring(element), x509_cert=known, id_attribute="ID", expect_config=config, parser=parser
            )
        except (SignXMLException, etree.LxmlError, ValueError, TypeError) as exc:
            reason = exc
            continue
        if not isinstance(verified, list) and verified.signed_xml is not None:
            return verified.signed_xml
    raise Denied(f"no signature of the provider: {str(reason)[:300]}") from reason


def _configure(location: str, verification_time: datetime) -> SignatureConfiguration:
    return SignatureConfiguration(
        location=location,
        expect_references=1,
        signature_methods=_SIGNATURES,
        digest_algorithms=_DIGESTS,
        ignore_ambiguous_key_info=True,
        verification_time=verification_time,
    )


def sign_element(element: etree._Element, key: ServerKey) -> etree._Element:
    """Returns a message with this server's signature, behind its issuer as the schema requires."""
    signer = XMLSigner(
        method=SignatureConstructionMethod.enveloped,
        signature_algorithm=SignatureMethod.RSA_SHA256,
        digest_algorithm=DigestAlgorithm.SHA256,
        c14n_algorithm=CanonicalizationMethod.EXCLUSIVE_XML_CANONICALIZATION_1_0,
    )
    place = etree.SubElement(element, "{http://www.w3.org/2000/09/xmldsig#}Signature", {"Id": "placeholder"})
    # The signer replaces the placeholder. The schema requires the signature directly behind the issuer.
    element.insert(1, place)
    return signer.sign(element, key=key.private, cert=key.certificate, reference_uri=element.get("ID"), id_attribute="ID")


def write_query(name: str, message: etree._Element, key: ServerKey, relay_state: str = "") -> str:
    """Returns a message as the query of an address, signed."""
    # Raw deflate, without a header (SAML 2.0 Bindings, 3.4.4.1).
    deflate = zlib.compressobj(wbits=-15)
    packed = deflate.compress(etree.tostring(message)) + deflate.flush()
    pairs = [(name, base64.b64encode(packed).decode()), *([("RelayState", relay_state)] if relay_state else []), ("SigAlg", _OURS)]
    signed = "&".join(f"{each}={quote(value, safe='')}" for each, value in pairs)
    signature = key.private.sign(signed.encode(), PKCS1v15(), hashes.SHA256())
    return f"{signed}&Signature={quote(base64.b64encode(signature).decode(), safe='')}"


def read_query(query: str, name: str, certificates: Sequence[str]) -> bytes:
    """Returns the XML in the query of an address, if a provider's key signed it. Shape: as it was sent. Errors: Denied."""
    parts: dict[str, str] = {}
    for part in query.split("&"):
        key, _, value = part.partition("=")
        # Otherwise one value would be verified and the other one read.
        if key in parts:
            raise Denied(f"the address holds {key[:50]!a} twice")
        parts[key] = value
    # In the order of the specification and as received: decoding and encoding again could give other bytes than those that were signed.
    signed = "&".join(f"{each}={parts[each]}" for each in (name, "RelayState", "SigAlg") if each in parts)
    if not _is_signed(signed.encode("utf-8", "replace"), parts, certificates):
        raise Denied("no signature of the provider is on the address")
    return inflate(_decode(parts.get(name, "")))


def inflate(packed: bytes) -> bytes:
    """Returns the XML of a message by redirect. Errors: Denied."""
    opener = zlib.decompressobj(wbits=-15)
    try:
        text = opener.decompress(packed, MAX_MESSAGE_BYTES)
    except zlib.error as exc:
        raise Denied("the message is not packed as it should be") from exc
    if opener.unconsumed_tail or not opener.eof:
        raise Denied(f"the message has more than {MAX_MESSAGE_BYTES} bytes, or was cut short")
    return text


def _is_signed(signed: bytes, parts: dict[str, str], certificates: Sequence[str]) -> bool:
    algorithm, signature = unquote_plus(parts.get("SigAlg", "")), _decode(parts.get("Signature", ""))
    for certificate in certificates:
        key = x509.load_pem_x509_certificate(certificate.encode()).public_key()
        try:
            if isinstance(key, rsa.RSAPublicKey) and algorithm in _RSA:
                key.verify(signature, signed, PKCS1v15(), _RSA[algorithm]())
            elif isinstance(key, ec.EllipticCurvePublicKey) and algorithm in _EC:
                key.verify(signature, signed, ec.ECDSA(_EC[algorithm]()))
            else:
                continue
        except InvalidSignature:
            continue
        return True
    return False


def _decode(text: str) -> bytes:
    try:
        # A plus of base64 that was not escaped is a blank after decoding.
        return base64.b64decode(unquote_plus(text).replace(" ", "+"), validate=False)
    except (binascii.Error, ValueError) as exc:
        raise Denied("the address holds what is no base64") from exc
