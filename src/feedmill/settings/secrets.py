"""Reads the secrets of settings: from a file, from the environment (``env:NAME``), or from the setting itself."""

import os
from pathlib import Path

from feedmill.model.errors import BadRequest

MAX_SECRET_BYTES = 65_536
VARIABLE_PREFIX = "env:"


def read_secret(text: str, file: str = "") -> str:
    """Returns a secret: the content of the file if one is named, the variable for ``env:NAME``, else the text itself.

    Errors: BadRequest if the file or the variable is missing.
    """
    if file:
        return _read_file(file)
    if not text.startswith(VARIABLE_PREFIX):
        return text
    name = text.removeprefix(VARIABLE_PREFIX)
    if not os.environ.get(name):
        raise BadRequest(f"the variable {name} is not set")
    return os.environ[name]


def _read_file(path: str) -> str:
    try:
        raw = Path(path).read_bytes()
        if len(raw) > MAX_SECRET_BYTES:
            raise BadRequest(f"'{path}' has more than {MAX_SECRET_BYTES} bytes")
        # Editors end a file with a newline that is no part of the secret.
        secret = raw.decode("utf-8").rstrip("\r\n")
    except OSError as exc:
        raise BadRequest(f"'{path}' cannot be read: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise BadRequest(f"'{path}' is not UTF-8") from exc
    if not secret:
        raise BadRequest(f"'{path}' is empty")
    return secret
