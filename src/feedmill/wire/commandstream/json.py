"""Writes what the readers of command streams return as JSON, and reads streams from JSON lines, for ``feedmill adaptor parse``."""

import base64
import binascii
from typing import Any, NamedTuple

from feedmill.model.decision import Verdict
from feedmill.model.errors import BadRequest
from feedmill.wire.commandstream.schema import ListedDocument, Remark, RetrievedAcl, RetrievedDocument, StreamKind
from feedmill.wire.jsonline import parse_object


class BatchedStream(NamedTuple):
    """A stream of a batch. ``id`` is the document that a retriever was called for, None for any."""

    kind: StreamKind
    id: str | None
    stream: bytes


def parse_batched(line: str) -> BatchedStream:
    """Returns the stream of one line. Errors: BadRequest, with the fault."""
    given = parse_object(line, '{"kind": "lister", "id": null, "stream": "R1NB..."}')
    kinds = {kind.value: kind for kind in StreamKind}
    kind, requested_id, stream = (given.get(name) for name in ("kind", "id", "stream"))
    if not isinstance(kind, str) or kind not in kinds:
        raise BadRequest(f"'kind' is none of {', '.join(kinds)}")
    if requested_id is not None and not isinstance(requested_id, str):
        raise BadRequest("'id' is no text")
    if not isinstance(stream, str):
        raise BadRequest("'stream' is no text")
    try:
        return BatchedStream(kinds[kind], requested_id, base64.b64decode(stream, validate=True))
    except (binascii.Error, ValueError) as exc:
        raise BadRequest(f"'stream' is no Base64: {exc}") from exc


def render_listed(document: ListedDocument) -> dict[str, Any]:
    """Returns one document of a listing."""
    return document._asdict()


def render_retrieved(document: RetrievedDocument, content: bytes | None) -> dict[str, Any]:
    """Returns a retrieved document, with its content in Base64."""
    return {
        "id": document.id,
        "up_to_date": document.up_to_date,
        "not_found": document.not_found,
        "last_modified": document.last_modified,
        "mime_type": document.mime_type,
        "display_url": document.display_url,
        "secure": document.secure,
        "no_index": document.no_index,
        "no_follow": document.no_follow,
        "no_archive": document.no_archive,
        "crawl_once": document.crawl_once,
        "lock": document.lock,
        "metadata": document.metadata,
        "params": document.params,
        "anchors": document.anchors,
        "acl": None if document.acl is None else _render_acl(document.acl),
        "content": None if content is None else base64.b64encode(content).decode(),
    }


def _render_acl(acl: RetrievedAcl) -> dict[str, Any]:
    return {
        "permit_users": acl.permit_users,
        "deny_users": acl.deny_users,
        "permit_groups": acl.permit_groups,
        "deny_groups": acl.deny_groups,
        "inherit_from": acl.inherit_from,
        "inherit_fragment": acl.inherit_fragment,
        "inheritance_type": acl.inheritance_type.value,
        "case_sensitive": acl.case_sensitive,
    }


def render_decision(document_id: str, verdict: Verdict | None) -> dict[str, Any]:
    """Returns the decision about one document."""
    return {"id": document_id, "status": None if verdict is None else verdict.value}


def render_remark(remark: Remark) -> dict[str, Any]:
    """Returns a remark about something that the library ignores."""
    return {"warning": remark.reason, "offset": remark.offset, "command": remark.command}
