"""The administrator's token: random, made at the first start, stored in the data folder in a file that only its owner can read."""

import os
import secrets
from pathlib import Path

from feedmill.model.errors import NotFound

TOKEN_FILE = "admin.token"  # noqa: S105 - a file's name


def ensure_token(data: Path) -> str:
    """Returns the token, and makes it if there is none."""
    path = data / TOKEN_FILE
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
    except FileExistsError:
        pass
    return read_token(data)


def read_token(data: Path) -> str:
    """Returns the token. Errors: NotFound if there is none that this user may read."""
    try:
        token = (data / TOKEN_FILE).read_text().strip()
    except OSError as exc:
        raise NotFound(f"the administrator's token '{data / TOKEN_FILE}' cannot be read: {exc.strerror}") from exc
    if not token:
        raise NotFound(f"the administrator's token '{data / TOKEN_FILE}' is empty; remove the file and start the server again")
    return token
