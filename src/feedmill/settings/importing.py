"""Takes exported files of an old appliance into the settings: KeyMatches, related queries and synonyms."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from feedmill.model.errors import BadRequest, NotFound
from feedmill.settings.editing import Condition, SettingsEditor
from feedmill.wire.applianceconfig.parse import read_keymatches, read_related, read_synonyms


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import did: how many entries are new, and how many there are now."""

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
"""What can be imported: the section that takes it, and how its lists are read from a text."""


def import_text(editor: SettingsEditor, kind: str, name: str, data: bytes, *, replaces: bool = False) -> Imported:
    """Adds what a file holds to an entry, or puts it in place of the entry's. Errors: BadRequest with lines, Overtaken."""
    if kind not in KINDS:
        raise BadRequest(f"'{kind[:80]}' cannot be imported; there are {', '.join(KINDS)}")
    section, read = KINDS[kind]
    try:
        fresh = read(data.decode("utf-8-sig"))
    except UnicodeDecodeError as exc:
        line = 1 + data.count(b"\n", 0, exc.start)
        raise BadRequest(f"line {line}: not UTF-8; save the file with that encoding") from exc
    try:
        before = editor.get(section, name)
        value, condition = dict(before.value), Condition(tags=(before.tag,))
    except NotFound:
        value, condition = {}, Condition(is_new=True)
    added = 0
    for key, items in fresh.items():
        held = [] if replaces else list(value.get(key, ()))
        new = [item for place, item in enumerate(items) if item not in held and item not in items[:place]]
        value[key] = held + new
        added += len(new)
    editor.put(section, name, value, condition)
    return Imported(section=section, name=name, added=added, total=sum(len(value[key]) for key in fresh))
