"""Decrypts elements that a provider of SAML encrypted for this server.

Rules:

1. Encryption authenticates nothing: anyone may encrypt for a public key. Signatures are checked as for plain elements.
2. A mode without authentication (CBC) is decrypted only if the signature around it was checked before. Otherwise an attacker with a
   recorded message could send changed ones, and learn their plain text from the responses.
3. RSA-OAEP encrypts the keys. The older RSA 1.5 is refused for the same reason, with or without a signature.
4. The result is one element, parsed with the limits for untrusted XML.

Source: XML Encryption 1.1, 5.2 and 5.5; "How To Break XML Encryption" (CCS 2011); SAML 2.0 Core, 2.2.4 and 2.3.4.
"""

import base64
import binascii
from xml.sax.saxutils import quoteattr

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, OAEP
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from lxml import etree

from feedmill.adapters.identity.saml.metadata import ASSERTION, ENCRYPTION, ENCRYPTION_11, NAMES, SIGNATURE, parse_xml
from feedmill.model.errors import BadRequest, Denied

MAX_KEYS = 8
_BLOCK = 16
_GCM = {f"{ENCRYPTION_11}aes{bits}-gcm": bits // 8 for bits in (128, 192, 256)}
_CBC = {f"{ENCRYPTION}aes{bits}-cbc": bits // 8 for bits in (128, 192, 256)}
_OAEP = (f"{ENCRYPTION}rsa-oaep-mgf1p", f"{ENCRYPTION_11}rsa-oaep")
# SHA-1 is safe here: OAEP needs no property of its hash that SHA-1 lacks, and providers use no other by default
_DIGESTS: dict[str, type[hashes.HashAlgorithm]] = {
    f"{SIGNATURE}sha1": hashes.SHA1,
    f"{ENCRYPTION}sha256": hashes.SHA256,
    "http://www.w3.org/2001/04/xmldsig-more#sha384": hashes.SHA384,
    f"{ENCRYPTION}sha512": hashes.SHA512,
}
_MASKS: dict[str, type[hashes.HashAlgorithm]] = {
    f"{ENCRYPTION_11}mgf1sha1": hashes.SHA1,
    f"{ENCRYPTION_11}mgf1sha256": hashes.SHA256,
    f"{ENCRYPTION_11}mgf1sha384": hashes.SHA384,
    f"{ENCRYPTION_11}mgf1sha512": hashes.SHA512,
}


def decrypt_element(holder: etree._Element, key: RSAPrivateKey, *, is_signed: bool) -> etree._Element:
    """Returns the decrypted element of a holder. Shape: ``is_signed``: a signature over the holder was checked. Errors: Denied."""
    data = holder.find("e:EncryptedData", NAMES)
    if data is None:
        raise Denied(f"{etree.QName(holder).localname} holds nothing that is encrypted")
    method = _algorithm(data)
    if method not in _GCM and method not in _CBC:
        raise Denied(f"what is encrypted is by {method[:100]!a}, which is not taken; let the provider use AES-GCM")
    if method in _CBC and not is_signed:
        raise Denied("what is encrypted is by AES-CBC and nothing around it is signed; let the provider sign the response, or use AES-GCM")
    secret = _find_secret(holder, data, key, (_GCM | _CBC)[method])
    text = _decrypt_value(secret, _value(data), is_gcm=method in _GCM)
    return _parse_element(text, holder)


def find_name(holder: etree._Element, key: RSAPrivateKey) -> etree._Element | None:
    """Returns the name in a part of a message whose signature was checked, encrypted or not. Errors: Denied."""
    hidden = holder.find("a:EncryptedID", NAMES)
    if hidden is None:
        return holder.find("a:NameID", NAMES)
    opened = decrypt_element(hidden, key, is_signed=True)
    return opened if opened.tag == f"{{{ASSERTION}}}NameID" else None


def _find_secret(holder: etree._Element, data: etree._Element, key: RSAPrivateKey, length: int) -> bytes:
    """Returns the secret in the first of the keys that this server's private key decrypts."""
    keys = [*data.findall("d:KeyInfo/e:EncryptedKey", NAMES), *holder.findall("e:EncryptedKey", NAMES)]
    if not keys:
        raise Denied("what is encrypted comes without its key")
    refused: list[str] = []
    # Each attempt costs a private key operation, so a message must not make this server try thousands.
    for each in keys[:MAX_KEYS]:
        method = _algorithm(each)
        if method not in _OAEP:
            refused.append(f"its key is by {method[:100]!a}, which is not taken; let the provider use RSA-OAEP")
            continue
        try:
            secret = key.decrypt(_value(each), _padding_of(each))
        except ValueError:
            refused.append("its key is not for the certificate of this server; give the provider our metadata again")
            continue
        if len(secret) == length:
            return secret
        refused.append("its key has another length than its algorithm")
    raise Denied(f"what is encrypted cannot be opened: {refused[0]}")


def _padding_of(held: etree._Element) -> OAEP:
    method = held.find("e:EncryptionMethod", NAMES)
    digest = method.find("d:DigestMethod", NAMES) if method is not None else None
    mask = method.find("f:MGF", NAMES) if method is not None else None
    label = method.findtext("e:OAEPparams", None, NAMES) if method is not None else None
    hashed = _choose(_DIGESTS, digest)
    masked = _choose(_MASKS, mask)
    return OAEP(mgf=MGF1(masked()), algorithm=hashed(), label=_decode(label) if label else None)


def _choose(known: dict[str, type[hashes.HashAlgorithm]], element: etree._Element | None) -> type[hashes.HashAlgorithm]:
    name = element.get("Algorithm", "") if element is not None else next(iter(known))
    if name not in known:
        raise Denied(f"what is encrypted cannot be opened: {name[:100]!a} is not taken")
    return known[name]


def _decrypt_value(secret: bytes, value: bytes, *, is_gcm: bool) -> bytes:
    try:
        if is_gcm:
            # 12 bytes of nonce before the text; the tag is behind it, where the library expects it.
            return AESGCM(secret).decrypt(value[:12], value[12:], None)
        start, rest = value[:_BLOCK], value[_BLOCK:]
        opener = Cipher(AES(secret), CBC(start)).decryptor()
        padded = opener.update(rest) + opener.finalize()
    except (ValueError, InvalidTag) as exc:
        raise Denied("what is encrypted cannot be opened: it was changed, or cut short") from exc
    # XML Encryption sets only the last byte of the padding, its length; the others may be anything.
    if not padded or not 1 <= padded[-1] <= _BLOCK:
        raise Denied("what is encrypted cannot be opened: it was changed, or cut short")
    return padded[: -padded[-1]]


def _parse_element(text: bytes, holder: etree._Element) -> etree._Element:
    """Parses the element, with the namespace prefixes of its original place."""
    # The text may use prefixes that were declared outside of what was encrypted.
    names = [(f"xmlns:{prefix}" if prefix else "xmlns", uri) for prefix, uri in holder.nsmap.items() if prefix != "xml"]
    start = "".join(f" {name}={quoteattr(uri)}" for name, uri in names)
    try:
        children = list(parse_xml(f"<opened{start}>".encode() + text + b"</opened>"))
    except BadRequest as exc:
        raise Denied(f"what was encrypted is no element: {exc}") from exc
    if len(children) != 1:
        raise Denied("what was encrypted is not one element")
    return children[0]


def _algorithm(element: etree._Element) -> str:
    method = element.find("e:EncryptionMethod", NAMES)
    return method.get("Algorithm", "") if method is not None else ""


def _value(element: etree._Element) -> bytes:
    return _decode(element.findtext("e:CipherData/e:CipherValue", "", NAMES))


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as exc:
        raise Denied("what is encrypted cannot be opened: it is no base64") from exc
