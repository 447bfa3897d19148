"""Reads JSON lines: each line is an object with the members of the JSON resource of documents.

These are ``url``, ``content`` or ``content_base64``, ``mimetype``, ``title``, ``display_url``, ``last_modified``, ``metadata``, ``acl``,
``pagerank`` and ``action``.
"""

import base64
import json
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Final

from feedmill.model.errors import BadRequest
from feedmill.wire.recordsources.record import MAX_RECORD_BYTES, ReadRecord, SkippedRecord, SourceRecord, put_title
from feedmill_client import feedxml

_TEXTS: Final = ("content", "content_base64", "mimetype", "title", "display_url", "last_modified", "action")
_KNOWN: Final = frozenset({"url", "metadata", "acl", "pagerank", *_TEXTS})


class _Unreadable(Exception):
    """A member that cannot be used."""


def iter_objects(stream: BinaryIO, base_url: str) -> Iterator[ReadRecord]:
    """Yields the documents of a stream of lines. Errors: BadRequest for UTF-16."""
    number, is_rest = 0, False
    while line := stream.readline(2 * MAX_RECORD_BYTES):
        # a line beyond the limit arrives in pieces, which all belong to one document
        was_rest, is_rest = is_rest, not line.endswith(b"\n") and len(line) == 2 * MAX_RECORD_BYTES
        number += not was_rest
        if number == 1 and line.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            raise BadRequest("line 1: this is UTF-16; JSON lines are UTF-8")
        if was_rest or not line.strip():
            continue
        if is_rest:
            yield SkippedRecord(place=f"line {number}", reason=f"the line has more than {2 * MAX_RECORD_BYTES} bytes")
            continue
        try:
            yield _make_record(json.loads(line.rstrip()), base_url)
        except json.JSONDecodeError as exc:
            yield SkippedRecord(place=f"line {number}, column {exc.colno}", reason=f"this is no JSON: {exc.msg}")
        except (UnicodeDecodeError, RecursionError):
            yield SkippedRecord(place=f"line {number}", reason="this is no JSON in UTF-8")
        except _Unreadable as exc:
            yield SkippedRecord(place=f"line {number}", reason=str(exc))


def _make_record(value: Any, base_url: str) -> SourceRecord:
    if not isinstance(value, dict):
        raise _Unreadable("this is no object")
    unknown = sorted(set(value) - _KNOWN)
    if unknown:
        raise _Unreadable(f"the member '{unknown[0]}' is unknown")
    texts = {name: _read_text(value, name) for name in ("url", *_TEXTS)}
    if not texts["url"].strip():
        raise _Unreadable("the url is missing or empty")
    pagerank, action = value.get("pagerank"), texts["action"] or "add"
    if action not in ("add", "delete"):
        raise _Unreadable(f"the action '{action}' is neither add nor delete")
    if pagerank is not None and (isinstance(pagerank, bool) or not isinstance(pagerank, int)):
        raise _Unreadable("pagerank is no whole number")
    attributes = {
        "displayurl": texts["display_url"],
        "last-modified": texts["last_modified"],
        "pagerank": "" if pagerank is None else str(pagerank),
        "action": "delete" if action == "delete" else "",
    }
    content, mimetype = (None, "text/plain") if action == "delete" else _read_content(value, texts)
    return SourceRecord(
        url=base_url + texts["url"].strip(),
        content=content,
        mimetype=mimetype,
        attributes=attributes,
        metadata=tuple(_iter_metadata(value.get("metadata"))),
        acl=_render_acl(value.get("acl")),
    )


def _read_text(value: Mapping[str, Any], name: str) -> str:
    text = value.get(name)
    if text is None:
        return ""
    if not isinstance(text, str):
        raise _Unreadable(f"{name} is no text")
    return text


def _read_content(value: Mapping[str, Any], texts: Mapping[str, str]) -> tuple[bytes | None, str]:
    has_text, has_bytes = value.get("content") is not None, value.get("content_base64") is not None
    if has_text and has_bytes:
        raise _Unreadable("there are both content and content_base64")
    if has_bytes:
        try:
            data = base64.b64decode(texts["content_base64"], validate=True)
        except ValueError as exc:
            raise _Unreadable("content_base64 is no base64") from exc
        return put_title(texts["title"], data, texts["mimetype"] or "application/octet-stream")
    mimetype = texts["mimetype"] or "text/plain"
    if not has_text and not (texts["title"] and mimetype == "text/plain"):
        return None, mimetype
    return put_title(texts["title"], texts["content"].encode("utf-8", "replace"), mimetype)


def _iter_metadata(metadata: Any) -> Iterator[tuple[str, str]]:
    if metadata is None:
        return
    if not isinstance(metadata, dict):
        raise _Unreadable("metadata is no object")
    for name, values in metadata.items():
        for value in values if isinstance(values, list) else [values]:
            if not isinstance(value, str):
                raise _Unreadable(f"a value of the metadata '{name}' is no text")
            yield name, value


def _render_acl(acl: Any) -> str:
    if acl is None:
        return ""
    principals = acl.get("principals", []) if isinstance(acl, dict) else None
    if not isinstance(principals, list) or not all(isinstance(each, dict) and isinstance(each.get("name"), str) for each in principals):
        raise _Unreadable("acl is no object with principals that have names")
    rendered = [
        feedxml.render_principal(
            each["name"],
            namespace=str(each.get("namespace") or "Default"),
            case_sensitive=each.get("case_sensitive", True) is not False,
            scope=_read_word(each, "scope", ("user", "group")),
            access=_read_word(each, "access", ("permit", "deny")),
        )
        for each in principals
    ]
    inherit_from, kind = _read_text(acl, "inherit_from"), _read_text(acl, "inheritance_type")
    return feedxml.render_acl(rendered, inherit_from=inherit_from, inheritance_type=kind)


def _read_word(principal: Mapping[str, Any], name: str, known: tuple[str, str]) -> str:
    word = principal.get(name, known[0])
    if word not in known:
        raise _Unreadable(f"the {name} of a principal is neither {known[0]} nor {known[1]}")
    return str(word)
