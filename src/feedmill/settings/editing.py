"""Reads, sets and removes stored settings, one entry at a time, while the server runs.

A stored entry overrides the file's entry of the same name. Removing it makes the file's entry visible again. Each change is checked like
the file, together with all other settings. The change and the new generation number, which makes every process read the settings again,
are one transaction.

An entry has a tag that differs after every change, and a change may name the tag of the entry that it is based on. If two clients change
the same entry, the later one can therefore learn of the conflict.
"""

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from feedmill.model.errors import BadRequest, Conflict, NotFound, VersionConflict
from feedmill.model.serving import StoredSetting
from feedmill.model.topic import Topic
from feedmill.ports import Notifier, Store, UnitOfWork
from feedmill.services.access.policykeeping import adopt_policies
from feedmill.services.keyvalues import SETTINGS_GENERATION
from feedmill.settings.checks import check_serving
from feedmill.settings.keypaths import Fault, dotted
from feedmill.settings.load import DEFAULT, LoadedSettings
from feedmill.settings.policyacls import policies_of
from feedmill.settings.sections import Settings
from feedmill.settings.serving import SECTIONS, WHOLE, check_files, list_entries, merge_stored, read_entry

API = "api"
"""The origin of stored settings."""

MAX_STORED_BYTES = 4_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsEntry:
    """An entry as it is in force. Shape: ``value`` is JSON; ``origin`` is ``api``, the file with its line, or ``default``."""

    section: str
    name: str
    value: Mapping[str, Any]
    origin: str
    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """The precondition of a change.

    ``tags``: the entry has one of these, None for no condition; ``is_new``: there is no such entry.
    """

    tags: tuple[str, ...] | None = None
    is_new: bool = False


ALWAYS = Condition()


class SettingsEditor:
    """Edits the stored settings. ``load`` returns the settings of the file, with their origins. May be used from several threads."""

    def __init__(self, store: Store, load: Callable[[], LoadedSettings], notifier: Notifier) -> None:
        self._store = store
        self._load = load
        self._notifier = notifier

    def list(self, section: str) -> list[SettingsEntry]:
        """Returns the entries of a section that are in force. Errors: NotFound."""
        with self._store.reading() as unit:
            return list(list_held(self._load(), unit.state.stored_settings.list(), _checked(section)))

    def get(self, section: str, name: str) -> SettingsEntry:
        """Returns an entry as it is in force. Errors: NotFound."""
        return _find_entry(self.list(section), section, name)

    def put(self, section: str, name: str, value: Any, condition: Condition = ALWAYS) -> tuple[SettingsEntry, bool]:
        """Sets an entry. Returns it, and whether it is new. Errors: NotFound, BadRequest with all faults, VersionConflict."""
        entry = read_entry(_checked(section), name, value)
        with self._store.writing() as unit:
            stored, loaded = unit.state.stored_settings.list(), self._load()
            entry = check_files(loaded.settings, section, name, entry)
            text = entry.model_dump_json()
            if len(text.encode()) > MAX_STORED_BYTES:
                raise BadRequest(f"the entry is larger than {MAX_STORED_BYTES} bytes")
            before = _find_held(list_held(loaded, stored, section), name)
            _demand(before, condition, section, name)
            held = unit.state.stored_settings.find(section, name)
            fresh = StoredSetting(section=section, name=name, value=text, version=1 + (held.version if held is not None else 0))
            rest = [one for one in stored if (one.section, one.name) != (section, name)]
            faults = _list_new_faults(merge_stored(loaded.settings, stored), merge_stored(loaded.settings, [*rest, fresh]))
            if faults:
                raise BadRequest(f"{section}/{name} cannot be so: {'; '.join(faults)}")
            unit.state.stored_settings.put(fresh)
            _notify_roles(unit, merge_stored(loaded.settings, [*rest, fresh]))
        self._notifier.notify(Topic.SETTINGS)
        return _entry_of(section, name, entry, API, fresh.version), before is None

    def replace_many(self, section: str, values: Mapping[str, Any], gone: Collection[str] = ()) -> None:
        """Sets entries and removes other stored ones, all or none. Errors: NotFound, BadRequest with all faults."""
        entries = {name: read_entry(_checked(section), name, value) for name, value in values.items()}
        with self._store.writing() as unit:
            stored, loaded = unit.state.stored_settings.list(), self._load()
            entries = {name: check_files(loaded.settings, section, name, entry) for name, entry in entries.items()}
            versions = {one.name: one.version for one in stored if one.section == section}
            fresh = [
                StoredSetting(section=section, name=name, value=entry.model_dump_json(), version=1 + versions.get(name, 0))
                for name, entry in entries.items()
            ]
            touched = {*entries, *gone}
            rest = [one for one in stored if one.section != section or one.name not in touched]
            after = merge_stored(loaded.settings, [*rest, *fresh])
            faults = _list_new_faults(merge_stored(loaded.settings, stored), after)
            if faults:
                raise BadRequest("; ".join(faults))
            for name in set(gone) - set(entries):
                unit.state.stored_settings.remove(section, name)
            for one in fresh:
                unit.state.stored_settings.put(one)
            _notify_roles(unit, after)
        self._notifier.notify(Topic.SETTINGS)

    def remove(self, section: str, name: str, condition: Condition = ALWAYS) -> None:
        """Removes a stored entry.

        Errors: NotFound, VersionConflict, Conflict if only the file has the entry or another entry needs it.
        """
        with self._store.writing() as unit:
            stored, loaded = unit.state.stored_settings.list(), self._load()
            entries = list(list_held(loaded, stored, _checked(section)))
            entry = _find_entry(entries, section, name)
            _demand(entry, condition, section, name)
            if entry.origin != API:
                raise Conflict(
                    f"{section}/{name} is not set by api but by {entry.origin}; change it there, or set it by api to overrule that"
                )
            rest = [one for one in stored if (one.section, one.name) != (section, name)]
            faults = _list_new_faults(merge_stored(loaded.settings, stored), merge_stored(loaded.settings, rest))
            if faults:
                raise Conflict(f"{section}/{name} is needed: {faults[0]}")
            unit.state.stored_settings.remove(section, name)
            _notify_roles(unit, merge_stored(loaded.settings, rest))
        self._notifier.notify(Topic.SETTINGS)


def _checked(section: str) -> str:
    if section not in SECTIONS:
        raise NotFound(f"there is no section {section[:80]!a} that can be set by api; there are {', '.join(SECTIONS)}")
    return section


def list_held(loaded: LoadedSettings, stored: Sequence[StoredSetting], section: str) -> Iterator[SettingsEntry]:
    """Yields the entries of a section that are in force."""
    versions = {one.name: one.version for one in stored if one.section == section}
    places = {name: place for place, name in enumerate(list_entries(loaded.settings, section))}
    for name, entry in list_entries(merge_stored(loaded.settings, stored), section).items():
        if name in versions:
            yield _entry_of(section, name, entry, API, versions[name])
        else:
            path = (section,) if section in WHOLE else (section, places[name])
            yield _entry_of(section, name, entry, loaded.origin_of(path), 0)


def _entry_of(section: str, name: str, entry: BaseModel, origin: str, version: int) -> SettingsEntry:
    value = entry.model_dump(mode="json")
    # The version alone would not do: it begins at 1 again after an entry was removed. Nor would the value: it may change back.
    text = f"{origin == API}:{version}:{entry.model_dump_json()}"
    tag = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]
    return SettingsEntry(section=section, name=name, value=value, origin=origin, tag=tag)


def _find_held(entries: Iterator[SettingsEntry], name: str) -> SettingsEntry | None:
    """Finds an entry that the file or the API has set; a default does not count."""
    return next((entry for entry in entries if entry.name == name and entry.origin != DEFAULT), None)


def _find_entry(entries: Sequence[SettingsEntry], section: str, name: str) -> SettingsEntry:
    found = next((entry for entry in entries if entry.name == name), None)
    if found is None:
        raise NotFound(f"there is no {section}/{name[:200]}")
    return found


def _demand(entry: SettingsEntry | None, condition: Condition, section: str, name: str) -> None:
    if condition.is_new and entry is not None:
        raise VersionConflict(f"{section}/{name} is there already")
    if condition.tags is not None and (entry is None or (entry.tag not in condition.tags and "*" not in condition.tags)):
        raise VersionConflict(f"{section}/{name} was changed meanwhile; read it again and change what is there now")


def _list_new_faults(before: Settings, after: Settings) -> list[str]:
    """Returns the new faults of a change. Existing faults, such as a stylesheet that was removed meanwhile, do not prevent it."""
    known = {reason for _, reason in check_serving(before)}
    return [_say(fault) for fault in check_serving(after) if fault[1] not in known]


def _say(fault: Fault) -> str:
    return f"{dotted(fault[0])}: {fault[1]}"


def _notify_roles(unit: UnitOfWork, settings: Settings) -> None:
    adopt_policies(unit, policies_of(settings.policy_acls))
    unit.state.key_values.put(SETTINGS_GENERATION, str(int(unit.state.key_values.get(SETTINGS_GENERATION) or 0) + 1))
