"""Reads the ACL of ``X-Gsa-Doc-Controls``: JSON as Google's adaptor library writes it.

The keys are ``entries``, ``inherit_from`` and ``inheritance_type``; the last is the name of a Java enumeration. Unknown keys are ignored.
Anything else that is not as expected makes the whole ACL unreadable: an ACL is never read in part.
Source: googlegsa/library, ``DocumentHandler.formHeaderAcl``.
"""

import json
from typing import Any

from feedmill.core.urls.validation import MAX_URL_CHARACTERS
from feedmill.model.access import Access, Acl, Entry, InheritanceType
from feedmill.wire.tokens import Unreadable, read_principal, read_token, read_word, shorten


def read_acl(raw: bytes) -> Acl | None:
    """Returns an ACL, None for an empty text. Errors: Unreadable."""
    if not raw.strip():
        return None
    try:
        value = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as exc:
        raise Unreadable("it is no JSON in UTF-8") from exc
    if not isinstance(value, dict):
        raise Unreadable("it is no JSON object")
    entries = value.get("entries", [])
    if not isinstance(entries, list):
        raise Unreadable("its entries are no list")
    kind = _read_text(value, "inheritance_type")
    return Acl(
        entries=tuple(map(_read_entry, entries)),
        inheritance_type=read_word(kind, InheritanceType, "inheritance_type") if read_token(kind) else InheritanceType.LEAF_NODE,
        inherit_from=_read_parent(_read_text(value, "inherit_from").strip()),
    )


def _read_entry(value: Any) -> Entry:
    if not isinstance(value, dict):
        raise Unreadable("an entry is no JSON object")
    name = _read_text(value, "name").strip()
    if not name:
        raise Unreadable("an entry has no name")
    attributes = {
        "scope": _read_text(value, "scope"),
        "namespace": _read_text(value, "namespace"),
        "case-sensitivity-type": _read_text(value, "case_sensitivity_type"),
    }
    access = read_word(_read_text(value, "access"), Access, f'access of principal "{shorten(name)}"')
    return Entry(access=access, principal=read_principal(attributes, name))


def _read_text(value: dict[str, Any], key: str) -> str:
    text = value.get(key, "")
    if text is None:
        return ""
    if not isinstance(text, str) or not text.isprintable():
        raise Unreadable(f"{key} is no text")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise Unreadable(f"{key} is no text") from exc
    return text


def _read_parent(url: str) -> str | None:
    if len(url) > MAX_URL_CHARACTERS:
        raise Unreadable(f"inherit_from is longer than {MAX_URL_CHARACTERS} characters")
    return url or None
