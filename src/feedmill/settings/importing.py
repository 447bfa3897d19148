"""Imports exported files of an appliance into the settings: KeyMatches, related queries and synonyms."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from feedmill.model.errors import BadRequest, NotFound, VersionConflict
from feedmill.settings.editing import Condition, SettingsEditor
from feedmill.wire.applianceconfig.faults import decode_file
from feedmill.wire.applianceconfig.parse import read_keymatches, read_related, read_synonyms

_TRIES = 100  # another client may change the same entry meanwhile; the import then merges again


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """The result of an import: how many entries are new, and how many there are now."""

    section: str
    name: str
    added: int
    total: int


def _keymatches(text: str) -> dict[str, list[Any]]:
    read = read_keymatches(text)
    return {"keymatches": [{"type": one.kind.value, "term": one.term, "url": one.url, "title": one.title} for one in read]}


def _related(text: str) -> dict[str, list[Any]]:
    return {"related": [{"term": one.term, "query": one.query} for one in read_related(text)]}


def _synonyms(text: str) -> dict[str, list[Any]]:
    read = read_synonyms(text)
    return {"two_way": [list(group) for group in read.two_way], "one_way": [list(group) for group in read.one_way]}


KINDS: Mapping[str, tuple[str, Callable[[str], dict[str, list[Any]]]]] = MappingProxyType(
    {"keymatches": ("frontends", _keymatches), "related": ("frontends", _related), "synonyms": ("synonyms", _synonyms)}
)
"""The kinds of imports: the section of each, and the function that reads its lists from a text."""


def import_text(editor: SettingsEditor, kind: str, name: str, data: bytes, *, replaces: bool = False) -> ImportResult:
    """Adds the content of a file to an entry, or replaces the entry's content. Errors: BadRequest with lines."""
    if kind not in KINDS:
        raise BadRequest(f"'{kind[:80]}' cannot be imported; there are {', '.join(KINDS)}")
    section, read = KINDS[kind]
    fresh = read(decode_file(data))
    for _ in range(_TRIES):
        try:
            return _import_values(editor, section, name, fresh, replaces=replaces)
        except VersionConflict:
            continue
    # The last time outside of the loop, so that the conflict reaches the client.
    return _import_values(editor, section, name, fresh, replaces=replaces)


def _import_values(editor: SettingsEditor, section: str, name: str, fresh: Mapping[str, list[Any]], *, replaces: bool) -> ImportResult:
    try:
        before = editor.get(section, name)
        value, condition = dict(before.value), Condition(tags=(before.tag,))
    except NotFound:
        value, condition = {}, Condition(is_new=True)
    added = 0
    for key, items in fresh.items():
        held = [] if replaces else list(value.get(key, ()))
        known = set(map(_report, held))
        new = [item for mark, item in {_report(item): item for item in items}.items() if mark not in known]
        value[key] = held + new
        added += len(new)
    editor.put(section, name, value, condition)
    return ImportResult(section=section, name=name, added=added, total=sum(len(value[key]) for key in fresh))


def _report(item: Any) -> str:
    return json.dumps(item, sort_keys=True)
