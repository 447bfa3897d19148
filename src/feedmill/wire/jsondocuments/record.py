"""Reads one JSON object as a record of a feed.

Rules:

1. The members are those of the reference. A member that is unknown, given twice or of the wrong type makes the item an error, and the
   message names the member. ``null`` counts as an absent member.
2. ``content`` is text, ``content_base64`` bytes; an item has at most one of them.
3. A number or a switch among the values of ``metadata`` is stored as JSON writes it.
4. An ``acl`` that cannot be read makes the item an error: an ACL is never stored in part.
Source: docs/reference/feed-port.md, "Documents as JSON"; RFC 8259.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from feedmill.core.text.dates import parse_date
from feedmill.core.urls.validation import MAX_URL_CHARACTERS
from feedmill.model.access import InheritanceType
from feedmill.model.change import Content
from feedmill.wire.gsafeed.attributes import PAGERANKS
from feedmill.wire.gsafeed.content import ContentWriter, Spool
from feedmill.wire.gsafeed.schema import MAX_META_CHARACTERS, MAX_METAS, MAX_PRINCIPALS, AclElement, Record
from feedmill.wire.jsondocuments.split import Piece
from feedmill.wire.tokens import MAX_NAME_CHARACTERS, Unreadable, read_token, shorten

MAX_TITLE_CHARACTERS: Final = 1_000
MAX_MIMETYPE_CHARACTERS: Final = 255
MAX_DIGITS: Final = 1_000
_SLICE_CHARACTERS: Final = 1_048_576

_MEMBERS: Final = (
    "url",
    "content",
    "content_base64",
    "mimetype",
    "title",
    "display_url",
    "last_modified",
    "metadata",
    "acl",
    "pagerank",
    "action",
)
_ACL_MEMBERS: Final = ("inheritance_type", "inherit_from", "principals")
_PRINCIPAL_MEMBERS: Final = ("scope", "access", "namespace", "name", "case_sensitive")
_ACTIONS: Final = ("add", "delete")
_INSENSITIVE: Final = "everything-case-insensitive"

Members = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class JsonRecord:
    """A record, and the title of the document in its object."""

    record: Record
    title: str | None


def read_object(piece: Piece) -> Members:
    """Returns the members of an item. Errors: Unreadable if it is no JSON object, or a member is given twice."""
    try:
        value = _DECODER.decode(piece.text.decode("utf-8"))
    except UnicodeDecodeError as exc:
        raise Unreadable(f"the item is not UTF-8 at its byte {exc.start}") from exc
    except json.JSONDecodeError as exc:
        raise Unreadable(f"the item {piece.explain(exc)}") from exc
    except RecursionError as exc:
        raise Unreadable("the item is nested too deeply") from exc
    if not isinstance(value, dict):
        raise Unreadable(f"the item is {_name_type(value)} and not an object")
    return value


def find_url(piece: Piece) -> str | None:
    """Returns the URL of an item, None if it has none that can be read."""
    try:
        url = read_object(piece).get("url")
    except Unreadable:
        return None
    text = url.strip() if isinstance(url, str) and _is_text(url) else ""
    return text if 0 < len(text) <= MAX_URL_CHARACTERS else None


def read_record(piece: Piece, spool: Spool, max_inflated_bytes: int) -> JsonRecord:
    """Returns the record of an item. Errors: Unreadable."""
    if piece.fault:
        raise Unreadable(piece.fault)
    members = read_object(piece)
    _check_names(members, _MEMBERS, "")
    attributes = {
        "url": _read_text(members, "url") or "",
        "displayurl": _read_text(members, "display_url", MAX_URL_CHARACTERS) or "",
        "mimetype": _read_text(members, "mimetype", MAX_MIMETYPE_CHARACTERS) or "",
        "last-modified": _read_date(members),
        "pagerank": _read_pagerank(members),
        "action": _read_action(members),
    }
    title = (_read_text(members, "title", MAX_TITLE_CHARACTERS) or "").strip()
    metas, acl = _read_metas(members.get("metadata")), _read_acl(members.get("acl"), piece.line)
    record = Record(
        number=piece.number,
        line=piece.line,
        group={},
        attributes=attributes,
        metas=metas,
        acl=acl,
        content=_read_content(members, spool, max_inflated_bytes),
    )
    return JsonRecord(record, title or None)


def _pair(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Unreadable(f'the member "{shorten(_printable(twice))}" is given twice')
    return members


def _refuse_constant(name: str) -> None:
    raise Unreadable(f"{name} is no JSON value")


def _read_integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise Unreadable(f"a number has more than {MAX_DIGITS} digits; send it as a text")
    return int(text)


def _read_fraction(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise Unreadable(f"the number {shorten(text)} is too large; send it as a text")
    return value


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_pair, parse_constant=_refuse_constant, parse_int=_read_integer, parse_float=_read_fraction
)


def _check_names(members: Members, known: tuple[str, ...], place: str) -> None:
    for name in members:
        if name not in known:
            raise Unreadable(f'the member "{place}{shorten(_printable(name))}" is unknown; known are {", ".join(known)}')


def _read_text(members: Members, name: str, max_characters: int | None = None, place: str = "") -> str | None:
    value = members.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise Unreadable(f'the member "{place}{name}" is {_name_type(value)} and not a text')
    _check_text(value, f'the member "{place}{name}"')
    if max_characters is not None and len(value) > max_characters:
        raise Unreadable(f'the member "{place}{name}" is longer than {max_characters} characters')
    return value


def _read_date(members: Members) -> str:
    text = _read_text(members, "last_modified") or ""
    if text.strip() and parse_date(text) is None:
        raise Unreadable(f'the member "last_modified" is "{shorten(text)}", which is no date; write it as 2024-05-31T12:00:00Z')
    return text


def _read_pagerank(members: Members) -> str:
    value = members.get("pagerank")
    if value is None:
        return ""
    low, high = PAGERANKS
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise Unreadable(f'the member "pagerank" is no whole number from {low} to {high}')
    return str(value)


def _read_action(members: Members) -> str:
    action = _read_text(members, "action")
    if action is not None and action not in _ACTIONS:
        raise Unreadable(f'the member "action" is "{shorten(action)}"; give one of {", ".join(_ACTIONS)}')
    return action or ""


def _read_metas(value: Any) -> tuple[dict[str, str], ...]:
    if value is None:
        return ()
    if not isinstance(value, dict):
        raise Unreadable(f'the member "metadata" is {_name_type(value)} and not an object')
    metas: list[dict[str, str]] = []
    characters = 0
    for name, given in value.items():
        if not _is_text(name) or not 0 < len(name.strip()) <= MAX_NAME_CHARACTERS:
            raise Unreadable(f'a name in "metadata" is empty, unreadable or longer than {MAX_NAME_CHARACTERS} characters')
        for each in given if isinstance(given, list) else [given]:
            text = _read_value(name, each)
            characters += len(name) + len(text)
            if len(metas) >= MAX_METAS or characters > MAX_META_CHARACTERS:
                raise Unreadable(f'"metadata" has more than {MAX_METAS} values or {MAX_META_CHARACTERS} characters')
            metas.append({"name": name, "content": text})
    return tuple(metas)


def _read_value(name: str, value: Any) -> str:
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if not isinstance(value, str):
        raise Unreadable(f'a value of "metadata.{shorten(name)}" is {_name_type(value)} and not a text or a number')
    _check_text(value, f'a value of "metadata.{shorten(name)}"')
    return value


def _read_acl(value: Any, line: int) -> AclElement | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Unreadable(f'the member "acl" is {_name_type(value)} and not an object')
    _check_names(value, _ACL_MEMBERS, "acl.")
    principals = value.get("principals")
    if principals is None:
        principals = []
    if not isinstance(principals, list) or len(principals) > MAX_PRINCIPALS:
        raise Unreadable(f'the member "acl.principals" is no array of at most {MAX_PRINCIPALS} objects')
    attributes = {
        "inheritance-type": _read_inheritance(value),
        "inherit-from": _read_text(value, "inherit_from", place="acl.") or "",
    }
    return AclElement(line=line, attributes=attributes, principals=tuple(_read_principal(each) for each in principals))


def _read_inheritance(acl: Mapping[str, Any]) -> str:
    text = _read_text(acl, "inheritance_type", place="acl.") or ""
    words = [each.value for each in InheritanceType]
    if text.strip() and read_token(text) not in words:
        raise Unreadable(f'the member "acl.inheritance_type" is "{shorten(text)}" and none of {", ".join(words)}')
    return text


def _read_principal(value: Any) -> tuple[dict[str, str], str]:
    place = "acl.principals."
    if not isinstance(value, dict):
        raise Unreadable(f'a principal in "acl.principals" is {_name_type(value)} and not an object')
    _check_names(value, _PRINCIPAL_MEMBERS, place)
    name = (_read_text(value, "name", place=place) or "").strip()
    if not name:
        raise Unreadable(f'the member "{place}name" is missing')
    is_sensitive = value.get("case_sensitive", True)
    if not isinstance(is_sensitive, bool):
        raise Unreadable(f'the member "{place}case_sensitive" is {_name_type(is_sensitive)} and neither true nor false')
    attributes = {
        "scope": _read_text(value, "scope", place=place) or "",
        "access": _read_text(value, "access", place=place) or "",
        "namespace": _read_text(value, "namespace", place=place) or "",
        "case-sensitivity-type": "" if is_sensitive else _INSENSITIVE,
    }
    return attributes, name


def _read_content(members: Members, spool: Spool, max_inflated_bytes: int) -> Content | None:
    text, encoded = members.get("content"), members.get("content_base64")
    if text is None and encoded is None:
        return None
    if text is not None and encoded is not None:
        raise Unreadable('the item has both "content" and "content_base64"; give one of them')
    name, value = ("content", text) if encoded is None else ("content_base64", encoded)
    if not isinstance(value, str):
        raise Unreadable(f'the member "{name}" is {_name_type(value)} and not a text')
    writer = ContentWriter(None if encoded is None else "base64binary", spool=spool, max_inflated_bytes=max_inflated_bytes)
    try:
        # in slices, because each step of decoding copies what it is given
        for start in range(0, len(value), _SLICE_CHARACTERS):
            writer.write(value[start : start + _SLICE_CHARACTERS])
        content = writer.close("")
    except UnicodeEncodeError as exc:
        writer.discard()
        raise Unreadable(f'the member "{name}" holds half of a surrogate pair') from exc
    if content is None:
        raise Unreadable(f'the member "{name}" cannot be decoded: {writer.fault}')
    return content


def _check_text(value: str, what: str) -> None:
    if not _is_text(value):
        raise Unreadable(f"{what} holds half of a surrogate pair, or the character U+0000")


def _is_text(value: str) -> bool:
    """Returns whether a text can be stored: UTF-8 can express it, and it holds no character U+0000."""
    return "\x00" not in value and (value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value))


def _printable(name: str) -> str:
    return name.encode("utf-8", "replace").decode("utf-8")


def _name_type(value: Any) -> str:
    return {dict: "an object", list: "an array", str: "a text", bool: "true or false", int: "a number", float: "a number"}.get(
        type(value), "null"
    )
