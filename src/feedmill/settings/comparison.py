"""Finds which settings differ between two readings. It names them and never shows a value, which may be a secret."""

from collections.abc import Iterator

from pydantic import BaseModel

from feedmill.settings.keypaths import dotted
from feedmill.settings.load import list_values
from feedmill.settings.sections import Settings


def list_changed(before: Settings, after: Settings) -> list[str]:
    """Returns the keys that differ, in the order of the settings; an entry of a list of tables that has a name as ``KEY.NAME``."""
    earlier = dict(list_values(before))
    return [
        name for path, value in list_values(after) if value != earlier[path] for name in _name_changes(dotted(path), earlier[path], value)
    ]


def _name_changes(key: str, before: object, after: object) -> Iterator[str]:
    """Yields the changed entries of a list of tables, or the key itself."""
    earlier, later = _entries_by_name(before), _entries_by_name(after)
    if earlier is None or later is None:
        yield key
        return
    changed = [name for name in {**earlier, **later} if earlier.get(name) != later.get(name)]
    # the same entries in another order
    yield from (f"{key}.{name}" for name in changed) if changed else [key]


def _entries_by_name(value: object) -> dict[str, BaseModel] | None:
    """Returns the tables of a list by their names, None if it is no such list or a name is missing or stands there twice."""
    if not isinstance(value, tuple) or not all(isinstance(entry, BaseModel) for entry in value):
        return None
    named = {name: entry for entry in value if (name := getattr(entry, "name", ""))}
    return named if len(named) == len(value) else None
