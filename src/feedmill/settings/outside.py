"""Lists what the settings need that is not in the data folder: the settings file, the files that it names, and environment variables."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from feedmill.settings.load import LoadedSettings

_FILE_KEYS: Final = frozenset(
    {
        *("stylesheet", "logo", "css", "certificate", "key", "ca_file", "key_file", "keytab", "config", "metadata_file"),
        *("password_file", "secret_file", "client_secret_file", "token_file"),
    }
)
MOST: Final = 100
"""How many are listed."""


def list_outside(loaded: LoadedSettings) -> tuple[str, ...]:
    """Returns the settings file, the files that it names, then the variables that set a setting."""
    origins = loaded.origins.values()
    files = [origin.rpartition(":")[0] for origin in origins if origin.rpartition(":")[2].isdigit()]
    named = (path for path in _iter_files(loaded.settings.model_dump()) if Path(path).is_file())
    variables = sorted(origin for origin in origins if ":" not in origin)
    return tuple(dict.fromkeys((*files, *named, *variables)))[:MOST]


def _iter_files(value: object, key: str = "") -> Iterator[str]:
    """Yields the texts under keys that name files. Paths are absolute, which tells them from secrets such as ``env:NAME``."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _iter_files(part, str(name))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _iter_files(part, key)
    elif isinstance(value, str) and key in _FILE_KEYS and value.startswith("/"):
        yield value
