"""Encrypts the secrets of the settings in force, so that no copy of ``settings.json`` alone shows a password.

The key is in a file of its own beside it, which only the owner of the data folder can read. Equal settings have equal files, since AES-SIV
needs no random number; the place of a secret is authenticated with it. What refers to a variable (``env:NAME``) is no secret.
Source: RFC 5297 (AES-SIV).
"""

import base64
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from feedmill.settings.secrets import VARIABLE_PREFIX

KEY_FILE: Final = "settings.key"
_KEY_BYTES: Final = 64
_SEALED: Final = "sealed"


def seal_secrets(data: Path, settings: BaseModel) -> dict[str, Any]:
    """Returns settings for JSON with encrypted secrets. The first secret creates the key. Errors: OSError."""
    dumped: dict[str, Any] = settings.model_dump(mode="json")
    secrets = _list_secrets(settings, dumped, "")
    if secrets:
        key = _read_key(data) or _create_key(data)
        for table, name, place in secrets:
            table[name] = {_SEALED: _encrypt(key, table[name], place)}
    return dumped


def open_secrets(data: Path, held: Any) -> Any:
    """Returns settings from JSON with their secrets in clear. Errors: ValueError, OSError."""
    key = _read_key(data)

    def open_value(value: Any, place: str) -> Any:
        if isinstance(value, dict) and value.keys() == {_SEALED}:
            return _decrypt(key, value[_SEALED], place)
        if isinstance(value, dict):
            return {name: open_value(each, f"{place}.{name}") for name, each in value.items()}
        if isinstance(value, list):
            return [open_value(each, f"{place}.{number}") for number, each in enumerate(value)]
        return value

    return open_value(held, "")


def _list_secrets(model: BaseModel, dumped: dict[str, Any], place: str) -> list[tuple[dict[str, Any], str, str]]:
    """Lists the secrets of a table and those within it: the table of each in ``dumped``, its key there, its place in the file."""
    found: list[tuple[dict[str, Any], str, str]] = []
    for name, field in type(model).model_fields.items():
        value, where = getattr(model, name), f"{place}.{name}"
        if isinstance(value, BaseModel):
            found += _list_secrets(value, dumped[name], where)
        elif isinstance(value, Sequence) and not isinstance(value, str):
            for number, each in enumerate(value):
                if isinstance(each, BaseModel):
                    found += _list_secrets(each, dumped[name][number], f"{where}.{number}")
        elif not field.repr and isinstance(value, str) and value and not value.startswith(VARIABLE_PREFIX):
            found.append((dumped, name, where))
    return found


def _encrypt(key: bytes, text: str, place: str) -> str:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    return base64.b64encode(AESSIV(key).encrypt(text.encode("utf-8", "surrogatepass"), [place.encode()])).decode()


def _decrypt(key: bytes | None, sealed: str, place: str) -> str:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    if key is None:
        raise ValueError(f"there is no key in {KEY_FILE}")
    try:
        return AESSIV(key).decrypt(base64.b64decode(sealed), [place.encode()]).decode("utf-8", "surrogatepass")
    except InvalidTag as exc:
        raise ValueError(f"the key in {KEY_FILE} is another one") from exc


def _read_key(data: Path) -> bytes | None:
    try:
        key = (data / KEY_FILE).read_bytes()
    except FileNotFoundError:
        return None
    return key if len(key) == _KEY_BYTES else None


def _create_key(data: Path) -> bytes:
    key, fresh = os.urandom(_KEY_BYTES), data / (KEY_FILE + ".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(key)
    fresh.replace(data / KEY_FILE)
    return key
