"""Reads the small words of the feed protocols: enumerations, switches, principals.

Enumerations may have any letter case, ``_`` counts as ``-``, and white space around them is dropped: groups feeds write the words of
feeds in upper case, with underscores for hyphens. A principal with unreadable attributes is a fault of its ACL or group,
never a missing principal: access fails closed.
Source: Feeds Protocol Developer's Guide, "principal Element".
"""

from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Literal, TypeVar

from feedmill.model.access import Principal, Scope
from feedmill.model.identity import DEFAULT_NAMESPACE

MAX_NAME_CHARACTERS = 1_000
_REMEMBERED_CHARACTERS = 300
_Word = TypeVar("_Word", bound=Enum)
_CASES = {"": True, "everything-case-sensitive": True, "everything-case-insensitive": False}


class Unreadable(Exception):
    """A word or a principal is unreadable; the message names it and the permitted values."""


def read_token(text: str) -> str:
    """Returns a word in the form for comparisons."""
    return text.strip().lower().replace("_", "-")


def read_word(text: str, words: type[_Word], name: str) -> _Word:
    """Returns a member of an enumeration. Errors: Unreadable."""
    token = read_token(text)
    for word in words:
        if word.value == token:
            return word
    allowed = ", ".join(str(word.value) for word in words)
    raise Unreadable(f'{name}="{shorten(text)}" is none of {allowed}' if token else f"{name} is missing; it is one of {allowed}")


def read_switch(text: str | None) -> bool | Literal["unreadable"] | None:
    """Returns a switch as a boolean; None if it is absent."""
    token = read_token(text or "")
    return {"true": True, "false": False, "": None}.get(token, "unreadable")


def read_principal(attributes: Mapping[str, str], name: str) -> Principal:
    """Returns a principal. Shape: ``name`` not empty, already trimmed. Errors: Unreadable."""
    if len(name) > MAX_NAME_CHARACTERS:
        raise Unreadable(f"a principal's name is longer than {MAX_NAME_CHARACTERS} characters")
    # A feed of three million principals repeats the same few attributes.
    said = (attributes.get("scope", ""), attributes.get("namespace", ""), attributes.get("case-sensitivity-type", ""))
    kind = attributes.get("principal-type", "")
    if sum(map(len, said)) + len(kind) > _REMEMBERED_CHARACTERS:
        scope, namespace, case_sensitive, unqualified = _read_attributes(attributes, name)
    else:
        remembered = _remember(*said, kind)
        scope, namespace, case_sensitive, unqualified = remembered or _read_attributes(attributes, name)
    return Principal(scope=scope, name=name, namespace=namespace, case_sensitive=case_sensitive, unqualified=unqualified)


@lru_cache(maxsize=1_024)
def _remember(scope: str, namespace: str, case: str, kind: str) -> tuple[Scope, str, bool, bool] | None:
    """Returns the values of attributes; None for unreadable ones, whose fault is reported with the principal's name."""
    attributes = {"scope": scope, "namespace": namespace, "case-sensitivity-type": case, "principal-type": kind}
    try:
        return _read_attributes(attributes, "")
    except Unreadable:
        return None


def _read_attributes(attributes: Mapping[str, str], name: str) -> tuple[Scope, str, bool, bool]:
    """Returns scope, namespace, whether letter case counts, and whether the name is unqualified. Errors: Unreadable."""
    namespace = attributes.get("namespace", "").strip() or DEFAULT_NAMESPACE
    if len(namespace) > MAX_NAME_CHARACTERS:
        raise Unreadable(f"a principal's namespace is longer than {MAX_NAME_CHARACTERS} characters")
    case_sensitive = _CASES.get(read_token(attributes.get("case-sensitivity-type", "")))
    if case_sensitive is None:
        raise Unreadable(
            f'case-sensitivity-type="{shorten(attributes["case-sensitivity-type"])}" of principal "{shorten(name)}" is unknown'
        )
    kind = read_token(attributes.get("principal-type", ""))
    if kind not in ("", "unqualified"):
        raise Unreadable(f'principal-type="{shorten(kind)}" of principal "{shorten(name)}" is unknown')
    scope = read_word(attributes.get("scope", ""), Scope, f'scope of principal "{shorten(name)}"')
    return scope, namespace, case_sensitive, kind == "unqualified"


def shorten(text: str) -> str:
    """Returns the start of a text of any length, for a message."""
    return text if len(text) <= 100 else text[:100] + "..."
