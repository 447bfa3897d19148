"""The kinds of principals."""

from enum import Enum


class Scope(Enum):
    """The kind of a principal."""

    USER = "user"
    GROUP = "group"
