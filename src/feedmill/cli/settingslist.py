"""How ``feedmill config`` and ``feedmill status`` show settings to people: a row each, and a line for each part of a long value."""

from collections.abc import Mapping
from typing import Any, Final

from feedmill.cli.options import clean, console, make_table, print_table, render_json

SHOW_ALL = "'feedmill config show' lists all settings with their origin"

ShownSettings = Mapping[str, Mapping[str, Any]]
"""Settings by key, each with ``value`` and ``origin``, as ``list_settings`` returns them."""

_LINE_CHARACTERS: Final = 60
"""The longest list that stands on one line."""


def find_changed(settings: ShownSettings) -> ShownSettings:
    """Returns the settings that are not the default."""
    from feedmill.settings.load import DEFAULT

    return {key: setting for key, setting in settings.items() if setting["origin"] != DEFAULT}


def print_changed(settings: ShownSettings) -> None:
    """Prints the settings that are not the default, and which command lists all."""
    changed = find_changed(settings)
    if changed:
        print_settings(changed)
    console().print(SHOW_ALL if changed else f"all settings are the default; {SHOW_ALL}")


def print_settings(settings: ShownSettings) -> None:
    """Prints settings with their origin and value. Shape: the value is last, since it may be of any length."""
    from feedmill.settings.serving import SECTIONS

    table = make_table("setting", "from", "value")
    for key, setting in settings.items():
        section, _, name = key.partition(".")
        if section in SECTIONS and not name and setting["value"]:
            continue  # its entries follow
        value = setting["value"]
        if section in SECTIONS and isinstance(value, Mapping):
            value = _drop_defaults(value, SECTIONS[section])
        table.add_row(clean(key), clean(setting["origin"]), clean("\n".join(_write_value(value))))
    print_table(table)


def _drop_defaults(entry: Mapping[str, Any], model: Any) -> dict[str, Any]:
    """Returns the keys of an entry that it has set, without its name, which the key of the setting names already."""
    defaults = {name: field.get_default(call_default_factory=True) for name, field in model.model_fields.items()}
    return {name: value for name, value in entry.items() if name != "name" and value not in (defaults[name], [])}


def _write_value(value: object) -> list[str]:
    """Returns the lines of a value. The keys of an entry have lines of their own."""
    if isinstance(value, Mapping) and value:
        return [line for name, part in value.items() for line in _write_list(part, f"{name} = ")]
    return _write_list(value)


def _write_list(value: object, before: str = "") -> list[str]:
    """Returns a value on one line, or a long list with a line for each of its parts."""
    text = _write_inline(value)
    if not isinstance(value, list) or len(text) <= _LINE_CHARACTERS:
        return [before + text]
    return [f"{before}[", *(f"  {_write_inline(part)}," for part in value), "]"]


def _write_inline(value: object) -> str:
    """Returns a value as the settings file has it."""
    from feedmill.http.admin.status import HIDDEN

    match value:
        case Mapping():
            return "{" + ", ".join(f"{name} = {_write_inline(part)}" for name, part in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_write_inline, value)) + "]"
        case _:
            return HIDDEN if value == HIDDEN else render_json(value)
