"""The kinds of principals."""

from enum import Enum


class Scope(Enum):
    """The kind of a principal."""

    USER = "user"
    GROUP = "group"

    # There is one object for each member. That of ``Enum`` is written in Python, and keys of principals are hashed by the thousand.
    __hash__ = object.__hash__
