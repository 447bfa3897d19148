"""The settings of command line adaptors: the keys of Java properties, as TOML or in a file."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from feedmill.core.pulling.schedule import parse_schedule
from feedmill.core.urls.patterns import parse_pattern
from feedmill.model.errors import BadRequest
from feedmill.wire.adaptorconfig.keys import AdaptorConfig, ConfigFaults, read_config
from feedmill.wire.adaptorconfig.properties import parse_properties

MAX_CONFIG_BYTES = 4_000_000


def read_adaptor_config(file: str, table: Mapping[str, Any], faults: list[tuple[str, str]] | None = None) -> AdaptorConfig:
    """Returns the adaptor of a file of properties ("" for none) and a table, whose keys replace those of the file.

    Errors: BadRequest, unless ``faults`` collects them.
    """
    found = ConfigFaults()
    values: dict[str, str] = {}
    if file:
        try:
            values = parse_properties(_read_file(file))
        except BadRequest as exc:
            found.found.append(("", f"{file}: {exc}"))
    own = dict(_flatten(table, "", found))
    config = read_config(values | own, found)
    _check_values(config, found)
    if faults is not None:
        faults += found.found
    elif found.found:
        key, reason = found.found[0]
        raise BadRequest(f"{key}: {reason}" if key else reason)
    return config


def _read_file(file: str) -> bytes:
    try:
        with Path(file).open("rb") as stream:
            data = stream.read(MAX_CONFIG_BYTES + 1)
    except OSError as exc:
        raise BadRequest(f"cannot be read: {exc.strerror}") from exc
    if len(data) > MAX_CONFIG_BYTES:
        raise BadRequest(f"larger than {MAX_CONFIG_BYTES} bytes")
    return data


def _flatten(table: Mapping[str, Any], prefix: str, faults: ConfigFaults) -> Iterator[tuple[str, str]]:
    """Yields the values of a table by their keys with dots, however these are written."""
    seen: set[str] = set()
    for key, value in _walk(table, prefix):
        if key in seen:
            faults.found.append((key, "this key stands there twice, with dots and in quotes"))
        seen.add(key)
        if isinstance(value, bool):
            yield key, "true" if value else "false"
        elif isinstance(value, str | int | float):
            yield key, str(value)
        else:
            faults.found.append((key, "must be text, a number, true or false"))


def _walk(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping):
            # metadata.transform.pipeline is a list of names and the beginning of other keys, so TOML needs quotes for one of them
            yield from _walk(value, f"{key}.")
        else:
            yield key, value


def _check_values(config: AdaptorConfig, faults: ConfigFaults) -> None:
    if config.full_schedule:
        try:
            parse_schedule(config.full_schedule)
        except BadRequest as exc:
            faults.found.append(("adaptor.fullListingSchedule", str(exc)))
    for pattern in config.authorizer_patterns:
        try:
            parse_pattern(pattern)
        except BadRequest as exc:
            faults.found.append(("commandline.authorizer.patterns", str(exc)))
