"""An adaptor that serves documents to a crawler, with the headers of Google's library, and decides who may see them.

Source: googlegsa/library, ``DocumentHandler.java`` and ``Acl.java``.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote

from feedmill.conformance.counterparts import decisions
from feedmill.conformance.counterparts.script import AclEntry, AdaptorAcl, AdaptorDocument, AdaptorScript
from feedmill.conformance.counterparts.server import Answer, Request

PREFIX: Final = "/doc/"
_PLAIN: Final = (("Content-Type", "text/plain"),)
_NOT_FOUND: Final = Answer(status=404, headers=_PLAIN, body=b"Error 404: Not Found")
_ORDER: Final = (("permit", "group"), ("deny", "group"), ("permit", "user"), ("deny", "user"))


class Adaptor:
    """Implements ``Counterpart``."""

    server_header = "Adaptor"

    def __init__(self, script: AdaptorScript, folder: Path) -> None:
        self._script = script
        self._folder = folder
        self._documents = {document.id: document for document in script.documents}

    def answer(self, request: Request) -> Answer:
        """Returns the answer of an adaptor."""
        if request.path.startswith(decisions.PATH):
            return self._decide(request) if request.path == decisions.PATH else _NOT_FOUND
        if request.method not in ("GET", "HEAD"):
            return Answer(status=405, headers=_PLAIN, body=b"Unsupported request method")
        # the library takes this name for an authorization probe
        if request.headers.get("user-agent") == "SecMgr":
            return Answer(status=403, headers=_PLAIN, body=b"Error 403: Forbidden")
        document = self._documents.get(unquote(request.path.removeprefix(PREFIX))) if request.path.startswith(PREFIX) else None
        if document is None:
            return _NOT_FOUND
        headers = tuple(iter_headers(document)) if self._script.trusted else ()
        if _is_unchanged(document, request.headers.get("if-modified-since", "")):
            if document.skip_content and self._script.trusted:
                return Answer(status=204, headers=(*headers, ("X-Gsa-Skip-Updating-Content", "true")))
            return Answer(status=304)
        body = (self._folder / document.file).read_bytes() if document.file else document.content.encode()
        modified = (("Last-Modified", _format(document.last_modified)),) if document.last_modified else ()
        return Answer(headers=(*headers, *modified, ("Content-Type", document.mimetype)), body=body)

    def _decide(self, request: Request) -> Answer:
        if request.method != "POST":
            return Answer(status=405, headers=_PLAIN, body=b"Unsupported request method")
        decided = {(each.user, PREFIX + quote(each.id, safe="/")): each.decision for each in self._script.decisions}
        return decisions.answer_queries(request.body, request.headers.get("host", ""), decided)


def iter_headers(document: AdaptorDocument) -> Iterator[tuple[str, str]]:
    """Yields the X-Gsa headers of a document, in the odd letter case in which Java's server writes them."""
    pairs = [(name, value) for name, values in document.metadata.items() for value in ([values] if isinstance(values, str) else values)]
    yield "X-gsa-external-metadata", ",".join(f"{_encode(name)}={_encode(value)}" for name, value in pairs)
    for name, value in _iter_controls(document):
        yield "X-gsa-doc-controls", f"{name}={value}"
    yield "X-gsa-serve-security", "secure" if document.secure or document.acl is not None else "public"
    if document.anchors:
        yield (
            "X-gsa-external-anchor",
            ",".join(f"{_encode(text)}={_encode(url)}" if text else _encode(url) for text, url in document.anchors),
        )
    for word in document.robots:
        yield "X-robots-tag", word


def _iter_controls(document: AdaptorDocument) -> Iterator[tuple[str, str]]:
    yield "acl", _encode(_render_acl(document.acl)) if document.acl is not None else ""
    if document.display_url:
        yield "display_url", _encode(document.display_url)
    for name, value in (("crawl_once", document.crawl_once), ("lock", document.lock)):
        if value is not None:
            yield name, "true" if value else "false"
    yield "scoring", "content"


def _render_acl(acl: AdaptorAcl) -> str:
    # The library never sends an ACL without entries: it could be read as none.
    given = acl.entries or ([] if acl.inherit_from else [AclEntry(name="google:fakeUserToPreventMissingAcl", access="deny")])
    value: dict[str, Any] = {}
    entries = [_render_entry(entry) for access, scope in _ORDER for entry in given if (entry.access, entry.scope) == (access, scope)]
    if entries:
        value["entries"] = entries
    if acl.inherit_from:
        value["inherit_from"] = acl.inherit_from
    if acl.inheritance_type:
        value["inheritance_type"] = acl.inheritance_type
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("/", "\\/")


def _render_entry(entry: AclEntry) -> dict[str, str]:
    value = {"access": entry.access, "name": entry.name, "scope": entry.scope}
    if entry.namespace:
        value["namespace"] = entry.namespace
    if not entry.case_sensitive:
        value["case_sensitivity_type"] = "everything_case_insensitive"
    return dict(sorted(value.items()))


def _encode(text: str) -> str:
    return quote(text, safe="-_.~")


def _is_unchanged(document: AdaptorDocument, since: str) -> bool:
    """Whether a document has not changed since a time; only whole seconds count."""
    if not since or document.last_modified is None:
        return False
    try:
        moment = parsedate_to_datetime(since)
    except ValueError:
        return False
    return int(_in_utc(document.last_modified).timestamp()) <= int(_in_utc(moment).timestamp())


def _in_utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _format(moment: datetime) -> str:
    return format_datetime(_in_utc(moment).astimezone(UTC), usegmt=True)
