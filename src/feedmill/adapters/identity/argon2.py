"""Hashes passwords with argon2id.

A hash takes 64 MiB and at least a tenth of a second, so few may be computed at once. A caller that waits too long gets Busy.
Source: RFC 9106, section 4, the second recommended option.
"""

import threading
from unicodedata import normalize

import argon2
from argon2.exceptions import InvalidHashError, VerificationError

from feedmill.model.errors import Busy

AT_ONCE = 2
PATIENCE_SECONDS = 15.0


class Argon2Hasher:
    """Implements ``ports.signin.PasswordHasher``. Several threads may use it."""

    def __init__(self, parameters: argon2.Parameters = argon2.profiles.RFC_9106_LOW_MEMORY, *, at_once: int = AT_ONCE) -> None:
        self._hasher = argon2.PasswordHasher.from_parameters(parameters)
        self._slots = threading.BoundedSemaphore(at_once)

    def hash(self, password: str) -> str:
        """Returns a hash with a salt of its own. Errors: Busy."""
        with self._slot():
            return self._hasher.hash(_encode(password))

    def is_match(self, password_hash: str, password: str) -> bool:
        """Returns whether a password matches a hash. Errors: Busy."""
        with self._slot():
            try:
                return self._hasher.verify(password_hash, _encode(password))
            except (VerificationError, InvalidHashError):
                return False

    def is_outdated(self, password_hash: str) -> bool:
        """Returns whether a hash was made with other parameters."""
        try:
            return self._hasher.check_needs_rehash(password_hash)
        except InvalidHashError:
            return True

    def _slot(self) -> "_HashSlot":
        return _HashSlot(self._slots)


class _HashSlot:
    """One of the slots for computing a hash."""

    def __init__(self, slots: threading.BoundedSemaphore) -> None:
        self._slots = slots

    def __enter__(self) -> None:
        if not self._slots.acquire(timeout=PATIENCE_SECONDS):
            raise Busy("too many passwords are being checked now; try again")

    def __exit__(self, *_exc: object) -> None:
        self._slots.release()


def _encode(password: str) -> bytes:
    """Returns a password as bytes: keyboards differ in how they compose an accent. Source: RFC 8265, section 4.2.2."""
    return normalize("NFC", password).encode("utf-8", "surrogatepass")
