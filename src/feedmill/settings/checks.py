"""Checks that involve more than one value: certificates with their keys, listeners on the same port, duplicate names.

Each check yields faults as (path of the key, reason).
"""

import ssl
from collections import Counter
from collections.abc import Iterator
from os.path import isfile
from pathlib import Path

from feedmill.ports.branding import MAX_BRANDING_BYTES
from feedmill.settings.authorizationchecks import check_authorization
from feedmill.settings.crawling import check_crawl
from feedmill.settings.dataload import check_dataload
from feedmill.settings.faults import suggest
from feedmill.settings.keypaths import Fault, KeyPath
from feedmill.settings.policyacls import check_policies
from feedmill.settings.pulling import check_sources
from feedmill.settings.sections import Settings
from feedmill.settings.semantic import check_semantic
from feedmill.settings.servingsections import FrontEndSettings
from feedmill.settings.signinchecks import check_providers
from feedmill.wire.images import find_image_type


def check_settings(settings: Settings) -> Iterator[Fault]:
    """Yields faults between keys, and of the files that they name."""
    yield from _check_certificate("gate", settings.gate.certificate, settings.gate.key)
    yield from _check_certificate("search", settings.search.certificate, settings.search.key)
    yield from _check_certificate("admin", settings.admin.certificate, settings.admin.key)
    yield from _check_ports(settings)
    yield from _check_names("datasources", [source.name for source in settings.datasources])
    yield from check_serving(settings)
    yield from check_providers(settings.signin)
    yield from _check_names("sources", [source.name for source in settings.sources])
    yield from check_dataload(settings.dataload)
    yield from check_sources(settings.sources)
    yield from check_crawl(settings.crawl)
    yield from check_semantic(settings.semantic)
    yield from check_authorization(settings.authorization, settings.mechanisms)


def check_serving(settings: Settings) -> Iterator[Fault]:
    """Yields faults between entries of the sections that the API can also set, and of the files that they name."""
    yield from _check_names("collections", [collection.name for collection in settings.collections])
    yield from _check_names("frontends", [frontend.name for frontend in settings.frontends])
    for place, frontend in enumerate(settings.frontends):
        if frontend.stylesheet and not isfile(frontend.stylesheet):
            yield ("frontends", place, "stylesheet"), f"there is no file '{frontend.stylesheet}'"
        yield from _check_branding(place, frontend)
    yield from _check_names("biases", [bias.name for bias in settings.biases])
    yield from _check_names("synonyms", [entry.name for entry in settings.synonyms])
    yield from _check_biases(settings)
    yield from _check_names("policy_acls", [policy.name for policy in settings.policy_acls])
    yield from check_policies(settings.policy_acls)


def _check_branding(place: int, frontend: FrontEndSettings) -> Iterator[Fault]:
    for key, path in (("logo", frontend.logo), ("css", frontend.css)):
        reason = _find_file_fault(path, is_image=key == "logo") if path else ""
        if reason:
            yield ("frontends", place, key), reason


def _find_file_fault(path: str, *, is_image: bool) -> str:
    """Returns why a file cannot be sent to browsers, "" if it can be."""
    if not isfile(path):
        return f"there is no file '{path}'"
    try:
        data = Path(path).read_bytes()[: MAX_BRANDING_BYTES + 1]
    except OSError as exc:
        return f"the file '{path}' cannot be read: {exc.strerror}"
    if len(data) > MAX_BRANDING_BYTES:
        return f"the file '{path}' has more than {MAX_BRANDING_BYTES} bytes"
    return f"the file '{path}' is no PNG, JPEG, GIF, WebP or SVG image" if is_image and find_image_type(data) is None else ""


def _check_biases(settings: Settings) -> Iterator[Fault]:
    names = {bias.name for bias in settings.biases}
    for place, frontend in enumerate(settings.frontends):
        if frontend.bias and frontend.bias not in names:
            yield ("frontends", place, "bias"), f"there is no bias '{frontend.bias}'{suggest(frontend.bias, names)}"


def _check_certificate(section: str, certificate: str, key: str) -> Iterator[Fault]:
    if not certificate and not key:
        return
    if not key:
        yield (section, "certificate"), f"a certificate without its key; give {section}.key too"
        return
    if not certificate:
        yield (section, "key"), f"a key without its certificate; give {section}.certificate too"
        return
    missing = [(name, path) for name, path in (("certificate", certificate), ("key", key)) if not Path(path).is_file()]
    for name, path in missing:
        yield (section, name), f"there is no file '{path}'"
    if not missing:
        yield from _load_certificate(section, certificate, key)


def _load_certificate(section: str, certificate: str, key: str) -> Iterator[Fault]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key, password=lambda: "")
    except ssl.SSLError as exc:
        yield (
            (section, "certificate"),
            f"certificate and key do not serve together, or the key has a password ({exc.reason or 'not PEM'})",
        )
    except OSError as exc:
        yield (section, "certificate"), f"certificate or key cannot be read: {exc.strerror}"


def _check_ports(settings: Settings) -> Iterator[Fault]:
    listeners: list[tuple[KeyPath, str, int]] = [
        (("gate", "port"), settings.gate.bind, settings.gate.port),
        (("dtd", "port"), settings.dtd.bind, settings.dtd.port),
        (("search", "port"), settings.search.bind, settings.search.port),
        (("admin", "port"), settings.admin.bind, settings.admin.port),
    ]
    if settings.gate.certificate:
        listeners.insert(1, (("gate", "tls_port"), settings.gate.bind, settings.gate.tls_port))
    for place, (path, bind, port) in enumerate(listeners):
        for other_path, other_bind, other_port in listeners[:place]:
            if port and port == other_port and _overlap(bind, other_bind):
                yield path, f"port {port} is that of {'.'.join(map(str, other_path))} already"


def _overlap(bind: str, other: str) -> bool:
    return bind == other or "0.0.0.0" in (bind, other) or "::" in (bind, other)  # noqa: S104 - compared, not bound


def _check_names(section: str, names: list[str]) -> Iterator[Fault]:
    counts = Counter(names)
    for place, name in enumerate(names):
        if name and counts[name] > 1 and name in names[:place]:
            yield (section, place, "name"), f"'{name}' is there already"
