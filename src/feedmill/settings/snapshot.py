"""The settings in force, as the parent process validated them. Every role reads them, and ``feedmill status`` shows them.

A restarted role must not fail because the file has become invalid meanwhile.
"""

import json
import os
from hashlib import sha256
from pathlib import Path

from pydantic import ValidationError

from feedmill.model.errors import Corrupt, NotFound
from feedmill.settings.load import LoadedSettings
from feedmill.settings.sealing import open_secrets, seal_secrets
from feedmill.settings.sections import Settings

FILE = "settings.json"


def write_snapshot(data: Path, loaded: LoadedSettings) -> str:
    """Writes the settings in force to the data folder. Returns the file's SHA-256.

    Only the owner can read the file. Its secrets are encrypted.
    """
    held = {"settings": seal_secrets(data, loaded.settings), "origins": dict(loaded.origins), "warnings": list(loaded.warnings)}
    text = json.dumps(held, indent=1)
    fresh = data / (FILE + ".new")
    # A process that was killed may have left one. O_EXCL then ensures that no other process has the file open.
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    fresh.replace(data / FILE)
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def read_snapshot(data: Path) -> LoadedSettings:
    """Reads the settings in force. Errors: NotFound, Corrupt."""
    try:
        held = json.loads((data / FILE).read_text())
        settings = Settings.model_validate_json(json.dumps(open_secrets(data, held["settings"])))
        return LoadedSettings(settings=settings, origins=held["origins"], warnings=tuple(held.get("warnings", ())))
    except FileNotFoundError as exc:
        raise NotFound(f"no settings in force in '{data}'") from exc
    except (OSError, ValueError, KeyError, TypeError, ValidationError) as exc:
        raise Corrupt(f"'{data / FILE}' cannot be read: {exc}") from exc
