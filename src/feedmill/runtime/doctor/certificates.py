"""Checks the certificates that the settings name: readable, with the right key, valid now and for a while."""

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from pydantic import BaseModel

from feedmill.runtime.doctor.findings import Finding, State
from feedmill.settings import Settings, dotted

SOON: Final = timedelta(days=30)


def check_certificates(settings: Settings) -> Iterator[Finding]:
    """Checks each certificate of the ports, and of the tables for other servers."""
    for name, certificate, key in _find_pairs(settings, ""):
        yield _check_pair(f"{name} '{certificate}'", certificate, key)


def _find_pairs(model: BaseModel, name: str) -> Iterator[tuple[str, str, str]]:
    """Yields the name of each table with a certificate, the certificate, and the key, "" if it is in the same file."""
    certificate = getattr(model, "certificate", "")
    if certificate:
        yield f"{name}certificate", certificate, getattr(model, "key", "")
    for key in type(model).model_fields:
        value = getattr(model, key)
        if isinstance(value, BaseModel):
            yield from _find_pairs(value, f"{name}{key}.")
        for place, entry in enumerate(value if isinstance(value, tuple) else ()):
            if isinstance(entry, BaseModel):
                yield from _find_pairs(entry, f"{name}{dotted((key, place))}.")


def _check_pair(what: str, certificate: str, key: str) -> Finding:
    try:
        # without a password for the key the library would ask at the terminal
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key or None, password=lambda: "")
        chain = x509.load_pem_x509_certificates(Path(certificate).read_bytes())
    except ssl.SSLError as exc:
        text = f"{what} and its key do not serve together, or the key has a password ({exc.reason or 'not PEM'})"
        return Finding("certificate", State.FAULT, f"{text}; name the key of this certificate")
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else exc
        return Finding("certificate", State.FAULT, f"{what} or its key cannot be read: {reason}; give the user of the server the right to")
    now = datetime.now(UTC)
    begin, end = max(one.not_valid_before_utc for one in chain), min(one.not_valid_after_utc for one in chain)
    if end <= now:
        return Finding("certificate", State.FAULT, f"{what} has expired on {end:%Y-%m-%d}; get a new one, and send the server SIGHUP")
    if begin > now:
        return Finding("certificate", State.FAULT, f"{what} is not valid before {begin:%Y-%m-%d}; check the clock, or get another one")
    left = f"{what} is valid for {(end - now).days} more days"
    if end - now < SOON:
        return Finding("certificate", State.WARNING, f"{left}, until {end:%Y-%m-%d}; get a new one, and send the server SIGHUP")
    return Finding("certificate", State.OK, left)
