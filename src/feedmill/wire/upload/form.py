"""The events of every body reader: a form's fields, one after the other.

A reader yields a ``FieldStart`` and then the bytes of that field's value, in any number of pieces. The next
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
    """The reader of one encoding of forms."""

    def read_events(self, chunk: bytes) -> Iterator[FormEvent]:
        """Reads the next bytes of the body. Exhaust the iterator before the next call. Errors: BadRequest."""

    def finish(self) -> Iterator[FormEvent]:
        """Ends the body. Errors: BadRequest if the body stops too early."""
