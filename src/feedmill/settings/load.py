"""Reads and validates the settings: the environment overrides the file, which overrides the defaults. All faults are reported at once.

``FEEDMILL_<SECTION>_<KEY>`` overrides the file; an empty variable counts as not set. A list in the environment is TOML (``["a", "b"]``) or
texts separated by commas. A variable of a known section with an unknown key is a fault. Variables of other sections may belong to other
programs: one whose name is nearly that of a setting causes a warning, and the rest are ignored.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ValidationError

from feedmill.model.errors import BadSettings
from feedmill.settings.checks import check_settings
from feedmill.settings.faults import explain, find_near, suggest
from feedmill.settings.keypaths import KeyPath, dotted
from feedmill.settings.lines import find_lines, nearest_line
from feedmill.settings.sections import Settings, list_keys
from feedmill.settings.warnings import SettingsSources, list_warnings

PREFIX = "FEEDMILL_"
OTHER_VARIABLES = (
    *("FEEDMILL_CONFIG", "FEEDMILL_DATA", "FEEDMILL_PUSH_TOKEN", "FEEDMILL_CONFORMANCE_PASSWORD", "FEEDMILL_SINCE", "FEEDMILL_FAULTS"),
    "FEEDMILL_FILES_PORT",
)
"""Variables of the commands, of the demonstration, of adaptors and of tests, which are no settings."""

_FEED_TABLE = re.compile(r"\AFEEDS?_")
"""How people begin the name of a setting of the feed port, whose table is ``[gate]``."""

_NEARLY_EQUAL = 0.8
MAX_FILE_BYTES = 4_000_000
DEFAULT = "default"
# Puts faults of the environment behind those of any line.
_LAST = 1 << 30
_SERVERS = ("gate", "search", "admin")
_FILE_KEYS = (
    *((section, key) for section in _SERVERS for key in ("certificate", "key")),
    *(("semantic", key) for key in ("key_file", "ca_file")),
)
_PROVIDERS = ("ldap", "oidc", "saml")
_PROVIDER_FILES = ("ca_file", "password_file", "client_secret_file", "metadata_file", "key", "certificate")
_AUTHORIZATION_FILES = ("ca_file", "certificate", "key")
_ACCESS_FILES = ("password_file", "keytab", "certificate", "key", "token_file", "client_secret_file")
_SOURCE_FILES = ("password_file", "stylesheet", "config", "directory")
_SQLITE = "sqlite:///"
_TRUTH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_CLASH = re.compile(r"Cannot (?:declare|overwrite|mutate)(?: immutable namespace| a value)?(.*?)(?: twice)?")
"""The messages about a table or key that stands there twice; the path of a table follows as a tuple of Python."""
_MISQUOTED = ("Invalid value", "Expected newline or end of document after a statement")
"""How the messages about values without quotes or brackets begin."""
_SYNTAX_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSettings:
    """The settings, and the origin of each that is not a default: key with dots, then ``file`` with its line or the variable.

    Shape: ``warnings`` are texts, each with the place and the name of its key.
    """

    settings: Settings
    origins: Mapping[str, str]
    warnings: tuple[str, ...] = ()

    def origin_of(self, path: KeyPath) -> str:
        """Returns the origin of a key, of an entry of a list of tables, or of the first key of a table; ``default`` if it has none."""
        key = dotted(path)
        return self.origins.get(key) or next((origin for name, origin in self.origins.items() if name.startswith(f"{key}.")), DEFAULT)


@dataclass(slots=True)
class _Reading:
    """The state of one reading: values as nested tables, their places, and the faults so far."""

    file: str
    values: dict[str, Any] = field(default_factory=dict)
    lines: dict[KeyPath, int] = field(default_factory=dict)
    variables: dict[KeyPath, str] = field(default_factory=dict)
    found: list[tuple[int, str]] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    """Warnings about variables that are no settings."""

    @property
    def faults(self) -> list[str]:
        """All faults, those of the file by line, then those of the environment."""
        return [text for _, text in sorted(self.found, key=lambda fault: fault[0])]

    def add_fault(self, path: KeyPath, reason: str) -> None:
        """Adds a fault with the place of its key."""
        line = _LAST if self._variable(path) else nearest_line(self.lines, path)
        self.found.append((line or _LAST, self.describe(path, reason)))

    def describe(self, path: KeyPath, reason: str) -> str:
        """Returns a fault or a warning as text, with the place and the name of its key."""
        place = self.place(path)
        where = "" if place == DEFAULT else f"{place}: "
        return f"{where}{dotted(path)}: {reason}"

    def place(self, path: KeyPath) -> str:
        """Returns the place of a key, for a fault and for ``feedmill status``."""
        variable = self._variable(path)
        if variable:
            return variable
        line = nearest_line(self.lines, path)
        return f"{self.file}:{line}" if line else DEFAULT

    def _variable(self, path: KeyPath) -> str:
        for length in range(len(path), 0, -1):
            if path[:length] in self.variables:
                return self.variables[path[:length]]
        return ""


def load_settings(path: Path | None, environment: Mapping[str, str]) -> LoadedSettings:
    """Reads settings from a file, if any, and the environment. Errors: BadSettings with all faults."""
    reading = _Reading(file=str(path) if path else "")
    if path is not None:
        _read_file(reading, path)
    _read_environment(reading, environment)
    _resolve_files(reading, path)
    settings = _validate(reading)
    if settings is not None:
        for place, reason in check_settings(settings):
            reading.add_fault(place, reason)
    if settings is None or reading.faults:
        raise BadSettings(reading.faults)
    given = SettingsSources(settings=settings, values=reading.values, from_environment=reading.variables.keys(), file=reading.file)
    warnings = (*(reading.describe(place, reason) for place, reason in list_warnings(given)), *reading.doubts)
    return LoadedSettings(settings=settings, origins=MappingProxyType(_list_origins(reading, settings)), warnings=warnings)


def _read_file(reading: _Reading, path: Path) -> None:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as exc:
        raise BadSettings([f"{path}: cannot be read: {exc.strerror}"]) from exc
    if len(data) > MAX_FILE_BYTES:
        raise BadSettings([f"{path}: larger than {MAX_FILE_BYTES} bytes"])
    try:
        # Some editors write a byte order mark, which ``tomllib`` refuses.
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
        reading.values = tomllib.loads(text)
    except UnicodeDecodeError as exc:
        line = 1 + data.count(b"\n", 0, exc.start)
        column = exc.start - data.rfind(b"\n", 0, exc.start)
        raise BadSettings([f"{path}:{line}:{column}: not UTF-8; save the file in this encoding"]) from exc
    except RecursionError as exc:
        raise BadSettings([f"{path}: nested too deeply"]) from exc
    except tomllib.TOMLDecodeError as exc:
        raise BadSettings([_explain_syntax(path, text, str(exc))]) from exc
    reading.lines = find_lines(text)


def _explain_syntax(path: Path, text: str, message: str) -> str:
    found = _SYNTAX_PLACE.search(message)
    line = int(found.group(1) or 1 + text.count("\n")) if found else 0
    place = f"{path}:{line}:{found.group(2)}" if found and found.group(2) else f"{path}:{line}"
    reason = message[: found.start()] if found else message
    if clash := _CLASH.fullmatch(reason):
        name = ".".join(re.findall(r"'([^']*)'", clash.group(1))) or "the key"
        return f"{place}: not TOML: {name} stands there already; give each table and each key once"
    advice = "; text stands in quotes, a list in brackets" if reason.startswith(_MISQUOTED) else ""
    return f"{place}: not TOML: {reason[:1].lower()}{reason[1:]}{advice}"


def _read_environment(reading: _Reading, environment: Mapping[str, str]) -> None:
    keys = {PREFIX + "_".join(path).upper(): (path, kind) for path, kind in list_keys()}
    sections = {PREFIX + "_".join(path[:-1]).upper() + "_" for path, _ in keys.values()}
    for name, text in sorted(environment.items()):
        if not name.startswith(PREFIX) or not text:
            continue
        if name in keys:
            path, kind = keys[name]
            _put_value(reading, path, _convert(text, kind), name)
        elif any(name.startswith(section) for section in sections):
            reading.found.append((_LAST, f"{name}: there is no such setting{suggest(name, keys)}"))
        elif name not in OTHER_VARIABLES and (near := _find_meant(name, keys)):
            reading.doubts.append(f"{name}: there is no such setting, and it has no effect; did you mean '{near}'")


def _find_meant(name: str, keys: Iterable[str]) -> str | None:
    """Returns the variable that a name nearly is. The common prefix does not count, since it makes all names similar."""
    known = [each.removeprefix(PREFIX) for each in (*keys, *OTHER_VARIABLES)]
    near = find_near(_FEED_TABLE.sub("GATE_", name.removeprefix(PREFIX)), known, cutoff=_NEARLY_EQUAL)
    return PREFIX + near if near else None


def _put_value(reading: _Reading, path: tuple[str, ...], value: object, variable: str) -> None:
    table = reading.values
    for part in path[:-1]:
        inner = table.setdefault(part, {})
        if not isinstance(inner, dict):
            return  # the value here is not a table, which is a fault of its own
        table = inner
    table[path[-1]] = value
    reading.variables[path] = variable


def _convert(text: str, kind: Any) -> object:
    """Returns a variable's text as the type of its key. Other text stays text, and the models refuse it."""
    base = getattr(kind, "__origin__", kind)
    if base is bool:
        return _TRUTH.get(text.lower(), text)
    if base in (int, float):
        try:
            return base(text)
        except ValueError:
            return text
    if base is tuple:
        return _convert_list(text)
    return text


def _convert_list(text: str) -> object:
    if not text.lstrip().startswith("["):
        return [part.strip() for part in text.split(",")]
    try:
        return tomllib.loads(f"list = {text}")["list"]
    except tomllib.TOMLDecodeError:
        return text


def _resolve_files(reading: _Reading, path: Path | None) -> None:
    """Makes paths of the file relative to its folder; those of the environment are relative to the working folder."""
    folder = path.absolute().parent if path else Path.cwd()
    for section, key in _FILE_KEYS:
        table = reading.values.get(section)
        value = table.get(key) if isinstance(table, dict) else None
        if isinstance(table, dict) and isinstance(value, str) and value:
            base = Path.cwd() if (section, key) in reading.variables else folder
            table[key] = str(base / value)
    _resolve_provider_files(reading.values.get("signin"), folder)
    _resolve_listed(reading.values.get("frontends"), ("stylesheet", "logo", "css"), folder)
    _resolve_listed(reading.values.get("authorization"), _AUTHORIZATION_FILES, folder)
    _resolve_sources(reading.values.get("sources"), folder)
    _resolve_crawl(reading, folder)


def _resolve_provider_files(signin: object, folder: Path) -> None:
    _resolve_listed([signin.get("proxy")] if isinstance(signin, dict) else [], ("secret_file",), folder)
    for kind in _PROVIDERS if isinstance(signin, dict) else ():
        _resolve_listed(signin.get(kind) if isinstance(signin, dict) else None, _PROVIDER_FILES, folder)


def _resolve_crawl(reading: _Reading, folder: Path) -> None:
    crawl = reading.values.get("crawl")
    if isinstance(crawl, dict):
        _resolve_listed([crawl], ("ca_file",), Path.cwd() if ("crawl", "ca_file") in reading.variables else folder)
        _resolve_listed(crawl.get("access"), _ACCESS_FILES, folder)
        _resolve_listed(crawl.get("proxies"), ("password_file",), folder)
        _resolve_listed(crawl.get("shares"), ("folder",), folder)
        _resolve_listed(crawl.get("smb_shares"), ("password_file",), folder)


def _resolve_sources(listed: object, folder: Path) -> None:
    _resolve_listed(listed, _SOURCE_FILES, folder)
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, dict) and entry.get("kind") == "adaptor" and not entry.get("config"):
            # commands that the settings name themselves are relative to the settings
            entry.setdefault("directory", str(folder))
        dsn = entry.get("dsn") if isinstance(entry, dict) else None
        if isinstance(dsn, str) and dsn.startswith(_SQLITE) and dsn != _SQLITE:
            entry["dsn"] = _SQLITE + str(folder / dsn.removeprefix(_SQLITE))


def _resolve_listed(listed: object, keys: Sequence[str], folder: Path) -> None:
    for entry in listed if isinstance(listed, list) else []:
        for key in keys:
            value = entry.get(key) if isinstance(entry, dict) else None
            if isinstance(value, str) and value:
                entry[key] = str(folder / value)


def _validate(reading: _Reading) -> Settings | None:
    try:
        # validated as JSON, since strict models accept lists for tuples only there
        return Settings.model_validate_json(json.dumps(reading.values, default=str))
    except ValidationError as exc:
        for error in exc.errors(include_url=False):
            reading.add_fault(error["loc"], explain(error))
        return None


def _list_origins(reading: _Reading, settings: Settings) -> dict[str, str]:
    paths = (path for key, value in list_values(settings) for path in (key, *_entry_paths(key, value)))
    return {dotted(path): reading.place(path) for path in paths if path in reading.lines or path in reading.variables}


def _entry_paths(path: KeyPath, value: object) -> list[KeyPath]:
    """Returns the paths of the tables in a list."""
    entries = value if isinstance(value, tuple) else ()
    return [(*path, place) for place, entry in enumerate(entries) if isinstance(entry, BaseModel)]


def list_values(model: BaseModel, path: KeyPath = ()) -> list[tuple[KeyPath, object]]:
    """Returns every key with its value; a list of tables is one value."""
    found: list[tuple[KeyPath, object]] = []
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel) and type(value).model_fields:
            found += list_values(value, (*path, name))
        else:
            found.append(((*path, name), value))
    return found
