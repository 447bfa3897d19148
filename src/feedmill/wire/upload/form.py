"""What every body reader speaks: a form's fields, one after the other.

A reader yields a ``FieldStart`` and then the bytes of that field's value, in as many pieces as they happen to come; the next
``FieldStart`` (or the end of the body) ends the value.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FieldStart:
    """The value of the named field begins."""

    name: str


FormEvent = FieldStart | bytes


class BodyReader(Protocol):
    """One way of writing a form into a body."""

    def read(self, chunk: bytes) -> Iterator[FormEvent]:
        """Takes the next bytes of the body; to be run to its end before the next call. Errors: BadRequest."""

    def finish(self) -> Iterator[FormEvent]:
        """Takes the end of the body. Errors: BadRequest when the body stops too early."""
